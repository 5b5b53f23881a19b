package figures

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/stats"
)

// Series is a line with an optional band. Points that are not finite (such as the maximum fitness of
// an empty repertoire), or not positive on a logarithmic axis, become gaps. A *Series is a mark of
// any gonum plot.
type Series struct {
	// Name is an algorithm, see [MethodStyles]. Series of one name share a colour and a legend entry.
	Name      string
	X, Y      []float64 // [n]
	Low, High []float64 // optional [n]: a band around the line, see [Quartiles]
	Style     *Style    // instead of the style that [MethodStyles] gives Name
	Dots      bool      // mark the points, and draw no line over a gap of more than twice their median distance
	Ends      bool      // write the name to the right of the axes, at the height of the last point

	palette *palette
	shifted bool // its dashes begin with half a period
}

// Lines returns a panel of lines over bands, with a legend in the paper's order of methods.
func Lines(a Axes, series ...Series) (*Panel, error) {
	var names []string
	var values [2][][]float64
	own := make([]*Series, len(series))
	for i, s := range series {
		n := len(s.X)
		if len(s.Y) != n || (s.Low != nil || s.High != nil) && (len(s.Low) != n || len(s.High) != n) {
			return nil, fmt.Errorf("figures: panel %q: series %q has %d x and %d y values and a band of %d "+
				"and %d", a.Title, s.Name, n, len(s.Y), len(s.Low), len(s.High))
		}
		values[0], values[1] = append(values[0], s.X), append(values[1], s.Y, s.Low, s.High)
		own[i] = &s
		if s.Style == nil {
			names = append(names, s.Name)
		}
	}
	p, err := newPanel(a, values, [2]float64{0, 0.05})
	if err != nil {
		return nil, err
	}
	p.palette = newPalette(false, names)
	slices.SortStableFunc(own, func(s, t *Series) int {
		switch {
		case s.Style == nil && t.Style == nil:
			return records.Compare(s.Name, t.Name)
		case s.Style == nil:
			return -1
		case t.Style == nil:
			return 1
		}
		return 0
	})
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal = gridStyle, gridStyle
	p.put(grid)
	drawn, position := false, 0
	for i, s := range own {
		if i > 0 && s.Name != own[i-1].Name {
			position++
		}
		// Neighbours in the paper's order may share a dash pattern. The offset keeps them from hiding
		// each other where they coincide.
		s.palette, s.shifted = p.palette, position%2 == 1
		p.put(part(s.plotBand)) // all bands lie below all lines
		drawn = drawn || len(s.runs(p.Plot)) > 0
	}
	var ends lineEnds
	for _, s := range own {
		p.put(part(s.plotLine))
		if s.Ends && len(s.runs(p.Plot)) > 0 {
			ends = append(ends, s)
		}
		if s.Name != "" {
			p.Legend = append(p.Legend, Entry{Text: s.style().Name, Mark: s, rank: methodRank(s.Name)})
		}
	}
	p.put(ends)
	if !drawn {
		p.empty()
	}
	return p, nil
}

// lineEnds are lines whose names are to the right of the axes.
type lineEnds []*Series

// Plot implements plot.Plotter: names as high as their lines end, and below the next one.
func (e lineEnds) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	height := func(s *Series) vg.Length {
		runs := s.runs(p)
		return toY(s.Y[runs[len(runs)-1][1]-1])
	}
	rising := slices.SortedStableFunc(slices.Values(e), func(a, b *Series) int { return cmp.Compare(height(a), height(b)) })
	style := textStyle(tickSize)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	next := c.Max.Y
	for i, s := range slices.Backward(rising) {
		style.Color = s.style().Color
		y := max(min(height(s), next), c.Min.Y+vg.Length(i)*tickSize)
		c.FillText(style, vg.Point{X: c.Max.X + 4, Y: y + style.FontExtents().Descent}, s.style().Name)
		next = y - tickSize
	}
}

// GlyphBoxes implements plot.GlyphBoxer.
func (e lineEnds) GlyphBoxes(*plot.Plot) (boxes []plot.GlyphBox) {
	for _, s := range e {
		width := textStyle(tickSize).Width(s.style().Name)
		boxes = append(boxes, plot.GlyphBox{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: 4 + width}}})
	}
	return boxes
}

// part is a plotter of a part of a mark.
type part func(draw.Canvas, *plot.Plot)

func (f part) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// Plot implements plot.Plotter.
func (s *Series) Plot(c draw.Canvas, p *plot.Plot) {
	s.plotBand(c, p)
	s.plotLine(c, p)
}

// DataRange implements plot.DataRanger.
func (s *Series) DataRange() (xMin, xMax, yMin, yMax float64) {
	xMin, xMax = rangeOf([][]float64{s.X}, finite)
	yMin, yMax = rangeOf([][]float64{s.Y, s.Low, s.High}, finite)
	return xMin, xMax, yMin, yMax
}

