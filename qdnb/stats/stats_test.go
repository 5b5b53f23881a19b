package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/stats"
)

var nan, inf = math.NaN(), math.Inf(1)

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(1, math.Abs(a))
}

// Values from numpy.percentile, numpy.mean, numpy.std and scipy.stats.trim_mean.
func TestDescriptions(t *testing.T) {
	for _, c := range []struct {
		x                              []float64
		median, q1, q3, mean, std, iqm float64
	}{
		{[]float64{3, 1, 10, 2, 4}, 3, 2, 4, 4, math.Sqrt(10), 3},
		{[]float64{3, 1, 10, 2}, 2.5, 1.75, 4.75, 4, math.Sqrt(12.5), 2.5},
		{[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256}, 16, 4, 64, 511. / 9, math.Sqrt(9709 - 511.*511/81), 24.8},
		{[]float64{7}, 7, 7, 7, 7, 0, 7},
		{[]float64{1, 2}, 1.5, 1.25, 1.75, 1.5, 0.5, 1.5},
		{nil, nan, nan, nan, nan, nan, nan},
		{[]float64{1, nan, 3}, nan, nan, nan, nan, nan, nan},
		{[]float64{-inf, 1, 2, 3, 4}, 2, 1, 3, -inf, nan, 2},
		{[]float64{-inf, -inf, 2}, -inf, -inf, -inf, -inf, nan, -inf},
	} {
		before := fmt.Sprint(c.x)
		q1, q3 := stats.Quartiles(c.x)
		got := []float64{stats.Median(c.x), q1, q3, stats.Mean(c.x), stats.Std(c.x), stats.IQM(c.x)}
		want := []float64{c.median, c.q1, c.q3, c.mean, c.std, c.iqm}
		if !slices.EqualFunc(got, want, near) {
			t.Errorf("of %v: median, quartiles, mean, std and IQM are %v, want %v", c.x, got, want)
		}
		errtest.Equal(t, "the sample afterwards", fmt.Sprint(c.x), before)
	}
	for _, p := range []float64{-0.1, 1.1, nan} {
		errtest.Equal(t, fmt.Sprintf("the %v-quantile", p), fmt.Sprint(stats.Quantile([]float64{1, 2}, p)), "NaN")
	}
}

// P is the share of the assignments of all values to two samples whose U is at least as extreme: exactly
// without ties, else about.
func TestMannWhitneyIsWhatPermutationsSay(t *testing.T) {
	for _, c := range []struct {
		x, y   []float64
		within float64
	}{
		{[]float64{1}, []float64{2}, 1e-12},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 1e-12},
		{[]float64{5, 7, 9}, []float64{4, 8, 6, 2, 1}, 1e-12},
		{[]float64{1, 5, 3, 9}, []float64{4, 2, 6, 8, 7, 0}, 1e-12},
		{[]float64{1, 4}, []float64{2, 3}, 1e-12},
		{[]float64{3, 3}, []float64{3, 3, 3}, 0}, // equal values carry no information
		{[]float64{1, 2, 2, 4, 5, 6, 6}, []float64{2, 3, 4, 7, 7, 8, 9, 9}, 0.015},
	} {
		all, middle := slices.Concat(c.x, c.y), float64(len(c.x)*len(c.y))/2
		extreme, total := 0, 0
		for set := range 1 << len(all) {
			var a, b []float64
			for i, v := range all {
				if set>>i&1 == 1 {
					a = append(a, v)
				} else {
					b = append(b, v)
				}
			}
			if len(a) != len(c.x) {
				continue
			}
			total++
			if math.Abs(pairs(a, b)-middle) >= math.Abs(pairs(c.x, c.y)-middle) {
				extreme++
			}
		}
		got, swapped, want := stats.MannWhitney(c.x, c.y), stats.MannWhitney(c.y, c.x), float64(extreme)/float64(total)
		if math.Abs(got-want) > c.within || math.Abs(got-swapped) > 1e-12 {
			t.Errorf("P of %v and %v is %v, in the other order %v, permutations say %v", c.x, c.y, got, swapped, want)
		}
	}
}

