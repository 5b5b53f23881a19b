package figures

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/stats"
)

// BoxGroup holds the boxes above one label of the x axis.
type BoxGroup struct {
	Label string
	Boxes []Box
}

// Box summarises values: it spans the lower to the upper quartile in the colour of its name, with a
// bar at the median. Values that are not finite are not drawn; a box with any of them has only
// points, because quantiles of the remaining values would favour it. A *Box is a mark of any gonum
// plot.
type Box struct {
	Name   string // an algorithm, see [MethodStyles]
	Values []float64
	BoxOptions
	At, Width float64 // on the x axis; [Boxes] sets them

	palette *palette
}

// BoxOptions are what a [Box] shows besides quartiles.
type BoxOptions struct {
	Outer bool // a lighter box behind, from the 0.125 to the 0.875 quantile
	// Points draws the values as points, from left to right in their order, and is the name of one in
	// the legend; "": none.
	Points string
}

// Boxes returns a panel of groups of boxes, in the paper's order of methods. A name has the same
// position in every group. A box of one value is drawn as a bar.
func Boxes(a Axes, o BoxOptions, groups ...BoxGroup) (*Panel, error) {
	var names []string
	var values [2][][]float64
	boxes := make([][]Box, len(groups))
	for i, g := range groups {
		boxes[i] = slices.Clone(g.Boxes)
		for j := range boxes[i] {
			b := &boxes[i][j]
			b.BoxOptions = o
			names = append(names, b.Name)
			_, _, low, high := b.DataRange()
			values[1] = append(values[1], []float64{low, high})
		}
	}
	a.XLimits = [2]float64{0, max(float64(len(groups)), 1)}
	p, err := newPanel(a, values, [2]float64{0, 0.05})
	if err != nil {
		return nil, err
	}
	names = SortMethods(names)
	p.palette = newPalette(false, names)
	ticks, room := plot.ConstantTicks{}, 30*vg.Length(len(names))+12
	for i, g := range groups {
		ticks = append(ticks, plot.Tick{Value: float64(i) + 0.5, Label: g.Label})
		room = max(room, textStyle(labelSize).Width(g.Label)+10)
	}
	if slices.IndexFunc(groups, func(g BoxGroup) bool { return g.Label != "" }) < 0 {
		ticks = nil
	}
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Tick.Label.Font.Size = ticks, 0, labelSize
	p.Width = max(room*vg.Length(len(groups)), textStyle(titleSize).Width(a.Title)+10)
	p.Aspect = float64(p.Width / (1.9 * vg.Inch))
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal = 0, gridStyle
	p.put(grid)
	const pad = 0.12 // of a group, on each side
	width := (1 - 2*pad) / float64(max(len(names), 1))
	drawn := false
	for i := range boxes {
		for j := range boxes[i] {
			b := &boxes[i][j]
			slot := slices.Index(names, b.Name)
			b.At, b.Width, b.palette = float64(i)+pad+width*(float64(slot)+0.5), 0.8*width, p.palette
			drawn = drawn || slices.ContainsFunc(b.Values, finite)
			p.put(b)
			if style := b.style(); b.Name != "" {
				p.Legend = append(p.Legend, Entry{Text: style.Name, Mark: b, rank: methodRank(b.Name)})
			}
		}
	}
	if !drawn {
		p.empty()
	}
	p.Legend = append(p.Legend, Entry{Text: "Quartiles", Mark: filled(lighter(boxGrey, 0.6))})
	if o.Outer {
		p.Legend = append(p.Legend, Entry{Text: "Quantiles 0.125 to 0.875", Mark: filled(lighter(boxGrey, 0.25))})
	}
	p.Legend = append(p.Legend, Entry{Text: "Median", Mark: glyph(func(c draw.Canvas) {
		c.StrokeLine2(medianStyle, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	})})
	if o.Points != "" {
		p.Legend = append(p.Legend, Entry{Text: o.Points,
			Mark: glyph(func(c draw.Canvas) { mark(c, c.Center(), markRadius, boxGrey, paper) })})
	}
	return p, nil
}

var (
	outerQuantiles = [2]float64{0.125, 0.875}
	innerQuantiles = [2]float64{0.25, 0.75}
	medianStyle    = draw.LineStyle{Color: ink, Width: 1.6}
	boxGrey        = rgb(0x606060)
)

func filled(shade color.Color) glyph {
	return func(c draw.Canvas) {
		c.SetColor(shade)
		c.Fill(c.Path())
	}
}

func (b *Box) style() Style { return b.palette.style(b.Name) }

func (b *Box) whole() bool {
	return len(b.Values) > 0 && !slices.ContainsFunc(b.Values, func(v float64) bool { return !finite(v) })
}

func (b *Box) quantiles() [2]float64 {
	if b.Outer {
		return outerQuantiles
	}
	return innerQuantiles
}

// DataRange implements plot.DataRanger.
func (b *Box) DataRange() (xMin, xMax, yMin, yMax float64) {
	yMin, yMax = rangeOf([][]float64{b.Values}, finite)
	switch q := b.quantiles(); {
	case b.Points != "":
	case b.whole():
		yMin, yMax = stats.Quantile(b.Values, q[0]), stats.Quantile(b.Values, q[1])
	default: // draws neither a box nor points
		yMin, yMax = rangeOf(nil, finite)
	}
	return b.At - b.Width/2, b.At + b.Width/2, yMin, yMax
}

// Thumbnail implements plot.Thumbnailer.
func (b *Box) Thumbnail(c *draw.Canvas) { filled(lighter(b.style().Color, 0.6))(*c) }

// Plot implements plot.Plotter.
func (b *Box) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	left, right := toX(b.At-b.Width/2), toX(b.At+b.Width/2)
	inside := func(v float64) bool { return v >= p.Y.Min && v <= p.Y.Max }
	shade := b.style().Color
	fill := func(quantiles [2]float64, shade color.Color) {
		low := min(max(stats.Quantile(b.Values, quantiles[0]), p.Y.Min), p.Y.Max)
		high := min(max(stats.Quantile(b.Values, quantiles[1]), p.Y.Min), p.Y.Max)
		c.SetColor(shade)
		c.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: toY(low)}, Max: vg.Point{X: right, Y: toY(high)}}.Path())
	}
	if b.whole() && b.Outer {
		fill(outerQuantiles, lighter(shade, 0.25))
	}
	if b.whole() {
		fill(innerQuantiles, lighter(shade, 0.6))
	}
	for i, v := range b.Values {
		if b.Points != "" && finite(v) && inside(v) {
			x := left + (right-left)*vg.Length((float64(i)+0.5)/float64(len(b.Values)))
			mark(c, vg.Point{X: x, Y: toY(v)}, markRadius, shade, paper) // apart from a box of the same colour
		}
	}
	// The bar is drawn over the points because one of them is often the median itself.
	if b.whole() {
		if median := stats.Median(b.Values); inside(median) {
			c.StrokeLine2(medianStyle, left, toY(median), right, toY(median))
			touchPoint(c, b.style(), vg.Point{X: toX(b.At), Y: toY(median)}, "median %s, quartiles %s to %s", median,
				stats.Quantile(b.Values, innerQuantiles[0]), stats.Quantile(b.Values, innerQuantiles[1]))
		}
	}
}
