package xla

// For the tests in package xla_test.
var (
	Threefry     = threefry2x32
	SplitMixBits = Key.splitMixBits
	TailQuantile = tailQuantile
)
