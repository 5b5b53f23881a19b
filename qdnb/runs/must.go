package runs

import (
	"fmt"
	"os"
)

// Must returns value. On an error it prints one readable line to standard error and exits with
// status 1. It is meant for notebook cells, where a panic would print a stack trace.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check exits with one readable line if err is not nil; see [Must].
func Check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "qdnb: %v\n", err)
		os.Exit(1)
	}
}
