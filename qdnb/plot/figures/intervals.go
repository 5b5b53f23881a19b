package figures

import (
	"fmt"
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
	l := &layout{gapX: 14, gapY: 12}
	for row := range slices.Chunk(panels, columns) {
		drawn := make([]*panel, columns)
		for j := range row {
			drawn[j] = row[j].panel(styles)
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

// panel returns the plot of p. Row i is centred at a height of -i; the y axis is not drawn.
func (p *IntervalPanel) panel(styles map[string]Style) *panel {
	var xs [][]float64
	for _, r := range p.Rows {
		xs = append(xs, []float64{r.Value, r.Low, r.High}, r.Points)
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
		pl.Add(quiet{intervalMarks{r, styles[r.Name], -float64(i)}})
	}
	return &panel{plot: pl, title: p.Title, aspect: 4 / (0.2 + 0.3*float64(max(len(p.Rows), 3)))}
}

// intervalMarks draws a row of an IntervalPanel: the name, and below it the marks.
type intervalMarks struct {
	row   Interval
	style Style
	y     float64
}

// The dimensions of a row: the marks are below its middle and the name is above.
const (
	intervalDrop  = vg.Length(5.5)
	intervalWidth = vg.Length(4)
)

func (m intervalMarks) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	middle := toY(m.y)
	text := textStyle(tickSize)
	text.XAlign, text.YAlign = draw.XLeft, draw.YBottom
	c.FillText(text, vg.Point{X: c.Min.X + 3, Y: middle + 0.5}, m.style.Name)

	inside := func(x float64) bool { return finite(x) && x >= p.X.Min && x <= p.X.Max }
	y := middle - intervalDrop
	if low, high := max(m.row.Low, p.X.Min), min(m.row.High, p.X.Max); low <= high { // not of NaN
		bar := m.style.Color
		bar.A = 0x60
		c.SetColor(bar)
		c.Fill(vg.Rectangle{Min: vg.Point{X: toX(low), Y: y - intervalWidth/2},
			Max: vg.Point{X: toX(high), Y: y + intervalWidth/2}}.Path())
	}
	for _, x := range m.row.Points {
		if inside(x) {
			c.DrawGlyph(draw.GlyphStyle{Color: m.style.Color, Radius: 1.6, Shape: draw.RingGlyph{}},
				vg.Point{X: toX(x), Y: y})
		}
	}
	if inside(m.row.Value) {
		c.DrawGlyph(draw.GlyphStyle{Color: m.style.Color, Radius: 2.6, Shape: draw.CircleGlyph{}},
			vg.Point{X: toX(m.row.Value), Y: y})
	}
}