func pairs(x, y []float64) float64 {
	u := 0.0
	for _, a := range x {
		for _, b := range y {
			switch {
			case a > b:
				u++
			case a == b:
				u += 0.5
			}
		}
	}
	return u
}

func TestEffectSizes(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		a12  float64
	}{
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 1},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0},
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, 0.5},
		{[]float64{1, 3}, []float64{2, 3}, 1.5 / 4},
		{[]float64{-inf, 3}, []float64{-inf}, 0.75},
		{nil, []float64{1}, nan},
		{[]float64{nan}, []float64{1}, nan},
	} {
		if got := stats.A12(c.x, c.y); !near(got, c.a12) {
			t.Errorf("A12 of %v and %v is %v, want %v", c.x, c.y, got, c.a12)
		}
		errtest.Equal(t, fmt.Sprintf("P of %v and %v is not defined", c.x, c.y), math.IsNaN(stats.MannWhitney(c.x, c.y)),
			math.IsNaN(c.a12))
	}
}

// A sample of three has 27 equally likely resamples, whose statistics can be listed.
func TestBootstrapIsWhatAllResamplesSay(t *testing.T) {
	x := []float64{1, 4, 9}
	var medians []float64
	for _, a := range x {
		for _, b := range x {
			for _, c := range x {
				medians = append(medians, stats.Median([]float64{a, b, c}))
			}
		}
	}
	median := stats.Pooled(stats.Median)
	for _, level := range []float64{0.4, 0.9} {
		got := stats.Bootstrap(stats.Source(7), [][]float64{x}, median, 20000, level)
		want := stats.Interval{Low: stats.Quantile(medians, (1-level)/2), High: stats.Quantile(medians, (1+level)/2)}
		errtest.Equal(t, fmt.Sprintf("the %v interval", level), got, want)
	}
}

// Each stratum is drawn from its own values: the sums of one value per stratum take all combinations and no others.
func TestBootstrapIsStratified(t *testing.T) {
	strata := [][]float64{{100, 100}, {1, 2}}
	seen := map[string]bool{}
	stats.Bootstrap(stats.Source(1), strata, func(drawn [][]float64) float64 {
		seen[fmt.Sprint(drawn)] = true
		return 0
	}, 200, 0.95)
	want := map[string]bool{"[[100 100] [1 1]]": true, "[[100 100] [1 2]]": true,
		"[[100 100] [2 1]]": true, "[[100 100] [2 2]]": true}
	errtest.Equal(t, "resamples", fmt.Sprint(seen), fmt.Sprint(want))
}

