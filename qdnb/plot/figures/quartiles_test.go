package figures

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestQuartilesOfEqualAxes(t *testing.T) {
	x := []float64{0, 1000, 5000}
	var runs []Series
	for _, f := range []float64{3, 1, 10, 2, 4} {
		runs = append(runs, Series{X: x, Y: []float64{f, 10 * f, -f}})
	}
	s, err := Quartiles("map-elites", runs, x)
	must.Do(err)
	// numpy.percentile([3, 1, 10, 2, 4], [25, 50, 75]) = [2, 3, 4]
	if s.Name != "map-elites" || !slices.Equal(s.X, x) || !slices.Equal(s.Low, []float64{2, 20, -4}) ||
		!slices.Equal(s.Y, []float64{3, 30, -3}) || !slices.Equal(s.High, []float64{4, 40, -2}) {
		t.Errorf("got %+v", s)
	}
	// numpy.percentile([3, 1, 10, 2], [25, 50, 75]) = [1.75, 2.5, 4.75]
	s, err = Quartiles("x", runs[:4], x)
	if err != nil || s.Low[0] != 1.75 || s.Y[0] != 2.5 || s.High[0] != 4.75 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestQuartilesInterpolatesOverTheCommonRange(t *testing.T) {
	runs := []Series{
		{X: []float64{0, 10}, Y: []float64{0, 100}},
		{X: []float64{2, 4, 20}, Y: []float64{20, 40, 200}},
	}
	s := must.Get(Quartiles("x", runs, []float64{0, 2, 4, 6, 8, 10, 12}))
	if want := []float64{2, 4, 6, 8, 10}; !slices.Equal(s.X, want) {
		t.Fatalf("x = %v, want %v", s.X, want)
	}
	for i, x := range s.X {
		if math.Abs(s.Y[i]-10*x) > 1e-9 || math.Abs(s.Low[i]-10*x) > 1e-9 {
			t.Errorf("at %g: got %g, want %g", x, s.Y[i], 10*x)
		}
	}
}

func TestQuartilesLeaveGaps(t *testing.T) {
	s, err := Quartiles("x", []Series{
		{X: []float64{0, 1}, Y: []float64{math.Inf(-1), 5}},
		{X: []float64{0, 1}, Y: []float64{1, 7}},
	}, []float64{0, 1})
	if err != nil || !math.IsNaN(s.Y[0]) || s.Y[1] != 6 {
		t.Errorf("got %v, %v", s.Y, err)
	}
}

func TestQuartilesErrors(t *testing.T) {
	good := Series{X: []float64{0, 1}, Y: []float64{0, 1}}
	for want, runs := range map[string][]Series{
		"at least one":   nil,
		"2 x and 1 y":    {good, {X: []float64{0, 1}, Y: []float64{0}}},
		"must increase":  {good, {X: []float64{1, 1}, Y: []float64{0, 1}}},
		"in common":      {good, {X: []float64{2, 3}, Y: []float64{0, 1}}},
		"value 1 is NaN": {good, {X: []float64{0, math.NaN()}, Y: []float64{0, 1}}},
	} {
		errtest.Want(t, errtest.Of(Quartiles("x", runs, []float64{0, 1})), want)
	}
}
