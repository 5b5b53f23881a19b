package xla

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// This file turns panics of graph code into one-line errors that name the user's function, its line
// and the user's sizes.

// Axis names a size, so that errors can explain the axes of a shape.
type Axis struct {
	Size    int
	Meaning string // as in "parameters of a policy"
}

// location is where a function's code is.
type location struct {
	function string // as written in the source, without its package if that is main
	file     string
	line     int // 0: the function is not the user's, or its line is unknown
}

// String formats a location so that GoNB turns it into a cell and its line, and editors into a link. In a
// cell it starts a line, since GoNB v0.11.5 dies of lines of standard error with two colons before
// "main.go:12".
func (p location) String() string {
	if p.line == 0 {
		return p.function
	}
	text := fmt.Sprintf("%s at %s:%d", p.function, p.file, p.line)
	if folder := os.Getenv("GONB_TMP_DIR"); folder != "" && filepath.Dir(p.file) == filepath.Clean(folder) {
		return "\n" + text
	}
	return text
}

// located is an error with the location in the user's code that caused it.
type located struct {
	error
	at location
}

func (l located) Error() string { return fmt.Sprintf("%s: %s", l.at, l.error.Error()) }
func (l located) Unwrap() error { return l.error }

// Misfit returns an error for a method of an algorithm part whose result does not fit, located
// where the method is defined. If the part is a function, method is ignored. Graph code panics with
// it.
func Misfit(part any, method, format string, args ...any) error {
	return located{fmt.Errorf(format, args...), definition(part, method)}
}

// CheckShape panics with a [Misfit] if the result of a part's method has another type or other
// dimensions. result names the result, in the plural.
func CheckShape(part any, method, result string, got *graph.Node, dtype dtypes.DType, dims ...int) {
	want := shapes.Make(dtype, dims...)
	if got == nil {
		panic(Misfit(part, method, "it returns nil for %s of shape %s", result, want))
	}
	if !got.Shape().Equal(want) {
		panic(Misfit(part, method, "it returns %s of shape %s, not %s", result, got.Shape(), want))
	}
}

// CheckCount panics with a [Misfit] if a part's method did not return count tensors for result.
func CheckCount(part any, method, result string, got []*graph.Node, count int) {
	if len(got) != count {
		panic(Misfit(part, method, "it returns %d tensors for %s, not %d", len(got), result, count))
	}
	if i := slices.Index(got, nil); i >= 0 {
		panic(Misfit(part, method, "it returns nil for %s[%d]", result, i))
	}
}

// CheckLike panics with a [Misfit] if a part's method did not return as many tensors as want, of
// the same shapes.
func CheckLike(part any, method, result string, got, want []*graph.Node) {
	CheckCount(part, method, result, got, len(want))
	for i, x := range want {
		CheckShape(part, method, fmt.Sprintf("%s[%d]", result, i), got[i], x.DType(), x.Shape().Dimensions...)
	}
}

// CheckSame returns what a part's method returned in place of the part. It panics with a [Misfit] if
// that has another type: a part that embeds another one and inherits its method would be replaced by
// the embedded one, and lose its own methods.
func CheckSame[P any](part P, method string, got P) P {
	want, have := reflect.TypeOf(part), reflect.TypeOf(got)
	for _, t := range []*reflect.Type{&want, &have} {
		if *t != nil && (*t).Kind() == reflect.Pointer {
			*t = (*t).Elem()
		}
	}
	if have == nil {
		panic(Misfit(part, method, "it returns nil, not %v", want))
	}
	if have != want {
		panic(Misfit(part, method, "it returns %v, not %v, whose other methods are lost: write a method %s of %v "+
			"that returns %[2]v", have, want, method, want))
	}
	return got
}

// definition returns where a method of a part is defined, or the part itself if it is a
// function.
func definition(part any, method string) location {
	v := reflect.ValueOf(part)
	if v.Kind() == reflect.Func {
		return definedAt(v.Pointer())
	}
	t := v.Type()
	// For a value method the compiler generates a pointer wrapper without a line.
	if t.Kind() == reflect.Pointer {
		if m, ok := t.Elem().MethodByName(method); ok {
			return definedAt(m.Func.Pointer())
		}
	}
	if m, ok := t.MethodByName(method); ok {
		return definedAt(m.Func.Pointer())
	}
	return location{function: method}
}

// definedAt returns where the function whose code begins at pc is defined.
func definedAt(pc uintptr) location {
	frames := runtime.CallersFrames([]uintptr{pc + 1})
	frame, more := frames.Next()
	for more { // functions inlined at its beginning come first
		frame, more = frames.Next()
	}
	if !users(frame.Function, frame.File) {
		return location{function: readable(frame.Function)}
	}
	line := frame.Line // of the first instruction, which may be one of the body's
	if start := reflect.ValueOf(frame).FieldByName("startLine"); start.IsValid() {
		line = int(start.Int())
	}
	return location{readable(frame.Function), onDisk(frame.File), line}
}

