package xla

// For the tests in package xla_test.
var (
	Threefry     = threefry2x32
	SplitMixBits = Key.splitMixBits
	TailQuantile = tailQuantile
)

// KeepIdle sets how many idle executables are kept, and returns how many it was.
func KeepIdle(n int) (before int) {
	executables.Lock()
	defer executables.Unlock()
	before, executables.limit = executables.limit, n
	return before
}
