package figures

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Interval is a value of a method with a measure of its spread: a dot at the value on a bar from Low
// to High, small rings at the individual values, and marks. Values that are NaN are left out. A bar
// with an infinite end extends to the end of the axis. An *Interval is a mark of any gonum plot.
type Interval struct {
	Name      string // a method, see [MethodStyles]
	Value     float64
	Low, High float64   // a bar, such as quartiles or a confidence interval
	Points    []float64 // individual values, such as one per seed; may be nil
	Marks     []float64 // values to compare with Value, each in a shape of its own; may be nil
	At        float64   // on the y axis; [Intervals] sets it
	Style     *Style    // instead of the style that [MethodStyles] gives Name

	palette *palette
}

// MarkedIntervals returns a panel like [Intervals], with a legend that names the values and the marks
// of the rows.
func MarkedIntervals(a Axes, rows []Interval, value string, marks ...string) (*Panel, error) {
	p, err := Intervals(a, rows...)
	if err != nil {
		return nil, err
	}
	p.Legend = append(p.Legend, Entry{Text: value, Mark: &Interval{}})
	for i, name := range marks {
		p.Legend = append(p.Legend, Entry{Text: name, Mark: glyph(func(c draw.Canvas) { drawMark(c, i, c.Center()) })})
	}
	return p, nil
}

// Intervals returns a panel of intervals from top to bottom, with their names to the left. Row i is centred at a
// height of -i.
func Intervals(a Axes, rows ...Interval) (*Panel, error) {
	var names []string
	var values [2][][]float64
	for _, r := range rows {
		if r.Style == nil {
			names = append(names, r.Name)
		}
		values[0] = append(values[0], []float64{r.Value, r.Low, r.High}, r.Points, r.Marks)
	}
	a.YLimits = [2]float64{0.5 - float64(max(len(rows), 1)), 0.5}
	p, err := newPanel(a, values, [2]float64{0.06, 0})
	if err != nil {
		return nil, err
	}
	p.palette = newPalette(false, names)
	p.Aspect = 4 / (0.2 + 0.15*float64(max(len(rows), 3)))
	p.Y.Width, p.Y.Tick.Length = 0, 0
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal.Width = gridStyle, 0
	p.put(grid)
	ticks := plot.ConstantTicks{}
	for i, r := range rows {
		r.At, r.palette = -float64(i), p.palette
		p.put(&r)
		ticks = append(ticks, plot.Tick{Value: r.At, Label: r.style().Name})
	}
	p.Y.Tick.Marker = ticks
	return p, nil
}

func (r *Interval) style() Style {
	if r.Style != nil {
		return *r.Style
	}
	return r.palette.style(r.Name)
}

// DataRange implements plot.DataRanger.
func (r *Interval) DataRange() (xMin, xMax, yMin, yMax float64) {
	xMin, xMax = rangeOf([][]float64{{r.Value, r.Low, r.High}, r.Points, r.Marks}, finite)
	return xMin, xMax, r.At - 0.5, r.At + 0.5
}

// Thumbnail implements plot.Thumbnailer: a dot on a bar.
func (r *Interval) Thumbnail(c *draw.Canvas) {
	grey := axisColor
	if r.Name != "" {
		grey = r.style().Color
	}
	drawBar(*c, grey, c.Min.X, c.Max.X, c.Center().Y)
	drawDot(*c, grey, c.Center())
}

// Plot implements plot.Plotter.
func (r *Interval) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	y, style := toY(r.At), r.style()
	inside := func(x float64) bool { return finite(x) && x >= p.X.Min && x <= p.X.Max }
	if low, high := max(r.Low, p.X.Min), min(r.High, p.X.Max); low <= high { // not of NaN
		drawBar(c, style.Color, toX(low), toX(high), y)
	}
	for _, x := range r.Points {
		if inside(x) {
			c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 1.6, Shape: draw.RingGlyph{}}, vg.Point{X: toX(x), Y: y})
		}
	}
	if inside(r.Value) {
		drawDot(c, style.Color, vg.Point{X: toX(r.Value), Y: y})
		touchPoint(c, style, vg.Point{X: toX(r.Value), Y: y}, "%s (%s to %s)", r.Value, r.Low, r.High)
	}
	for i, x := range r.Marks {
		if inside(x) {
			drawMark(c, i, vg.Point{X: toX(x), Y: y})
		}
	}
}

func drawBar(c draw.Canvas, bar color.NRGBA, low, high, y vg.Length) {
	const barHeight = vg.Length(4)
	bar.A = 0x60
	c.SetColor(bar)
	c.Fill(vg.Rectangle{Min: vg.Point{X: low, Y: y - barHeight/2}, Max: vg.Point{X: high, Y: y + barHeight/2}}.Path())
}

func drawDot(c draw.Canvas, dot color.NRGBA, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: dot, Radius: 2.6, Shape: draw.CircleGlyph{}}, at)
}

// drawMark draws mark i, a diamond, triangle, pentagon or hexagon, with a light outline.
func drawMark(c draw.Canvas, i int, at vg.Point) {
	const radius = vg.Length(3.7)
	corners := []int{4, 3, 5, 6}[i%4]
	var path vg.Path
	path.Move(vg.Point{X: at.X, Y: at.Y + radius})
	for k := 1; k < corners; k++ {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(corners))
		path.Line(vg.Point{X: at.X + radius*vg.Length(sin), Y: at.Y + radius*vg.Length(cos)})
	}
	path.Close()
	c.SetColor(ink)
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: paper, Width: 0.7})
	c.Stroke(path)
}
