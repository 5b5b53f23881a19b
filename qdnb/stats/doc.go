// Package stats describes samples, such as the final scores of a method's seeds, and compares two
// of them.
//
// Undefined results are NaN, never a panic. This covers any statistic of an empty sample or of one
// that contains a NaN (an unknown score must not vanish from a median), and any comparison with
// such a sample. Infinities are values: a repertoire without solutions has the best fitness -Inf.
// Quantiles order it below all other values, means are infinite, and standard deviations are NaN.
//
// Nothing here draws its own random numbers: [Bootstrap] takes a source, so equal inputs give equal
// intervals. Functions do not modify or retain the slices passed to them.
package stats
