package figures

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/lists"
)

// Rect is a wall or a goal zone.
type Rect = catalog.Rect

// Path is a trajectory of a policy, such as one evaluation episode. A hollow circle marks its start,
// a filled one its end. A *Path is a mark of any gonum plot.
type Path struct {
	Label string    // such as its skill; paths with one label share a colour and a legend entry
	X, Y  []float64 // [steps]; points that are not finite interrupt the line

	palette *palette
	thin    bool // one of many
}

// Arena is a plane with walls and trajectories. [Trajectories] draws it.
type Arena struct {
	Title, XLabel, YLabel string
	Lower, Upper          [2]float64 // the visible area; paths are clipped to it
	Walls                 []Rect
	Goal                  *Rect // a point if episodes do not end in it
	Paths                 []Path
}

// ArenaOf returns the arena, without paths, of a built-in environment whose descriptor is a position
// (pointmaze, ant-omni, ant-trap, ant-maze, humanoid-omni). Its limits are the descriptor's; it has the
// environment's walls and goal.
func ArenaOf(env string) (*Arena, error) {
	task, _ := catalog.Find(env)
	if !task.Positions() {
		return nil, fmt.Errorf("figures: %s has no positions to draw; for an environment of your own "+
			"use watch.SkillTrajectories", env)
	}
	arena := ArenaWithin(task.Descriptor)
	arena.Walls, arena.Goal = task.Walls, task.Destination()
	return &arena, nil
}

// ArenaWithin returns an arena with the names and limits of a descriptor that is a position.
func ArenaWithin(d catalog.Descriptor) Arena {
	return Arena{
		XLabel: strings.TrimPrefix(d.Components[0], "final "),
		YLabel: strings.TrimPrefix(d.Components[1], "final "),
		Lower:  [2]float64{float64(d.Lower[0]), float64(d.Lower[1])},
		Upper:  [2]float64{float64(d.Upper[0]), float64(d.Upper[1])},
	}
}

// mostLabels is the number of labels in a legend. If there are more, its last entry says how many.
const mostLabels = 8

// Trajectories returns a panel of paths from above, on the same axes as [Map].
func Trajectories(a Arena) (*Panel, error) {
	p, err := plane(Axes{Title: a.Title, XLabel: a.XLabel, YLabel: a.YLabel}, a.Lower, a.Upper, true)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return nil, fmt.Errorf("figures: trajectories: %w", err)
	}
	p.palette = newPalette(true, lists.Map(a.Paths, func(path Path) string { return path.Label }))
	if a.Goal != nil {
		p.put(goal{*a.Goal, goalFill})
	}
	p.put(walls(a.Walls)) // a path that slides along a wall lies on its edge
	paths := slices.Clone(a.Paths)
	for i := range paths {
		path := &paths[i]
		path.palette, path.thin = p.palette, len(paths) > 20
		p.put(part(path.plotLine))
		if path.Label != "" {
			p.Legend = append(p.Legend, Entry{Text: capital(path.Label), Mark: path, rank: labelRank})
		}
	}
	for i := range paths {
		p.put(part(paths[i].plotEnds))
	}
	p.Legend = append(p.Legend, startEntry,
		Entry{Text: "End", Mark: glyph(func(c draw.Canvas) { mark(c, c.Center(), markRadius, axisColor, ink) })})
	if a.Goal != nil {
		p.Legend = append(p.Legend, goalEntry)
	}
	p.putFrame()
	return p, nil
}

func (a *Arena) check() error {
	for i, p := range a.Paths {
		if len(p.X) != len(p.Y) {
			return fmt.Errorf("path %d (%s) has %d x and %d y values", i, p.Label, len(p.X), len(p.Y))
		}
	}
	rects := a.Walls
	if a.Goal != nil {
		rects = append(rects[:len(rects):len(rects)], *a.Goal)
	}
	return checkRects(rects)
}

func checkRects(rects []Rect) error {
	for _, r := range rects {
		if !finite(r.X0) || !finite(r.Y0) || !finite(r.X1) || !finite(r.Y1) {
			return fmt.Errorf("wall or goal %+v is not finite", r)
		}
	}
	return nil
}

var (
	wallColor = color.NRGBA{R: 0xa0, G: 0xa0, B: 0xa0, A: 0xff}
	goalFill  = color.NRGBA{R: 0xd9, G: 0xef, B: 0xd3, A: 0xff}
	goalEdge  = color.NRGBA{R: 0x2f, G: 0x85, B: 0x3a, A: 0xff}
)

type walls []Rect

func (list walls) Plot(c draw.Canvas, p *plot.Plot) {
	for _, w := range list {
		if area, ok := within(c, p, w, 0); ok {
			rectangle(c, area, wallColor, wallColor)
		}
	}
}

