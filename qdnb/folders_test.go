package qdnb_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// folder is a row of the table of folders in ARCHITECTURE.md.
type folder struct {
	row      int
	hostOnly bool
}

// TestImportsRunOneWay checks the imports against the table of folders. A folder may import folders
// above it, folders of its row, and internal. Host-only folders import neither GoMLX nor folders
// that do.
func TestImportsRunOneWay(t *testing.T) {
	const module, internal = "example.com/qdnb/", "internal"
	list := tables(read(t, filepath.Join(root, "ARCHITECTURE.md")), "folder")
	errtest.Equal(t, "tables of folders", len(list), 1)
	folders := map[string]folder{}
	for i, row := range list[0][1:] {
		for _, name := range regexp.MustCompile("[a-z0-9/]+/").FindAllString(row[0], -1) {
			folders[strings.TrimSuffix(name, "/")] = folder{i, strings.Contains(row[1], "host only")}
		}
	}
	rowOf := func(pkg string) (folder, bool) { // of the innermost folder that contains it
		for ; pkg != "."; pkg = filepath.ToSlash(filepath.Dir(pkg)) {
			if f, ok := folders[pkg]; ok {
				return f, true
			}
		}
		return folder{}, false
	}
	seen := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			switch rel {
			case internal, "tools", "build", "notebooks", ".git": // tools is a separate module
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(rel))
		own, ok := rowOf(pkg)
		if !ok {
			t.Errorf("%s is in no folder of the table", rel)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen++
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			name, ours := strings.CutPrefix(imported, module)
			switch other, known := rowOf(name); {
			case own.hostOnly && strings.HasPrefix(imported, "github.com/gomlx/"):
				t.Errorf("%s is host only, and imports %s", rel, imported)
			case !ours || name == internal || strings.HasPrefix(name, internal+"/"):
			case !known || other.row > own.row:
				t.Errorf("%s imports %s, which is not above it in the table", rel, name)
			case own.hostOnly && !other.hostOnly:
				t.Errorf("%s is host only, and imports %s, which is not", rel, name)
			}
		}
		return nil
	})
	must.Do(err)
	if seen < 100 {
		t.Errorf("only %d files were found", seen)
	}
}
