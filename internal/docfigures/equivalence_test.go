package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/stats"
)

// pooledStd returns the pooled standard deviation of two samples: the root of their mean variance, weighted by
// their degrees of freedom.
func pooledStd(x, y []float64) float64 {
	n, m := float64(len(x)), float64(len(y))
	return math.Sqrt(((n-1)*variance(x) + (m-1)*variance(y)) / (n + m - 2))
}

// variance is the unbiased estimate.
func variance(x []float64) float64 {
	n := float64(len(x))
	return stats.Std(x) * stats.Std(x) * n / (n - 1)
}

// equivalent returns the p-value of two one-sided tests (TOST, Schuirmann 1987) by Welch's t that the means of x
// and y differ by less than a margin: below 0.05, they are equivalent at 5 %. It is NaN for samples of fewer than
// two values.
func equivalent(x, y []float64, margin float64) float64 {
	if len(x) < 2 || len(y) < 2 {
		return math.NaN()
	}
	if variance(x)+variance(y) == 0 {
		if math.Abs(stats.Mean(x)-stats.Mean(y)) < margin {
			return 0
		}
		return 1
	}
	p := 0.0
	for shift, alternative := range map[float64]moremath.LocationHypothesis{
		margin: moremath.LocationLess, -margin: moremath.LocationGreater} {
		shifted := slices.Clone(y)
		for i := range shifted {
			shifted[i] += shift
		}
		test, err := moremath.TwoSampleWelchTTest(moremath.Sample{Xs: x}, moremath.Sample{Xs: shifted}, alternative)
		if err == nil {
			p = max(p, test.P)
		}
	}
	return p
}

// permutation returns the p-value that x and y come from one distribution, by the difference of their means: the
// share of random divisions of all values whose difference is at least as large, of which the actual one is one.
// draws is the number of divisions.
func permutation(random *rand.Rand, x, y []float64, draws int) float64 {
	all := slices.Concat(x, y)
	difference := func() float64 { return math.Abs(stats.Mean(all[:len(x)]) - stats.Mean(all[len(x):])) }
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

func normals(seed uint64, n int, mean float64) []float64 {
	random := stats.Source(seed)
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + random.NormFloat64()
	}
	return x
}

// The p-value is that of scipy 1.11: the larger of two calls of ttest_ind(x, y ± margin, equal_var=False) with
// alternatives less and greater.
func TestEquivalentIsWhatSciPySays(t *testing.T) {
	x, y := []float64{1, 2, 3, 4, 5, 6}, []float64{2, 2.5, 3, 3.5, 5}
	for _, c := range []struct{ margin, want float64 }{{2, 0.050175360650}, {1, 0.234015470262}} {
		if got := equivalent(x, y, c.margin); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("margin %v: %.12f, want %.12f", c.margin, got, c.want)
		}
		if a, b := equivalent(x, y, c.margin), equivalent(y, x, c.margin); a != b {
			t.Errorf("%v and %v", a, b)
		}
	}
	if got := pooledStd(x, y); math.Abs(got-1.591644851508443) > 1e-12 {
		t.Errorf("pooled %.15f", got)
	}
	same := []float64{1, 1}
	if equivalent(same, same, 0.1) != 0 || equivalent(same, []float64{2, 2}, 0.1) != 1 ||
		!math.IsNaN(equivalent(same, same[:1], 1)) {
		t.Error("constant or single values")
	}
}

// With 20 seeds a side and a margin of one standard deviation, equal distributions are found equivalent in about
// 86 % of all trials, and those that differ by the margin in at most 5 %.
func TestPowerOfEquivalence(t *testing.T) {
	const trials = 2000
	share := func(shift float64) float64 {
		found := 0
		for i := range uint64(trials) {
			x, y := normals(2*i, 20, 0), normals(2*i+1, 20, shift)
			if equivalent(x, y, 1) < 0.05 {
				found++
			}
		}
		return float64(found) / trials
	}
	if power := share(0); math.Abs(power-0.86) > 0.05 {
		t.Errorf("power %.3f", power)
	}
	if size := share(1); size > 0.065 {
		t.Errorf("size %.3f", size)
	}
}

// P-values of one distribution are uniform, and those of a shift of two deviations small.
func TestPermutationIsUniform(t *testing.T) {
	random := stats.Source(3)
	below := 0
	const trials = 400
	for i := range uint64(trials) {
		if permutation(random, normals(2*i, 10, 0), normals(2*i+1, 10, 0), 200) < 0.25 {
			below++
		}
	}
	if share := float64(below) / trials; math.Abs(share-0.25) > 0.08 {
		t.Errorf("%.3f of all p-values are below 0.25", share)
	}
	if p := permutation(random, normals(1, 10, 0), normals(2, 10, 2), 2000); p > 0.01 {
		t.Errorf("a shift has p = %v", p)
	}
	errtest.Equal(t, "p of equal values", permutation(random, []float64{1, 1}, []float64{1, 1}, 50), 1)
}
