// Package errtest checks errors, values and texts in tests.
package errtest

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Want fails the test unless err is an error of one line that contains the texts.
func Want(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with the texts %q", texts)
	} else if strings.Contains(err.Error(), "\n") || slices.ContainsFunc(texts,
		func(text string) bool { return !strings.Contains(err.Error(), text) }) {
		t.Errorf("%v; want one line with %q", err, texts)
	}
}

// Of returns the error of a call with another result.
func Of[T any](_ T, err error) error { return err }

// Equal fails the test if two values differ in depth. All empty slices are equal.
func Equal[T any](t testing.TB, what any, got, want T) {
	t.Helper()
	a, b := reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v, want %+v", what, got, want)
	}
}

// Contains fails the test for each of the parts that a text does not contain.
func Contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// Here returns the location that many lines below the caller, as errors print it.
func Here(lines int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line+lines)
}

// LineWith returns the location of the line of the caller's file that begins with a text.
func LineWith(t testing.TB, text string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(1)
	source, _ := os.ReadFile(file)
	before, _, found := strings.Cut(string(source), "\n"+text)
	if !found {
		t.Fatalf("no line begins with %q", text)
	}
	return fmt.Sprintf("%s:%d", file, strings.Count(before, "\n")+2)
}