// Thumbnail implements plot.Thumbnailer: a piece of the line, over its band if it has one.
func (s *Series) Thumbnail(c *draw.Canvas) {
	if s.banded() {
		c.SetColor(s.style().band())
		c.Fill(c.Path())
	}
	y := c.Center().Y
	c.StrokeLine2(s.style().line(), c.Min.X, y, c.Max.X, y)
}

func (s *Series) banded() bool {
	for i := range s.Low {
		if s.High[i] > s.Low[i] {
			return true
		}
	}
	return false
}

func (s *Series) style() Style {
	if s.Style != nil {
		return *s.Style
	}
	return s.palette.style(s.Name)
}

func (s *Series) plotBand(c draw.Canvas, p *plot.Plot) {
	if s.Low == nil {
		return
	}
	toX, toY := p.Transforms(&c)
	for _, run := range s.runs(p) {
		var outline []vg.Point
		for i := run[0]; i < run[1]; i++ {
			outline = append(outline, vg.Point{X: toX(s.X[i]), Y: toY(s.High[i])})
		}
		for i := run[1] - 1; i >= run[0]; i-- {
			outline = append(outline, vg.Point{X: toX(s.X[i]), Y: toY(s.Low[i])})
		}
		c.FillPolygon(s.style().band(), c.ClipPolygonXY(outline))
	}
}

func (s *Series) plotLine(c draw.Canvas, p *plot.Plot) {
	style := s.style().line()
	if s.shifted {
		style.DashOffs = sum(style.Dashes) / 2
	}
	toX, toY := p.Transforms(&c)
	var lines, bands [][]vg.Point
	for _, run := range s.runs(p) {
		var points, band []vg.Point
		for i := run[0]; i < run[1]; i++ {
			points = append(points, vg.Point{X: toX(s.X[i]), Y: toY(s.Y[i])})
			if s.banded() {
				band = append(band, vg.Point{X: toY(s.Low[i]), Y: toY(s.High[i])})
			}
		}
		if lines = append(lines, points); band != nil {
			bands = append(bands, band)
		}
		c.StrokeLines(style, c.ClipLinesXY(points)...)
		for i := range points[1:] {
			markExit(c, style.Color, points[i], points[i+1])
			markExit(c, style.Color, points[i+1], points[i])
		}
		radius := vg.Length(1.8) // of a point without neighbours
		if s.Dots {
			radius = 1.2
		}
		for _, at := range points {
			if s.Dots || len(points) == 1 {
				c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: radius, Shape: draw.CircleGlyph{}}, at)
			}
		}
	}
	touchLines(c, s.style(), lines, bands)
}

// markExit draws a triangle at the lower or upper edge of a canvas where a line leaves it.
func markExit(c draw.Canvas, fill color.Color, inside, outside vg.Point) {
	edge, outward := c.Min.Y, vg.Length(-4)
	if outside.Y > c.Max.Y {
		edge, outward = c.Max.Y, 4
	}
	if !c.ContainsY(inside.Y) || c.ContainsY(outside.Y) {
		return
	}
	t := (edge - inside.Y) / (outside.Y - inside.Y)
	x := inside.X + t*(outside.X-inside.X)
	if c.ContainsX(x) {
		c.FillPolygon(fill, []vg.Point{{X: x - 2.5, Y: edge}, {X: x + 2.5, Y: edge}, {X: x, Y: edge + outward}})
	}
}

// runs returns the ranges [from, to) of consecutive points that can be drawn on the axes of a plot.
func (s *Series) runs(p *plot.Plot) (all [][2]int) {
	_, logX := p.X.Scale.(plot.LogScale)
	_, logY := p.Y.Scale.(plot.LogScale)
	var distances []float64
	for i := 1; i < len(s.X); i++ {
		distances = append(distances, s.X[i]-s.X[i-1])
	}
	usual := stats.Median(distances)
	for _, run := range stretches(len(s.X), func(i int) bool {
		return drawable(s.X[i], logX) && drawable(s.Y[i], logY) &&
			(s.Low == nil || drawable(s.Low[i], logY) && drawable(s.High[i], logY))
	}) {
		for i := run[0] + 1; i < run[1]; i++ {
			if s.Dots && distances[i-1] > 2*usual {
				all, run[0] = append(all, [2]int{run[0], i}), i
			}
		}
		all = append(all, run)
	}
	return all
}

// stretches returns the ranges [from, to) of consecutive points of n that count.
func stretches(n int, counts func(i int) bool) (all [][2]int) {
	for i := range n {
		switch last := len(all) - 1; {
		case !counts(i):
		case last >= 0 && all[last][1] == i:
			all[last][1]++
		default:
			all = append(all, [2]int{i, i + 1})
		}
	}
	return all
}

