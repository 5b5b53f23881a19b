package qdnb

import "example.com/qdnb/qdnb/runs"

// Must returns value, or ends the program with one readable line if there is an error. It is meant
// for notebook cells, where a panic would print a stack.
func Must[T any](value T, err error) T { return runs.Must(value, err) }

// Check ends the program with one readable line if there is an error, see [Must].
func Check(err error) { runs.Check(err) }
