package figures

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cells is a repertoire for [RepertoireMap]: n cells of a two-dimensional descriptor space.
type Cells struct {
	Title          string // above the map, optional
	XLabel, YLabel string // names of the two descriptor components; y has no ticks without a name

	Centroids   [][2]float64 // [n], in the descriptors' units
	Fitness     []float64    // [n]; an empty cell is -Inf or NaN
	Descriptors [][2]float64 // optional [n]: descriptors of the stored solutions, drawn as dots

	Lower, Upper [2]float64 // limits of the descriptor space

	// Min and Max are the fitness at the ends of the colour range; values outside are clamped. Both 0:
	// the range of the data.
	Min, Max float64
	Quantity string // what the colours show; "": Fitness
}

// Points2D converts flat values ([n, dims], row-major) to points for a map. It returns an error
// unless dims is 2, because only two dimensions can be drawn as a map.
func Points2D[T float32 | float64](flat []T, dims int) ([][2]float64, error) {
	if dims != 2 {
		return nil, fmt.Errorf("figures: a repertoire map needs 2 descriptor dimensions, these have "+
			"%d: show metric curves", dims)
	}
	if len(flat)%2 != 0 {
		return nil, fmt.Errorf("figures: %d values are not rows of 2", len(flat))
	}
	points := make([][2]float64, len(flat)/2)
	for i := range points {
		points[i] = [2]float64{float64(flat[2*i]), float64(flat[2*i+1])}
	}
	return points, nil
}

func (c *Cells) check() error {
	if err := checkLimits(c.Lower, c.Upper); err != nil {
		return err
	}
	n := len(c.Centroids)
	if n == 0 {
		return fmt.Errorf("a repertoire map needs centroids")
	}
	if len(c.Fitness) != n {
		return fmt.Errorf("%d centroids but %d fitness values", n, len(c.Fitness))
	}
	if c.Descriptors != nil && len(c.Descriptors) != n {
		return fmt.Errorf("%d centroids but %d descriptors", n, len(c.Descriptors))
	}
	if (c.Min != 0 || c.Max != 0) && !(c.Min < c.Max && finite(c.Min) && finite(c.Max)) {
		return fmt.Errorf("colour range from %g to %g: want Min < Max, or both 0 for the range of the "+
			"data", c.Min, c.Max)
	}
	return nil
}

// RepertoireMap draws the Voronoi cells of the centroids, clipped to the limits and coloured by
// fitness. Empty cells are light grey. Both axes have the same scale unless one range is more than
// four times the other.
func RepertoireMap(c Cells) (*Figure, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("figures: repertoire map: %w", err)
	}
	return alone(&c, nil, nil, 4.4)
}

// alone draws a map with its colour bar and legend. Wide maps get a wider figure, so that areas are
// about equal.
func alone(m Map, labels labelColors, key *legend, width vg.Length) (*Figure, error) {
	bar := newBar(m)
	p, err := m.panel(bar, labels)
	if err != nil {
		return nil, err
	}
	l := &layout{panels: [][]*panel{{p}}, equal: true, legend: key}
	if bar != nil {
		l.rightBars, width = []*colorBar{bar}, 4.4
	}
	if p.aspect > 1.5 {
		width = 6
	}
	return l.figure(width * vg.Inch), nil
}

func (c *Cells) axes() (lower, upper [2]float64, labels [2]string) {
	return c.Lower, c.Upper, [2]string{c.XLabel, c.YLabel}
}

// panel implements [Map]; bar is nil if no cell is filled.
func (c *Cells) panel(bar *colorBar, _ labelColors) (*panel, error) {
	polygons, err := Voronoi(c.Centroids, c.Lower, c.Upper)
	if err != nil {
		return nil, err
	}
	m := cellMap{polygons: polygons, fills: make([]color.NRGBA, len(polygons))}
	for i, f := range c.Fitness {
		m.fills[i] = emptyFill
		if finite(f) {
			m.fills[i] = Viridis(bar.position(f))
			if c.Descriptors != nil {
				m.dots = append(m.dots, c.Descriptors[i])
			}
		}
	}
	p := newPlot(c.XLabel, c.YLabel, c.Lower, c.Upper)
	if c.YLabel == "" {
		hideTicks(&p.Y)
	}
	p.Add(m)
	addFrame(p)
	return &panel{plot: p, title: c.Title, aspect: mapAspect(c.Lower, c.Upper)}, nil
}

// mapAspect returns the width / height of a map with equal scales, limited to 1:4 and 4:1.
func mapAspect(lower, upper [2]float64) float64 {
	return min(max((upper[0]-lower[0])/(upper[1]-lower[1]), 1.0/4), 4)
}

// hideTicks removes the labels and ticks of an axis that a neighbour already shows.
func hideTicks(axis *plot.Axis) {
	axis.Label.Text = ""
	axis.Tick.Marker = plot.ConstantTicks(nil)
}

type cellMap struct {
	polygons [][][2]float64
	fills    []color.NRGBA
	dots     [][2]float64
}

func (m cellMap) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	paths := make([]vg.Path, len(m.polygons))
	for i, polygon := range m.polygons {
		for k, v := range polygon {
			at := vg.Point{X: toX(v[0]), Y: toY(v[1])}
			if k == 0 {
				paths[i].Move(at)
			} else {
				paths[i].Line(at)
			}
		}
		if polygon != nil {
			paths[i].Close()
		}
	}
	// Outlines are drawn after all fills, because they also cover the seams that smoothing leaves
	// between neighbours. Outlines of filled cells come last: faint lines among themselves, a clear
	// edge towards empty cells.
	for pass := range 4 {
		for i, path := range paths {
			empty := m.fills[i] == emptyFill
			switch {
			case path == nil || empty != (pass%2 == 0):
			case pass < 2:
				c.SetColor(m.fills[i])
				c.Fill(path)
			default:
				c.SetLineStyle(draw.LineStyle{Color: outline(m.fills[i]), Width: 0.3})
				c.Stroke(path)
			}
		}
	}
	dot := draw.GlyphStyle{Color: color.NRGBA{A: 0xb0}, Radius: 0.7, Shape: draw.CircleGlyph{}}
	for _, d := range m.dots {
		if finite(d[0]) && finite(d[1]) {
			c.DrawGlyph(dot, vg.Point{X: toX(d[0]), Y: toY(d[1])}) // outside the limits: not drawn
		}
	}
}

// outline returns the colour of the line around a cell.
func outline(fill color.NRGBA) color.NRGBA {
	if fill == emptyFill {
		return cellOutline
	}
	lighter := func(v uint8) uint8 { return v + uint8(float64(255-v)*0.3) }
	return color.NRGBA{R: lighter(fill.R), G: lighter(fill.G), B: lighter(fill.B), A: 0xff}
}
