package qdnb_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
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
			folders[strings.TrimSuffix(name, "/")] = folder{i, strings.Contains(row[1], "(host")}
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
	eachImport(t, func(file, imported string) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		if pkg == internal || strings.HasPrefix(pkg, internal+"/") {
			return
		}
		own, ok := rowOf(pkg)
		if !ok {
			t.Errorf("%s is in no folder of the table", file)
			return
		}
		name, ours := strings.CutPrefix(imported, module)
		switch other, known := rowOf(name); {
		case own.hostOnly && strings.HasPrefix(imported, "github.com/gomlx/"):
			t.Errorf("%s is host only, and imports %s", file, imported)
		case !ours || name == internal || strings.HasPrefix(name, internal+"/"):
		case !known || other.row > own.row:
			t.Errorf("%s imports %s, which is not above it in the table", file, name)
		case own.hostOnly && !other.hostOnly:
			t.Errorf("%s is host only, and imports %s, which is not", file, name)
		}
	})
}

// The program downloads only plugins, and starts only the programs listed here.
func TestNoOtherWayOut(t *testing.T) {
	network := regexp.MustCompile(`^net($|/http|/rpc|/smtp|/textproto)|^os/exec$|go-xla/installer`)
	known := map[string][]string{
		// pip; Python's path; MuJoCo's compiler in Python, and MuJoCo to play gaits; ffmpeg, for films of these; qdnb
		// itself; qdnb and programs of the documents for their figures; the user's own simulator; git, for the commit
		"os/exec": {"internal/wheel/wheel.go", "xla/backend/plugin.go", "envs/mujoco/compiler/compiler.go",
			"envs/mujoco/compiler/python.go", "envs/mujoco/compiler/peer.go", "cmd/qdnb/play.go",
			"cmd/qdnb/sweep.go", "internal/docfigures/programs.go", "internal/docfigures/runs.go", "envs/process.go",
			"qdnb/session/machine.go"},
		"github.com/gomlx/go-xla/installer": {"xla/backend/plugin.go"},
	}
	eachImport(t, func(file, imported string) {
		if network.MatchString(imported) && !slices.Contains(known[imported], file) {
			t.Errorf("%s imports %s: if that reaches a network or starts a program, say so in docs/reliability.md and here",
				file, imported)
		}
	})
}

// eachImport calls a function for each import of each file of the repository that is no test.
func eachImport(t *testing.T, visit func(file, imported string)) {
	t.Helper()
	seen := 0
	must.Do(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(must.Get(filepath.Rel(root, path)))
		if entry.IsDir() {
			switch file {
			case "tools", "build", "notebooks": // tools is a separate module
				return filepath.SkipDir
			}
			if file != "." && strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen++
		for _, spec := range parsed.Imports {
			visit(file, must.Get(strconv.Unquote(spec.Path.Value)))
		}
		return nil
	}))
	if seen < 100 {
		t.Errorf("only %d files were found", seen)
	}
}
