// Package must ends a test, the reading of an embedded file, or code whose panics become errors with a panic at
// an unexpected error.
package must

// Do panics if err is not nil.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Get returns value, or panics if err is not nil.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}
