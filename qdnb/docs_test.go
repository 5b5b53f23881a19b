package qdnb_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
)

// The root of the repository, relative to this package.
const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("a page is missing: %v", err)
	}
	return string(data)
}

// tables returns the tables of a page whose header begins with a word, as rows of cells.
func tables(page, word string) (list [][][]string) {
	var rows [][]string
	for line := range strings.SplitSeq(page+"\n", "\n") {
		if strings.HasPrefix(line, "|") {
			cells := strings.Split(strings.Trim(line, "| "), "|")
			for i := range cells {
				cells[i] = strings.Trim(cells[i], " `")
			}
			rows = append(rows, cells)
			continue
		}
		if len(rows) > 2 && rows[0][0] == word {
			list = append(list, slices.Delete(rows, 1, 2)) // the line under the header
		}
		rows = nil
	}
	return list
}

// Every algorithm has a section in docs/algorithms, which the overview links.
func TestAlgorithmsHavePages(t *testing.T) {
	path := filepath.Join(root, "docs", "algorithms", "README.md")
	overview := read(t, path)
	for _, name := range records.Names() {
		page := records.Of(name).Page
		for _, target := range broken(path, "[page]("+page+")") {
			t.Errorf("the page of %s is %s, which does not exist", name, target)
		}
		if file, _, _ := strings.Cut(page, "#"); !strings.Contains(overview, "]("+file) {
			t.Errorf("docs/algorithms/README.md does not link to %s", file)
		}
	}
}

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline   = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	file     = regexp.MustCompile("`([a-z][a-z/]*/[a-z_]+\\.go)`")
	marks    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors of a page's headings, as on GitHub.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		anchor := strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		for name, i := anchor, 1; ; i++ {
			if !found[name] {
				found[name] = true
				break
			}
			name = fmt.Sprintf("%s-%d", anchor, i)
		}
	}
	return found
}

// broken lists the broken relative links of the page at a path, and files that it names but that do not exist.
func broken(path, page string) (list []string) {
	for _, match := range file.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			list = append(list, match[1])
		}
	}
	page = inline.ReplaceAllString(fenced.ReplaceAllString(page, ""), "")
	for _, match := range link.FindAllStringSubmatch(page, -1) {
		target := match[1] + match[2]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file, anchor, _ := strings.Cut(target, "#")
		at := path
		if file != "" {
			at = filepath.Join(filepath.Dir(path), file)
		}
		data, err := os.ReadFile(at)
		if info, e := os.Stat(at); e == nil && info.IsDir() {
			err = nil
		}
		if err != nil || anchor != "" && !anchors(string(data))[anchor] {
			list = append(list, target)
		}
	}
	return list
}

func TestLinksAreNotBroken(t *testing.T) {
	links := 0
	for _, path := range slices.Concat(must.Get(filepath.Glob(filepath.Join(root, "[AR]*.md"))),
		must.Get(filepath.Glob(filepath.Join(root, "docs", "*.md"))),
		must.Get(filepath.Glob(filepath.Join(root, "docs", "*", "*.md")))) {
		page := read(t, path)
		links += len(link.FindAllString(page, -1))
		for _, target := range broken(path, page) {
			t.Errorf("%s links to, or names, %s, which does not exist", path, target)
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// unlinked is what looks like a link to an exported name. Shapes such as [B] have one letter.
var unlinked = regexp.MustCompile(`\[\*?([a-z]\w*\.)?[A-Z]\w+(\.[A-Z]\w*)?\]`)

// Every link in a comment of a declaration leads to a name that exists and that the comment's package can see.
func TestDocLinks(t *testing.T) {
	must.Do(filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && name[0] == '.' || name == "testdata" || name == "build" {
			return filepath.SkipDir
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, path := range must.Get(filepath.Glob(filepath.Join(dir, "*.go"))) {
			if !strings.HasSuffix(path, "_test.go") {
				files = append(files, must.Get(parser.ParseFile(set, path, nil, parser.ParseComments)))
			}
		}
		if len(files) == 0 {
			return nil
		}
		pkg := must.Get(doc.NewFromFiles(set, files, dir, doc.AllDecls|doc.PreserveAST))
		for _, file := range files {
			for _, c := range file.Comments {
				if set.Position(c.Pos()).Column > 1 {
					continue
				}
				for _, text := range plain(pkg.Parser().Parse(c.Text()).Content) {
					for _, link := range unlinked.FindAllString(text, -1) {
						t.Errorf("%s: %s leads nowhere", set.Position(c.Pos()), link)
					}
				}
			}
		}
		return nil
	}))
}

// plain returns the text of a comment that is neither code nor a link.
func plain(blocks []comment.Block) (all []string) {
	add := func(list []comment.Text) {
		for _, text := range list {
			if p, ok := text.(comment.Plain); ok {
				all = append(all, string(p))
			}
		}
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *comment.Paragraph:
			add(b.Text)
		case *comment.List:
			for _, item := range b.Items {
				all = append(all, plain(item.Content)...)
			}
		}
	}
	return all
}

// folder is a row of the table of folders in ARCHITECTURE.md.
type folder struct {
	row      int
	hostOnly bool
}

// TestImportsRunOneWay checks the imports against the table of folders. A folder may import folders above it, folders
// of its row, and internal. Host-only folders import neither GoMLX nor folders that do.
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
