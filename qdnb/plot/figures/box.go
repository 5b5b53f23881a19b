package figures

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/stats"
)

// BoxPanel is one plot of [Boxes]: samples side by side in groups.
type BoxPanel struct {
	Title, YLabel string
	YLimits       [2]float64 // both 0: the range of the data
	Groups        []BoxGroup
}

// BoxGroup holds the boxes above one label of the x axis.
type BoxGroup struct {
	Label   string
	Samples []Sample
}

// Sample holds the values that one box summarises. Values that are not finite are not drawn. A
// sample that contains any has no box, because quantiles of the remaining values would favour it.
type Sample struct {
	Name   string // an algorithm, see [MethodStyles]
	Values []float64
}

// BoxOptions configures [Boxes].
type BoxOptions struct {
	Outer bool // a lighter box behind each, from the 0.125 to the 0.875 quantile
	// Points draws the values as points, from left to right in their order, and is the name of one in
	// the legend; "": none.
	Points string
}

// Boxes draws panels of box plots in a row. A box spans the lower to the upper quartile in the
// colour of the sample's name, with a bar at the median. One legend below explains the parts. The
// boxes of a group follow the paper's order of methods. A sample of one value is drawn as a bar.
func Boxes(panels []BoxPanel, o BoxOptions) (*Figure, error) {
	if len(panels) == 0 {
		return nil, errors.New("figures: no panels of boxes: want at least one")
	}
	var names []string
	for i, p := range panels {
		if err := checkAxis("YLimits", p.YLimits, false); err != nil {
			return nil, fmt.Errorf("figures: panel %d (%s): %w", i, p.Title, err)
		}
		names = append(names, namesOf(p.Groups)...)
	}
	styles := MethodStyles(names...)
	names = SortMethods(names)
	width := vg.Length(0) // of the data area of the widest panel
	for i := range panels {
		width = max(width, panels[i].width())
	}
	// The minimum applies if there are too many panels for a page, which then grows.
	columns := vg.Length(len(panels))
	width = max(min(width, pageWidth/columns-boxMargin), minUnit)
	row := make([]*panel, len(panels))
	for j := range panels {
		row[j] = panels[j].panel(styles, o)
		row[j].aspect = float64(width / boxHeight)
	}
	l := &layout{panels: [][]*panel{row}, gapX: 10, legend: boxLegend(names, styles, o)}
	return l.figure(max(columns*(width+boxMargin), 3.2*vg.Inch)), nil
}

const (
	boxHeight = 1.9 * vg.Inch
	boxMargin = 36 // approximate width of a panel's labels next to the data
)

// width returns the width that the boxes, the labels below them and the title above need.
func (p *BoxPanel) width() vg.Length {
	group := 30*vg.Length(len(namesOf(p.Groups))) + 12
	style := textStyle(labelSize)
	for _, g := range p.Groups {
		group = max(group, style.Width(g.Label)+10)
	}
	return max(group*vg.Length(len(p.Groups)), textStyle(titleSize).Width(p.Title)+10)
}

// namesOf returns the distinct names of the samples of groups.
func namesOf(groups []BoxGroup) []string {
	var names []string
	for _, g := range groups {
		for _, s := range g.Samples {
			names = append(names, s.Name)
		}
	}
	return SortMethods(names)
}

// panel returns the plot of p. A group spans one unit of x between two integers. A name has the
// same position in every group.
func (p *BoxPanel) panel(styles map[string]Style, o BoxOptions) *panel {
	names := namesOf(p.Groups)
	var all [][]float64
	for _, g := range p.Groups {
		for _, s := range g.Samples {
			all = append(all, s.drawable(o)...)
		}
	}
	low, high := axisRange(p.YLimits, false, 0.05, all)
	pl := newPlot("", p.YLabel, [2]float64{0, low}, [2]float64{max(float64(len(p.Groups)), 1), high})
	var ticks []plot.Tick
	labelled := false
	for i, g := range p.Groups {
		ticks = append(ticks, plot.Tick{Value: float64(i) + 0.5, Label: g.Label})
		labelled = labelled || g.Label != ""
	}
	if !labelled {
		ticks = nil
	}
	pl.X.Tick.Marker = plot.ConstantTicks(ticks)
	pl.X.Tick.Length = 0
	pl.X.Tick.Label.Font.Size = labelSize
	grid := lightGrid()
	grid.Vertical.Width = 0
	pl.Add(grid)
	const pad = 0.12 // of a group, on each side
	width := (1 - 2*pad) / float64(max(len(names), 1))
	for i, g := range p.Groups {
		for _, s := range g.Samples {
			at := float64(i) + pad + width*(float64(slices.Index(names, s.Name))+0.5)
			pl.Add(box{sample: s, at: at, width: 0.8 * width, color: styles[s.Name].Color, options: o})
		}
	}
	if len(all) == 0 {
		markEmpty(pl)
	}
	return &panel{plot: pl, title: p.Title}
}

