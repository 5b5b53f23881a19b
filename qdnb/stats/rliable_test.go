package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/stats"
)

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

// A method does not improve on itself, improvements of two methods on each other sum to 1, a profile
// falls from 1 to 0, and what is unknown is NaN.
func TestLawsOfRliable(t *testing.T) {
	x, y := [][]float64{{1, 2, 3}, {5, 5}}, [][]float64{{2, 2, 9}, {4, 5}}
	if got := stats.Improvement(x, x); got != 0.5 {
		t.Errorf("over itself: %v", got)
	}
	if a, b := stats.Improvement(x, y), stats.Improvement(y, x); !near(a+b, 1) || a == 0.5 {
		t.Errorf("%v and %v", a, b)
	}
	before := 1.0
	for tau := range 7 {
		share := stats.Profile(float64(tau))(x)
		if share > before {
			t.Errorf("above %d are %v, above %d are %v", tau, share, tau-1, before)
		}
		before = share
	}
	// All of the first task and of the second; one in three of the first and all of the second.
	if a, b := stats.Profile(0)(x), stats.Profile(2)(x); a != 1 || !near(b, (1.0/3+1)/2) || before != 0 {
		t.Errorf("%v, %v, %v", a, b, before)
	}
	if gap := stats.OptimalityGap(4)([]float64{1, 3, 100}); !near(gap, 4.0/3) {
		t.Errorf("the gap is %v", gap)
	}
	for _, got := range []float64{stats.Improvement(nil, nil), stats.Improvement(x, y[:1]), stats.Profile(0)(nil),
		stats.Improvement([][]float64{{}}, [][]float64{{1}}), stats.Profile(0)([][]float64{{1}, {}}),
		stats.Profile(0)([][]float64{{nan}}), stats.OptimalityGap(1)(nil), stats.OptimalityGap(1)([]float64{nan})} {
		if !math.IsNaN(got) {
			t.Errorf("unknown, but %v", got)
		}
	}
}