// Vertical is a thin dashed line at an x over the whole height of a plot.
type Vertical float64

// Plot implements plot.Plotter.
func (x Vertical) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	if at := toX(float64(x)); at >= c.Min.X && at <= c.Max.X {
		c.StrokeLine2(draw.LineStyle{Color: axisColor, Width: 0.6, Dashes: []vg.Length{2, 2}}, at, c.Min.Y, at, c.Max.Y)
	}
}

// checkAxis reports limits of an axis that are neither increasing nor left to the data (both 0).
func checkAxis(name string, limits [2]float64, log bool) error {
	low, high := limits[0], limits[1]
	if limits == [2]float64{} || low < high && finite(low) && finite(high) && !(log && low <= 0) {
		return nil
	}
	return fmt.Errorf("%s %v: want a finite lower < upper, or both 0 for the range of the data; above 0 on a "+
		"logarithmic axis", name, limits)
}

// axisRange returns limits. If both are 0, it returns the range of the drawable values plus a
// margin (a fraction of the range). Without drawable values it returns 0 to 1, or 1 to 10 on a
// logarithmic axis.
func axisRange(limits [2]float64, log bool, margin float64, values [][]float64) (low, high float64) {
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

// Rising returns limits of the y axis for curves that rise, such as those of the best fitness so far. The first
// twentieth of a curve does not count if it would take more than half of the axis; a line that leaves the axis there
// is marked. Both limits are 0, which is the range of the data, if all curves count as they are.
func Rising(curves []Series) [2]float64 {
	var all, later [][]float64
	for _, s := range curves {
		first, last := rangeOf([][]float64{s.X}, finite)
		for i, x := range s.X {
			at := []float64{s.Y[i]}
			if s.Low != nil {
				at = append(at, s.Low[i], s.High[i])
			}
			all = append(all, at)
			if x >= first+(last-first)/20 {
				later = append(later, at)
			}
		}
	}
	low, high := rangeOf(all, finite)
	if from, _ := rangeOf(later, finite); high-from < (high-low)/2 {
		low, high = axisRange([2]float64{}, false, 0.05, [][]float64{{from, high}})
		return [2]float64{low, high}
	}
	return [2]float64{}
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

// Quartiles combines the curves of several runs, such as one method with different seeds, into one
// series of that name: an average such as [stats.Median], with the lower and upper quartiles as its
// band, at the given x values or, if at is nil, at those of all runs. It drops values that not all
// runs cover, and returns an error if none remain.
//
// Runs are interpolated linearly. Where any run has a value that is not finite, the result is NaN,
// which [Lines] draws as a gap: a median of the other runs would favour them.
//
// The X values of each run must increase. Quantiles match NumPy's default (type 7 of Hyndman and
// Fan 1996).
func Quartiles(name string, runs []Series, at []float64, average func([]float64) float64) (Series, error) {
	if average == nil {
		average = stats.Median
	}
	if len(runs) == 0 {
		return Series{}, fmt.Errorf("figures: quartiles of no runs of %q: want at least one", name)
	}
	from, to := math.Inf(-1), math.Inf(1) // the range of x that all runs cover
	for i, r := range runs {
		if len(r.X) == 0 || len(r.X) != len(r.Y) {
			return Series{}, fmt.Errorf("figures: run %d of %q has %d x and %d y values", i, name, len(r.X), len(r.Y))
		}
		for k, x := range r.X {
			if !finite(x) || k > 0 && x <= r.X[k-1] {
				return Series{}, fmt.Errorf("figures: run %d of %q: x must increase, but value %d is %g", i, name, k, x)
			}
		}
		from, to = max(from, r.X[0]), min(to, r.X[len(r.X)-1])
	}
	if from > to {
		return Series{}, fmt.Errorf("figures: the runs of %q have no x in common", name)
	}
	if at == nil {
		for _, r := range runs {
			at = append(at, r.X...)
		}
		slices.Sort(at)
		at = slices.Compact(at)
	}
	s := Series{Name: name}
	values := make([]float64, len(runs))
	for _, x := range at {
		if !(x >= from && x <= to) {
			continue
		}
		for i, r := range runs {
			values[i] = stats.Interpolate(r.X, r.Y, x)
		}
		low, y, high := math.NaN(), math.NaN(), math.NaN()
		if !slices.ContainsFunc(values, func(v float64) bool { return !finite(v) }) {
			low, high = stats.Quartiles(values)
			y = average(values)
		}
		s.X, s.Y = append(s.X, x), append(s.Y, y)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	if len(s.X) == 0 {
		return Series{},
			fmt.Errorf("figures: the runs of %q cover %g to %g, which has none of the %d x values", name, from, to, len(at))
	}
	return s, nil
}
