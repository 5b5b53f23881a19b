package verify

import (
	"math"
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	nan := float32(math.NaN())
	for name, test := range map[string]struct {
		c                column
		counts           []bool
		got, want, err64 []float32
		outside          []bool
		tolerance        string
		share            float64 // the worst
	}{
		"not equal": {column{}, every(2), []float32{1, 2}, []float32{1, 2.5}, nil, []bool{false, true},
			"equal", math.Inf(1)},
		"NaN of this build": {column{tolerance: tolerance{base: 1}}, every(2), []float32{1, nan},
			[]float32{1, 1}, nil, []bool{false, true}, "1e+00", math.Inf(1)},
		"not counted": {column{}, []bool{true, false}, []float32{1, nan}, []float32{1, 1}, nil,
			[]bool{false, false}, "equal", 0},
		"ignored": {column{ignore: 1}, every(2), []float32{1, 2, 3, 4}, []float32{1, 0, 3, 0}, nil,
			[]bool{false, false}, "equal", 0},
		"err64 of each part": {column{tolerance: tolerance{base: 1, err64: "err64_obs"}}, every(2),
			[]float32{4, 4}, []float32{0, 0}, []float32{0.75, 0.25}, []bool{false, true},
			"1e+00 + 10 err64", 4 / 3.5},
		"share of the value": {column{tolerance: tolerance{base: 1, value: 0.25}}, every(2),
			[]float32{-10, 2}, []float32{-8, 1}, nil, []bool{false, false}, "1e+00 + 2e-1 |x|", 0.8},
	} {
		r, outside := compare(test.c, test.counts, test.got, test.want, test.err64)
		if r.WorstShare != test.share || r.Tolerance != test.tolerance || !slices.Equal(outside, test.outside) {
			t.Errorf("%s: %+v, outside %v", name, r, outside)
		}
	}
}
