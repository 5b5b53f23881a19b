package xla

// For the tests in package xla_test.
var (
	Threefry     = threefry2x32
	Mix          = mix
	LnPositive   = lnPositive
	SqrtPositive = sqrtPositive
	CosTurn      = cosTurn
)