var (
	outerQuantiles = [2]float64{0.125, 0.875}
	innerQuantiles = [2]float64{0.25, 0.75}
)

// drawable returns the values that an axis must include.
func (s *Sample) drawable(o BoxOptions) [][]float64 {
	points := slices.DeleteFunc(slices.Clone(s.Values), func(v float64) bool { return !finite(v) })
	switch {
	case len(points) == 0:
		return nil
	case o.Points != "":
		return [][]float64{points}
	case len(points) < len(s.Values): // draws neither a box nor points
		return nil
	case o.Outer:
		return [][]float64{{stats.Quantile(points, outerQuantiles[0]),
			stats.Quantile(points, outerQuantiles[1])}}
	}
	return [][]float64{{stats.Quantile(points, innerQuantiles[0]),
		stats.Quantile(points, innerQuantiles[1])}}
}

// box draws a sample at a position of the x axis.
type box struct {
	sample    Sample
	at, width float64
	color     color.NRGBA
	options   BoxOptions
}

func (b box) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	left, right := toX(b.at-b.width/2), toX(b.at+b.width/2)
	inside := func(v float64) bool { return v >= p.Y.Min && v <= p.Y.Max }
	values := b.sample.Values
	whole := len(values) > 0 && !slices.ContainsFunc(values,
		func(v float64) bool { return !finite(v) })
	if whole {
		fill := func(quantiles [2]float64, shade color.Color) {
			low := min(max(stats.Quantile(values, quantiles[0]), p.Y.Min), p.Y.Max)
			high := min(max(stats.Quantile(values, quantiles[1]), p.Y.Min), p.Y.Max)
			c.SetColor(shade)
			r := vg.Rectangle{Min: vg.Point{X: left, Y: toY(low)}, Max: vg.Point{X: right, Y: toY(high)}}
			c.Fill(r.Path())
		}
		if b.options.Outer {
			fill(outerQuantiles, lighter(b.color, 0.25))
		}
		fill(innerQuantiles, lighter(b.color, 0.6))
	}
	if b.options.Points != "" {
		for i, v := range values {
			if finite(v) && inside(v) {
				x := left + (right-left)*vg.Length((float64(i)+0.5)/float64(len(values)))
				boxPoint(c, vg.Point{X: x, Y: toY(v)}, b.color)
			}
		}
	}
	// The bar is drawn over the points because one of them is often the median itself.
	if whole {
		if median := stats.Median(values); inside(median) {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: medianWidth}, left, toY(median), right,
				toY(median))
		}
	}
}

const (
	medianWidth = vg.Length(1.6)
	pointRadius = vg.Length(1.7)
)

// boxPoint draws a dot with an edge that separates it from a box of the same colour.
func boxPoint(c draw.Canvas, at vg.Point, fill color.Color) {
	c.DrawGlyph(draw.GlyphStyle{Color: paper, Radius: pointRadius + 0.6, Shape: draw.CircleGlyph{}},
		at)
	c.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: pointRadius, Shape: draw.CircleGlyph{}}, at)
}

// lighter mixes the given part of a colour with white. The result is opaque, so that a box hides
// the one behind it.
func lighter(c color.NRGBA, part float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(255 - part*(255-float64(v)))) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: 0xff}
}

// boxLegend lists the methods, then the parts of a box in grey.
func boxLegend(names []string, styles map[string]Style, o BoxOptions) *legend {
	l := new(legend)
	filled := func(shade color.Color) func(draw.Canvas) {
		return func(c draw.Canvas) {
			c.SetColor(shade)
			c.Fill(c.Path())
		}
	}
	for _, name := range names {
		if name != "" {
			l.entries = append(l.entries, legendEntry{styles[name].Name,
				filled(lighter(styles[name].Color, 0.6))})
		}
	}
	grey := rgb(0x606060)
	l.entries = append(l.entries, legendEntry{"quartiles", filled(lighter(grey, 0.6))})
	if o.Outer {
		l.entries = append(l.entries, legendEntry{"0.125 to 0.875", filled(lighter(grey, 0.25))})
	}
	l.entries = append(l.entries, legendEntry{"median",
		lineIcon(draw.LineStyle{Color: ink, Width: medianWidth}, nil)})
	if o.Points != "" {
		l.entries = append(l.entries, legendEntry{o.Points, func(c draw.Canvas) {
			boxPoint(c, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}, grey)
		}})
	}
	return l
}
