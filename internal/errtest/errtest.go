// Package errtest checks the messages of errors in tests.
package errtest

import (
	"slices"
	"strings"
	"testing"
)

// Want fails the test unless err is an error of one line that contains the texts.
func Want(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", texts)
	} else if strings.Contains(err.Error(), "\n") || slices.ContainsFunc(texts,
		func(text string) bool { return !strings.Contains(err.Error(), text) }) {
		t.Errorf("%v; want one line with %q", err, texts)
	}
}

// Of returns the error of a call with another result.
func Of[T any](_ T, err error) error { return err }
