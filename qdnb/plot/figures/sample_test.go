package figures

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// figureOf returns the figure of a panel or a grid.
func figureOf[D drawing](d D, err error) *Figure {
	must.Do(err)
	return must.Get(d.Figure())
}

// svgOf returns the SVG of a figure, to search for texts.
func svgOf[D drawing](d D, err error) string {
	return string(must.Get(figureOf(d, err).encode(".svg")))
}

// drawn reports whether a colour appears anywhere in a figure, which must be drawable.
func drawn[D drawing](t *testing.T, d D, err error) (shows func(color.NRGBA) bool) {
	t.Helper()
	colors := colorsOf(must.Get(figureOf(d, err).Image(150)))
	return func(c color.NRGBA) bool { return colors[c] }
}

// colorsOf returns the colours of an image.
func colorsOf(img image.Image) map[color.NRGBA]bool {
	colors, last := map[color.NRGBA]bool{}, color.NRGBA{}
	for c := range pixels(img) {
		if c != last {
			colors[c], last = true, c
		}
	}
	return colors
}

// pixels yields the colours of an image, row by row.
func pixels(img image.Image) iter.Seq[color.NRGBA] {
	return func(yield func(color.NRGBA) bool) {
		for at := range img.Bounds().Dx() * img.Bounds().Dy() {
			c := color.NRGBAModel.Convert(img.At(at%img.Bounds().Dx(), at/img.Bounds().Dx()))
			if !yield(c.(color.NRGBA)) {
				return
			}
		}
	}
}

// sampleCells is a repertoire shaped like pointmaze, with about two thirds of its 200 cells filled.
func sampleCells() Cells {
	rng := rand.New(rand.NewPCG(3, 4))
	c := Cells{
		Title: "MAP-Elites, pointmaze", XLabel: "final x", YLabel: "final y",
		Lower: [2]float64{-1, -1}, Upper: [2]float64{1, 1},
	}
	c.Centroids = randomSites(rng, 200, c.Lower, c.Upper)
	for _, p := range c.Centroids {
		fitness := -20 - 250*math.Hypot(p[0]+0.5, p[1]-0.8)
		if p[1] > 0.2 && rng.Float64() < 0.6 {
			fitness = math.Inf(-1)
		}
		c.Fitness = append(c.Fitness, fitness)
		c.Descriptors = append(c.Descriptors, [2]float64{p[0] + 0.02*rng.NormFloat64(), p[1] + 0.02*rng.NormFloat64()})
	}
	return c
}

// sampleArena is pointmaze with five smooth paths around its walls, and over one more: a path that slides along a
// wall is visible in front of it.
func sampleArena() Arena {
	a := Arena{
		Title: "Five skills", XLabel: "x", YLabel: "y", Lower: [2]float64{-1, -1},
		Upper: [2]float64{1, 1},
		Walls: []Rect{{X0: -0.5, Y0: -0.5, X1: 1, Y1: -0.49}, {X0: -1, Y0: 0.2, X1: 0.5, Y1: 0.21},
			{X0: 0.7, Y0: -0.2, X1: 1, Y1: 0}},
		Goal: &Rect{X0: -0.55, Y0: 0.75, X1: -0.45, Y1: 0.85},
	}
	for k := range 5 {
		p := Path{Label: fmt.Sprintf("skill %d", k+1)}
		for i := range 200 {
			s := float64(i) / 199 * (1 - 0.1*float64(k))
			turn := math.Sin(3 * math.Pi * s)
			p.X = append(p.X, -math.Copysign(0.85*math.Sqrt(math.Abs(turn)), turn)+0.02*float64(k))
			p.Y = append(p.Y, -0.85+1.7*s)
		}
		a.Paths = append(a.Paths, p)
	}
	return a
}

// samplePanels returns three metrics of two methods and a variant, with bands, gaps and a logarithmic axis.
func samplePanels() (panels []*Panel) {
	for i, axes := range []Axes{{Title: "Max fitness", XLabel: "Evaluations", YLabel: "Fitness"},
		{Title: "Coverage", XLabel: "Evaluations", YLabel: "Filled cells (%)", YLimits: [2]float64{0, 100}},
		{Title: "QD score", XLabel: "Evaluations (log)", YLabel: "QD score", LogX: true}} {
		var lines []Series
		for k, name := range []string{"my-variant", "pga-map-elites", "map-elites"} {
			s := Series{Name: name, Dots: k == 0}
			for g := range 101 {
				u := 1 - math.Exp(-float64(g)*float64(k+1)/60)
				y := []float64{-400 + 380*u, 90 * u, 4e5 * u}[i]
				width := 0.1 * math.Abs(y) * float64(min(k, 1)) // none of the variant
				s.X, s.Y = append(s.X, 1000*float64(g)), append(s.Y, y)
				s.Low, s.High = append(s.Low, y-width), append(s.High, y+width)
			}
			s.Y[0] = math.Inf(-1)
			lines = append(lines, s)
		}
		panels = append(panels, must.Get(Lines(axes, lines...)))
	}
	panels[0].Add(Vertical(3e4))
	return panels
}

