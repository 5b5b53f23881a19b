// Command apidoc prints the documentation of packages, as JSON: the HTML of each by its import path. Names link to
// pages that lie as the folders of the packages do.
//
//	go list -json ./... | go run ./internal/apidoc
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type listed struct {
	ImportPath, Dir, Name              string
	Module                             struct{ Path string }
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func main() {
	pages := map[string]string{}
	for decoder := json.NewDecoder(os.Stdin); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && !strings.Contains(p.ImportPath+"/", "/internal/") {
			pages[strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")], err = page(p)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "apidoc:", err)
			os.Exit(1)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(pages)
}

type writer struct {
	strings.Builder
	pkg     *doc.Package
	printer *comment.Printer
	files   *token.FileSet
}

func page(p listed) (string, error) {
	w := &writer{files: token.NewFileSet()}
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(w.files, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return "", err
		}
		files = append(files, file)
	}
	var err error
	if w.pkg, err = doc.NewFromFiles(w.files, files, p.ImportPath); err != nil {
		return "", err
	}
	up := strings.Repeat("../", strings.Count(strings.TrimPrefix(p.ImportPath, p.Module.Path+"/"), "/"))
	w.printer = w.pkg.Printer()
	w.printer.HeadingLevel = 3
	w.printer.DocLinkURL = func(link *comment.DocLink) string {
		name := strings.TrimPrefix(link.Recv+"."+link.Name, ".")
		at, ours := strings.CutPrefix(link.ImportPath, p.Module.Path+"/")
		switch {
		case link.ImportPath == "":
			return "#" + name
		case ours && name == "":
			return up + at + ".html"
		case ours:
			return up + at + ".html#" + name
		}
		return "https://pkg.go.dev/" + strings.TrimSuffix(link.ImportPath+"#"+name, "#")
	}
	fmt.Fprintf(w, "<p class=\"import\"><code>import %q</code></p>\n", p.ImportPath)
	w.text(w.pkg.Doc)
	w.examples(w.pkg.Examples)
	if p.Name == "main" {
		return w.String(), nil
	}
	w.values("Constants", w.pkg.Consts)
	w.values("Variables", w.pkg.Vars)
	if len(w.pkg.Funcs) > 0 {
		w.WriteString("<h2 id=\"functions\">Functions</h2>\n")
		w.functions("", w.pkg.Funcs)
	}
	if len(w.pkg.Types) > 0 {
		w.WriteString("<h2 id=\"types\">Types</h2>\n")
	}
	for _, t := range w.pkg.Types {
		fmt.Fprintf(w, "<h3 id=\"%s\">type %[1]s</h3>\n", t.Name)
		w.members(t)
		w.declaration(t.Decl)
		w.text(t.Doc)
		w.examples(t.Examples)
		w.values("", append(t.Consts, t.Vars...))
		w.functions("", t.Funcs)
		w.functions(t.Name+".", t.Methods)
	}
	return w.String(), nil
}

// members writes the anchors of fields, and of the methods of an interface.
func (w *writer) members(t *doc.Type) {
	for _, spec := range t.Decl.Specs {
		ast.Inspect(spec, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if ok {
				for _, name := range field.Names {
					fmt.Fprintf(w, "<a id=\"%s.%s\"></a>", t.Name, name.Name)
				}
			}
			return !ok
		})
	}
}

func (w *writer) text(doc string) { w.Write(w.printer.HTML(w.pkg.Parser().Parse(doc))) }

func (w *writer) declaration(decl ast.Decl) {
	var out strings.Builder
	if err := format.Node(&out, w.files, decl); err != nil {
		panic(err) // of a declaration that was parsed
	}
	w.code(out.String())
}

func (w *writer) code(text string) {
	w.WriteString("<pre class=\"go\">" + html.EscapeString(strings.TrimSpace(text)) + "</pre>\n")
}

func (w *writer) values(title string, values []*doc.Value) {
	if title != "" && len(values) > 0 {
		fmt.Fprintf(w, "<h2 id=\"%s\">%s</h2>\n", strings.ToLower(title), title)
	}
	for _, v := range values {
		for _, name := range v.Names {
			fmt.Fprintf(w, "<a id=\"%s\"></a>", name)
		}
		w.declaration(v.Decl)
		w.text(v.Doc)
	}
}

func (w *writer) functions(of string, list []*doc.Func) {
	for _, f := range list {
		fmt.Fprintf(w, "<h4 id=\"%s%s\">func %[1]s%[2]s</h4>\n", of, f.Name)
		w.declaration(f.Decl)
		w.text(f.Doc)
		w.examples(f.Examples)
	}
}

func (w *writer) examples(list []*doc.Example) {
	for _, e := range list {
		var out strings.Builder
		if err := format.Node(&out, w.files, e.Code); err != nil {
			panic(err)
		}
		body := strings.TrimSuffix(strings.TrimPrefix(out.String(), "{"), "}")
		w.WriteString("<details><summary>Example</summary>\n")
		w.code(strings.ReplaceAll(body, "\n\t", "\n"))
		w.WriteString("</details>\n")
	}
}