// within returns the part of a rectangle in the canvas, where it is at least as large as a mark; false if there is none.
func within(c draw.Canvas, p *plot.Plot, r Rect, radius vg.Length) (vg.Rectangle, bool) {
	toX, toY := p.Transforms(&c)
	x, y := (toX(r.X0)+toX(r.X1))/2, (toY(r.Y0)+toY(r.Y1))/2
	w, h := max(radius, toX(r.X1)-x, x-toX(r.X1)), max(radius, toY(r.Y1)-y, y-toY(r.Y1))
	low := vg.Point{X: max(x-w, c.Min.X), Y: max(y-h, c.Min.Y)}
	high := vg.Point{X: min(x+w, c.Max.X), Y: min(y+h, c.Max.Y)}
	return vg.Rectangle{Min: low, Max: high}, low.X < high.X && low.Y < high.Y
}

// goal is the goal of a maze: filled, or an outline over cells.
type goal struct {
	Rect
	fill color.Color // nil: none
}

func (g goal) Plot(c draw.Canvas, p *plot.Plot) {
	if area, ok := within(c, p, g.Rect, goalRadius); ok {
		outlined(c, area, g.fill)
	}
}

func outlined(c draw.Canvas, area vg.Rectangle, fill color.Color) {
	if fill != nil {
		c.SetColor(fill)
		c.Fill(area.Path())
	}
	for _, line := range []draw.LineStyle{{Color: paper, Width: 2.4}, {Color: goalEdge, Width: 1.2}} {
		c.SetLineStyle(line)
		c.Stroke(area.Path())
	}
}

// start is where episodes in a maze start.
type start [2]float64

func (s start) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	mark(c, vg.Point{X: toX(s[0]), Y: toY(s[1])}, goalRadius, paper, ink)
}

// goalRadius is that of the marks of a goal that is a point and of a start.
const goalRadius = vg.Length(2.6)

var startEntry = Entry{Text: "Start", Mark: glyph(func(c draw.Canvas) { mark(c, c.Center(), goalRadius, paper, ink) })}

var goalEntry = Entry{Text: "Goal", Mark: glyph(func(c draw.Canvas) {
	half := vg.Point{X: goalRadius, Y: goalRadius}
	outlined(c, vg.Rectangle{Min: c.Center().Sub(half), Max: c.Center().Add(half)}, goalFill)
})}

// Plot implements plot.Plotter.
func (p *Path) Plot(c draw.Canvas, on *plot.Plot) {
	p.plotLine(c, on)
	p.plotEnds(c, on)
}

// DataRange implements plot.DataRanger.
func (p *Path) DataRange() (xMin, xMax, yMin, yMax float64) {
	xMin, xMax = rangeOf([][]float64{p.X}, finite)
	yMin, yMax = rangeOf([][]float64{p.Y}, finite)
	return xMin, xMax, yMin, yMax
}

// Thumbnail implements plot.Thumbnailer: a piece of the line.
func (p *Path) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(draw.LineStyle{Color: p.color(), Width: 1.3}, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}

func (p *Path) color() color.NRGBA {
	if p.palette == nil {
		return skillColors[0]
	}
	return p.palette.style(p.Label).Color
}

func (p *Path) plotLine(c draw.Canvas, on *plot.Plot) {
	toX, toY := on.Transforms(&c)
	style := p.color()
	// With many paths, thin translucent lines show where most of them go.
	alpha, width := uint8(0xe6), vg.Length(1.1)
	if p.thin {
		alpha, width = 0x80, 0.7
	}
	style.A = alpha
	lines := linesOf(p.X, p.Y, toX, toY)
	c.StrokeLines(draw.LineStyle{Color: style, Width: width}, c.ClipLinesXY(lines...)...)
	touchLines(c, Style{Name: p.Label, Color: style}, lines, nil)
}

func (p *Path) plotEnds(c draw.Canvas, on *plot.Plot) {
	toX, toY := on.Transforms(&c)
	radius := markRadius
	if p.thin {
		radius = 1.4
	}
	plotEnds(c, linesOf(p.X, p.Y, toX, toY), radius, p.color())
}

// linesOf returns the lines of a path on the canvas; points that are not finite interrupt it.
func linesOf(x, y []float64, toX, toY func(float64) vg.Length) (lines [][]vg.Point) {
	for _, run := range stretches(len(x), func(i int) bool { return finite(x[i]) && finite(y[i]) }) {
		var line []vg.Point
		for i := run[0]; i < run[1]; i++ {
			line = append(line, vg.Point{X: toX(x[i]), Y: toY(y[i])})
		}
		lines = append(lines, line)
	}
	return lines
}

const markRadius = vg.Length(2)

func plotEnds(c draw.Canvas, lines [][]vg.Point, r vg.Length, col color.Color) {
	if len(lines) > 0 {
		last := lines[len(lines)-1]
		mark(c, lines[0][0], r, paper, col)
		mark(c, last[len(last)-1], r, col, ink) // white would look like a start on lines of the same colour
	}
}

// mark draws a disc with an edge: hollow at a start and filled at an end.
func mark(c draw.Canvas, at vg.Point, r vg.Length, fill, edge color.Color) {
	c.DrawGlyph(draw.GlyphStyle{Color: edge, Radius: 1.175 * r, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: 0.825 * r, Shape: draw.CircleGlyph{}}, at)
}
