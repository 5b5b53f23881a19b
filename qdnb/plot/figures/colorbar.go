package figures

import (
	"cmp"
	_ "embed"
	"errors"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/stats"
)

// ColorBar maps values to colours. It covers the values of all cells that share it.
type ColorBar struct {
	Label string // "": Fitness
	// Min and Max are the ends of the range. If both are 0, it spans the values without far outliers:
	// those more than three interquartile ranges beyond the quartiles (Tukey 1977). Values beyond an end
	// have its colour, and the bar ends in a triangle there.
	Min, Max float64
	// Colors are those from low to high, mixed between neighbours; nil: [Viridis]. All of gonum's palettes
	// fit, such as moreland.Kindlmann().Palette(256).
	Colors interface{ Colors() []color.Color }

	values [][]float64
}

func (b *ColorBar) check() error {
	if b.Colors != nil && len(b.Colors.Colors()) == 0 {
		return errors.New("a colour bar needs at least one colour")
	}
	return checkAxis("colour range", [2]float64{b.Min, b.Max}, false)
}

// limits returns the range, widened if it has no extent; low > high if there is nothing to colour.
func (b *ColorBar) limits() (low, high float64) {
	if b.Min != 0 || b.Max != 0 {
		return b.Min, b.Max
	}
	all := slices.DeleteFunc(slices.Concat(b.values...), func(v float64) bool { return !finite(v) })
	near := finite
	if first, third := stats.Quartiles(all); third > first {
		far := 3 * (third - first)
		near = func(v float64) bool { return v >= first-far && v <= third+far }
	}
	low, high = rangeOf([][]float64{all}, near)
	if size := max(math.Abs(low), math.Abs(high)); low <= high && high-low <= 1e-9*size {
		// All values share the colour in the middle of a bar around them.
		pad := max(0.05*size, 0.5)
		low, high = max(low-pad, -math.MaxFloat64), min(high+pad, math.MaxFloat64)
	}
	return low, high
}

// Limits returns the range for some values, and whether there are values below or above it; low > high without values.
func (b ColorBar) Limits(values []float64) (low, high float64, beyond [2]bool) {
	b.values = [][]float64{values}
	low, high = b.limits()
	return low, high, b.beyond(low, high)
}

// beyond reports whether there are values below or above a range.
func (b *ColorBar) beyond(low, high float64) (ends [2]bool) {
	least, greatest := rangeOf(b.values, finite)
	return [2]bool{least < low, greatest > high}
}

// colors returns the colours of values; those that are not finite are light grey.
func (b *ColorBar) colors(values []float64) []color.NRGBA {
	low, high := b.limits()
	fills := make([]color.NRGBA, len(values))
	for i, v := range values {
		fills[i] = emptyFill
		if finite(v) {
			fills[i] = b.color(linearScale{}.Normalize(low, high, v))
		}
	}
	return fills
}

// color returns the colour of t in [0, 1], to which t is clamped.
func (b *ColorBar) color(t float64) color.NRGBA {
	if b.Colors == nil {
		return Viridis(t)
	}
	colors := b.Colors.Colors()
	at := min(max(t, 0), 1) * float64(len(colors)-1)
	below := min(int(at), max(len(colors)-2, 0))
	mixed := nrgba(colors[below])
	if above := below + 1; above < len(colors) {
		mixed = mix(mixed, nrgba(colors[above]), at-float64(below))
	}
	return mixed
}

// nrgba returns a colour without its transparency, because cells cover others.
func nrgba(c color.Color) color.NRGBA {
	opaque := color.NRGBAModel.Convert(c).(color.NRGBA)
	opaque.A = 0xff
	return opaque
}

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

// drawnBar is a colour bar in a layout: to the right of its panels, or below them.
type drawnBar struct {
	*ColorBar
	low, high                                  float64
	beyond                                     [2]bool // whether values lie beyond the ends
	label                                      string
	firstRow, lastRow, firstColumn, lastColumn int // of its panels
	below                                      bool
}

func (b *drawnBar) position(v float64, span [2]vg.Length) vg.Length {
	return span[0] + vg.Length(linearScale{}.Normalize(b.low, b.high, v))*(span[1]-span[0])
}

func (b *drawnBar) thickness() vg.Length {
	style := textStyle(tickSize)
	ticks := style.Height("0")
	if !b.below {
		ticks = barPad
		for n := 2; n <= 6; n++ { // how many fit is not known yet, see barIntervals
			for _, t := range linearTicks(b.low, b.high, n) {
				ticks = max(ticks, barPad+style.Width(t.Label))
			}
		}
	}
	return barGap + barThick + tickLen + ticks + barPad + textStyle(labelSize).Height(b.label)
}