// sampleGroups are nine values of each of two methods, one method with a single value, and nothing.
func sampleGroups() []BoxGroup {
	me, dads := Box{Name: "map-elites"}, Box{Name: "dads-reward"}
	for i := range 9 {
		me.Values = append(me.Values, 1-0.03*float64(i))
		dads.Values = append(dads.Values, 0.2+0.08*float64(i*i%9))
	}
	one := Box{Name: "dads-reward", Values: []float64{0.4}}
	return []BoxGroup{{"ant-omni", []Box{dads, me}}, {"ant-uni", []Box{me, one}}, {Label: "walker-uni"}}
}

// sampleIntervals are a method with seeds, one of a single seed, and one without a value.
func sampleIntervals() []Interval {
	nan := math.NaN()
	return []Interval{
		{Name: "map-elites", Value: -12000, Low: -13000, High: -11500,
			Points: []float64{-14000, -12000, -11000}, Marks: []float64{-10000, nan, -13500}},
		{Name: "dads-reward", Value: -9000, Low: nan, High: nan, Marks: []float64{-10500}},
		{Name: "smerl-dads", Value: nan, Low: nan, High: nan},
	}
}

// sampleEpisode is that of a robot that hops under a controller of some skills.
func sampleEpisode(skills int) HurdleEpisode {
	e := HurdleEpisode{Title: "Return 512, 6 of 10 hurdles passed", Skill: "cell", Decision: 10}
	for i := range 245 {
		e.X, e.Z = append(e.X, 0.08*float64(i)), append(e.Z, 0.65+0.3*math.Abs(math.Sin(float64(i)/12)))
	}
	for k := range 25 {
		e.Skills = append(e.Skills, 37*(k*k%skills))
	}
	for i := range 10 {
		e.Hurdles = append(e.Hurdles, Hurdle{3 * float64(i+1), 0.25})
	}
	e.X[50] = math.NaN()
	return e
}

// sampleScores are those of a method that is good at everything, and of one that is good at half.
func sampleScores() [2]Scores {
	return [2]Scores{{"map-elites", [][]float64{{0.7, 0.75, 0.8, 0.9}, {0.6, 0.65, 0.7, 0.8}}},
		{"dads-reward", [][]float64{{0.85, 0.9, 0.95, 1}, {0.05, 0.1, 0.2, 0.65}}}}
}

// samplePoints are descriptors of nine components.
func samplePoints() Points {
	s := Points{Title: "MAP-Elites"}
	for k := range 9 {
		s.Components = append(s.Components, fmt.Sprintf("angle %d", k+1))
		s.Lower, s.Upper = append(s.Lower, -1), append(s.Upper, 1)
	}
	for i := range 60 {
		var at []float64
		for k := range s.Components {
			at = append(at, math.Sin(float64(i)/60+0.7*float64(k)))
		}
		s.At, s.Values = append(s.At, at), append(s.Values, float64(i))
	}
	return s
}