// Catch calls f, code of the host such as methods of parts, and returns what it panics with as an error of
// one line with the location in the user's code.
func Catch(f func()) error { return catch(f) }

// CatchUse is [Catch] where f uses a struct of the user, such as a Spec. The error names the struct, and its field that
// is a nil pointer, if one is.
func CatchUse(name string, value any, f func()) error {
	err := catch(f)
	if err == nil {
		return nil
	}
	for field, v := range reflect.ValueOf(value).Fields() {
		if v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() {
			return fmt.Errorf("%s of the %s is a nil %s: give it a value", field.Name, name, v.Elem().Type())
		}
	}
	return fmt.Errorf("the %s cannot be used: %w", name, err)
}

// catch turns a panic of f into an error: GoMLX's, a runtime error, or the plain text of a user's
// graph function. If the stack between f and the panic contains code of the user, the error is
// [located] in the innermost such function.
func catch(f func()) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		var ok bool
		if err, ok = cause.(error); !ok {
			err = errors.New(strings.ReplaceAll(strings.TrimSpace(fmt.Sprint(cause)), "\n", "; "))
		}
		if errors.As(err, &located{}) {
			return
		}
		pcs := make([]uintptr, 1024)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
		for more := true; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); frame.Function == modulePath+"/xla.catch" {
				return
			}
			if users(frame.Function, frame.File) {
				err = located{err, location{readable(frame.Function), onDisk(frame.File), frame.Line}}
				return
			}
		}
	}()
	f()
	return nil
}

var (
	// modulePath is the path of this module.
	modulePath = path.Dir(reflect.TypeFor[Axis]().PkgPath())
	// goSources is the folder of the standard library with a trailing slash, or "" in programs built
	// with -trimpath.
	goSources = func() string {
		pc := reflect.ValueOf(runtime.Callers).Pointer()
		file, _ := runtime.FuncForPC(pc).FileLine(pc)
		return strings.TrimSuffix(file, "runtime/extern.go")
	}()
)

// users reports whether a function of a file belongs to the user: not to this module (except its
// tests), GoMLX or Go's standard library.
func users(function, file string) bool {
	if strings.HasSuffix(file, "_test.go") {
		return true
	}
	pkg := packageOf(function)
	for _, others := range []string{modulePath, "github.com/gomlx", "github.com/pkg/errors"} {
		if pkg == others || strings.HasPrefix(pkg, others+"/") {
			return false
		}
	}
	if function == "" || file == "" || file == "<autogenerated>" {
		return false
	}
	if goSources != "" {
		return !strings.HasPrefix(file, goSources)
	}
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == "main" || strings.Contains(first, ".")
}

// packageOf returns the path of a function's package.
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[")
	slash := strings.LastIndex(function, "/") + 1
	last, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + last
}

// compiled matches what the compiler appends to function names: closures, method values, loop
// bodies.
var compiled = regexp.MustCompile(
	`(\[\.\.\.\]|\.func\d+|\.\d+|\.gowrap\d+|\.deferwrap\d+|-range\d+|-fm)+$`)

// readable returns the name of a function as written in its source: with its package name, unless
// that is main.
func readable(function string) string {
	name := compiled.ReplaceAllString(strings.TrimPrefix(function, path.Dir(packageOf(function))+"/"), "")
	name = strings.TrimPrefix(name, "main.")
	if strings.HasSuffix("."+name, ".init") {
		return "a function" // held by a package variable
	}
	return name
}

// onDisk returns the path of a file as GoNB and editors find it: it adds the folder for cells built
// with -trimpath.
func onDisk(file string) string {
	if folder := os.Getenv("GONB_TMP_DIR"); folder != "" && !filepath.IsAbs(file) {
		return filepath.Join(folder, filepath.Base(file))
	}
	return file
}

// printed matches shapes in errors, as GoMLX and Go print them, and axis sizes as in "lhs[1]=4".
var printed = regexp.MustCompile(`(?:^|\W)\[\d+(?:[, ] ?\d+)*\]|\w\[\d+\]=\d+`)

// meanings explains the axis sizes in an error, as in " (8: policies of a slice; 1218: parameters
// of a policy)".
func meanings(line string, axes []Axis) string {
	var seen []int
	var said []string
	for _, shape := range printed.FindAllString(line, -1) {
		if _, size, ok := strings.Cut(shape, "="); ok {
			shape = size
		}
		for _, text := range strings.FieldsFunc(shape, func(r rune) bool { return strings.ContainsRune("[, ]", r) }) {
			size, err := strconv.Atoi(text)
			if err != nil || slices.Contains(seen, size) {
				continue
			}
			seen = append(seen, size)
			var names []string
			for _, axis := range axes {
				if axis.Size == size && !slices.Contains(names, axis.Meaning) {
					names = append(names, axis.Meaning)
				}
			}
			if len(names) > 0 {
				said = append(said, fmt.Sprintf("%d: %s", size, strings.Join(names, " or ")))
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, "; ") + ")"
}
