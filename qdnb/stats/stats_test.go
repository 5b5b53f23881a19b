package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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
		{[]float64{7}, 7, 7, 7, 7, 0, 7},
		{[]float64{1, 2}, 1.5, 1.25, 1.75, 1.5, 0.5, 1.5},
		{nil, nan, nan, nan, nan, nan, nan},
		{[]float64{1, nan, 3}, nan, nan, nan, nan, nan, nan},
		{[]float64{-inf, 1, 2, 3, 4}, 2, 1, 3, -inf, nan, 2},
		{[]float64{-inf, -inf, 2}, -inf, -inf, -inf, -inf, nan, -inf},
	} {
		q1, q3 := stats.Quartiles(c.x)
		got := []float64{stats.Median(c.x), q1, q3, stats.Mean(c.x), stats.Std(c.x), stats.IQM(c.x)}
		want := []float64{c.median, c.q1, c.q3, c.mean, c.std, c.iqm}
		if !slices.EqualFunc(got, want, near) {
			t.Errorf("of %v: median, quartiles, mean, std and IQM are %v, want %v", c.x, got, want)
		}
	}
	for _, p := range []float64{-0.1, 1.1, nan} {
		if q := stats.Quantile([]float64{1, 2}, p); !math.IsNaN(q) {
			t.Errorf("the %v-quantile is %v, want NaN", p, q)
		}
	}
}

// Statistics shift and scale with a sample and do not depend on its order; quantiles are monotonic.
func TestLawsOfDescriptions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	location := map[string]func([]float64) float64{
		"mean": stats.Mean, "median": stats.Median, "IQM": stats.IQM,
		"q1": func(x []float64) float64 { q, _ := stats.Quartiles(x); return q },
		"q3": func(x []float64) float64 { _, q := stats.Quartiles(x); return q },
	}
	for n := 1; n <= 12; n++ {
		x, moved := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64()
			moved[i] = 3*x[i] + 5
		}
		before := slices.Clone(x)
		for name, f := range location {
			if got, want := f(moved), 3*f(x)+5; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s of 3 x + 5 is %v, want %v", name, got, want)
			}
			shuffled := slices.Clone(x)
			random.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if math.Abs(f(shuffled)-f(x)) > 1e-12 {
				t.Errorf("%s depends on the order", name)
			}
		}
		if got := stats.Std(moved); math.Abs(got-3*stats.Std(x)) > 1e-9 {
			t.Errorf("std of 3 x + 5 is %v, want %v", got, 3*stats.Std(x))
		}
		last := math.Inf(-1)
		for p := 0.0; p <= 1; p += 1.0 / 64 {
			q := stats.Quantile(x, p)
			if q < last {
				t.Errorf("the %v-quantile %v is below an earlier one, %v", p, q, last)
			}
			last = q
		}
		if stats.Quantile(x, 0) != slices.Min(x) || stats.Quantile(x, 1) != slices.Max(x) {
			t.Error("the outer quantiles are not minimum and maximum")
		}
		if !slices.Equal(x, before) {
			t.Error("the sample was changed")
		}
	}
}

// enumerate counts U over all choices of which n of n+m distinct values belong to x.
func enumerate(n, m int) (counts map[int]int, total int) {
	counts = map[int]int{}
	for set := range 1 << (n + m) {
		u, members, others := 0, 0, 0
		for i := range n + m {
			if set>>i&1 == 1 {
				members++
				u += others
			} else {
				others++
			}
		}
		if members == n {
			counts[u]++
			total++
		}
	}
	return counts, total
}

// sampleWith makes samples of n and m distinct values with the given U.
func sampleWith(n, m, u int) (x, y []float64) {
	for j := range m {
		y = append(y, float64(j)+0.5)
	}
	for i := range n { // each wins up to m pairs
		won := min(m, u)
		u -= won
		x = append(x, float64(won)+float64(i+1)/float64(10*n)) // between y values, and distinct
	}
	return x, y
}

func TestMannWhitneyIsWhatPermutationsSay(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for m := 1; m <= 6; m++ {
			counts, total := enumerate(n, m)
			for u := 0; u <= n*m; u++ {
				above, below := 0, 0
				for v, count := range counts {
					if v >= u {
						above += count
					}
					if v <= u {
						below += count
					}
				}
				x, y := sampleWith(n, m, u)
				want := min(1, 2*float64(min(above, below))/float64(total))
				if got := stats.MannWhitney(x, y); math.Abs(got-want) > 1e-12 {
					t.Fatalf("P of %v and %v is %v, want %v", x, y, got, want)
				}
			}
		}
	}
}

