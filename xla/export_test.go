package xla

import "testing"

// For the tests in package xla_test.
var (
	Threefry     = threefry2x32
	SplitMixBits = Key.splitMixBits
	TailQuantile = tailQuantile
)

// FreshCache gives a test executables of its own, of which so many are kept idle: programs of tests
// before it, which the garbage collector may give back at any moment, push out nothing there.
func FreshCache(t *testing.T, limit int) {
	before := executables
	executables = newCodeCache(limit)
	t.Cleanup(func() { executables = before })
}
