package figures

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// sampleTable is a table of two environments by two metrics, one panel without runs.
func sampleTable() CurveGrid {
	g := CurveGrid{
		RowTitles:    []string{"pointmaze", "ant-uni", "ant-trap"},
		ColumnTitles: []string{"Max fitness", "Coverage (%)"},
		Panels:       make([][]Panel, 3),
	}
	for j, p := range samplePanels()[:2] {
		p.Title, p.XLabel, p.YLabel = "", "evaluations", ""
		g.Panels[0] = append(g.Panels[0], p)
		short := p
		short.Series = []Series{p.Series[1]}
		short.Series[0].X, short.Series[0].Y = short.Series[0].X[:40], short.Series[0].Y[:40]
		short.Series[0].Low, short.Series[0].High = short.Series[0].Low[:40], short.Series[0].High[:40]
		g.Panels[1] = append(g.Panels[1], short)
		if j == 0 {
			g.Panels[2] = append(g.Panels[2], Panel{XLabel: "evaluations"})
		}
	}
	return g
}

func TestCurveTable(t *testing.T) {
	f := must.Get(CurveTable(sampleTable()))
	compareImage(t, "curves-table", f, 400)
	if w, h := f.Bounds(); w != 7.5*vg.Inch || h > 7*vg.Inch {
		t.Errorf("size %.2f x %.2f in", w/vg.Inch, h/vg.Inch)
	}
	text := svgText(t, f, nil)
	for want, times := range map[string]int{
		">pointmaze<": 1, ">Coverage (%)<": 1, ">evaluations<": 2, ">no runs<": 1, ">100k<": 2,
		">MAP-Elites<": 1, ">PGA-MAP-Elites<": 1,
	} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%s appears %d times, want %d: a column has one axis", want, got, times)
		}
	}
}

// A column has the range of all its panels, or the limits that one of them sets.
func TestColumnLimits(t *testing.T) {
	g := sampleTable()
	if got, err := g.columnLimits(0); err != nil || got != [2]float64{0, 100000} {
		t.Errorf("%v, %v", got, err)
	}
	g.Panels[1][0].XLimits = [2]float64{5, 7}
	if got, err := g.columnLimits(0); err != nil || got != [2]float64{5, 7} {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCurveTableErrors(t *testing.T) {
	with := func(change func(*CurveGrid)) error {
		g := sampleTable()
		change(&g)
		_, err := CurveTable(g)
		return err
	}
	for want, err := range map[string]error{
		"without panels":     errtest.Of(CurveTable(CurveGrid{Panels: [][]Panel{{}, {}}})),
		"1 row titles for 3": with(func(g *CurveGrid) { g.RowTitles = g.RowTitles[:1] }),
		"3 column titles":    with(func(g *CurveGrid) { g.ColumnTitles = g.RowTitles }),
		"only logarithmic":   with(func(g *CurveGrid) { g.Panels[1][0].LogX = true }),
		"panel 1 of column 0": with(func(g *CurveGrid) {
			g.Panels[0][0].XLimits, g.Panels[1][0].LogX = [2]float64{5, 7}, true
		}),
		"panel 2 (): series": with(func(g *CurveGrid) { g.Panels[1][0].Series[0].X = nil }),
	} {
		errtest.Want(t, err, want)
	}
}

// A Style on a series is used for its line and legend entry; the style of its name stays available.
func TestSeriesStyle(t *testing.T) {
	own := MethodStyles("dads-reward")["dads-reward"]
	own.Name, own.Dashes = "DADS+REWARD, no prior", dashed
	x := []float64{0, 1}
	f, err := Curves([]Panel{{Series: []Series{
		{Name: "without", X: x, Y: x, Style: &own}, {Name: "dads-reward", X: x, Y: x},
		{Name: "another", X: x, Y: x},
	}}}, 1)
	text := svgText(t, f, err)
	with, another, without := strings.Index(text, ">DADS+REWARD<"), strings.Index(text, ">another<"),
		strings.Index(text, ">DADS+REWARD, no prior<")
	if with < 0 || another < with || without < another || strings.Contains(text, ">without<") {
		t.Errorf("the legend has them at %d, %d and %d, want the paper's, others, then those of a "+
			"style of their own", with, another, without)
	}
	if !strings.Contains(text, "stroke-dasharray") {
		t.Error("no line is dashed")
	}
}

func TestQuartiles(t *testing.T) {
	runs := []Series{{X: []float64{0, 10}, Y: []float64{0, 10}},
		{X: []float64{2, 12}, Y: []float64{4, 4}}, {X: []float64{1, 11}, Y: []float64{0, 0}}}
	s, err := Quartiles("a", runs, []float64{1, 2, 6, 10, 11})
	must.Do(err)
	if len(s.X) != 3 || s.X[0] != 2 || s.X[2] != 10 {
		t.Fatalf("at %v, want 2, 6 and 10, which all runs cover", s.X)
	}
	if s.Y[0] != 2 || s.Y[1] != 4 || s.Low[1] != 2 || s.High[1] != 5 || s.Y[2] != 4 {
		t.Errorf("medians %v, bands %v to %v", s.Y, s.Low, s.High)
	}
	for want, err := range map[string]error{
		"cover 2 to 10": errtest.Of(Quartiles("a", runs, []float64{1, math.NaN()})),
		"no runs of":    errtest.Of(Quartiles("a", nil, []float64{1})),
		"no x in common": errtest.Of(Quartiles("a",
			append(runs, Series{X: []float64{20}, Y: []float64{0}}), []float64{1})),
		"0 x and 1 y values": errtest.Of(Quartiles("a", []Series{{Y: []float64{0}}}, []float64{1})),
	} {
		errtest.Want(t, err, want)
	}
}
