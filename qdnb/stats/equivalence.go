package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// PooledStd returns the pooled standard deviation of two samples: the root of their mean variance, weighted by
// their degrees of freedom.
func PooledStd(x, y []float64) float64 {
	n, m := float64(len(x)), float64(len(y))
	return math.Sqrt(((n-1)*variance(x) + (m-1)*variance(y)) / (n + m - 2))
}

// variance is the unbiased estimate.
func variance(x []float64) float64 {
	n := float64(len(x))
	return Std(x) * Std(x) * n / (n - 1)
}

// Equivalent returns the p-value of two one-sided tests (TOST, Schuirmann 1987) by Welch's t that the means of x
// and y differ by less than a margin: below 0.05, they are equivalent at 5 %. It is NaN for samples of fewer than
// two values.
func Equivalent(x, y []float64, margin float64) float64 {
	if len(x) < 2 || len(y) < 2 {
		return math.NaN()
	}
	if variance(x)+variance(y) == 0 {
		if math.Abs(Mean(x)-Mean(y)) < margin {
			return 0
		}
		return 1
	}
	p := 0.0
	for shift, alternative := range map[float64]stats.LocationHypothesis{
		margin: stats.LocationLess, -margin: stats.LocationGreater} {
		shifted := slices.Clone(y)
		for i := range shifted {
			shifted[i] += shift
		}
		if test, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: x}, stats.Sample{Xs: shifted}, alternative); err == nil {
			p = max(p, test.P)
		}
	}
	return p
}

// Permutation returns the p-value that x and y come from one distribution, by the difference of their means: the
// share of random divisions of all values whose difference is at least as large, of which the actual one is one.
// draws is the number of divisions.
func Permutation(random *rand.Rand, x, y []float64, draws int) float64 {
	all := slices.Concat(x, y)
	difference := func() float64 { return math.Abs(Mean(all[:len(x)]) - Mean(all[len(x):])) }
	actual := difference() * (1 - 1e-12) // sums in another order round differently
	extreme := 1
	for range draws {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if difference() >= actual {
			extreme++
		}
	}
	return float64(extreme) / float64(draws+1)
}
