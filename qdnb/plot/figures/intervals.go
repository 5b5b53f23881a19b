package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Interval is a value of a method with a measure of its spread.
type Interval struct {
	Name      string // a method, see [MethodStyles]
	Value     float64
	Low, High float64   // a bar, such as quartiles or a confidence interval
	Points    []float64 // individual values, such as one per seed; may be nil
	Marks     []float64 // values to compare with Value, each in a shape of its own; may be nil
}

// IntervalPanel is one plot of [Intervals]: methods below each other, each with a dot at its value
// on a bar from Low to High, and small rings at the individual values. NaN values are left out. A
// bar with an infinite end extends to the end of the axis.
type IntervalPanel struct {
	Title, XLabel string
	XLimits       [2]float64 // the ends of the axis; both 0: the range of the data
	Rows          []Interval // from top to bottom
}

// Intervals draws panels in rows of the given number of columns. The panels name the methods, so
// there is no legend.
func Intervals(panels []IntervalPanel, columns int) (*Figure, error) {
	return intervals(panels, columns, nil)
}

// MarkedIntervals draws panels like [Intervals], with a legend that names the values and the marks
// of the rows. Rows are half as high: their names are to the left, once for panels next to each
// other.
func MarkedIntervals(panels []IntervalPanel, columns int, value string, marks ...string) (*Figure,
	error) {
	l := &legend{entries: []legendEntry{{value, func(c draw.Canvas) {
		drawBar(c, axisColor, c.Min.X, c.Max.X, c.Center().Y)
		drawDot(c, axisColor, c.Center())
	}}}}
	for i, name := range marks {
		l.entries = append(l.entries, legendEntry{name,
			func(c draw.Canvas) { drawMark(c, i, c.Center()) }})
	}
	return intervals(panels, columns, l)
}

func intervals(panels []IntervalPanel, columns int, legend *legend) (*Figure, error) {
	if len(panels) == 0 || columns < 1 {
		return nil, fmt.Errorf("figures: %d panels in %d columns: want at least one of each", len(panels),
			columns)
	}
	columns = min(columns, len(panels))
	var names []string
	for i := range panels {
		if err := panels[i].check(); err != nil {
			return nil, err
		}
		names = append(names, panels[i].names()...)
	}
	styles := MethodStyles(names...)
	l := &layout{gapX: 14, gapY: 12, legend: legend}
	for row := range slices.Chunk(panels, columns) {
		drawn := make([]*panel, columns)
		for j := range row {
			drawn[j] = row[j].panel(styles, legend != nil)
			if legend != nil && (j == 0 || !slices.Equal(row[j].names(), row[j-1].names())) {
				drawn[j].plot.Y.Tick.Marker = row[j].ticks(styles)
			}
		}
		l.panels = append(l.panels, drawn)
	}
	return l.figure(widthOf(columns)), nil
}

func (p *IntervalPanel) check() error {
	if err := checkAxis("XLimits", p.XLimits, false); err != nil {
		return fmt.Errorf("figures: panel %q: %w", p.Title, err)
	}
	return nil
}

func (p *IntervalPanel) names() []string {
	names := make([]string, len(p.Rows))
	for i, r := range p.Rows {
		names[i] = r.Name
	}
	return names
}

// ticks returns the names of the rows as the ticks of the y axis.
func (p *IntervalPanel) ticks(styles map[string]Style) (ticks plot.ConstantTicks) {
	for i, r := range p.Rows {
		ticks = append(ticks, plot.Tick{Value: -float64(i), Label: styles[r.Name].Name})
	}
	return ticks
}

// panel returns the plot of p. Row i is centred at a height of -i; the y axis is not drawn. Compact
// rows are half as high, without names.
func (p *IntervalPanel) panel(styles map[string]Style, compact bool) *panel {
	var xs [][]float64
	for _, r := range p.Rows {
		xs = append(xs, []float64{r.Value, r.Low, r.High}, r.Points, r.Marks)
	}
	low, high := axisRange(p.XLimits, false, 0.06, xs)
	pl := newPlot(p.XLabel, "", [2]float64{low, 0.5 - float64(max(len(p.Rows), 1))},
		[2]float64{high, 0.5})
	pl.Y.Tick.Marker = plot.ConstantTicks(nil)
	pl.Y.Width, pl.Y.Tick.Length = 0, 0
	grid := lightGrid()
	grid.Horizontal.Width = 0
	pl.Add(grid)
	for i, r := range p.Rows {
		pl.Add(quiet{intervalMarks{r, styles[r.Name], -float64(i), compact}})
	}
	height := 0.3
	if compact {
		height = 0.15
	}
	return &panel{plot: pl, title: p.Title,
		aspect: 4 / (0.2 + height*float64(max(len(p.Rows), 3)))}
}

// intervalMarks draws a row of an IntervalPanel: the name, and below it the marks; only the marks
// if it is compact.
type intervalMarks struct {
	row     Interval
	style   Style
	y       float64
	compact bool
}

// The dimensions of a row: the marks are below its middle and the name is above.
const (
	intervalDrop  = vg.Length(5.5)
	intervalWidth = vg.Length(4)
)

func (m intervalMarks) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	y := toY(m.y)
	if !m.compact {
		text := textStyle(tickSize)
		text.XAlign, text.YAlign = draw.XLeft, draw.YBottom
		c.FillText(text, vg.Point{X: c.Min.X + 3, Y: y + 0.5}, m.style.Name)
		y -= intervalDrop
	}

	inside := func(x float64) bool { return finite(x) && x >= p.X.Min && x <= p.X.Max }
	if low, high := max(m.row.Low, p.X.Min), min(m.row.High, p.X.Max); low <= high { // not of NaN
		drawBar(c, m.style.Color, toX(low), toX(high), y)
	}
	for _, x := range m.row.Points {
		if inside(x) {
			c.DrawGlyph(draw.GlyphStyle{Color: m.style.Color, Radius: 1.6, Shape: draw.RingGlyph{}},
				vg.Point{X: toX(x), Y: y})
		}
	}
	if inside(m.row.Value) {
		drawDot(c, m.style.Color, vg.Point{X: toX(m.row.Value), Y: y})
	}
	for i, x := range m.row.Marks {
		if inside(x) {
			drawMark(c, i, vg.Point{X: toX(x), Y: y})
		}
	}
}

// drawBar draws the bar of an interval at a height.
func drawBar(c draw.Canvas, bar color.NRGBA, low, high, y vg.Length) {
	bar.A = 0x60
	c.SetColor(bar)
	c.Fill(vg.Rectangle{Min: vg.Point{X: low, Y: y - intervalWidth/2},
		Max: vg.Point{X: high, Y: y + intervalWidth/2}}.Path())
}

// drawDot draws the value of an interval.
func drawDot(c draw.Canvas, dot color.NRGBA, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: dot, Radius: 2.6, Shape: draw.CircleGlyph{}}, at)
}

// drawMark draws mark i, a diamond, triangle, pentagon or hexagon, with an outline that separates
// it from what it covers.
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
