package stats

import (
	"math"
	"slices"
	"testing"
)

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 200, 3000, 4e9}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		// example from SciPy's spearmanr
		{[]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, 0.8207826816681233},
		{[]float64{1, 1, 2}, []float64{1, 1, 1}, math.NaN()},
		{[]float64{1, 2}, []float64{1, 2}, math.NaN()},
		{[]float64{1, 2, math.NaN()}, []float64{1, 2, 3}, math.NaN()},
		{nil, nil, math.NaN()},
	} {
		if got := Spearman(c.x,
			c.y); !(math.Abs(got-c.want) < 1e-12 || math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v and %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if got := ranks([]float64{3, 1, 3, 3, 2}); !slices.Equal(got, []float64{4, 1, 4, 4, 2}) {
		t.Error(got)
	}
}
