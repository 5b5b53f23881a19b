package figures

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// drawn fails the test unless the figure can be drawn. It reports whether the colour appears
// anywhere.
func drawn(t *testing.T, f *Figure, err error) (shows func(color.NRGBA) bool) {
	t.Helper()
	must.Do(err)
	data := must.Get(f.png(150))
	img := decode(t, data)
	return func(c color.NRGBA) bool {
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if color.NRGBAModel.Convert(img.At(x, y)) == c {
					return true
				}
			}
		}
		return false
	}
}

func TestRepertoireMapEdgeCases(t *testing.T) {
	empty := sampleCells()
	for i := range empty.Fitness {
		empty.Fitness[i] = []float64{math.NaN(), math.Inf(-1), math.Inf(1)}[i%3]
	}
	f, err := RepertoireMap(empty)
	shows := drawn(t, f, err)
	if !shows(emptyFill) || shows(Viridis(0)) || shows(Viridis(1)) {
		t.Error("a map without a filled cell shows colours")
	}

	one := empty
	one.Fitness = append([]float64{-123}, empty.Fitness[1:]...)
	f, err = RepertoireMap(one)
	if !drawn(t, f, err)(Viridis(0.5)) {
		t.Error("a single value is not in the middle of the colours")
	}

	clamped := sampleCells()
	clamped.Min, clamped.Max = -60, -50
	f, err = RepertoireMap(clamped)
	if shows := drawn(t, f, err); !shows(Viridis(0)) || !shows(Viridis(1)) {
		t.Error("values outside the range lack the colours of its ends")
	}

	thin := sampleCells()
	thin.Upper[0] = 1000
	f, err = RepertoireMap(thin)
	drawn(t, f, err)

	odd := sampleCells()
	odd.Centroids[1] = odd.Centroids[0]
	odd.Descriptors[0] = [2]float64{math.NaN(), 0}
	odd.Descriptors[2] = [2]float64{50, 50}
	f, err = RepertoireMap(odd)
	drawn(t, f, err)
}

func TestRepertoireMapErrors(t *testing.T) {
	for want, spoil := range map[string]func(*Cells){
		"needs centroids":        func(c *Cells) { c.Centroids = nil },
		"199 fitness values":     func(c *Cells) { c.Fitness = c.Fitness[1:] },
		"3 descriptors":          func(c *Cells) { c.Descriptors = c.Descriptors[:3] },
		"lower < upper":          func(c *Cells) { c.Upper = c.Lower },
		"colour range from 5":    func(c *Cells) { c.Min, c.Max = 5, -5 },
		"colour range from NaN":  func(c *Cells) { c.Min, c.Max = math.NaN(), 1 },
		"site 7 is not finite":   func(c *Cells) { c.Centroids[7][1] = math.Inf(1) },
		"colour range from 0 to": func(c *Cells) { c.Max = math.Inf(1) },
	} {
		c := sampleCells()
		spoil(&c)
		if _, err := RepertoireMap(c); err == nil || !strings.Contains(err.Error(),
			want) || !strings.HasPrefix(err.Error(), "figures: ") {
			t.Errorf("want an error with %q, got %v", want, err)
		}
		g := Grid{Maps: [][]Map{{nil, &c}}}
		errtest.Want(t, errtest.Of(MapGrid(g)), want)
	}
}

func TestPoints2D(t *testing.T) {
	points, err := Points2D([]float32{1, 2, 3, 4}, 2)
	if err != nil || len(points) != 2 || points[1] != [2]float64{3, 4} {
		t.Errorf("got %v, %v", points, err)
	}
	errtest.Want(t, errtest.Of(Points2D([]float64{1, 2, 3, 4}, 4)), "these have 4")
	if _, err := Points2D([]float64{1, 2, 3}, 2); err == nil {
		t.Error("half a point is accepted")
	}
}

