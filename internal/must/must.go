// Package must turns unexpected errors into panics: in tests, when reading embedded files, and in code
// whose panics become errors.
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
