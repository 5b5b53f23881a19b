package figures

import (
	"cmp"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cells is a repertoire: n cells of a two-dimensional descriptor space. [Map] draws them; a *Cells is
// a mark of any gonum plot.
type Cells struct {
	Title          string // above the map, optional
	XLabel, YLabel string // names of the two descriptor components; without YLabel it is a strip along x

	Centroids   [][2]float64 // [n], in the descriptors' units
	Fitness     []float64    // [n]; an empty cell is -Inf or NaN
	Descriptors [][2]float64 // optional [n]: descriptors of the stored solutions, drawn as dots

	Lower, Upper [2]float64 // limits of the descriptor space
	Positions    bool       // both components are positions: axes of equal scales
	Bar          *ColorBar  // what the colours show; nil: the fitness of these cells
	Walls        []Rect     // optional, drawn over the cells

	// Start and Goal are optional: where episodes start, and where they are to end, which may be a point. [Map] marks
	// them.
	Start *[2]float64
	Goal  *Rect

	// History is optional: earlier states, the first one first, which a slider below the map of a notebook shows.
	History []Moment

	polygons [][][2]float64
}

// Moment is an earlier state of [Cells].
type Moment struct {
	Name    string    // such as "generation 10"
	Fitness []float64 // [n], as in Cells
}

func (c *Cells) check() error {
	n := len(c.Centroids)
	switch {
	case n == 0:
		return fmt.Errorf("a repertoire map needs centroids")
	case len(c.Fitness) != n:
		return fmt.Errorf("%d centroids but %d fitness values", n, len(c.Fitness))
	case c.Descriptors != nil && len(c.Descriptors) != n:
		return fmt.Errorf("%d centroids but %d descriptors", n, len(c.Descriptors))
	}
	for _, moment := range c.History {
		if len(moment.Fitness) != n {
			return fmt.Errorf("%d centroids but %d fitness values of %s", n, len(moment.Fitness), moment.Name)
		}
	}
	return nil
}

// Map returns a panel of the Voronoi cells of the centroids, clipped to the limits and coloured by
// fitness. Empty cells are light grey. Axes of positions have the same scale unless one range is
// more than four times the other; other maps are square.
func Map(c Cells) (*Panel, error) {
	p, err := plane(Axes{Title: c.Title, XLabel: c.XLabel, YLabel: c.YLabel}, c.Lower, c.Upper, c.Positions)
	if c.Bar == nil {
		c.Bar = new(ColorBar)
	}
	if err = cmp.Or(err, c.check(), c.Bar.check(), checkRects(c.Walls)); err != nil {
		return nil, fmt.Errorf("figures: repertoire map: %w", err)
	}
	if c.polygons, err = Voronoi(c.Centroids, c.Lower, c.Upper); err != nil {
		return nil, err
	}
	c.Bar.values = append(c.Bar.values, c.Fitness)
	p.Bar = c.Bar
	if c.YLabel == "" {
		p.Aspect = 6
		p.Y.Tick.Marker = plot.ConstantTicks(nil)
	}
	p.put(&c)
	p.putFrame()
	if c.Start != nil {
		p.put(start(*c.Start))
		p.Legend = append(p.Legend, startEntry)
	}
	if c.Goal != nil {
		p.put(goal{*c.Goal, nil})
		p.Legend = append(p.Legend, goalEntry)
	}
	return p, nil
}

func plane(a Axes, lower, upper [2]float64, positions bool) (*Panel, error) {
	if err := checkLimits(lower, upper); err != nil {
		return nil, err
	}
	a.XLimits, a.YLimits = [2]float64{lower[0], upper[0]}, [2]float64{lower[1], upper[1]}
	p, err := newPanel(a, [2][][]float64{}, [2]float64{})
	if err != nil {
		return nil, err
	}
	p.Aspect, p.Fixed, p.Width = 1, true, 3.2*vg.Inch
	if positions {
		p.Aspect = min(max((upper[0]-lower[0])/(upper[1]-lower[1]), 1.0/4), 4)
	}
	if p.Aspect > 1.5 {
		p.Width = 5 * vg.Inch
	}
	return p, nil
}

// Plot implements plot.Plotter. It panics if there are no cells.
func (c *Cells) Plot(canvas draw.Canvas, p *plot.Plot) {
	if c.polygons == nil { // in a plot that Map did not make
		polygons, err := Voronoi(c.Centroids, c.Lower, c.Upper)
		if err = cmp.Or(c.check(), err); err != nil {
			panic(err)
		}
		c.polygons = polygons
	}
	bar := c.Bar
	if bar == nil {
		bar = &ColorBar{values: [][]float64{c.Fitness}}
	}
	toX, toY := p.Transforms(&canvas)
	paths, fills := make([]vg.Path, len(c.polygons)), bar.colors(c.Fitness)
	for i, polygon := range c.polygons {
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
			empty := !finite(c.Fitness[i])
			switch {
			case path == nil || empty != (pass%2 == 0):
			case pass < 2:
				canvas.SetColor(fills[i])
				canvas.Fill(path)
			default:
				line := cellOutline
				if !empty {
					line = lighter(fills[i], 0.7)
				}
				canvas.SetLineStyle(draw.LineStyle{Color: line, Width: 0.3})
				canvas.Stroke(path)
			}
		}
	}
	dot := draw.GlyphStyle{Color: color.NRGBA{A: 0xb0}, Radius: 0.7, Shape: draw.CircleGlyph{}}
	for i, d := range c.Descriptors {
		if finite(c.Fitness[i]) && finite(d[0]) && finite(d[1]) {
			canvas.DrawGlyph(dot, vg.Point{X: toX(d[0]), Y: toY(d[1])}) // outside the limits: not drawn
		}
	}
	walls(c.Walls).Plot(canvas, p)
	touchCells(canvas, p, c, bar)
}

// DataRange implements plot.DataRanger.
func (c *Cells) DataRange() (xMin, xMax, yMin, yMax float64) {
	return c.Lower[0], c.Upper[0], c.Lower[1], c.Upper[1]
}

// Thumbnail implements plot.Thumbnailer: the range of the colours.
func (c *Cells) Thumbnail(canvas *draw.Canvas) {
	bar := c.Bar
	if bar == nil {
		bar = new(ColorBar)
	}
	bar.fill(*canvas, canvas.Rectangle, true)
}