func TestMapGridScopes(t *testing.T) {
	high, low := sampleCells(), sampleCells()
	for i := range low.Fitness {
		low.Fitness[i] -= 1000
	}
	maps := [][]Map{{&high}, {&low}, {nil}}
	shared := gridBars(maps, BarShared)
	if len(shared) != 1 || shared[0].high-shared[0].low < 1000 {
		t.Errorf("shared bar: %+v", shared[0])
	}
	rows := gridBars(maps, BarPerRow)
	if len(rows) != 3 || rows[0].low < rows[1].high || rows[2] != nil {
		t.Errorf("bars per row: %+v", rows)
	}
	fixed := sampleCells()
	fixed.Min, fixed.Max = -1000, 0
	other := sampleCells()
	other.Min, other.Max = -500, 200
	if b := newBar(&fixed, nil, &other); b.low != -1000 || b.high != 200 {
		t.Errorf("bar of two stated ranges: %+v", b)
	}
	for _, scope := range []BarScope{BarShared, BarPerRow, BarPerColumn} {
		f, err := MapGrid(Grid{Maps: maps, Bar: scope})
		drawn(t, f, err)
	}
	nothing := sampleCells()
	for i := range nothing.Fitness {
		nothing.Fitness[i] = math.NaN()
	}
	for _, scope := range []BarScope{BarShared, BarPerRow, BarPerColumn} {
		f, err := MapGrid(Grid{Maps: [][]Map{{&nothing}}, Bar: scope})
		drawn(t, f, err)
	}
	for want, g := range map[string]Grid{
		"at least one":    {},
		"2 row titles":    {Maps: [][]Map{{&high}}, RowTitles: []string{"a", "b"}},
		"2 column titles": {Maps: [][]Map{{&high}}, ColumnTitles: []string{"a", "b"}},
	} {
		errtest.Want(t, errtest.Of(MapGrid(g)), want)
	}
}

func TestCurvesEdgeCases(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	me := MethodStyles("map-elites")["map-elites"].Color
	for name, c := range map[string]struct {
		panel Panel
		line  bool // the colour of the series appears outside the legend
	}{
		"nothing":   {Panel{}, false},
		"no points": {Panel{Series: []Series{{}}}, false},
		"only gaps": {Panel{Series: []Series{{X: []float64{0, 1}, Y: []float64{nan, -inf}}}}, false},
		"one point": {Panel{Series: []Series{{X: []float64{3}, Y: []float64{5}}}}, true},
		"constant":  {Panel{Series: []Series{{X: []float64{0, 1}, Y: []float64{7, 7}}}}, true},
		"gap":       {Panel{Series: []Series{{X: []float64{0, 1, 2, 3}, Y: []float64{1, nan, 2, 3}}}}, true},
		"not positive, log": {Panel{LogX: true, LogY: true,
			Series: []Series{{X: []float64{0, 1, 2}, Y: []float64{1, -1, 0}}}}, false},
		"constant, log": {Panel{LogX: true, LogY: true,
			Series: []Series{{X: []float64{1, 10, 20}, Y: []float64{5, 5, 5}}}}, true},
		"clipped by limits": {Panel{YLimits: [2]float64{0, 1},
			Series: []Series{{X: []float64{0, 1}, Y: []float64{-5, 5}}}}, true},
		"outside of limits": {Panel{YLimits: [2]float64{0, 1}, XLimits: [2]float64{0, 1},
			Series: []Series{{X: []float64{5, 6}, Y: []float64{5, 5}}}}, false},
		"huge": {Panel{Series: []Series{{X: []float64{0, 1}, Y: []float64{-1e300, 1e300}}}}, true},
		"largest": {Panel{Series: []Series{{X: []float64{-math.MaxFloat64, math.MaxFloat64},
			Y: []float64{-math.MaxFloat64, math.MaxFloat64}}}}, true},
		"log, huge": {Panel{LogY: true, Series: []Series{{X: []float64{0, 1},
			Y: []float64{1e-200, 1e200}}}}, true},
		"log, small": {Panel{LogX: true, LogY: true, Series: []Series{{X: []float64{1e-300, 3},
			Y: []float64{1e-300, 3}}}}, true},
		"large, little range": {Panel{Series: []Series{{X: []float64{1e17, 1e17 + 64},
			Y: []float64{0, 1}}}}, true},
	} {
		for i := range c.panel.Series {
			c.panel.Series[i].Name = "" // without a legend entry
		}
		style := MethodStyles("")[""].Color
		f, err := Curves([]Panel{c.panel}, 3)
		if got := drawn(t, f, err)(style); got != c.line {
			t.Errorf("%s: line drawn: %v, want %v", name, got, c.line)
		}
		for i := range c.panel.Series {
			c.panel.Series[i].Name = "map-elites"
		}
		f, err = Curves([]Panel{c.panel, c.panel}, 2)
		if got, want := drawn(t, f, err)(me), len(c.panel.Series) > 0; got != want {
			t.Errorf("%s: method in the legend: %v, want %v", name, got, want)
		}
	}
}

