package verify

import (
	"math"
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	nan, inf := float32(math.NaN()), math.Inf(1)
	for name, test := range map[string]struct {
		c                column
		counts           []bool // nil: both parts
		got, want, err64 []float32
		outside          []bool
		result           Result
	}{
		"equal": {
			got: []float32{1, 2}, want: []float32{1, 2}, outside: []bool{false, false},
			result: Result{Tolerance: "equal"},
		},
		"not equal": {
			got: []float32{1, 2}, want: []float32{1, 2.5}, outside: []bool{false, true},
			result: Result{Tolerance: "equal", WorstAbs: 0.5, WorstRel: 0.2, WorstShare: inf},
		},
		"within": {
			c: column{tolerance: tolerance{base: 1}}, got: []float32{3, 0.5}, want: []float32{4, 0},
			outside: []bool{false, false},
			result:  Result{Tolerance: "1e+00", WorstAbs: 1, WorstRel: 0.25, WorstShare: 1},
		},
		"NaN of this build": {
			c: column{tolerance: tolerance{base: 1}}, got: []float32{1, nan}, want: []float32{1, 1},
			outside: []bool{false, true},
			result:  Result{Tolerance: "1e+00", WorstAbs: inf, WorstRel: inf, WorstShare: inf},
		},
		"not counted": {
			counts: []bool{true, false}, got: []float32{1, nan}, want: []float32{1, 1},
			outside: []bool{false, false},
			result:  Result{Tolerance: "equal"},
		},
		"ignored": {
			c: column{ignore: 1}, got: []float32{1, 2, 3, 4}, want: []float32{1, 0, 3, 0},
			outside: []bool{false, false},
			result:  Result{Tolerance: "equal"},
		},
		"err64 of each part": {
			c:   column{tolerance: tolerance{base: 1, err64: "err64_obs"}},
			got: []float32{4, 4}, want: []float32{0, 0}, err64: []float32{0.7, 0.25},
			outside: []bool{false, true},
			result:  Result{Tolerance: "1e+00 + 10 err64", WorstAbs: 4, WorstShare: 4 / 3.5},
		},
		"share of the value": {
			c:   column{tolerance: tolerance{base: 1, value: 0.25}},
			got: []float32{-10, 2}, want: []float32{-8, 1}, outside: []bool{false, false},
			result: Result{Tolerance: "1e+00 + 2e-1 |x|", WorstAbs: 2, WorstRel: 1, WorstShare: 0.8},
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := test.counts
			if counts == nil {
				counts = every(2)
			}
			r, outside := compare(test.c, counts, test.got, test.want, test.err64)
			near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-6 }
			same := near(r.WorstAbs, test.result.WorstAbs) && near(r.WorstRel,
				test.result.WorstRel) && near(r.WorstShare, test.result.WorstShare)
			if !same || r.Tolerance != test.result.Tolerance || !slices.Equal(outside, test.outside) {
				t.Errorf("%+v, outside %v", r, outside)
			}
		})
	}
}
