package runs

import (
	"fmt"
	"os"
)

// Must returns value, or ends the program with one readable line on standard error and status 1 if
// there is an error. It is meant for notebook cells, where a panic would print a stack.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check ends the program with one readable line if there is an error, see [Must].
func Check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "qdnb: %v\n", err)
		os.Exit(1)
	}
}
