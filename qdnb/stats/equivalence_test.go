package stats

import (
	"math"
	"testing"

	"example.com/qdnb/internal/errtest"
)

func normals(seed uint64, n int, mean float64) []float64 {
	random := Source(seed)
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
		if got := Equivalent(x, y, c.margin); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("margin %v: %.12f, want %.12f", c.margin, got, c.want)
		}
		if a, b := Equivalent(x, y, c.margin), Equivalent(y, x, c.margin); a != b {
			t.Errorf("%v and %v", a, b)
		}
	}
	if got := PooledStd(x, y); math.Abs(got-1.591644851508443) > 1e-12 {
		t.Errorf("pooled %.15f", got)
	}
	same := []float64{1, 1}
	if Equivalent(same, same, 0.1) != 0 || Equivalent(same, []float64{2, 2}, 0.1) != 1 ||
		!math.IsNaN(Equivalent(same, same[:1], 1)) {
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
			if Equivalent(x, y, 1) < 0.05 {
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
	random := Source(3)
	below := 0
	const trials = 400
	for i := range uint64(trials) {
		if Permutation(random, normals(2*i, 10, 0), normals(2*i+1, 10, 0), 200) < 0.25 {
			below++
		}
	}
	if share := float64(below) / trials; math.Abs(share-0.25) > 0.08 {
		t.Errorf("%.3f of all p-values are below 0.25", share)
	}
	if p := Permutation(random, normals(1, 10, 0), normals(2, 10, 2), 2000); p > 0.01 {
		t.Errorf("a shift has p = %v", p)
	}
	errtest.Equal(t, "p of equal values", Permutation(random, []float64{1, 1}, []float64{1, 1}, 50), 1)
}
