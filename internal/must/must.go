// Package must shortens tests: an unexpected error ends them with a panic.
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
