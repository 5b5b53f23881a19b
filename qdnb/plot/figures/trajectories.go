package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/envs/catalog"
)

// Rect is a wall or a goal zone.
type Rect = catalog.Rect

// Path is a trajectory of a policy, such as one evaluation episode.
type Path struct {
	Label string    // such as its skill; paths with one label share a colour and a legend entry
	X, Y  []float64 // [steps]; points that are not finite interrupt the line
}

// Arena is a plane with walls and trajectories. [Trajectories] draws it.
type Arena struct {
	Title, XLabel, YLabel string
	Lower, Upper          [2]float64 // the visible area; paths are clipped to it
	Walls                 []Rect
	Goal                  *Rect
	Paths                 []Path
}

// skillColors are assigned to labels in order. They are from Okabe and Ito (2008) without the
// yellow, which is pale on white.
var skillColors = []color.NRGBA{
	rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0xcc79a7), rgb(0xe69f00), rgb(0x56b4e9),
	rgb(0x000000),
}

// Trajectories draws paths from above, on the same axes as [RepertoireMap]. A hollow circle marks
// the start of a path, a filled one its end.
func Trajectories(a Arena) (*Figure, error) {
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("figures: trajectories: %w", err)
	}
	labels := newLabelColors(&a)
	return alone(&a, labels, &legend{entries: labels.legend(&a)}, 4)
}

func (a *Arena) axes() (lower, upper [2]float64, labels [2]string) {
	return a.Lower, a.Upper, [2]string{a.XLabel, a.YLabel}
}

func (a *Arena) panel(_ *colorBar, labels labelColors) (*panel, error) {
	p := newPlot(a.XLabel, a.YLabel, a.Lower, a.Upper)
	p.Add(arenaPlot{*a, labels})
	addFrame(p)
	return &panel{plot: p, title: a.Title, aspect: mapAspect(a.Lower, a.Upper)}, nil
}

func (a *Arena) check() error {
	if err := checkLimits(a.Lower, a.Upper); err != nil {
		return err
	}
	for i, p := range a.Paths {
		if len(p.X) != len(p.Y) {
			return fmt.Errorf("path %d (%s) has %d x and %d y values", i, p.Label, len(p.X), len(p.Y))
		}
	}
	rects := a.Walls
	if a.Goal != nil {
		rects = append(rects[:len(rects):len(rects)], *a.Goal)
	}
	for _, r := range rects {
		if !finite(r.X0) || !finite(r.Y0) || !finite(r.X1) || !finite(r.Y1) {
			return fmt.Errorf("wall or goal %+v is not finite", r)
		}
	}
	return nil
}

// labelColors are the labels of paths in order of appearance, which gives each a colour.
type labelColors []string

func newLabelColors(arenas ...*Arena) (l labelColors) {
	for _, a := range arenas {
		for _, p := range a.Paths {
			if !slices.Contains(l, p.Label) {
				l = append(l, p.Label)
			}
		}
	}
	return l
}

func (l labelColors) of(label string) color.NRGBA {
	i := slices.Index(l, label)
	if len(l) <= len(skillColors) {
		return skillColors[i]
	}
	return Viridis(0.95 * float64(i) / float64(len(l)-1)) // the last yellows are pale on white
}

// mostLabels is the number of labels above which a legend would be larger than its figure.
const mostLabels = 40

// legend explains the labels unless they are too many, the ends of paths and, if an arena has one,
// the goal.
func (l labelColors) legend(arenas ...*Arena) []legendEntry {
	var entries []legendEntry
	for _, label := range l {
		if label != "" && len(l) <= mostLabels {
			entries = append(entries, legendEntry{label,
				lineIcon(draw.LineStyle{Color: l.of(label), Width: 1.3}, nil)})
		}
	}
	entries = append(entries, legendEntry{"start", markIcon(startMark)},
		legendEntry{"end", markIcon(endMark)})
	if slices.ContainsFunc(arenas, func(a *Arena) bool { return a.Goal != nil }) {
		entries = append(entries, legendEntry{"goal", goalIcon})
	}
	return entries
}

func goalIcon(c draw.Canvas) {
	side := c.Max.Y - c.Min.Y
	x := (c.Min.X + c.Max.X) / 2
	fillRect(c, vg.Rectangle{Min: vg.Point{X: x - side/2, Y: c.Min.Y},
		Max: vg.Point{X: x + side/2, Y: c.Max.Y}}, goalFill, goalEdge)
}