// Ranges that overflow are the whole width of an axis.
func TestLargestRanges(t *testing.T) {
	const most = math.MaxFloat64
	for _, y := range [][2]float64{{-most, most}, {1e-200, 1e200}, {most / 2, most}} {
		low, high := axisRange([2]float64{}, y[0] > 0, 0.05, [][]float64{y[:]})
		if !(low <= y[0] && high >= y[1] && finite(low) && finite(high) && (low > 0 || y[0] < 0)) {
			t.Errorf("the axis of %g is %g to %g", y, low, high)
		}
	}
	scale := newPlot("", "", [2]float64{-most, 0}, [2]float64{most, 1}).X.Scale
	bar := colorBar{low: -most, high: most}
	for x, want := range map[float64]float64{-most: 0, 0: 0.5, most / 2: 0.75, most: 1} {
		if got := scale.Normalize(-most, most, x); got != want || bar.position(x) != want {
			t.Errorf("%g is at %g and %g, want %g", x, got, bar.position(x), want)
		}
	}
}

func TestCurvesErrors(t *testing.T) {
	x := []float64{0, 1}
	for want, p := range map[string]Panel{
		"2 x and 1 y":      {Series: []Series{{Name: "a", X: x, Y: x[:1]}}},
		"a band of 2 and":  {Series: []Series{{Name: "a", X: x, Y: x, Low: x}}},
		"YLimits":          {YLimits: [2]float64{2, 1}},
		"XLimits [0 10]":   {XLimits: [2]float64{0, 10}, LogX: true},
		"panel 0 (a name)": {Title: "a name", YLimits: [2]float64{0, math.Inf(1)}},
	} {
		errtest.Want(t, errtest.Of(Curves([]Panel{p}, 1)), want)
	}
	if _, err := Curves(nil, 1); err == nil {
		t.Error("no panels are accepted")
	}
	if _, err := Curves([]Panel{{}}, 0); err == nil {
		t.Error("no columns are accepted")
	}
}

func TestTrajectoriesEdgeCases(t *testing.T) {
	nan := math.NaN()
	a := sampleArena()
	a.Paths = append(a.Paths, Path{}, Path{Label: "gone", X: []float64{nan}, Y: []float64{0}},
		Path{Label: "outside", X: []float64{5, 6}, Y: []float64{5, 6}})
	a.Paths[0].X[50] = nan
	a.Walls = append(a.Walls, Rect{X0: -3, Y0: -3, X1: -2, Y1: -2},
		Rect{X0: 0.9, Y0: 0.9, X1: 0.4, Y1: 5})
	f, err := Trajectories(a)
	if !drawn(t, f, err)(wallColor) {
		t.Error("no wall drawn")
	}
	f, err = Trajectories(Arena{Lower: [2]float64{0, 0}, Upper: [2]float64{1, 1}})
	drawn(t, f, err)

	many := sampleArena()
	for i := range 60 {
		p := many.Paths[i%5]
		p.Label = strings.Repeat("x", i+1)
		many.Paths = append(many.Paths, p)
	}
	f, err = Trajectories(many)
	drawn(t, f, err)

	for want, spoil := range map[string]func(*Arena){
		"path 2 (skill 3)": func(a *Arena) { a.Paths[2].X = nil },
		"not finite":       func(a *Arena) { a.Goal.X0 = nan },
		"limits":           func(a *Arena) { a.Lower[1] = 1 },
	} {
		a := sampleArena()
		spoil(&a)
		errtest.Want(t, errtest.Of(Trajectories(a)), want)
	}
}

// Files of other programs may lack the limits of descriptors.
func TestCellsOfFilesWithoutLimits(t *testing.T) {
	r := &runs.Repertoire{Dims: 2, Fitnesses: []float32{1}, Descriptors: []float32{0, 0},
		Centroids: []float32{0, 0}}
	errtest.Want(t, errtest.Of(CellsOf(&runs.Run{Config: runs.Config{Env: "ant-uni"}},
		r)), "descriptor_min")
}