func TestBootstrapDependsOnItsSourceAlone(t *testing.T) {
	x := [][]float64{{1, 5, 2, 8, 13}}
	mean := stats.Pooled(stats.Mean)
	a, b := stats.Bootstrap(stats.Source(5), x, mean, 50, 0.9),
		stats.Bootstrap(stats.Source(5), x, mean, 50, 0.9)
	if c := stats.Bootstrap(stats.Source(6), x, mean, 50, 0.9); a != b || a == c {
		t.Errorf("equal sources give %v and %v, another one %v", a, b, c)
	}
	// With many resamples the width matches theory: 2 · 1.645 standard errors, ddof 0.
	got := stats.Bootstrap(stats.Source(5), x, mean, 20000, 0.9)
	if want := 2 * 1.645 * stats.Std(x[0]) / math.Sqrt(5); math.Abs(got.High-got.Low-want) > 0.05*want {
		t.Errorf("the interval %v has width %v, want %v", got, got.High-got.Low, want)
	}
	for _, c := range []stats.Interval{
		stats.Bootstrap(stats.Source(1), nil, mean, 10, 0.9),
		stats.Bootstrap(stats.Source(1), [][]float64{{1}, nil}, mean, 10, 0.9),
		stats.Bootstrap(stats.Source(1), [][]float64{{1, nan}}, mean, 10, 0.9),
		stats.Bootstrap(stats.Source(1), x, mean, 0, 0.9),
		stats.Bootstrap(stats.Source(1), x, mean, 10, 1),
		stats.Bootstrap(stats.Source(1), x, mean, 10, nan),
		stats.Bootstrap(stats.Source(1), x, func([][]float64) float64 { return nan }, 10, 0.9),
	} {
		errtest.Equal(t, "an interval that is not defined", fmt.Sprint(c.Low, c.High), fmt.Sprint(math.NaN(), math.NaN()))
	}
}

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 200, 3000, 4e9}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		// example from SciPy's spearmanr
		{[]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, 0.8207826816681233},
		{[]float64{3, 1, 3, 3, 2}, []float64{5, 1, 9, 1, 2}, 0.5161854012087639}, // ties
		{[]float64{1, 1, 2}, []float64{1, 1, 1}, nan},
		{[]float64{1, 2}, []float64{1, 2}, nan},
		{[]float64{1, 2, nan}, []float64{1, 2, 3}, nan},
		{nil, nil, nan},
	} {
		if got := stats.Spearman(c.x, c.y); !near(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// Profiles, optimality gap and probability of improvement are those of the package rliable
// (tools/golden_rliable.py), whose intervals are of other random numbers.
func TestRliable(t *testing.T) {
	var want struct {
		X, Y          [][]float64
		Taus, Profile []float64
		ProfileLow    []float64 `json:"profile_low"`
		ProfileHigh   []float64 `json:"profile_high"`

		Gap, Improvement    float64
		GapInterval         []float64 `json:"gap_interval"`
		ImprovementInterval []float64 `json:"improvement_interval"`
	}
	must.Do(json.Unmarshal(must.Get(os.ReadFile("testdata/rliable.json")), &want))
	check := func(what string, got, value float64, interval stats.Interval, low, high float64) {
		t.Helper()
		if math.Abs(got-value) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, value)
		}
		if math.Abs(interval.Low-low) > 0.012 || math.Abs(interval.High-high) > 0.012 {
			t.Errorf("the interval of %s is %v, want %v to %v", what, interval, low, high)
		}
	}
	const resamples = 20000
	for i, tau := range want.Taus {
		profile := stats.Profile(tau)
		check("a profile", profile(want.X), want.Profile[i], stats.Bootstrap(stats.Source(1), want.X, profile, resamples, 0.95),
			want.ProfileLow[i], want.ProfileHigh[i])
	}
	gap := stats.Pooled(stats.OptimalityGap(0.9))
	check("the gap", gap(want.X), want.Gap, stats.Bootstrap(stats.Source(1), want.X, gap, resamples, 0.95),
		want.GapInterval[0], want.GapInterval[1])
	check("the probability", stats.Improvement(want.X, want.Y), want.Improvement,
		stats.ImprovementInterval(stats.Source(1), want.X, want.Y, resamples, 0.95), want.ImprovementInterval[0],
		want.ImprovementInterval[1])
}

// A method does not improve on itself, the strata of a profile weigh the same, and what is unknown is NaN.
func TestRliableAtTheLimits(t *testing.T) {
	x, y := [][]float64{{1, 2, 3}, {5, 5}}, [][]float64{{2, 2, 9}, {4, 5}}
	errtest.Equal(t, "over itself", stats.Improvement(x, x), 0.5)
	// All of the first task and of the second; one in three of the first and all of the second.
	if a, b := stats.Profile(0)(x), stats.Profile(2)(x); a != 1 || !near(b, (1.0/3+1)/2) {
		t.Errorf("%v, %v", a, b)
	}
	for _, got := range []float64{stats.Improvement(nil, nil), stats.Improvement(x, y[:1]), stats.Profile(0)(nil),
		stats.Improvement([][]float64{{}}, [][]float64{{1}}), stats.Profile(0)([][]float64{{1}, {}}),
		stats.Profile(0)([][]float64{{nan}}), stats.OptimalityGap(1)(nil), stats.OptimalityGap(1)([]float64{nan})} {
		if !math.IsNaN(got) {
			t.Errorf("unknown, but %v", got)
		}
	}
}