// sampleFigures are all kinds of panels, in grids that differ in their bars and spans.
func sampleFigures() map[string]*Figure {
	empty := sampleCells()
	empty.Title, empty.Descriptors = "", nil
	wide := Cells{XLabel: "final x (m)", YLabel: "final y (m)", Lower: [2]float64{0, -8},
		Upper: [2]float64{30, 8}, Positions: true, Bar: &ColorBar{Min: -200, Max: 2000}}
	for _, p := range empty.Centroids {
		wide.Centroids = append(wide.Centroids, [2]float64{15 + 15*p[0], 8 * p[1]})
		wide.Fitness = append(wide.Fitness, 900+1100*p[0])
	}
	empty.Bar = new(ColorBar)
	a, b, c, d := must.Get(Map(empty)), must.Get(Map(wide)), must.Get(Map(empty)), must.Get(Trajectories(sampleArena()))
	lines := samplePanels()
	marked := must.Get(MarkedIntervals(Axes{Title: "ant-maze", XLabel: "Best fitness"}, sampleIntervals(),
		"published", "small", "none", "large"))
	beside := must.Get(Intervals(Axes{Title: "ant-maze", XLabel: "Best fitness"}, sampleIntervals()...))
	beside.Rows, beside.Aspect = 2, 0.7
	scores, points := sampleScores(), samplePoints()
	unequal := points
	unequal.Lower, unequal.Bar = slices.Clone(points.Lower), nil
	unequal.Lower[0] = -3
	below := must.Get(Boxes(Axes{Title: "Boxes", YLabel: "Score", YLimits: [2]float64{0, 1.05}},
		BoxOptions{Outer: true, Points: "One setting"}, sampleGroups()...))
	below.Columns = 2
	return map[string]*Figure{
		"map":          figureOf(Map(sampleCells())),
		"trajectories": figureOf(Trajectories(sampleArena())),
		"lines":        figureOf(InRows(3, lines...), nil),
		"bars-below": figureOf(Grid{Panels: [][]*Panel{{a, b}, {c}}, Rows: []string{"MAP-Elites", "AURORA"},
			Columns: []string{"pointmaze", "ant-trap"}, Note: "One run is missing."}, nil),
		"bar-beside": figureOf(Grid{Panels: [][]*Panel{{a, c}, {d}}, Rows: []string{"Repertoire", "Skills"}}, nil),
		"spans":      figureOf(Grid{Panels: [][]*Panel{{lines[0], lines[1], beside}, {lines[2], lines[1]}, {below}}}, nil),
		"boxes":      figureOf(Boxes(Axes{YLabel: "Score"}, BoxOptions{}, sampleGroups()...)),
		"marks":      figureOf(InRows(2, marked, marked), nil),
		"profiles": figureOf(InRows(2, must.Get(Profiles(Axes{XLabel: "Normalised score", YLabel: "Runs (%)"}, scores[:]...)),
			must.Get(Improvements(Axes{XLabel: "Probability of improvement"}, scores, [2]Scores{scores[1], scores[1]}))), nil),
		"parallel": figureOf(InRows(1, must.Get(Parallel(points)), must.Get(Parallel(unequal))), nil),
		"images": figureOf(Images(3, Picture{Title: "first", Image: gradient(80, 60),
			Labels: []Label{{Text: "1", X: 20, Y: 15}, {Text: "2", X: 60, Y: 45, Size: 14, Color: paper}}},
			Picture{}, Picture{Title: "second", Image: gradient(80, 60)}, Picture{Title: "narrow", Image: gradient(30, 60)})),
		"episode-few":  figureOf(MetaEpisode(sampleEpisode(5))),
		"episode-many": figureOf(MetaEpisode(sampleEpisode(23))),
	}
}

// FuzzNumbers draws arbitrary numbers as curves, a repertoire and trajectories.
func FuzzNumbers(f *testing.F) {
	seed := func(values ...float64) {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data)
	}
	inf := math.Inf(1)
	seed(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	seed(1e308, -1e308, 1e-308, inf, -inf, math.NaN(), 5e-324, 0, 1.7e308, -1.7e308)
	seed(-1.7e308, -1.7e308, 1.7e308, 1.7e308, -1.7e308, 1.7e308, 1, 1)
	seed(1e15, 1e15, 1e15+0.125, 1e15+0.125, 1e15, 1e15)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x []float64
		for ; len(data) >= 8 && len(x) < 40; data = data[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		if len(x) < 6 {
			return
		}
		var points [][2]float64
		for i := 4; i+1 < len(x); i += 2 {
			points = append(points, [2]float64{x[i], x[i+1]})
		}
		lower, upper := [2]float64{x[0], x[1]}, [2]float64{x[2], x[3]}
		draw := func(panel *Panel, err error) {
			var figure *Figure
			if err == nil {
				figure, err = panel.Figure()
			}
			if err == nil {
				_, err = figure.PNG(20)
			}
			hostile.Error(t, err)
		}
		hostile.Bounded(t, 64<<10, func() {
			n := len(points)
			draw(Map(Cells{Lower: lower, Upper: upper, Centroids: points, Descriptors: points, Fitness: x[:n]}))
			draw(Trajectories(Arena{Lower: lower, Upper: upper, Paths: []Path{{X: x, Y: x}}}))
			for _, logX := range []bool{false, true} {
				draw(Lines(Axes{LogX: logX}, Series{Name: "a", X: x, Y: x}, Series{Name: "b", X: x[1:], Y: x[:len(x)-1]}))
			}
		})
	})
}