var (
	wallColor = color.NRGBA{R: 0xa0, G: 0xa0, B: 0xa0, A: 0xff}
	goalFill  = color.NRGBA{R: 0xd9, G: 0xef, B: 0xd3, A: 0xff}
	goalEdge  = color.NRGBA{R: 0x2f, G: 0x85, B: 0x3a, A: 0xff}
)

// fillRect fills a rectangle and strokes its edge, which keeps thin walls visible.
func fillRect(c draw.Canvas, r vg.Rectangle, fill, edge color.Color) {
	c.SetColor(fill)
	c.Fill(r.Path())
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: 0.8})
	c.Stroke(r.Path())
}

type arenaPlot struct {
	Arena
	labels labelColors
}

func (a arenaPlot) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	rect := func(r Rect) (vg.Rectangle, bool) {
		low := vg.Point{X: max(toX(min(r.X0, r.X1)), c.Min.X), Y: max(toY(min(r.Y0, r.Y1)), c.Min.Y)}
		high := vg.Point{X: min(toX(max(r.X0, r.X1)), c.Max.X), Y: min(toY(max(r.Y0, r.Y1)), c.Max.Y)}
		return vg.Rectangle{Min: low, Max: high}, low.X < high.X && low.Y < high.Y
	}
	if a.Goal != nil {
		if r, visible := rect(*a.Goal); visible {
			fillRect(c, r, goalFill, goalEdge)
		}
	}
	// A path that slides along a wall lies on its edge, so walls are drawn first.
	for _, w := range a.Walls {
		if r, visible := rect(w); visible {
			fillRect(c, r, wallColor, wallColor)
		}
	}
	// With many paths, thin translucent lines show where most of them go.
	alpha, width, radius := uint8(0xe6), vg.Length(1.1), markRadius
	if len(a.Paths) > 20 {
		alpha, width, radius = 0x80, 0.7, 1.4
	}
	for _, path := range a.Paths {
		col := a.labels.of(path.Label)
		col.A = alpha
		lines := linesOf(path.X, path.Y, toX, toY)
		c.StrokeLines(draw.LineStyle{Color: col, Width: width}, c.ClipLinesXY(lines...)...)
	}
	for _, path := range a.Paths {
		if first, last, ok := ends(path); ok {
			col := a.labels.of(path.Label)
			startMark(c, vg.Point{X: toX(path.X[first]), Y: toY(path.Y[first])}, radius, col)
			endMark(c, vg.Point{X: toX(path.X[last]), Y: toY(path.Y[last])}, radius, col)
		}
	}
}

// linesOf returns the lines of a path on the canvas; points that are not finite interrupt it.
func linesOf(x, y []float64, toX, toY func(float64) vg.Length) (lines [][]vg.Point) {
	broken := true
	for k := range x {
		if !finite(x[k]) || !finite(y[k]) {
			broken = true
			continue
		}
		if broken {
			lines, broken = append(lines, nil), false
		}
		last := &lines[len(lines)-1]
		*last = append(*last, vg.Point{X: toX(x[k]), Y: toY(y[k])})
	}
	return lines
}

func ends(p Path) (first, last int, ok bool) {
	first = -1
	for k := range p.X {
		if finite(p.X[k]) && finite(p.Y[k]) {
			if first < 0 {
				first = k
			}
			last = k
		}
	}
	return first, last, first >= 0
}

const markRadius = vg.Length(2)

// startMark draws a hollow circle and endMark a filled one, unless they are outside the canvas.
func startMark(c draw.Canvas, at vg.Point, r vg.Length, col color.Color) {
	mark(c, at, r, paper, col)
}
func endMark(c draw.Canvas, at vg.Point, r vg.Length, col color.Color) {
	mark(c, at, r, col, paper)
}

func mark(c draw.Canvas, at vg.Point, r vg.Length, fill, edge color.Color) {
	if !c.Contains(at) {
		return
	}
	var circle vg.Path
	circle.Move(vg.Point{X: at.X + r, Y: at.Y})
	circle.Arc(at, r, 0, 2*math.Pi)
	circle.Close()
	c.SetColor(fill)
	c.Fill(circle)
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: 0.35 * r})
	c.Stroke(circle)
}

func markIcon(mark func(draw.Canvas, vg.Point, vg.Length, color.Color)) func(draw.Canvas) {
	return func(c draw.Canvas) { mark(c, c.Center(), markRadius, axisColor) }
}
