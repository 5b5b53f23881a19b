package figures

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// gradient returns an image with more colours than a palette has. All are rare except the greys of its upper half.
func gradient(width, height int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: uint8(255 * x / width), G: uint8(255 * y / height), B: 128, A: 255}
			if y < height/2 {
				c = color.NRGBA{R: c.R, G: c.R, B: c.R, A: 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// TestImages compares figures with those in testdata.
func TestImages(t *testing.T) {
	for name, figure := range sampleFigures() {
		t.Run(name, func(t *testing.T) { imagetest.Equal(t, name, must.Get(figure.Image(72))) })
	}
}

// Marks work in plain gonum plots: they are drawn, set the range of the axes, and stand in legends.
func TestMarksInPlainPlots(t *testing.T) {
	cells, path := sampleCells(), sampleArena().Paths[0]
	for name, mark := range map[string]interface {
		plot.Plotter
		plot.DataRanger
		plot.Thumbnailer
	}{
		"cells": &cells, "path": &path,
		"series":   &Series{Name: "map-elites", X: []float64{1, 2}, Y: []float64{3, 4}},
		"interval": &Interval{Name: "map-elites", Value: 1, Low: 0.5, High: 2},
		"box":      &Box{Name: "map-elites", Values: []float64{1, 2, 3}, At: 1, Width: 0.5},
	} {
		p := plot.New()
		p.Add(mark)
		p.Legend.Add(name, mark)
		if !(p.X.Min < p.X.Max && p.Y.Min < p.Y.Max) {
			t.Errorf("%s: axes from (%g, %g) to (%g, %g)", name, p.X.Min, p.Y.Min, p.X.Max, p.Y.Max)
		}
		img := must.Get(figureOf(&Panel{Plot: p}, nil).Image(72))
		if n := len(colorsOf(img)); n < 20 {
			t.Errorf("%s: %d colours", name, n)
		}
	}
}

// What is added to a panel is drawn on its axes, and its entry is in the legend, once in a grid.
func TestAddToPanels(t *testing.T) {
	var panels []*Panel
	for range 2 {
		p := must.Get(Map(sampleCells()))
		line := must.Get(plotter.NewLine(plotter.XYs{{X: -0.9, Y: -0.9}, {X: 0.9, Y: 0.9}}))
		line.Color = color.NRGBA{R: 0xff, A: 0xff}
		p.Add(line)
		p.Label(0, 0, "here")
		p.Legend = append(p.Legend, Entry{Text: "a path", Mark: line})
		panels = append(panels, p)
	}
	shows := drawn(t, InRows(2, panels...), nil)
	if !shows(color.NRGBA{R: 0xff, A: 0xff}) {
		t.Error("the line is not drawn")
	}
	text := svgOf(InRows(2, panels...), nil)
	errtest.Equal(t, "entries and labels", fmt.Sprint(strings.Count(text, ">a path<"), strings.Count(text, ">here<")), "1 2")
}

func TestMapEdgeCases(t *testing.T) {
	empty := sampleCells()
	for i := range empty.Fitness {
		empty.Fitness[i] = []float64{math.NaN(), math.Inf(-1), math.Inf(1)}[i%3]
	}
	p, err := Map(empty)
	if shows := drawn(t, p, err); !shows(emptyFill) || shows(Viridis(0)) || shows(Viridis(1)) {
		t.Error("a map without a filled cell shows colours")
	}
	one := empty
	one.Fitness = append([]float64{-123}, empty.Fitness[1:]...)
	p, err = Map(one)
	if !drawn(t, p, err)(Viridis(0.5)) {
		t.Error("a single value is not in the middle of the colours")
	}
	clamped := sampleCells()
	clamped.Bar = &ColorBar{Min: -60, Max: -50}
	p, err = Map(clamped)
	if shows := drawn(t, p, err); !shows(Viridis(0)) || !shows(Viridis(1)) {
		t.Error("values outside the range lack the colours of its ends")
	}
	odd := sampleCells()
	odd.Centroids[1] = odd.Centroids[0]
	odd.Descriptors[0], odd.Descriptors[2] = [2]float64{math.NaN(), 0}, [2]float64{50, 50}
	p, err = Map(odd)
	drawn(t, p, err)
}

// Only axes of positions have equal scales; a strip has one axis.
func TestAspects(t *testing.T) {
	thin := sampleCells()
	thin.Upper[0] = 9
	for want, change := range map[float64]func(*Cells){
		1: func(*Cells) {}, 4: func(c *Cells) { c.Positions = true }, 6: func(c *Cells) { c.YLabel = "" },
	} {
		c := thin
		change(&c)
		f := must.Get(Map(c))
		if width, height := figureOf(f, nil).Bounds(); f.Aspect != want || width > pageWidth || height > width {
			t.Errorf("aspect %g of %g x %g points, want %g", f.Aspect, width, height, want)
		}
	}
}

func TestLinesEdgeCases(t *testing.T) {
	nan, inf, most := math.NaN(), math.Inf(1), math.MaxFloat64
	for name, c := range map[string]struct {
		axes Axes
		x, y []float64
		line bool // is drawn
	}{
		"no points":         {Axes{}, nil, nil, false},
		"only gaps":         {Axes{}, []float64{0, 1}, []float64{nan, -inf}, false},
		"one point":         {Axes{}, []float64{3}, []float64{5}, true},
		"constant":          {Axes{}, []float64{0, 1}, []float64{7, 7}, true},
		"gap":               {Axes{}, []float64{0, 1, 2, 3}, []float64{1, nan, 2, 3}, true},
		"not positive, log": {Axes{LogX: true}, []float64{0, -1, -2}, []float64{1, -1, 0}, false},
		"both signs, log":   {Axes{LogX: true, LogY: true}, []float64{1, 10, 100}, []float64{-1000, 0, 1}, true},
		"zeros, log":        {Axes{LogY: true}, []float64{1, 2}, []float64{0, 0}, true},
		"constant, log":     {Axes{LogX: true, LogY: true}, []float64{1, 10, 20}, []float64{5, 5, 5}, true},
		"clipped by limits": {Axes{YLimits: [2]float64{0, 1}}, []float64{0, 1}, []float64{-5, 5}, true},
		"outside of limits": {Axes{YLimits: [2]float64{0, 1}, XLimits: [2]float64{0, 1}}, []float64{5, 6},
			[]float64{5, 5}, false},
		"huge":                {Axes{}, []float64{0, 1}, []float64{-1e300, 1e300}, true},
		"largest":             {Axes{}, []float64{-most, most}, []float64{-most, most}, true},
		"log, huge":           {Axes{LogY: true}, []float64{0, 1}, []float64{1e-200, 1e200}, true},
		"log, small":          {Axes{LogX: true, LogY: true}, []float64{1e-300, 3}, []float64{1e-300, 3}, true},
		"large, little range": {Axes{}, []float64{1e17, 1e17 + 64}, []float64{0, 1}, true},
	} {
		p, err := Lines(c.axes, Series{X: c.x, Y: c.y})
		errtest.Equal(t, fmt.Sprintf("%s: line drawn", name), drawn(t, p, err)(MethodStyles("")[""].Color), c.line)
	}
	text := svgOf(Lines(Axes{}))
	errtest.Contains(t, text, ">no data<")
}

// Values that are nil where one is expected are errors of one line when they are drawn, or have no effect.
func TestNilValues(t *testing.T) {
	panel := func(change func(*Panel)) error {
		p := must.Get(Lines(Axes{}, Series{Name: "a", X: []float64{0, 1}, Y: []float64{0, 1}}))
		change(p)
		return errtest.Of(must.Get(p.Figure()).Size(200, 0).PNG(72))
	}
	for _, err := range map[string]error{
		"figure":      errtest.Of((*Figure)(nil).Size(1, 0).PNG(72)),
		"mark":        panel(func(p *Panel) { p.Add(nil) }),
		"entry":       panel(func(p *Panel) { p.Legend = append(p.Legend, Entry{Text: "nothing"}) }),
		"typed image": errtest.Of(Images(1, Picture{Image: (*image.RGBA)(nil)})),
	} {
		errtest.Want(t, err)
	}
	must.Get(Images(1, Picture{}))
	must.Get(Quartiles("a", []Series{{X: []float64{0}, Y: []float64{0}}}, nil, nil))
	if w, h := (*Figure)(nil).Bounds(); w != 0 || h != 0 || len(ComponentNames(nil, 2)) != 2 ||
		!Paletted(nil).Bounds().Empty() {
		t.Error("nil has an extent")
	}
}

// The legend lists the paper's methods, others, and those of a style of their own; only visible bands
// are in it; and a name has one style in all panels.
func TestLegend(t *testing.T) {
	own := Style{Name: "no prior", Color: rgb(0x123456), Dashes: []vg.Length{5, 2}}
	x := []float64{0, 1}
	flat := must.Get(Lines(Axes{}, Series{Name: "own", X: x, Y: x, Style: &own},
		Series{Name: "another", X: x, Y: x}, Series{Name: "dads-reward", X: x, Y: x, Low: x, High: x}))
	band := must.Get(Lines(Axes{}, Series{Name: "aurora", X: x, Y: x, Low: x, High: []float64{2, 2}}))
	text := svgOf(InRows(1, flat, band), nil)
	last := -1
	for _, name := range []string{"AURORA", "DADS+REWARD", "no prior", "another"} {
		at := strings.Index(text, ">"+name+"<")
		if at < 0 || at < last && name != "another" {
			t.Errorf("%s is at %d of the legend, after %d", name, at, last)
		}
		last = at
	}
	boxes := must.Get(Boxes(Axes{}, BoxOptions{Outer: true}, BoxGroup{Boxes: []Box{{Name: "aurora", Values: x}}}))
	width, _ := must.Get(boxes.Figure()).Bounds()
	if entry := (&legend{entries: boxes.Legend}).entryWidth(); entry > width {
		t.Errorf("a legend of %v is cut in a figure of %v", entry, width)
	}
	if flat.Legend[0].Mark.(*Series).banded() || !band.Legend[0].Mark.(*Series).banded() {
		t.Error("a band without extent is in the legend, or one with extent is not")
	}
	// Two variants whose own styles would be the same differ wherever they are drawn.
	names := []string{"variant 0"}
	for i := 1; len(names) < 2; i++ {
		name := "variant " + string(rune('0'+i))
		if MethodStyles(name)[name].Color == MethodStyles(names[0])[names[0]].Color {
			names = append(names, name)
		}
	}
	one := must.Get(Lines(Axes{}, Series{Name: names[0], X: x, Y: x}))
	two := must.Get(Lines(Axes{}, Series{Name: names[1], X: x, Y: x}))
	figureOf(InRows(2, one, two), nil)
	if one.palette.style(names[0]).Color == two.palette.style(names[1]).Color {
		t.Error("two names share a style")
	}
}

// Of many labels the legend lists seven and says how many there are; all differ in colour.
func TestManyLabels(t *testing.T) {
	a := sampleArena()
	a.Paths = nil
	colors := map[color.NRGBA]bool{}
	for k := range 40 {
		a.Paths = append(a.Paths, Path{Label: strings.Repeat("x", k+1), X: []float64{0}, Y: []float64{0}})
		colors[skillColor(k)] = true
	}
	text := svgOf(Trajectories(a))
	if !strings.Contains(text, ">and 33 more<") || strings.Contains(text, ">"+strings.Repeat("x", 8)+"<") {
		t.Error("the legend of 40 labels does not have seven and their number")
	}
	errtest.Equal(t, "colors of 40 labels", len(colors), 40)
}

// The axis includes what is drawn: boxes alone, or points. One with a value that is not finite has no box.
func TestBoxRange(t *testing.T) {
	values := []float64{0, 1, 2, 3, 100}
	for _, c := range []struct {
		o         BoxOptions
		last      float64
		low, high float64
	}{{BoxOptions{}, 100, 1, 3}, {BoxOptions{Outer: true}, 100, 0.5, 51.5},
		{BoxOptions{Outer: true, Points: "value"}, 100, 0, 100}, {BoxOptions{Points: "value"}, math.NaN(), 0, 3},
		{BoxOptions{}, math.NaN(), math.Inf(1), math.Inf(-1)}} {
		values[4] = c.last
		if _, _, low, high := (&Box{Values: values, BoxOptions: c.o}).DataRange(); low != c.low || high != c.high {
			t.Errorf("%+v: %g to %g, want %g to %g", c.o, low, high, c.low, c.high)
		}
	}
}

// Impossible input is an error that names it.
func TestPanelErrors(t *testing.T) {
	nan, x := math.NaN(), []float64{0, 1}
	withCells := func(change func(*Cells)) error {
		c := sampleCells()
		change(&c)
		return errtest.Of(Map(c))
	}
	withArena := func(change func(*Arena)) error {
		a := sampleArena()
		change(&a)
		return errtest.Of(Trajectories(a))
	}
	withEpisode := func(change func(*HurdleEpisode)) error {
		e := sampleEpisode(5)
		change(&e)
		return errtest.Of(MetaEpisode(e))
	}
	p := must.Get(Lines(Axes{}))
	wide := must.Get(Lines(Axes{}))
	wide.Columns = 2
	picture := Picture{Image: gradient(4, 3), Labels: []Label{{Text: "a", X: nan}}}
	for want, err := range map[string]error{
		"needs centroids":         withCells(func(c *Cells) { c.Centroids = nil }),
		"199 fitness values":      withCells(func(c *Cells) { c.Fitness = c.Fitness[1:] }),
		"3 descriptors":           withCells(func(c *Cells) { c.Descriptors = c.Descriptors[:3] }),
		"lower < upper":           withCells(func(c *Cells) { c.Upper = c.Lower }),
		"colour range [5 -5]":     withCells(func(c *Cells) { c.Bar = &ColorBar{Min: 5, Max: -5} }),
		"colour range [NaN 1]":    withCells(func(c *Cells) { c.Bar = &ColorBar{Min: nan, Max: 1} }),
		"site 7 is not finite":    withCells(func(c *Cells) { c.Centroids[7][1] = math.Inf(1) }),
		"path 2 (skill 3)":        withArena(func(a *Arena) { a.Paths[2].X = nil }),
		"goal {X0:NaN":            withArena(func(a *Arena) { a.Goal.X0 = nan }),
		"limits must be":          withArena(func(a *Arena) { a.Lower[1] = 1 }),
		"0 x and 0 z":             withEpisode(func(e *HurdleEpisode) { e.X, e.Z = nil, nil }),
		"245 x and 244 z":         withEpisode(func(e *HurdleEpisode) { e.Z = e.Z[1:] }),
		"24 skills":               withEpisode(func(e *HurdleEpisode) { e.Skills = e.Skills[1:] }),
		"of 0 steps":              withEpisode(func(e *HurdleEpisode) { e.Decision = 0 }),
		"hurdle {X:NaN":           withEpisode(func(e *HurdleEpisode) { e.Hurdles[0].X = nan }),
		"2 x and 1 y":             errtest.Of(Lines(Axes{}, Series{Name: "a", X: x, Y: x[:1]})),
		"a band of 2 and 0":       errtest.Of(Lines(Axes{}, Series{Name: "a", X: x, Y: x, Low: x})),
		"YLimits [2 1]":           errtest.Of(Lines(Axes{YLimits: [2]float64{2, 1}})),
		"XLimits [0 10]":          errtest.Of(Lines(Axes{XLimits: [2]float64{0, 10}, LogX: true})),
		`panel "a name": YLimits`: errtest.Of(Boxes(Axes{Title: "a name", YLimits: [2]float64{0, math.Inf(1)}}, BoxOptions{})),
		"XLimits [1 NaN]":         errtest.Of(Intervals(Axes{XLimits: [2]float64{1, nan}})),
		"has 0 x 9 pixels":        errtest.Of(Images(1, Picture{Image: image.NewNRGBA(image.Rect(0, 0, 0, 9))})),
		`label "a" of`:            errtest.Of(Images(1, picture)),
		"no panels":               errtest.Of(InRows(3).Figure()),
		"2 row titles for 1":      errtest.Of(Grid{Panels: [][]*Panel{{p}}, Rows: []string{"a", "b"}}.Figure()),
		"2 column titles for 1":   errtest.Of(Grid{Panels: [][]*Panel{{p}}, Columns: []string{"a", "b"}}.Figure()),
		"spans 1 x 2 of 1 x 1":    errtest.Of(Grid{Panels: [][]*Panel{{wide}}}.Figure()),
		"needs a plot":            errtest.Of((&Panel{}).Figure()),
		"no score of task 1":      errtest.Of(Profiles(Axes{}, Scores{"a", [][]float64{x, {}}})),
		"score NaN of task 0":     errtest.Of(Profiles(Axes{}, Scores{"a", [][]float64{{nan}}})),
		`"a" has no scores`:       errtest.Of(Improvements(Axes{}, [2]Scores{{"a", nil}, {"b", nil}})),
		`1 tasks, and "b" of 2`:   errtest.Of(Improvements(Axes{}, [2]Scores{{"a", [][]float64{x}}, {"b", [][]float64{x, x}}})),
		"at least 2 components":   errtest.Of(Parallel(Points{Components: []string{"a"}, Lower: x[:1], Upper: x[1:]})),
		"a has the limits 0 and":  errtest.Of(Parallel(Points{Components: []string{"a", "b"}, Lower: x, Upper: []float64{0, 2}})),
		"point 1 has 1 comp":      errtest.Of(Parallel(Points{Components: []string{"a", "b"}, Lower: x, Upper: []float64{2, 2}, At: [][]float64{x, x[:1]}, Values: x})),
		"descriptor_min": errtest.Of(CellsOf(&runs.Run{Config: runs.Config{Env: "ant-uni"}},
			&runs.Repertoire{Dims: 2, Fitnesses: []float32{1}, Descriptors: []float32{0, 0},
				Centroids: []float32{0, 0}})), // files of other programs may lack limits
	} {
		errtest.Want(t, err, want)
	}
}

// A palette colours the cells and the bar, also that of a grid, and mixes neighbours.
func TestChosenColors(t *testing.T) {
	cells := sampleCells()
	cells.Bar = &ColorBar{Colors: moreland.SmoothBlueRed().Palette(256)}
	p := must.Get(Map(cells))
	blue, red := rgb(0x3a4cc0), rgb(0xb40426) // the ends of Moreland (2009)
	for _, d := range []drawing{p, InRows(2, p, must.Get(Map(cells)))} {
		text := svgOf(d, nil)
		count := func(c color.NRGBA) int {
			return strings.Count(text, fmt.Sprintf("fill:#%02X%02X%02X", c.R, c.G, c.B))
		}
		if blues, reds := count(blue), count(red); blues < 2 || reds < 2 || count(Viridis(0))+count(Viridis(1)) > 0 {
			t.Errorf("%T: %d blue and %d red areas in cells and bar, want at least 2, and no Viridis", d, blues, reds)
		}
	}
	two := &ColorBar{Colors: colorList{color.Black, color.NRGBA{R: 200, A: 1}}}
	errtest.Equal(t, "a quarter", two.color(0.25), rgb(0x320000))
	errtest.Equal(t, "one colour", (&ColorBar{Colors: colorList{color.White}}).color(0.5), rgb(0xffffff))
	p.Bar.Colors = colorList{}
	errtest.Want(t, errtest.Of(p.Figure()), "needs at least one colour")

	// A filled cell may have the colour of an empty one.
	lines := func(fill color.Color) int {
		p := must.Get(Map(Cells{Centroids: [][2]float64{{0.5, 0.5}}, Fitness: []float64{1}, Upper: [2]float64{1, 1},
			Bar: &ColorBar{Colors: colorList{fill}}}))
		return strings.Count(svgOf(p, nil), "stroke:#D0D0D0")
	}
	if lines(emptyFill) > 0 {
		t.Error("a filled cell is outlined like an empty one")
	}
}

type colorList []color.Color

func (l colorList) Colors() []color.Color { return l }

// Limits and marks at which gonum's ticks or its canvas never return are errors, in all formats.
func TestNothingHangs(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	own := func(change func(*plot.Plot)) *Panel {
		p := plot.New()
		change(p)
		return &Panel{Plot: p}
	}
	limits := func(low, high float64) *Panel {
		return own(func(p *plot.Plot) { p.X.Min, p.X.Max = low, high })
	}
	shown := func(mark plot.Plotter) *Panel {
		return own(func(p *plot.Plot) {
			p.Add(mark)
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 2, 0, 2
		})
	}
	bars := func(v float64) *plotter.BarChart {
		return &plotter.BarChart{Values: plotter.Values{1, v}, Width: 5, Color: color.Black}
	}
	line := &plotter.Line{XYs: plotter.XYs{{}, {X: 1, Y: nan}, {X: 2, Y: 1}}, LineStyle: plotter.DefaultLineStyle}
	lines := must.Get(Lines(Axes{}, Series{X: []float64{0, 1}, Y: []float64{0, 1}}))
	lines.Y.Max = nan
	labelled := must.Get(Lines(Axes{}, Series{X: []float64{0, 1}, Y: []float64{0, 1}}))
	labelled.Label(nan, 0, "here")
	cells := sampleCells()
	walled := must.Get(Map(cells))
	walled.Bar.Min = nan
	for name, c := range map[string]struct {
		panel *Panel
		want  string
	}{
		"lower":     {limits(nan, 1), "row 0, column 0: the x axis goes from NaN to 1: want finite limits"},
		"upper":     {limits(0, nan), "from 0 to NaN"},
		"infinite":  {limits(-inf, 1), "from -Inf to 1"},
		"too far":   {limits(-1e308, 1e308), "from -1e+308 to 1e+308"},
		"data":      {own(func(p *plot.Plot) { p.Add(line) }), "the y axis goes from NaN to NaN"},
		"line":      {shown(line), "a mark has a value that is not finite"},
		"bars":      {shown(bars(nan)), "a mark has a value that is not finite"},
		"high bars": {shown(bars(inf)), "a mark has a value that is not finite"},
		"own panel": {lines, "the y axis goes from -0.05 to NaN"}, // its ticks end, but not its marks
		"label":     {labelled, "a mark has a value that is not finite"},
		"bar":       {walled, "colour range [NaN 0]"},
		"nil":       {nil, "no panels"},
	} {
		for _, format := range formats {
			t.Run(name+format, func(t *testing.T) {
				errtest.Want(t, c.panel.Save(filepath.Join(t.TempDir(), "a"+format)), c.want)
			})
		}
	}
	errtest.Want(t, (*Figure)(nil).Show("a.png"), "no figure: it is nil")
	cells.Walls = []Rect{{X0: nan}}
	errtest.Want(t, errtest.Of(Map(cells)), "wall or goal {X0:NaN")
	if _, err := own(func(*plot.Plot) {}).Figure(); err != nil { // gonum's own limits of nothing
		t.Error(err)
	}
}

// A line with dots does not cross a gap in which nothing was measured, where a curve would.
func TestDotsAreNotJoinedOverGaps(t *testing.T) {
	s := Series{X: []float64{0, 0.25, 0.5, 1, 4.75}, Y: []float64{1, 2, 3, 4, 5}}
	p := must.Get(Lines(Axes{}, s))
	errtest.Equal(t, "a curve", s.runs(p.Plot), [][2]int{{0, 5}})
	s.Dots = true
	errtest.Equal(t, "dots", s.runs(p.Plot), [][2]int{{0, 4}, {4, 5}})
	s.Y[1] = math.NaN()
	errtest.Equal(t, "with a missing value", s.runs(p.Plot), [][2]int{{0, 1}, {2, 4}, {4, 5}})
}

// Missing values and values that are not finite leave gaps.
func TestGapsAreDrawn(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, boxes := range [][]BoxGroup{nil, {{Label: "a", Boxes: []Box{{Name: "map-elites"}}}},
		{{Boxes: []Box{{Name: "x", Values: []float64{nan, 1, inf}}, {Name: "x", Values: []float64{1, 1}}}}}} {
		p, err := Boxes(Axes{}, BoxOptions{Outer: true, Points: "value"}, boxes...)
		drawn(t, p, err)
	}
	p, err := Intervals(Axes{XLimits: [2]float64{0, 1}}, Interval{Value: inf, Low: -inf, High: inf,
		Points: []float64{nan, -1}}, Interval{Value: 2, Low: 3, High: 4})
	drawn(t, p, err)
	a := sampleArena()
	a.Paths = append(a.Paths, Path{}, Path{Label: "gone", X: []float64{nan}, Y: []float64{0}},
		Path{Label: "outside", X: []float64{5, 6}, Y: []float64{5, 6}})
	a.Paths[0].X[50] = nan
	a.Walls = append(a.Walls, Rect{X0: -3, Y0: -3, X1: -2, Y1: -2}, Rect{X0: 0.9, Y0: 0.9, X1: 0.4, Y1: 5})
	p, err = Trajectories(a)
	if !drawn(t, p, err)(wallColor) {
		t.Error("no wall drawn")
	}
}

// A grid of maps is never larger than a page, however many rows it has. Narrow columns make room for their titles.
func TestGridFitsAPage(t *testing.T) {
	cells := sampleCells()
	cells.Title, cells.Bar = "a title that is wider than a map of so many", new(ColorBar)
	g := Grid{Columns: []string{"one method", "another one"}}
	for range 11 {
		g.Panels = append(g.Panels, []*Panel{must.Get(Map(cells)), must.Get(Map(cells))})
		g.Rows = append(g.Rows, "a row")
	}
	drawn(t, g, nil)
	width, height := figureOf(g, nil).Bounds()
	if height > pageHeight+0.01 || height < pageHeight-1 || width > pageWidth {
		t.Errorf("%.2f x %.2f in", width/vg.Inch, height/vg.Inch)
	}
	if least := 2 * textStyle(tickSize).Width(cells.Title); width < least {
		t.Errorf("%.0f points are too narrow for two titles of %.0f together", width, least)
	}
	// Row titles that are longer than the rows are high move the rows apart.
	g.Rows[0] = strings.Repeat("a method of a long name and of one more ", 4)
	_, height = figureOf(Grid{Panels: g.Panels[:2], Rows: g.Rows[:2]}, nil).Bounds()
	if height < textStyle(tickSize).Width(g.Rows[0]) {
		t.Errorf("%.0f points are not high enough for a row title", height)
	}
}

// Neighbours share numbers and labels only if their axes have the same limits and meaning.
func TestGridSharesAxes(t *testing.T) {
	a, b := sampleCells(), sampleCells()
	a.Bar, b.Bar, b.XLabel, b.YLabel = new(ColorBar), new(ColorBar), "right foot", "left foot"
	row := []*Panel{must.Get(Map(a)), must.Get(Map(a)), must.Get(Map(b))}
	for rows, want := range map[int]map[string]int{
		2: {"Final x": 2, "Final y": 2, "Right foot": 1, "Left foot": 2},
		3: {"Final x": 2, "Final y": 1, "Right foot": 1, "Left foot": 1},
	} {
		var g Grid
		for range rows {
			g.Panels = append(g.Panels, row)
		}
		text := svgOf(g, nil)
		for label, n := range want {
			errtest.Equal(t, fmt.Sprintf("%d rows: times of %q", rows, label), strings.Count(text, ">"+label+"<"), n)
		}
	}
	b.YLabel = a.YLabel
	errtest.Contains(t, svgOf(InRows(1, must.Get(Map(a)), must.Get(Map(b))), nil), ">Final x<")
}

// Data areas are where the layout puts them, however long the labels of the axes are.
func TestLongLabelsLeaveTheDataInPlace(t *testing.T) {
	for _, size := range []vg.Point{{X: 24, Y: 24}, {X: 85, Y: 85}, {X: 230, Y: 120}} {
		for n := 1; n < 150; n += 9 {
			for _, letters := range []string{"ab ", "abcdefgh ", "m"} {
				text := strings.Repeat(letters, 1+n/len(letters))
				p := must.Get(newSlot(must.Get(Lines(Axes{XLabel: text, YLabel: text}))))
				p.fitLabels(size)
				c := draw.NewCanvas(new(recorder.Canvas), 1000, 1000)
				area := vg.Rectangle{Min: vg.Point{X: 300, Y: 300}, Max: vg.Point{X: 300, Y: 300}.Add(size)}
				got := p.plot.DataCanvas(p.around(c, area))
				for _, off := range []vg.Point{got.Min.Sub(area.Min), got.Max.Sub(area.Max)} {
					if !(math.Hypot(float64(off.X), float64(off.Y)) < 1) {
						t.Fatalf("labels %q: the data area is %v, not %v", text, got.Rectangle, area)
					}
				}
			}
		}
	}
}

// A line that leaves the axis is marked where it does, at the lower and the upper edge.
func TestLinesThatLeaveTheAxisAreMarked(t *testing.T) {
	marks := func(y ...float64) (n int) {
		p := must.Get(Lines(Axes{YLimits: [2]float64{-1, 1}}, Series{Name: "a", X: []float64{0, 1, 2, 3, 4}, Y: y}))
		text := string(must.Get(must.Get(InRows(1, p).Figure()).encode(".svg")))
		return strings.Count(text, "Z") // closed outlines, which are filled
	}
	plain := marks(0, 1, 0, -1, 0)
	for want, y := range map[int][]float64{1: {0, 0, 0, 0, 3}, 2: {0, 3, 0, 0, 0}, 4: {0, 3, 0, -3, 0}} {
		errtest.Equal(t, y, marks(y...)-plain, want)
	}
}

// Labels begin with a capital letter, whatever names they are made of, but symbols stay.
func TestLabelsBeginWithCapitals(t *testing.T) {
	for label, want := range map[string]string{"environment steps": "Environment steps", "QD score": "QD score",
		"x (m)": "x (m)",
		"σ1":    "σ1", "über": "Über", "": "", "m/s": "m/s"} {
		p := must.Get(Lines(Axes{XLabel: label}))
		errtest.Equal(t, "label", p.X.Label.Text, want)
	}
}
