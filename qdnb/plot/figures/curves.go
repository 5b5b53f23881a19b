package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one line of a [Panel]. Points that are not finite (such as the maximum fitness of an
// empty repertoire), or not positive on a logarithmic axis, become gaps.
type Series struct {
	// Name is an algorithm, see [MethodStyles]. Series of one name share a colour and a legend entry.
	Name      string
	X, Y      []float64 // [n]
	Low, High []float64 // optional [n]: a band around the line, see [Quartiles]
	// Style overrides the style that [MethodStyles] gives Name. Among series of one name, the first
	// Style applies.
	Style *Style
}

// Panel is one plot of [Curves]: a metric against an axis.
type Panel struct {
	Title, XLabel, YLabel string
	LogX, LogY            bool
	// XLimits and YLimits are the ends of the axes; both 0: the range of the data.
	XLimits, YLimits [2]float64
	Series           []Series
}

// Curves draws panels in rows of the given number of columns, with one legend below all of them.
// Names are listed in the paper's order. A panel without points stays empty.
func Curves(panels []Panel, columns int) (*Figure, error) {
	if len(panels) == 0 || columns < 1 {
		return nil, fmt.Errorf("figures: %d panels in %d columns: want at least one of each", len(panels),
			columns)
	}
	columns = min(columns, len(panels))
	rows := slices.Collect(slices.Chunk(panels, columns))
	k, err := keyOf(rows)
	if err != nil {
		return nil, err
	}
	l := &layout{gapX: 14, gapY: 12, legend: k.legend}
	for _, panels := range rows {
		row := make([]*panel, columns)
		for j := range panels {
			row[j] = panels[j].panel(k)
		}
		l.panels = append(l.panels, row)
	}
	return l.figure(widthOf(columns)), nil
}

// widthOf returns the width of a figure with the given number of panels in a row, at most a page.
func widthOf(columns int) vg.Length {
	return []vg.Length{4.2 * vg.Inch, 6.4 * vg.Inch, pageWidth}[min(columns, 3)-1]
}

// key holds how the series of panels are drawn.
type key struct {
	// names are in the order of the legend: methods of the paper, other names, then names with a
	// Style.
	names  []string
	styles map[string]Style
	legend *legend
}

// keyOf checks rows of panels and assigns a style to each series name.
func keyOf(rows [][]Panel) (*key, error) {
	var names, own []string
	special, banded := map[string]Style{}, map[string]bool{}
	n := 0
	for _, row := range rows {
		for j := range row {
			if err := row[j].check(); err != nil {
				return nil, fmt.Errorf("figures: panel %d (%s): %w", n, row[j].Title, err)
			}
			n++
			for _, s := range row[j].Series {
				banded[s.Name] = banded[s.Name] || s.Low != nil
				if _, known := special[s.Name]; s.Style != nil && !known {
					special[s.Name] = *s.Style
					own = append(own, s.Name)
				}
				names = append(names, s.Name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(own, name) })
	k := &key{names: append(SortMethods(names), own...), styles: MethodStyles(names...),
		legend: new(legend)}
	maps.Copy(k.styles, special)
	for _, name := range k.names {
		if name == "" {
			continue
		}
		var band color.Color
		if banded[name] {
			band = bandColor(k.styles[name])
		}
		k.legend.entries = append(k.legend.entries,
			legendEntry{k.styles[name].Name, lineIcon(lineStyle(k.styles[name]), band)})
	}
	return k, nil
}

func (p *Panel) check() error {
	for _, s := range p.Series {
		n := len(s.X)
		if len(s.Y) != n {
			return fmt.Errorf("series %q has %d x and %d y values", s.Name, n, len(s.Y))
		}
		if (s.Low != nil || s.High != nil) && (len(s.Low) != n || len(s.High) != n) {
			return fmt.Errorf("series %q has %d points but a band of %d and %d", s.Name, n, len(s.Low),
				len(s.High))
		}
	}
	return cmp.Or(checkAxis("XLimits", p.XLimits, p.LogX), checkAxis("YLimits", p.YLimits, p.LogY))
}

// checkAxis reports limits of an axis that are neither increasing nor left to the data (both 0).
func checkAxis(name string, limits [2]float64, log bool) error {
	low, high := limits[0], limits[1]
	if limits == [2]float64{} || low < high && finite(low) && finite(high) && !(log && low <= 0) {
		return nil
	}
	return fmt.Errorf("%s %v: want a finite lower < upper, positive on a logarithmic axis", name,
		limits)
}

func (p *Panel) panel(k *key) *panel {
	var xs, ys [][]float64
	for _, s := range p.Series {
		xs = append(xs, s.X)
		ys = append(ys, s.Y, s.Low, s.High)
	}
	xLow, xHigh := axisRange(p.XLimits, p.LogX, 0, xs)
	yLow, yHigh := axisRange(p.YLimits, p.LogY, 0.05, ys)

	pl := newPlot(p.XLabel, p.YLabel, [2]float64{xLow, yLow}, [2]float64{xHigh, yHigh})
	if p.LogX {
		pl.X.Scale, pl.X.Tick.Marker = plot.LogScale{}, logTicks{4}
	}
	if p.LogY {
		pl.Y.Scale, pl.Y.Tick.Marker = plot.LogScale{}, logTicks{4}
	}
	pl.Add(lightGrid())
	var lines []plot.Plotter
	for i, name := range k.names {
		stroke := lineStyle(k.styles[name])
		if i%2 == 1 {
			// Two neighbours in the paper's order may share a dash pattern. The offset keeps them from
			// hiding each other where they coincide.
			stroke.DashOffs = sum(stroke.Dashes) / 2
		}
		for _, s := range p.Series {
			if s.Name != name {
				continue
			}
			style := k.styles[name]
			for _, run := range s.runs(p.LogX, p.LogY) {
				if s.Low != nil {
					pl.Add(band(s, run, bandColor(style))) // all bands lie below all lines
				}
				lines = append(lines, line(s, run, stroke))
			}
		}
	}
	pl.Add(lines...)
	return &panel{plot: pl, title: p.Title, aspect: 1.35}
}

// axisRange returns limits. If both are 0, it returns the range of the drawable values plus a
// margin (a fraction of the range). Without drawable values it returns 0 to 1, or 1 to 10 on a
// logarithmic axis.
func axisRange(limits [2]float64, log bool, margin float64, values [][]float64) (low,
	high float64) {
	if limits != [2]float64{} {
		return limits[0], limits[1]
	}
	low, high = rangeOf(values, func(v float64) bool { return drawable(v, log) })
	switch {
	case low > high && log:
		return 1, 10
	case low > high:
		return 0, 1
	case log && low == high:
		low, high = low/2, high*2
	case log:
		widen := math.Pow(high, margin) / math.Pow(low, margin)
		low, high = low/widen, high*widen
	case high-low <= 1e-12*max(math.Abs(low), math.Abs(high)):
		pad := max(math.Abs(low)*0.1, 0.5)
		low, high = low-pad, high+pad
	default:
		pad := margin*high - margin*low
		low, high = low-pad, high+pad
	}
	if log {
		low = max(low, math.SmallestNonzeroFloat64)
	}
	return max(low, -math.MaxFloat64), min(high, math.MaxFloat64)
}

// rangeOf returns the range of the values that count; low > high if there are none.
func rangeOf(values [][]float64, counts func(float64) bool) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, list := range values {
		for _, v := range list {
			if counts(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

func drawable(v float64, log bool) bool { return finite(v) && (!log || v > 0) }

// runs returns the ranges [from, to) of consecutive points that can be drawn.
func (s *Series) runs(logX, logY bool) [][2]int {
	var runs [][2]int
	from := -1
	for i := range len(s.X) + 1 {
		ok := i < len(s.X) && drawable(s.X[i], logX) && drawable(s.Y[i], logY) &&
			(s.Low == nil || drawable(s.Low[i], logY) && drawable(s.High[i], logY))
		if ok && from < 0 {
			from = i
		}
		if !ok && from >= 0 {
			runs = append(runs, [2]int{from, i})
			from = -1
		}
	}
	return runs
}

// points returns a run of points.
func points(s Series, run [2]int) (xys plotter.XYs) {
	for i := run[0]; i < run[1]; i++ {
		xys = append(xys, plotter.XY{X: s.X[i], Y: s.Y[i]})
	}
	return xys
}

// line draws a run of points; a single point becomes a dot.
func line(s Series, run [2]int, style draw.LineStyle) plot.Plotter {
	xys := points(s, run)
	if len(xys) == 1 {
		return dots(xys, style.Color, 1.8)
	}
	return quiet{&plotter.Line{XYs: xys, LineStyle: style}}
}

// dots draws discs at the points within the axes.
func dots(xys plotter.XYs, fill color.Color, radius vg.Length) plot.Plotter {
	return quiet{&plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: fill, Radius: radius,
		Shape: draw.CircleGlyph{}}}}
}

// band fills a run of points between Low and High.
func band(s Series, run [2]int, fill color.Color) plot.Plotter {
	var xys plotter.XYs
	for i := run[0]; i < run[1]; i++ {
		xys = append(xys, plotter.XY{X: s.X[i], Y: s.High[i]})
	}
	for i := run[1] - 1; i >= run[0]; i-- {
		xys = append(xys, plotter.XY{X: s.X[i], Y: s.Low[i]})
	}
	return clippedArea{xys, fill}
}

// quiet hides a plotter's glyph boxes and data range, because the axes are fixed and marks may
// overlap their ends.
type quiet struct{ inner plot.Plotter }

func (q quiet) Plot(c draw.Canvas, p *plot.Plot) { q.inner.Plot(c, p) }

type clippedArea struct {
	outline plotter.XYs
	fill    color.Color
}

func (a clippedArea) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	points := make([]vg.Point, len(a.outline))
	for i, v := range a.outline {
		points[i] = vg.Point{X: toX(v.X), Y: toY(v.Y)}
	}
	c.FillPolygon(a.fill, c.ClipPolygonXY(points))
}

func lineStyle(s Style) draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: 1.3, Dashes: s.Dashes}
}

func bandColor(s Style) color.NRGBA {
	c := s.Color
	c.A = 0x38
	return c
}
