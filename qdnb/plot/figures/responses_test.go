package figures

import (
	"math"
	"testing"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/must"
)

func sampleResponses() Responses {
	nan := math.NaN()
	line := func(name string, start, slope float64) Series {
		s := Series{Name: name}
		for _, x := range []float64{0.25, 0.5, 1, 2, 5} {
			y := start + slope*math.Log(x)
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			s.Low, s.High = append(s.Low, y-10), append(s.High, y+25)
		}
		return s
	}
	row := []Panel{
		{Title: "ant-uni", XLabel: "gravity ×", YLabel: "Best fitness", LogX: true,
			Series: []Series{line("map-elites", 300, -20), line("dads-reward", 100, 60)}},
		{Title: "walker-uni", XLabel: "gravity ×", LogX: true, XLimits: [2]float64{0.25, 5}},
		{Title: "halfcheetah-uni", XLabel: "gravity ×", LogX: true,
			Series: []Series{line("a variant", 3000, 20)}},
	}
	return Responses{
		Rows: [][]Panel{row, row}, Nominal: 1,
		Beside: &IntervalPanel{Title: "ant-maze", XLabel: "Best fitness", Rows: []Interval{
			{Name: "map-elites", Value: -12000, Low: -13000, High: -11500,
				Points: []float64{-14000, -12000, -11000}},
			{Name: "dads-reward", Value: -9000, Low: nan, High: nan}, // one seed
			{Name: "smerl-dads", Value: nan, Low: nan, High: nan},
		}},
		Below: row[:1],
	}
}

// The golden images of adaptation figures, as in TestImages.
func TestResponseImages(t *testing.T) {
	all := must.Get(sampleResponses().Figure())
	intervals := must.Get(Intervals([]IntervalPanel{*sampleResponses().Beside}, 1))
	panel := *sampleResponses().Beside
	for i := range panel.Rows {
		panel.Rows[i].Marks = []float64{-10000 - 500*float64(i), math.NaN(), -13500}
	}
	marked := must.Get(MarkedIntervals([]IntervalPanel{panel, panel}, 2, "published", "small", "none",
		"large"))
	for name, figure := range map[string]*Figure{"responses": all, "intervals": intervals,
		"intervals-marked": marked} {
		compareImage(t, name, figure, 400)
	}
}

// Missing values and values that are not finite leave gaps; impossible input is an error.
func TestResponseEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, r := range map[string]Responses{
		"rows alone":     {Rows: [][]Panel{{{}}}},
		"mark elsewhere": {Rows: [][]Panel{{{XLimits: [2]float64{2, 3}}}}, Nominal: 1},
		"nothing known": {Rows: [][]Panel{{{Series: []Series{{Name: "x", X: []float64{1},
			Y: []float64{nan}}}}}},
			Beside: &IntervalPanel{Rows: []Interval{{Name: "y", Value: inf, Low: -inf, High: inf,
				Points: []float64{nan}}}}},
		"no rows beside": {Rows: [][]Panel{{{}}}, Beside: &IntervalPanel{}},
		"beyond limits": {Rows: [][]Panel{{{}}}, Beside: &IntervalPanel{XLimits: [2]float64{0, 1},
			Rows: []Interval{{Value: 2, Low: 3, High: 4, Points: []float64{-1}}}}},
	} {
		f, err := r.Figure()
		if err == nil {
			_, err = f.PNG(40)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil {
			if _, err := f.Size(4*vg.Inch, 8*vg.Inch).PNG(40); err != nil {
				t.Errorf("%s at another size: %v", name, err)
			}
		}
	}
	for name, r := range map[string]Responses{
		"no rows":      {},
		"an empty row": {Rows: [][]Panel{{}}},
		"uneven rows":  {Rows: [][]Panel{{{}, {}}, {{}}}},
		"a band missing": {Rows: [][]Panel{{{Series: []Series{{X: []float64{1}, Y: []float64{1},
			Low: []float64{}}}}}}},
		"limits": {Rows: [][]Panel{{{}}}, Beside: &IntervalPanel{XLimits: [2]float64{1, 0}}},
	} {
		if _, err := r.Figure(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Intervals(nil, 1); err == nil {
		t.Error("no panels: no error")
	}
	if _, err := Intervals([]IntervalPanel{{XLimits: [2]float64{1, nan}}}, 1); err == nil {
		t.Error("limits that are not numbers: no error")
	}
}

// A bar that extends beyond the axis is cut at its end rather than drawn over its neighbours.
func TestIntervalBarsEndAtTheAxis(t *testing.T) {
	bar := func(high float64) []byte {
		f := must.Get(Intervals([]IntervalPanel{{XLimits: [2]float64{0, 1},
			Rows: []Interval{{Name: "a", Value: 0.5, Low: 0.2, High: high}}}}, 1))
		image := must.Get(f.PNG(50))
		return image
	}
	if d := imageDifference(t, bar(1), bar(7)); d != 0 {
		t.Errorf("a bar to 7 differs from one to 1 by %g", d)
	}
	if d := imageDifference(t, bar(1), bar(0.6)); d == 0 {
		t.Error("a bar to 0.6 is like one to 1")
	}
}
