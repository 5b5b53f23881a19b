package xla

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"example.com/qdnb/internal/walk"
)

// maxSource is the size in bytes of the largest file that [Source] includes.
const maxSource = 1 << 18

// Source returns the source of the user's code in some values and on the stack: the locations of functions
// and of the methods of types, by file, and the text of each file. It leaves the text of a large file out,
// and of one that is not on disk. It is empty without such code.
func Source(values ...any) string {
	var locations []location
	add := func(p location) {
		if p.line > 0 && !strings.Contains(p.file, "@") && !slices.Contains(locations, p) { // @: a version of a module
			locations = append(locations, p)
		}
	}
	for _, p := range callers() {
		add(p)
	}
	types := map[reflect.Type]bool{}
	walk.Each(values, func(v reflect.Value) {
		if v.Kind() == reflect.Func && !v.IsNil() {
			add(definedAt(v.Pointer()))
		}
		if t := v.Type(); t.Kind() != reflect.Interface && t.Name() != "" && !types[t] {
			types[t] = true
			for i := range reflect.PointerTo(t).NumMethod() {
				method := reflect.PointerTo(t).Method(i)
				if m, ok := t.MethodByName(method.Name); ok { // not its wrapper
					method = m
				}
				add(definedAt(method.Func.Pointer()))
			}
		}
	})
	slices.SortFunc(locations, func(a, b location) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var text strings.Builder
	for i, p := range locations {
		fmt.Fprintf(&text, "// %s at %s:%d\n", p.function, p.file, p.line)
		if i+1 < len(locations) && locations[i+1].file == p.file {
			continue
		}
		if data, err := os.ReadFile(p.file); err == nil && len(data) <= maxSource {
			fmt.Fprintf(&text, "\n%s\n", data)
		}
	}
	return text.String()
}

// Code returns the source of a function of the user and of the declarations in its file that it uses, also those that
// only others of them use, without comments and spaces. It is empty if the file is not on disk.
func Code(function any) string {
	at := definedAt(reflect.ValueOf(function).Pointer())
	source, err := os.ReadFile(at.file)
	if at.line == 0 || err != nil {
		return ""
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, at.file, source, parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	declared := map[string][]ast.Node{}
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared[n.Name.Name] = append(declared[n.Name.Name], d)
			case *ast.TypeSpec:
				declared[n.Name.Name] = append(declared[n.Name.Name], d)
			case *ast.ValueSpec:
				for _, name := range n.Names {
					declared[name.Name] = append(declared[name.Name], d)
				}
			}
			_, body := n.(*ast.BlockStmt)
			return !body
		})
	}
	var start ast.Node // the innermost function that begins in the line
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			if files.Position(n.Pos()).Line == at.line {
				start = n
			}
		}
		return true
	})
	used, text := map[ast.Node]bool{nil: true}, strings.Builder{}
	var use func(n ast.Node)
	use = func(n ast.Node) {
		if used[n] {
			return
		}
		used[n] = true
		code := source[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset]
		var words scanner.Scanner
		words.Init(token.NewFileSet().AddFile("", -1, len(code)), code, nil, 0)
		for _, word, literal := words.Scan(); word != token.EOF; _, word, literal = words.Scan() {
			if literal == "\n" {
				literal = ""
			}
			fmt.Fprint(&text, cmp.Or(literal, word.String()), " ")
		}
		ast.Inspect(n, func(m ast.Node) bool {
			if name, ok := m.(*ast.Ident); ok {
				for _, d := range declared[name.Name] {
					use(d)
				}
			}
			return true
		})
	}
	use(start)
	return text.String()
}

// callers returns the locations of the user's functions on the stack, none in the command qdnb.
func callers() (list []location) {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path == modulePath+"/cmd/qdnb" {
		return nil
	}
	pcs := make([]uintptr, 1024)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); users(frame.Function, frame.File) {
			list = append(list, location{readable(frame.Function), onDisk(frame.File), frame.Line})
		}
	}
	return list
}
