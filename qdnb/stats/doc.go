// Package stats describes samples such as the final scores of the seeds of a method, and compares
// two of them.
//
// What a sample is not defined for is NaN, never a panic: any statistic of an empty sample, of one
// that holds a NaN (a score that is not known must not vanish from a median), and any comparison
// with either. Infinities are values: a repertoire without solutions has the best fitness -Inf, and
// quantiles order it below all others; means of it are infinite, and deviations NaN.
//
// Nothing here draws random numbers of its own: [Bootstrap] is given its source, so equal inputs
// give equal intervals. Functions do not change or keep the slices that they are given.
package stats
