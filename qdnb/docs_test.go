package qdnb_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
)

// The root of the repository, relative to this package.
const root = ".."

// documents are the paths of README.md, ARCHITECTURE.md and all pages in docs.
func documents(t *testing.T) []string {
	t.Helper()
	paths := []string{filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md")}
	must.Do(filepath.WalkDir(filepath.Join(root, "docs"),
		func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				paths = append(paths, path)
			}
			return err
		}))
	return paths
}

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

const byEnvironment = "by environment"

// others matches the sentence that names the pages whose settings a page takes over, in this order,
// and settingsOf their links.
var (
	others     = regexp.MustCompile(`(?s)(?:All other|The)\s+settings\s+are\s+those\s+of\s.*?\.\n`)
	settingsOf = regexp.MustCompile(`\(([a-z0-9-]+)\.md#settings\)`)
)

// documented returns the settings that an algorithm's page lists or takes over from other pages, as
// text: those of all environments, and those by environment.
func documented(t *testing.T, name string) (common map[string]string,
	by map[string]map[string]string) {
	t.Helper()
	page := read(t, filepath.Join(root, "docs", "algorithms", name+".md"))
	common, by = map[string]string{}, map[string]map[string]string{}
	settings := tables(page, "setting")
	if len(settings) > 1 {
		t.Fatalf("there are %d tables of settings", len(settings))
	}
	for _, row := range slices.Concat(settings...) {
		if row[0] == "setting" {
			continue
		}
		if _, twice := common[row[0]]; twice || len(row) != 3 {
			t.Errorf("the row %q", row)
		}
		common[row[0]] = row[1]
	}
	for _, table := range tables(page, "environment") {
		for _, row := range table[1:] {
			by[row[0]] = map[string]string{}
			for i, name := range table[0][1:] {
				by[row[0]][name] = row[1+i]
				if common[name] != byEnvironment {
					t.Errorf("%s is %q, and also in the table by environment", name, common[name])
				}
			}
		}
	}
	for _, base := range settingsOf.FindAllStringSubmatch(others.FindString(page), -1) {
		inherited, inheritedBy := documented(t, base[1])
		for name, text := range inherited {
			if _, known := common[name]; known {
				continue
			}
			common[name] = text
			for env := range inheritedBy {
				if text == byEnvironment {
					if by[env] == nil {
						by[env] = map[string]string{}
					}
					by[env][name] = inheritedBy[env][name]
				}
			}
		}
	}
	return common, by
}

// same reports whether a text of a table equals a JSON value.
func same(text string, value any) bool {
	if word, ok := value.(string); ok {
		return text == word
	}
	if _, ok := value.([]any); ok {
		text = "[" + text + "]"
	}
	var said any
	return json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, value)
}

// compare reports the settings that are documented for an environment and are not the defaults. It
// returns the defaults.
func compare(t *testing.T, env string, common map[string]string, by map[string]map[string]string,
	defaults json.RawMessage) (values map[string]any) {
	t.Helper()
	must.Do(json.Unmarshal(defaults, &values))
	for name, value := range values {
		text, ok := common[name]
		if text == byEnvironment {
			text, ok = by[env][name]
		}
		if !ok || !same(text, value) {
			t.Errorf("%s: %s is %v, and the page says %q", env, name, value, text)
		}
	}
	return values
}

// trained are the paper's training environments. Other environments need not be in the tables.
var trained = protocol.Environments()

func TestPagesListAllSettingsOfAlgorithms(t *testing.T) {
	overview := read(t, filepath.Join(root, "docs", "algorithms", "README.md"))
	for _, algorithm := range qdnb.Algorithms() {
		if !strings.Contains(overview, "]("+algorithm+".md)") {
			t.Errorf("docs/algorithms/README.md does not link to %s.md", algorithm)
		}
		t.Run(algorithm, func(t *testing.T) {
			common, by := documented(t, algorithm)
			tasks := trained
			if must.Get(registry.Find(algorithm)).NeedsGradients() {
				tasks = []string{"sphere", "rastrigin"}
			}
			for _, env := range tasks {
				spec := qdnb.Spec{Algorithm: algorithm, Env: env}
				config := must.Get(spec.Config())
				compare(t, env, common, by, config.Hyperparameters)

				// The documented settings can be set, and change nothing, also those that files omit.
				var set []string
				for name, text := range common {
					if text == byEnvironment {
						text = by[env][name]
					}
					set = append(set, name+"="+text)
				}
				spec.Tune = runs.Assign(set...)
				if again, err := spec.Config(); err != nil || again.Hash() != config.Hash() {
					t.Errorf("%s with all that the page says: %v, %s is not %s", env, err, again.Hyperparameters,
						config.Hyperparameters)
				}
			}
			if len(by) != 0 && len(by) != len(trained) {
				t.Errorf("%d environments, %d in the table", len(trained), len(by))
			}
		})
	}
}

func TestPagesListAllSettingsOfParts(t *testing.T) {
	for name, defaults := range map[string]any{
		"td3":                  td3.Default(),
		"hierarchical-control": policies.DefaultControl().MetaController,
	} {
		t.Run(name, func(t *testing.T) {
			data := must.Get(json.Marshal(defaults))
			common, by := documented(t, name)
			if values := compare(t, "", common, by, data); len(values) != len(common) {
				t.Errorf("there are %d settings, and %d in the table", len(values), len(common))
			}
		})
	}
}

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline   = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
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

// broken lists the broken relative links of the page at a path.
func broken(path, page string) (list []string) {
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
	for _, path := range documents(t) {
		page := read(t, path)
		links += len(link.FindAllString(page, -1))
		for _, target := range broken(path, page) {
			t.Errorf("%s links to %s, which does not exist", path, target)
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
