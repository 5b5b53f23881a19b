package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/internal/lists"
)

// Points are n points of a space of d components, such as the descriptors of a repertoire. [Parallel] draws
// them.
type Points struct {
	Title        string
	Components   []string    // [d], the names
	Lower, Upper []float64   // [d], the limits
	At           [][]float64 // [n, d]
	Values       []float64   // [n], what the colours show
	Bar          *ColorBar   // explains the colours; nil: fitness
}

func (s Points) check() error {
	d := len(s.Components)
	if d < 2 || len(s.Lower) != d || len(s.Upper) != d || len(s.Values) != len(s.At) {
		return fmt.Errorf("%d components with %d and %d limits, and %d points with %d values: want at least 2 components, as "+
			"many limits, and as many values as points", d, len(s.Lower), len(s.Upper), len(s.At), len(s.Values))
	}
	for k := range d {
		if low, high := s.Lower[k], s.Upper[k]; !(low < high) || !finite(low) || !finite(high) {
			return fmt.Errorf("%s has the limits %v and %v: want a finite lower < upper", s.Components[k], low, high)
		}
	}
	for i, at := range s.At {
		if len(at) != d {
			return fmt.Errorf("point %d has %d components, not %d", i, len(at), d)
		}
	}
	return nil
}

// Parallel returns a panel of points in parallel coordinates (Inselberg 1985): each component has an axis from
// its lower to its upper limit, and each point is a line across them. Lines of higher values lie above others.
// Those with a number that is not finite are left out.
func Parallel(points Points) (*Panel, error) {
	if points.Bar == nil {
		points.Bar = new(ColorBar)
	}
	if err := cmp.Or(points.check(), points.Bar.check()); err != nil {
		return nil, fmt.Errorf("figures: parallel coordinates: %w", err)
	}
	d := len(points.Components)
	equal := points.equalLimits()
	a := Axes{Title: points.Title, XLimits: [2]float64{0, float64(d - 1)}, YLimits: [2]float64{0, 1}}
	if equal {
		a.YLimits = [2]float64{points.Lower[0], points.Upper[0]}
	}
	p, err := newPanel(a, [2][][]float64{}, [2]float64{})
	if err != nil {
		return nil, err
	}
	p.Aspect, p.Width = 2.4, 6.2*vg.Inch
	var ticks plot.ConstantTicks
	for k, name := range points.Components {
		if !equal {
			name += strings.ReplaceAll(fmt.Sprintf("\n%.3g to %.3g", points.Lower[k], points.Upper[k]), "-", "−")
		}
		ticks = append(ticks, plot.Tick{Value: float64(k), Label: name})
	}
	p.X.Tick.Marker = ticks
	if !equal {
		p.Y.Tick.Marker = plot.ConstantTicks(nil)
	}
	points.Bar.values = append(points.Bar.values, points.Values)
	p.Bar = points.Bar
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal.Width = draw.LineStyle{Color: axisColor, Width: axisWidth}, 0
	p.put(part(points.plot), grid)
	if len(points.At) == 0 {
		p.empty()
	}
	return p, nil
}

// equalLimits reports whether all components have the same limits, so that one axis has the numbers of all.
func (s Points) equalLimits() bool {
	for k := range s.Lower {
		if s.Lower[k] != s.Lower[0] || s.Upper[k] != s.Upper[0] {
			return false
		}
	}
	return true
}

func (s Points) plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	order := lists.Indices(len(s.At))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.Values[i], s.Values[j]) })
	colors := s.Bar.colors(s.Values)
	for _, i := range order {
		if !finite(s.Values[i]) || slices.ContainsFunc(s.At[i], func(x float64) bool { return !finite(x) }) {
			continue
		}
		var line []vg.Point
		for k, x := range s.At[i] {
			share := linearScale{}.Normalize(s.Lower[k], s.Upper[k], x)
			line = append(line, vg.Point{X: toX(float64(k)), Y: toY(p.Y.Min + share*(p.Y.Max-p.Y.Min))})
		}
		c.StrokeLines(draw.LineStyle{Color: colors[i], Width: 0.5}, c.ClipLinesXY(line)...)
	}
}
