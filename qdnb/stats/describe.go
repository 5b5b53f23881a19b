package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Mean is Σ x_i / n.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stat.Mean(x, nil)
}

// Std is the standard deviation sqrt(Σ (x_i - mean)² / n): NumPy's default, ddof = 0. The paper
// does not say which one it prints; its code uses NumPy. It is 0 for a single value.
func Std(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stat.PopStdDev(x, nil)
}

// Quantile is the p-quantile with linear interpolation, like NumPy's default and type 7 of Hyndman
// and Fan (1996): for sorted values and h = p (n - 1),
//
//	x_⌊h⌋ + (h - ⌊h⌋) (x_⌊h⌋₊₁ - x_⌊h⌋)
//
// It is NaN if p is outside [0, 1]. Package gonum/stat interpolates differently; its 0.5-quantile
// is not the median.
func Quantile(x []float64, p float64) float64 {
	if len(x) == 0 || hasNaN(x) {
		return math.NaN()
	}
	return quantile(slices.Sorted(slices.Values(x)), p)
}

// quantile is Quantile of sorted values, at least one and none of them NaN.
func quantile(sorted []float64, p float64) float64 {
	if !(p >= 0 && p <= 1) { // also rejects NaN
		return math.NaN()
	}
	h := p * float64(len(sorted)-1)
	i := int(h)
	f := h - float64(i)
	switch {
	case f == 0:
		return sorted[i]
	case sorted[i] == sorted[i+1]: // also two infinities, whose difference is NaN
		return sorted[i]
	case math.IsInf(sorted[i], 0) || math.IsInf(sorted[i+1], 0):
		return (1-f)*sorted[i] + f*sorted[i+1]
	}
	return sorted[i] + f*(sorted[i+1]-sorted[i])
}

// Interpolate returns the value at x of the curve through the points (xs, ys), linearly between two
// of them. The xs increase and x lies within them.
func Interpolate(xs, ys []float64, x float64) float64 {
	i, exact := slices.BinarySearch(xs, x)
	if exact {
		return ys[i]
	}
	t := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return (1-t)*ys[i-1] + t*ys[i]
}

// Median is the 0.5-quantile: the middle value, or the mean of the two in the middle.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quartiles returns the 0.25- and 0.75-quantiles.
func Quartiles(x []float64) (q1, q3 float64) {
	if len(x) == 0 || hasNaN(x) {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	return quantile(sorted, 0.25), quantile(sorted, 0.75)
}

// IQM is the interquartile mean: the mean of the values left after dropping ⌊n/4⌋ on each side, as
// scipy.stats.trim_mean(x, 0.25). For five seeds it is the mean of the middle three.
func IQM(x []float64) float64 {
	if len(x) == 0 || hasNaN(x) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	drop := len(x) / 4
	return stat.Mean(sorted[drop:len(x)-drop], nil)
}

func hasNaN(x []float64) bool { return slices.ContainsFunc(x, math.IsNaN) }
