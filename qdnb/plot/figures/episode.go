package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Episode is the trajectory of a robot over hurdles under a controller that selects among skills.
// [MetaEpisode] draws it.
type Episode struct {
	Title string
	// X is the position along the track and Z the height of the torso: [steps], metres. A point that
	// is not finite interrupts the line.
	X, Z     []float64
	Skills   []int  // indices of the selected skills, in order of time
	Skill    string // what an index refers to, such as "cell"
	Decision int    // environment steps per selected skill
	Hurdles  []Hurdle
}

// Hurdle is a bar across the track, on the ground.
type Hurdle struct{ X, Radius float64 } // metres

// MetaEpisode draws the trajectory over the hurdles from the side, in the colour of the active
// skill, and below it the sequence of skills. Heights are exaggerated.
func MetaEpisode(e Episode) (*Figure, error) {
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("figures: episode: %w", err)
	}
	colors, entries := e.colors()
	lower, upper := e.limits()
	side := newPlot("x (m)", "torso height (m)", lower, upper)
	side.Add(sideView{e, colors})
	addFrame(side)

	strip := newPlot("step", "", [2]float64{0, 0}, [2]float64{float64(len(e.X)), 1})
	strip.Add(skillStrip{e, colors})
	addFrame(strip)
	strip.Y.Tick.Marker = plot.ConstantTicks{}
	strip.Y.Tick.Length = 0

	l := &layout{
		panels: [][]*panel{{{plot: side, title: e.Title, aspect: 4.5}}, {{plot: strip, aspect: 22}}},
		gapY:   6, legend: &legend{entries: entries},
	}
	return l.figure(6.5 * vg.Inch), nil
}

func (e *Episode) check() error {
	if len(e.X) != len(e.Z) || len(e.X) == 0 {
		return fmt.Errorf("%d x and %d z values: want equal numbers of both, at least one", len(e.X),
			len(e.Z))
	}
	if e.Decision < 1 || len(e.Skills) != (len(e.X)+e.Decision-1)/e.Decision {
		return fmt.Errorf("%d skills of %d steps each do not cover %d steps", len(e.Skills), e.Decision,
			len(e.X))
	}
	for _, h := range e.Hurdles {
		if !finite(h.X) || !finite(h.Radius) || h.Radius <= 0 {
			return fmt.Errorf("hurdle %+v: want a position and a radius above 0", h)
		}
	}
	return nil
}

// limits returns the limits of the side view: the trajectory and the hurdles near it, from the
// ground up.
func (e *Episode) limits() (lower, upper [2]float64) {
	lower, upper = [2]float64{-0.5, 0}, [2]float64{3.5, 1.2}
	for i, x := range e.X {
		if finite(x) && finite(e.Z[i]) {
			lower[0], upper[0] = min(lower[0], x-0.5), max(upper[0], x+0.5)
			lower[1], upper[1] = min(lower[1], e.Z[i]-0.1), max(upper[1], e.Z[i]+0.1)
		}
	}
	return lower, upper
}

// colors returns the colours of the skills by index, and legend entries if there are few skills.
// Otherwise the labels of the blocks below name the skills.
func (e *Episode) colors() (map[int]color.NRGBA, []legendEntry) {
	order := slices.Compact(slices.Sorted(slices.Values(e.Skills)))
	colors := map[int]color.NRGBA{}
	var entries []legendEntry
	for i, skill := range order {
		// the last yellows are pale on white
		col := Viridis(0.9 * float64(i) / float64(max(1, len(order)-1)))
		if len(order) <= len(skillColors) {
			col = skillColors[i]
		}
		colors[skill] = col
		label := fmt.Sprintf("%s %d", e.Skill, skill)
		entries = append(entries, legendEntry{label,
			lineIcon(draw.LineStyle{Color: col, Width: 1.6}, nil)})
	}
	if len(order) > len(skillColors) {
		entries = nil
	}
	return colors, entries
}

type sideView struct {
	Episode
	colors map[int]color.NRGBA
}

func (s sideView) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toZ := p.Transforms(&c)
	for _, h := range s.Hurdles {
		if h.X+h.Radius < p.X.Min || h.X-h.Radius > p.X.Max {
			continue
		}
		var circle []vg.Point // an ellipse when drawn, as the axes have different scales
		for k := range 48 {
			angle := 2 * math.Pi * float64(k) / 48
			circle = append(circle, vg.Point{X: toX(h.X + h.Radius*math.Cos(angle)),
				Y: toZ(h.Radius + h.Radius*math.Sin(angle))})
		}
		c.FillPolygon(wallColor, c.ClipPolygonXY(circle))
	}
	for k, skill := range s.Skills {
		from, to := max(0, k*s.Decision-1), min(len(s.X), (k+1)*s.Decision)
		c.StrokeLines(draw.LineStyle{Color: s.colors[skill], Width: 1.4},
			c.ClipLinesXY(linesOf(s.X[from:to], s.Z[from:to], toX, toZ)...)...)
	}
	if first, last, ok := ends(Path{X: s.X, Y: s.Z}); ok {
		startMark(c, vg.Point{X: toX(s.X[first]), Y: toZ(s.Z[first])}, markRadius, ink)
		endMark(c, vg.Point{X: toX(s.X[last]), Y: toZ(s.Z[last])}, markRadius, ink)
	}
}

// skillStrip draws a block for each decision, with the index of its skill if there is room.
type skillStrip struct {
	Episode
	colors map[int]color.NRGBA
}

func (s skillStrip) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	style := textStyle(6)
	style.YAlign = draw.YCenter
	for k, skill := range s.Skills {
		from, to := float64(k*s.Decision), float64(min(len(s.X), (k+1)*s.Decision))
		block := vg.Rectangle{Min: vg.Point{X: toX(from), Y: toY(0)},
			Max: vg.Point{X: toX(to), Y: toY(1)}}
		col := s.colors[skill]
		c.SetColor(col)
		c.Fill(block.Path())
		label := strconv.Itoa(skill)
		if style.Width(label) > block.Max.X-block.Min.X-1 {
			continue
		}
		style.Color = paper
		if 0.3*float64(col.R)+0.59*float64(col.G)+0.11*float64(col.B) > 140 { // dark on light
			style.Color = ink
		}
		c.FillText(style, vg.Point{X: (block.Min.X + block.Max.X) / 2,
			Y: (block.Min.Y + block.Max.Y) / 2}, label)
	}
}