// With ties the approximation is close to the permutation distribution.
func TestMannWhitneyWithTies(t *testing.T) {
	x, y := []float64{1, 2, 2, 4, 5, 6, 6}, []float64{2, 3, 4, 7, 7, 8, 9, 9}
	got := stats.MannWhitney(x, y)
	// The oracle: all assignments of the values, with U from its definition.
	all := slices.Concat(x, y)
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
		if len(a) != len(x) {
			continue
		}
		total++
		if math.Abs(pairs(a, b)-28) >= 28-pairs(x, y) {
			extreme++
		}
	}
	if want := float64(extreme) / float64(total); math.Abs(got-want) > 0.015 {
		t.Errorf("P is %v, permutations say %v", got, want)
	}
	// Equal values on both sides carry no information.
	if same := stats.MannWhitney([]float64{3, 3}, []float64{3, 3, 3}); same != 1 {
		t.Errorf("P of equal values is %v", same)
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

// Beyond the exact range the approximation continues the exact values, and the two sides are
// symmetric.
func TestMannWhitneyOfLargerSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, shift float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64() + shift
		}
		return x
	}
	x, y := draw(50, 0.3), draw(50, 0)
	exact := stats.MannWhitney(x, y)
	tied := slices.Clone(y)
	tied[0] = tied[1] // one tie forces the approximation for nearly the same sample
	approximate := stats.MannWhitney(x, tied)
	if exact == approximate || math.Abs(exact-approximate) > 0.02 {
		t.Errorf("exact %v, approximate %v", exact, approximate)
	}
	for _, pair := range [][2][]float64{{x, y}, {x, tied}, {draw(3, 0), draw(9, 0)}} {
		a, b := stats.MannWhitney(pair[0], pair[1]), stats.MannWhitney(pair[1], pair[0])
		if math.Abs(a-b) > 1e-12 {
			t.Errorf("P is %v, and %v of the samples in the other order", a, b)
		}
		transformed := func(x []float64) (y []float64) {
			for _, v := range x {
				y = append(y, math.Exp(v))
			}
			return y
		}
		if c := stats.MannWhitney(transformed(pair[0]), transformed(pair[1])); c != a {
			t.Errorf("a rising transformation changes %v to %v", a, c)
		}
	}
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
		if p := stats.MannWhitney(c.x, c.y); math.IsNaN(p) != math.IsNaN(c.a12) {
			t.Errorf("P of %v and %v is %v", c.x, c.y, p)
		}
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
		want := stats.Interval{Low: stats.Quantile(medians, (1-level)/2),
			High: stats.Quantile(medians, (1+level)/2)}
		if got != want {
			t.Errorf("the %v interval is %v, want %v", level, got, want)
		}
	}
}

// Each stratum is drawn from its own values: the sums of one value per stratum take all
// combinations and no others.
func TestBootstrapIsStratified(t *testing.T) {
	strata := [][]float64{{100, 100}, {1, 2}}
	seen := map[string]bool{}
	stats.Bootstrap(stats.Source(1), strata, func(drawn [][]float64) float64 {
		seen[fmt.Sprint(drawn)] = true
		return 0
	}, 200, 0.95)
	want := map[string]bool{"[[100 100] [1 1]]": true, "[[100 100] [1 2]]": true,
		"[[100 100] [2 1]]": true, "[[100 100] [2 2]]": true}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("resamples are %v, want %v", seen, want)
	}
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
		if !math.IsNaN(c.Low) || !math.IsNaN(c.High) {
			t.Errorf("an interval that is not defined is %v", c)
		}
	}
}

func TestSummarize(t *testing.T) {
	s := stats.Summarize([]float64{3, 1, 10, 2, 4})
	if s.N != 5 || s.Median != 3 || s.Q1 != 2 || s.Q3 != 4 || s.Mean != 4 || s.IQM != 3 ||
		s.MedianCI != (stats.Interval{Low: 1, High: 10}) {
		t.Errorf("the summary is %+v", s)
	}
	if other := stats.Summarize([]float64{10, 1, 2, 3, 4}); other != s {
		t.Errorf("in another order it is %+v, not %+v", other, s)
	}
	if none := stats.Summarize(nil); none.N != 0 || !math.IsNaN(none.Median) || !math.IsNaN(
		none.IQMCI.High) {
		t.Errorf("the summary of an empty sample is %+v", none)
	}
}
