package random

// For the tests in package random_test.
var (
	Threefry     = threefry2x32
	SplitMixBits = Key.splitMixBits
	TailQuantile = tailQuantile
	MixWord      = mixWord
)
