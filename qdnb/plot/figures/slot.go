package figures

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// slot is a panel in a layout.
type slot struct {
	*Panel
	plot plot.Plot // a copy, whose ticks and labels the layout adapts
	// The layout draws the title itself, centred over the data area. A plot would centre it over data
	// and axis.
	title         string
	labels        [2]string // of the axes; fitLabels breaks them into lines
	aspect        float64
	size          vg.Point // of the data area, as far as it is known
	row, column   int      // of its upper left corner
	rows, columns int      // that it spans
}

func newSlot(p *Panel) (*slot, error) {
	if p.Plot == nil {
		return nil, fmt.Errorf("a panel needs a plot")
	}
	c := &slot{Panel: p, plot: *p.Plot, title: p.Title.Text, aspect: p.Aspect,
		labels: [2]string{p.X.Label.Text, p.Y.Label.Text}, rows: max(p.Rows, 1), columns: max(p.Columns, 1)}
	if c.aspect == 0 {
		c.aspect = 1.35
	}
	if !(c.aspect > 0) || !finite(c.aspect) {
		return nil, fmt.Errorf("aspect %g: want a positive width / height", p.Aspect)
	}
	c.plot.Title.Text = ""
	err := cmp.Or(checkRange("x", &p.X), checkRange("y", &p.Y))
	if p.Bar != nil {
		err = cmp.Or(err, p.Bar.check())
	}
	return c, err
}

// checkRange rejects limits that are not numbers, or so far apart that gonum's ticks would never end. A
// plot without data has the limits +Inf and -Inf, for which gonum takes others.
func checkRange(name string, axis *plot.Axis) error {
	largest := math.MaxFloat64
	if _, ok := axis.Tick.Marker.(plot.DefaultTicks); ok {
		largest = 1e300
	}
	low, high := axis.Min, axis.Max
	if math.Abs(low) <= largest && math.Abs(high) <= largest || math.IsInf(low, 1) && math.IsInf(high, -1) {
		return nil
	}
	return fmt.Errorf("the %s axis goes from %g to %g: want finite limits; leave out values that are not", name, low, high)
}

// labelRoom is the room of labels of axes while the sizes of the axes are unknown.
const labelRoom = vg.Length(150)

// fitLabels breaks the labels of the axes into lines that are no longer than the axes, whose
// lengths are given. Next to a longer label gonum/plot misplaces the data area. Words that are
// longer than an axis are cut.
func (c *slot) fitLabels(lengths vg.Point) {
	for d, axis := range []*plot.Axis{&c.plot.X, &c.plot.Y} {
		room, style := []vg.Length{lengths.X, lengths.Y}[d], axis.Label.TextStyle
		lines := wrapped(c.labels[d], style, room)
		for i, line := range lines {
			for cut := []rune(line); len(cut) > 1 && style.Width(lines[i]) > room; {
				cut = cut[:len(cut)-1]
				lines[i] = string(cut) + "…"
			}
		}
		axis.Label.Text = strings.Join(lines, "\n")
	}
}

// within returns the size of the panel's data area in a slot.
func (c *slot) within(w, h vg.Length) vg.Point {
	if c.Fixed {
		w, h = min(w, h*vg.Length(c.aspect)), min(h, w/vg.Length(c.aspect))
	}
	return vg.Point{X: w, Y: h}
}

// draw draws the plot so that its data area fills area, and its title above.
func (c *slot) draw(canvas draw.Canvas, area vg.Rectangle, size vg.Length) {
	c.plot.Draw(c.around(canvas, area))
	if c.title != "" {
		at := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Max.Y + titleGap}
		canvas.FillText(textStyle(size), at, c.title)
	}
}

// around returns the part of a canvas in which the data area of the plot is the given one.
func (c *slot) around(canvas draw.Canvas, area vg.Rectangle) draw.Canvas {
	// gonum/plot finds no data area in a canvas without room for the margins.
	room := vg.Point{X: labelRoom, Y: labelRoom}
	canvas.Min, canvas.Max = area.Min.Sub(room), area.Max.Add(room)
	for range 5 { // the plot's margins depend a little on its size
		d := c.plot.DataCanvas(canvas)
		canvas.Min = canvas.Min.Add(area.Min.Sub(d.Min))
		canvas.Max = canvas.Max.Add(area.Max.Sub(d.Max))
	}
	return canvas
}