// draw draws the bar next to the data areas that it explains, whose edge is at a place, along a span of them.
func (b *drawnBar) draw(c draw.Canvas, edge vg.Length, span [2]vg.Length) {
	// place returns a point at a distance from the edge.
	place := func(along, distance vg.Length) vg.Point {
		if b.below {
			return vg.Point{X: along, Y: edge - distance}
		}
		return vg.Point{X: edge + distance, Y: along}
	}
	style, label := textStyle(tickSize), textStyle(labelSize)
	label.YAlign, style.YAlign = draw.YTop, draw.YTop
	if !b.below {
		half := min(span[1]-span[0], maxBar) / 2
		span = [2]vg.Length{middle(span) - half, middle(span) + half}
		label.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XLeft, draw.YCenter
	}
	for end, sign := range []vg.Length{1, -1} { // room for the triangles
		if b.beyond[end] {
			span[end] += sign * barThick
		}
	}
	const outer = barGap + barThick
	first, last := place(span[0], barGap), place(span[1], outer)
	b.fill(c, vg.Rectangle{Min: vg.Point{X: first.X, Y: min(first.Y, last.Y)},
		Max: vg.Point{X: last.X, Y: max(first.Y, last.Y)}}, b.below)
	line := draw.LineStyle{Color: axisColor, Width: axisWidth}
	for end, outward := range []vg.Length{-barThick, barThick} {
		if b.beyond[end] {
			triangle := []vg.Point{place(span[end], barGap), place(span[end], outer), place(span[end]+outward, barGap+barThick/2)}
			c.FillPolygon(b.color(float64(end)), triangle)
			c.StrokeLines(line, append(triangle, triangle[0]))
		}
	}
	ticks := linearTicks(b.low, b.high, barIntervals(span, 26))
	if b.below {
		ticks = b.ticksBelow(style, span)
	}
	widest := vg.Length(0) // of the numbers, across
	for _, t := range ticks {
		at := b.position(t.Value, span)
		from, to := place(at, outer), place(at, outer+tickLen)
		c.StrokeLine2(line, from.X, from.Y, to.X, to.Y)
		if b.below {
			left, right := b.extent(t, style, span)
			to.X, widest = (left+right)/2, style.Height("0")
		} else { // the same height as a plot's tick labels
			to = to.Add(vg.Point{X: barPad, Y: style.FontExtents().Descent})
			widest = max(widest, barPad+style.Width(t.Label))
		}
		c.FillText(style, to, t.Label)
	}
	c.FillText(label, place(middle(span), outer+tickLen+widest+barPad), b.label)
}

// ticksBelow returns as many ticks as there is room for their labels. If not even two round values
// fit, it returns ticks at the ends of the bar.
func (b *drawnBar) ticksBelow(style draw.TextStyle, span [2]vg.Length) []plot.Tick {
	for n := barIntervals(span, 34); n > 0; n-- {
		ticks := linearTicks(b.low, b.high, n)
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

// extent returns where the label of a tick below begins and ends. The label is centred at the tick
// but does not extend far beyond the bar.
func (b *drawnBar) extent(t plot.Tick, style draw.TextStyle, span [2]vg.Length) (left, right vg.Length) {
	half := style.Width(t.Label) / 2
	x := max(min(b.position(t.Value, span), span[1]+barOverhang[1]-half), span[0]-barOverhang[0]+half)
	return x - half, x + half
}

// fill fills a bar with the colours from low to high. Each colour fills the whole remainder, because
// adjacent rectangles would show a seam.
func (b *ColorBar) fill(c draw.Canvas, bar vg.Rectangle, horizontal bool) {
	rest, step := bar, bar.Size().Scale(1.0/256)
	for i := range 256 {
		c.SetColor(b.color(float64(i) / 255))
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

// drawnBars returns the bars of panels in a grid of columns. Bars of different rows are to the right of the grid
// and bars of different columns below; bars of single panels are to their right.
func drawnBars(slots []*slot, columns int) (bars []*drawnBar) {
	known := map[*ColorBar]*drawnBar{}
	for _, s := range slots {
		if s.Bar == nil {
			continue
		}
		b := known[s.Bar]
		if b == nil {
			low, high := s.Bar.limits()
			if low > high {
				continue
			}
			b = &drawnBar{ColorBar: s.Bar, low: low, high: high, beyond: s.Bar.beyond(low, high),
				label: capital(cmp.Or(s.Bar.Label, "Fitness")), firstRow: s.row, firstColumn: s.column}
			known[s.Bar], bars = b, append(bars, b)
		}
		b.lastRow, b.firstColumn, b.lastColumn = s.row, min(b.firstColumn, s.column), max(b.lastColumn, s.column)
	}
	inRows, inColumns := true, true // the bars differ in rows, columns
	for i, a := range bars {
		for _, b := range bars[:i] {
			inRows = inRows && a.firstRow > b.lastRow
			inColumns = inColumns && (a.firstColumn > b.lastColumn || b.firstColumn > a.lastColumn)
		}
	}
	for _, b := range bars {
		b.below = inColumns && !inRows
		crowded := slices.ContainsFunc(slots, func(s *slot) bool { // something is to the right of the bar's panels
			return s.row >= b.firstRow && s.row <= b.lastRow && s.column > b.lastColumn
		})
		if inRows && !crowded {
			b.lastColumn = columns - 1
		}
	}
	return bars
}

// viridis is the published table of 256 colours, three sRGB bytes each, by Nathaniel J. Smith,
// Stéfan van der Walt and Eric Firing, released under CC0: https://bids.github.io/colormap
//
//go:embed viridis.rgb
var viridis string

// Viridis returns the viridis colour of t in [0, 1]. The map increases evenly in luminance from
// dark violet to yellow, and reads the same for colour-blind readers and in greyscale print. Values
// outside the range are clamped. NaN gives the colour of an empty cell.
func Viridis(t float64) color.NRGBA {
	if math.IsNaN(t) {
		return emptyFill
	}
	i := 3 * int(math.Round(min(max(t, 0), 1)*255))
	return color.NRGBA{R: viridis[i], G: viridis[i+1], B: viridis[i+2], A: 255}
}
