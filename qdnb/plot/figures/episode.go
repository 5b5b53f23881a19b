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

// HurdleEpisode is the trajectory of a robot over hurdles under a controller that selects among skills.
// [MetaEpisode] draws it.
type HurdleEpisode struct {
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
func MetaEpisode(e HurdleEpisode) (Grid, error) {
	if err := e.check(); err != nil {
		return Grid{}, fmt.Errorf("figures: episode: %w", err)
	}
	colors, entries := e.colors()
	lower, upper := e.limits()
	side, err := plane(Axes{Title: e.Title, XLabel: "x (m)", YLabel: "height of the torso (m)"}, lower, upper, false)
	if err != nil {
		return Grid{}, err
	}
	strip, err := plane(Axes{XLabel: "control step"}, [2]float64{}, [2]float64{float64(len(e.X)), 1}, false)
	if err != nil {
		return Grid{}, err
	}
	side.Fixed, side.Width, side.Aspect, side.Legend = false, 5.8*vg.Inch, 4.5, entries
	strip.Fixed, strip.Width, strip.Aspect = false, 5.8*vg.Inch, 22
	strip.Y.Tick.Marker, strip.Y.Tick.Length = plot.ConstantTicks{}, 0
	side.put(part(func(c draw.Canvas, p *plot.Plot) { e.plotSide(c, p, colors) }))
	strip.put(part(func(c draw.Canvas, p *plot.Plot) { e.plotStrip(c, p, colors) }))
	side.putFrame()
	strip.putFrame()
	return InRows(1, side, strip), nil
}

func (e *HurdleEpisode) check() error {
	if len(e.X) != len(e.Z) || len(e.X) == 0 {
		return fmt.Errorf("%d x and %d z values: want equal numbers of both, at least one", len(e.X), len(e.Z))
	}
	if e.Decision < 1 || len(e.Skills) != (len(e.X)+e.Decision-1)/e.Decision {
		return fmt.Errorf("%d skills of %d steps each do not cover %d steps", len(e.Skills), e.Decision, len(e.X))
	}
	for _, h := range e.Hurdles {
		if !finite(h.X) || !finite(h.Radius) || h.Radius <= 0 {
			return fmt.Errorf("hurdle %+v: want a position and a radius above 0", h)
		}
	}
	return nil
}

// limits returns the limits of the side view: the trajectory and the hurdles near it.
func (e *HurdleEpisode) limits() (lower, upper [2]float64) {
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
func (e *HurdleEpisode) colors() (map[int]color.NRGBA, []Entry) {
	colors, entries := map[int]color.NRGBA{}, []Entry(nil)
	for i, skill := range slices.Compact(slices.Sorted(slices.Values(e.Skills))) {
		label := fmt.Sprintf("%s %d", e.Skill, skill)
		style := Style{Name: label, Color: skillColor(i)}
		colors[skill] = style.Color
		entries = append(entries, Entry{Text: capital(label), Mark: &Series{Style: &style}})
	}
	if len(entries) > mostLabels {
		entries = nil
	}
	return colors, entries
}

func (e *HurdleEpisode) plotSide(c draw.Canvas, p *plot.Plot, colors map[int]color.NRGBA) {
	toX, toZ := p.Transforms(&c)
	for _, h := range e.Hurdles {
		if h.X+h.Radius < p.X.Min || h.X-h.Radius > p.X.Max {
			continue
		}
		var circle []vg.Point // an ellipse when drawn, as the axes have different scales
		for k := range 48 {
			angle := 2 * math.Pi * float64(k) / 48
			circle = append(circle, vg.Point{X: toX(h.X + h.Radius*math.Cos(angle)), Y: toZ(h.Radius + h.Radius*math.Sin(angle))})
		}
		c.FillPolygon(wallColor, c.ClipPolygonXY(circle))
	}
	for k, skill := range e.Skills {
		from, to := max(0, k*e.Decision-1), min(len(e.X), (k+1)*e.Decision)
		c.StrokeLines(draw.LineStyle{Color: colors[skill], Width: 1.4},
			c.ClipLinesXY(linesOf(e.X[from:to], e.Z[from:to], toX, toZ)...)...)
	}
	plotEnds(c, linesOf(e.X, e.Z, toX, toZ), markRadius, ink)
}

// plotStrip draws a block for each decision, with the index of its skill if there is room.
func (e *HurdleEpisode) plotStrip(c draw.Canvas, p *plot.Plot, colors map[int]color.NRGBA) {
	toX, toY := p.Transforms(&c)
	style := textStyle(smallSize)
	style.YAlign = draw.YCenter
	for k, skill := range e.Skills {
		from, to := float64(k*e.Decision), float64(min(len(e.X), (k+1)*e.Decision))
		block := vg.Rectangle{Min: vg.Point{X: toX(from), Y: toY(0)}, Max: vg.Point{X: toX(to), Y: toY(1)}}
		col := colors[skill]
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
		c.FillText(style, vg.Point{X: (block.Min.X + block.Max.X) / 2, Y: (block.Min.Y + block.Max.Y) / 2}, label)
	}
}
