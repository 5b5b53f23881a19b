package figures

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colorBar maps fitnesses to viridis, and explains the colours of a map.
type colorBar struct {
	low, high float64
	label     string // written next to the bar
}

// newBar returns the colour bar that some maps share. If all repertoires set a range, the bar
// covers the widest one, otherwise the range of the finite values, widened if it has no extent. It
// is nil if there is nothing to colour.
func newBar(shared ...Map) *colorBar {
	b, stated := &colorBar{math.Inf(1), math.Inf(-1), "Fitness"}, true
	var all [][]float64
	for _, m := range shared {
		if c, ok := m.(*Cells); ok {
			all = append(all, c.Fitness)
			b.label = cmp.Or(c.Quantity, b.label)
			b.low, b.high = min(b.low, c.Min), max(b.high, c.Max)
			stated = stated && (c.Min != 0 || c.Max != 0)
		}
	}
	if stated && len(all) > 0 {
		return b
	}
	if b.low, b.high = rangeOf(all, finite); b.low > b.high {
		return nil
	}
	if size := max(math.Abs(b.low), math.Abs(b.high)); b.high-b.low <= 1e-9*size {
		// All values share the colour in the middle of a bar around them.
		pad := max(0.05*size, 0.5)
		b.low, b.high = max(b.low-pad, -math.MaxFloat64), min(b.high+pad, math.MaxFloat64)
	}
	return b
}

func (b *colorBar) position(v float64) float64 { return linearScale{}.Normalize(b.low, b.high, v) }

const (
	barGap   = vg.Length(8)
	barThick = vg.Length(8)
	barPad   = vg.Length(3) // between bar, ticks and label

	barApart = vg.Length(7) // between labels of a horizontal bar
	maxBar   = 4 * vg.Inch  // the longest vertical bar
)

// barOverhang is how far the labels of a horizontal bar may extend beyond its ends. The left side
// allows more, because the numbers of the y axis above take space there.
var barOverhang = [2]vg.Length{12, 4}

// thickness returns the space that the bar takes next to (or below) the panels.
func (b *colorBar) thickness(horizontal bool) vg.Length {
	style := textStyle(tickSize)
	ticks := style.Height("0")
	if !horizontal {
		ticks = 0
		for _, t := range (linearTicks{6}).Ticks(b.low, b.high) {
			ticks = max(ticks, style.Width(t.Label))
		}
	}
	t := barGap + barThick + tickLen + ticks + barPad + textStyle(labelSize).Height(b.label)
	if !horizontal {
		t += barPad
	}
	return t
}

// drawVertical draws the bar to the right of x over the height of span.
func (b *colorBar) drawVertical(c draw.Canvas, x vg.Length, span [2]vg.Length) {
	x += barGap
	bar := vg.Rectangle{Min: vg.Point{X: x, Y: span[0]}, Max: vg.Point{X: x + barThick, Y: span[1]}}
	fillViridis(c, bar, false)

	style := textStyle(tickSize)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	line := draw.LineStyle{Color: axisColor, Width: axisWidth}
	var widest vg.Length
	for _, t := range (linearTicks{barIntervals(span, 26)}).Ticks(b.low, b.high) {
		y := span[0] + vg.Length(b.position(t.Value))*(span[1]-span[0])
		c.StrokeLine2(line, bar.Max.X, y, bar.Max.X+tickLen, y)
		// The same height as a plot's tick labels.
		c.FillText(style, vg.Point{X: bar.Max.X + tickLen + barPad, Y: y + style.FontExtents().Descent},
			t.Label)
		widest = max(widest, style.Width(t.Label))
	}
	label := textStyle(labelSize)
	label.Rotation, label.YAlign = math.Pi/2, draw.YTop
	c.FillText(label, vg.Point{X: bar.Max.X + tickLen + barPad + widest + barPad, Y: middle(span)},
		b.label)
}

// drawHorizontal draws the bar below y over the width of span.
func (b *colorBar) drawHorizontal(c draw.Canvas, y vg.Length, span [2]vg.Length) {
	y -= barGap
	bar := vg.Rectangle{Min: vg.Point{X: span[0], Y: y - barThick}, Max: vg.Point{X: span[1], Y: y}}
	fillViridis(c, bar, true)

	style := textStyle(tickSize)
	style.YAlign = draw.YTop
	line := draw.LineStyle{Color: axisColor, Width: axisWidth}
	for _, t := range b.horizontalTicks(style, span) {
		x := span[0] + vg.Length(b.position(t.Value))*(span[1]-span[0])
		c.StrokeLine2(line, x, bar.Min.Y, x, bar.Min.Y-tickLen)
		left, right := b.extent(t, style, span)
		c.FillText(style, vg.Point{X: (left + right) / 2, Y: bar.Min.Y - tickLen}, t.Label)
	}
	label := textStyle(labelSize)
	label.YAlign = draw.YTop
	c.FillText(label, vg.Point{X: middle(span),
		Y: bar.Min.Y - tickLen - style.Height("0") - barPad}, b.label)
}

// horizontalTicks returns as many ticks as there is room for their labels. If not even two round
// values fit, it returns ticks at the ends of the bar.
func (b *colorBar) horizontalTicks(style draw.TextStyle, span [2]vg.Length) []plot.Tick {
	for n := barIntervals(span, 34); n > 0; n-- {
		ticks := linearTicks{n}.Ticks(b.low, b.high)
		apart := true
		for i := range max(0, len(ticks)-1) {
			_, right := b.extent(ticks[i], style, span)
			left, _ := b.extent(ticks[i+1], style, span)
			apart = apart && right+barApart <= left
		}
		if apart {
			return ticks
		}
	}
	step, largest := niceStep(b.high/10-b.low/10), max(math.Abs(b.low), math.Abs(b.high))
	return []plot.Tick{{Value: b.low, Label: formatTick(b.low, step, largest)},
		{Value: b.high, Label: formatTick(b.high, step, largest)}}
}

// extent returns where the label of a tick of a horizontal bar begins and ends. The label is
// centred at the tick but does not extend far beyond the bar.
func (b *colorBar) extent(t plot.Tick, style draw.TextStyle, span [2]vg.Length) (left,
	right vg.Length) {
	x, half := span[0]+vg.Length(b.position(t.Value))*(span[1]-span[0]), style.Width(t.Label)/2
	x = max(min(x, span[1]+barOverhang[1]-half), span[0]-barOverhang[0]+half)
	return x - half, x + half
}

// fillViridis fills a bar with the colours from low to high. Each colour fills the whole remainder,
// because adjacent rectangles would show a seam.
func fillViridis(c draw.Canvas, bar vg.Rectangle, horizontal bool) {
	rest, step := bar, bar.Size().Scale(1.0/256)
	for i := range 256 {
		c.SetColor(Viridis(float64(i) / 255))
		c.Fill(rest.Path())
		if horizontal {
			rest.Min.X += step.X
		} else {
			rest.Min.Y += step.Y
		}
	}
	strokeRect(c, bar)
}

// barIntervals returns the number of tick intervals of a bar, each at least every long.
func barIntervals(span [2]vg.Length, every vg.Length) int {
	return int(min(max((span[1]-span[0])/every, 2), 6))
}
