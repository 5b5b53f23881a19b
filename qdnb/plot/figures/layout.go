package figures

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"example.com/qdnb/internal/lists"
)

// layout is a figure of panels. Its text and the sizes of its data areas depend on each other.
type layout struct {
	slots         []*slot // row by row
	columns, rows tracks
	fixed         bool // all panels keep their aspects
	bars          []*drawnBar
	legend        legend
	panelSize     vg.Length // of the panels' titles: smaller than titleSize if they would otherwise overlap
	// overhangs is how far the widest title of each column extends beyond its data and gap on each
	// side.
	overhangs []vg.Length

	besideBars    []vg.Length // the space of bars to the right of each column, included in its margin
	barsBelow     vg.Length   // barsBelow and rowTitleWidth are included in outer margins
	rowTitleWidth vg.Length
}

// tracks are the columns of a layout from left to right, or its rows from the top down.
type tracks struct {
	sizes         []float64   // of the data areas, relative; set by weigh
	before, after []vg.Length // the margins of each; set by measure
	outer         [2]vg.Length
	gap           vg.Length // between neighbours
	titles        []string  // none, or one each
	titleSize     vg.Length // smaller than titleSize if titles would otherwise overlap
}

// length returns the length of all tracks with margins. unit is the length of one unit of relative size.
func (t *tracks) length(unit vg.Length) vg.Length { return t.margins() + unit*vg.Length(sum(t.sizes)) }

// unit is the inverse of length.
func (t *tracks) unit(length vg.Length) vg.Length {
	return (length - t.margins()) / vg.Length(sum(t.sizes))
}

func (t *tracks) margins() vg.Length {
	return sum(t.before) + sum(t.after) + t.gap*vg.Length(len(t.sizes)-1) + t.outer[0] + t.outer[1]
}

// data returns the length of the data area of n tracks from the first one on, without gaps and margins.
func (t *tracks) data(first, n int, unit vg.Length) vg.Length {
	return unit * vg.Length(sum(t.sizes[first:first+n]))
}

// spans returns where the data areas are, and where the last track ends, from a start in a direction,
// 1 or -1.
func (t *tracks) spans(start, direction, unit vg.Length) (spans [][2]vg.Length, end vg.Length) {
	at := start + direction*t.outer[0]
	for i := range t.sizes {
		from := at + direction*t.before[i]
		to := from + direction*t.data(i, 1, unit)
		spans = append(spans, [2]vg.Length{min(from, to), max(from, to)})
		at = to + direction*(t.after[i]+t.gap)
	}
	return spans, at - direction*t.gap
}

func (t *tracks) fitTitles(unit vg.Length) {
	t.titleSize = titleSize
	for i, title := range t.titles {
		t.titleSize = fitSize(t.titleSize, title, t.data(i, 1, unit)+t.gap)
	}
}

func (t *tracks) title(i int) string {
	if t.titles == nil {
		return ""
	}
	return t.titles[i]
}

// figure takes the width from the widths of panels, and the height from their aspects.
func (l *layout) figure() *Figure {
	const usual = 3.5 * vg.Inch
	unit := vg.Length(math.Inf(1))
	for _, s := range l.slots {
		if s.rows == 1 && s.columns == 1 {
			unit = min(unit, cmp.Or(s.Width, usual)/vg.Length(l.columns.sizes[s.column]))
		}
	}
	if math.IsInf(float64(unit), 0) {
		unit = usual
	}
	l.fitText(unit, unit)
	l.measure(pageWidth)
	width, height := l.byWidth(max(min(l.columns.length(unit), pageWidth), l.legend.entryWidth()+2*outerPad))
	if l.fixed && height > pageHeight {
		width, height = l.byHeight(width, pageHeight)
	}
	return &Figure{width: width, height: height, draw: l.draw, layout: l}
}

// byWidth returns the size of a figure at which panels have their aspects. It is wider than the given
// width if the panels need that.
func (l *layout) byWidth(width vg.Length) (w, h vg.Length) {
	for range 3 { // converges
		l.measure(width)
		unit := l.columns.unit(width)
		if least := minUnit / vg.Length(slices.Min(l.columns.sizes)); unit < least { // too many columns for a page
			unit, width = least, l.columns.length(least)
		}
		l.fitText(unit, unit)
		l.measure(width)
		for i, t := range l.rows.titles { // move rows apart if their titles would overlap
			row := l.rows.before[i] + l.rows.data(i, 1, unit) + l.rows.after[i]
			l.rows.gap = max(l.rows.gap, textStyle(l.rows.titleSize).Width(t)+titleGap-row)
		}
		h = l.rows.length(unit)
	}
	return width, h
}

// byHeight is [layout.byWidth] of a height. The width is about the figure's.
func (l *layout) byHeight(width, height vg.Length) (w, h vg.Length) {
	for range 3 {
		l.measure(width)
		unit := max(minUnit, l.rows.unit(height))
		l.fitText(unit, unit)
		l.reserveTitles(unit)
		l.measure(width)
		width, h = l.columns.length(unit), l.rows.length(unit)
	}
	return width, h
}

// clone returns a copy to measure, which leaves the text of the layout as it is.
func (l *layout) clone() *layout {
	c := *l
	c.slots = lists.Map(l.slots, func(s *slot) *slot {
		own := *s
		return &own
	})
	return &c
}

// weigh sets the relative sizes of columns and rows. If all panels of each column have one aspect,
// all rows have the same height. Otherwise all columns have the same width. Panels that span several
// rows or columns take what there is.
func (l *layout) weigh(rows, columns int) {
	widths, heights := make([]float64, columns), make([]float64, rows)
	uniform := true
	for _, s := range l.slots {
		s.fitLabels(vg.Point{X: labelRoom, Y: labelRoom}) // the size is not known yet
		if s.rows == 1 && s.columns == 1 {
			w := &widths[s.column]
			uniform = uniform && (*w == 0 || math.Abs(*w-s.aspect) <= 1e-9**w)
			*w, heights[s.row] = max(*w, s.aspect), max(heights[s.row], 1/s.aspect)
		}
	}
	for _, s := range l.slots {
		if w := &widths[s.column]; *w == 0 {
			*w = s.aspect * float64(s.rows) / float64(s.columns)
		}
	}
	for j := range widths {
		if !uniform || widths[j] == 0 {
			widths[j] = 1
		}
	}
	for i := range heights {
		if uniform || heights[i] == 0 {
			heights[i] = 1
		}
	}
	l.columns.sizes, l.rows.sizes, l.overhangs = widths, heights, make([]vg.Length, columns)
}

// shareAxes removes the numbers and labels that the panel below, or to the left, already shows. Above
// a gap the first panel of the row below counts. In a grid of many rows, one label names the vertical axes
// of a column.
func (l *layout) shareAxes(many bool) {
	at := func(row, column int) *slot {
		i := slices.IndexFunc(l.slots, func(s *slot) bool { return s.row == row && s.column == column })
		if i < 0 {
			return nil
		}
		return l.slots[i]
	}
	hide := func(axis *plot.Axis, shown *plot.Axis) {
		axis.Tick.Marker = unlabelled{shown}
		axis.Tick.Label.Font.Size = 0.01 // practically no space
	}
	for _, s := range l.slots {
		below, left := at(s.row+s.rows, s.column), at(s.row, s.column-1)
		if below == nil { // a gap: rows are even if the rest of the row below shows its axis
			below = at(s.row+s.rows, 0)
		}
		if below != nil && below.columns == s.columns && shows(&below.X, &s.X) {
			hide(&s.plot.X, &below.plot.X)
			s.labels[0] = ""
			if many && below.Y.Label.Text == s.Y.Label.Text {
				s.labels[1] = ""
			}
		}
		if left != nil && left.rows == s.rows && shows(&left.Y, &s.Y) {
			hide(&s.plot.Y, &left.plot.Y)
			s.labels[1] = ""
		}
	}
}

// shows reports whether a neighbour's axis shows the numbers and the label of an axis, too.
func shows(neighbour, axis *plot.Axis) bool {
	return neighbour.Min == axis.Min && neighbour.Max == axis.Max &&
		(axis.Label.Text == "" || axis.Label.Text == neighbour.Label.Text) && reflect.DeepEqual(neighbour.Scale, axis.Scale) &&
		reflect.DeepEqual(neighbour.Tick.Marker, axis.Tick.Marker)
}

// unlabelled puts ticks where another axis of the same range has them. Labels become blanks,
// because a tick without a label would be a minor tick, which has no grid line.
type unlabelled struct{ as *plot.Axis }

func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	ticks := slices.Clone(u.as.Tick.Marker.Ticks(low, high))
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// measure sets the margins in a figure of a width.
func (l *layout) measure(width vg.Length) {
	x, y := &l.columns, &l.rows
	x.before, x.after = slices.Clone(l.overhangs), slices.Clone(l.overhangs)
	y.before, y.after = make([]vg.Length, len(y.sizes)), make([]vg.Length, len(y.sizes))
	for _, s := range l.slots {
		// The margins depend a little on the size of the canvas they are measured on: numbers near the
		// ends of an axis overhang a small one.
		c := draw.NewCanvas(new(recorder.Canvas), s.size.X+marginRoom, s.size.Y+marginRoom)
		d := s.plot.DataCanvas(c)
		right, bottom := s.column+s.columns-1, s.row+s.rows-1
		x.before[s.column] = max(x.before[s.column], d.Min.X-c.Min.X)
		x.after[right] = max(x.after[right], c.Max.X-d.Max.X)
		y.before[s.row] = max(y.before[s.row], c.Max.Y-d.Max.Y)
		y.after[bottom] = max(y.after[bottom], d.Min.Y-c.Min.Y)
		if s.title != "" {
			y.before[s.row] = max(y.before[s.row], textStyle(l.panelSize).Height(s.title)+titleGap)
		}
	}
	l.besideBars, l.barsBelow, l.rowTitleWidth = make([]vg.Length, len(x.sizes)), 0, 0
	for _, b := range l.bars {
		if first, last := b.firstColumn, b.lastColumn; b.below {
			l.barsBelow = max(l.barsBelow, b.thickness())
			x.before[first], x.after[last] = max(x.before[first], barOverhang[0]), max(x.after[last], barOverhang[1])
		} else {
			l.besideBars[last] = max(l.besideBars[last], b.thickness())
		}
	}
	for j, space := range l.besideBars {
		x.after[j] += space
	}
	for _, t := range y.titles {
		l.rowTitleWidth = max(l.rowTitleWidth, textStyle(y.titleSize).Height(t)+2*titleGap)
	}
	var columnTitleHeight vg.Length
	for _, t := range x.titles {
		columnTitleHeight = max(columnTitleHeight, textStyle(x.titleSize).Height(t)+titleGap)
	}
	x.outer = [2]vg.Length{outerPad + l.rowTitleWidth, outerPad}
	y.outer = [2]vg.Length{outerPad + columnTitleHeight, outerPad + l.barsBelow + l.legend.height(width-2*outerPad)}
}

// titleGap is the distance from the data to the title above.
const titleGap = vg.Length(5)

// fitText adapts the number of ticks and the size of titles to the data areas. ux and uy are the
// lengths of one unit of relative size.
func (l *layout) fitText(ux, uy vg.Length) {
	l.panelSize = titleSize
	for _, s := range l.slots {
		s.size = s.within(l.columns.data(s.column, s.columns, ux), l.rows.data(s.row, s.rows, uy))
		setTicks(&s.plot, s.size)
		s.fitLabels(s.size)
		l.panelSize = fitSize(l.panelSize, s.title, max(s.size.X, l.columns.data(s.column, 1, ux))+l.columns.gap)
	}
	l.columns.fitTitles(ux)
	l.rows.fitTitles(uy)
}

// reserveTitles reserves space for titles that are wider than their columns.
func (l *layout) reserveTitles(unit vg.Length) {
	widest := make([]vg.Length, len(l.overhangs))
	for j, t := range l.columns.titles {
		widest[j] = textStyle(l.columns.titleSize).Width(t)
	}
	for _, s := range l.slots {
		if s.columns == 1 {
			widest[s.column] = max(widest[s.column], textStyle(l.panelSize).Width(s.title))
		}
	}
	l.overhangs = widest
	for j, w := range widest {
		l.overhangs[j] = max(0, (w+titleGap-l.columns.data(j, 1, unit)-l.columns.gap)/2)
	}
}

// fitSize returns the largest text size, at least tickSize, at which the text fits in the room.
func fitSize(size vg.Length, text string, room vg.Length) vg.Length {
	for size > tickSize && textStyle(size).Width(text) > room-2 {
		size--
	}
	return size
}

func (l *layout) draw(c draw.Canvas) error {
	size := c.Size()
	var ux, uy vg.Length
	for range 3 {
		l.measure(size.X)
		ux, uy = l.columns.unit(size.X), l.rows.unit(size.Y)
		if ux*vg.Length(slices.Max(l.columns.sizes)) < minUnit || uy*vg.Length(slices.Max(l.rows.sizes)) < minUnit {
			return fmt.Errorf("%.3g x %.3g in is too small for %d x %d panels with their labels: use a "+
				"larger Size", size.X/vg.Inch, size.Y/vg.Inch, len(l.rows.sizes), len(l.columns.sizes))
		}
		if l.fixed {
			ux = min(ux, uy)
			uy = ux
		}
		l.fitText(ux, uy)
	}
	// Space that fixed aspects leave over surrounds the block.
	left, top := c.Min.X+(size.X-l.columns.length(ux))/2, c.Max.Y-(size.Y-l.rows.length(uy))/2
	xs, _ := l.columns.spans(left, 1, ux)
	ys, bottom := l.rows.spans(top, -1, uy)
	for _, s := range l.slots {
		x := [2]vg.Length{xs[s.column][0], xs[s.column+s.columns-1][1]}
		y := [2]vg.Length{ys[s.row+s.rows-1][0], ys[s.row][1]}
		area := center(x, y, s.within(x[1]-x[0], y[1]-y[0]))
		touchPanelOf(c, s.Panel, area, l.rows.title(s.row), l.columns.title(s.column), s.title)
		s.draw(c, area, l.panelSize)
	}
	title := textStyle(l.columns.titleSize)
	for j, t := range l.columns.titles {
		c.FillText(title, vg.Point{X: middle(xs[j]), Y: top - l.rows.outer[0] + titleGap + title.FontExtents().Descent}, t)
	}
	title = textStyle(l.rows.titleSize)
	title.Rotation, title.YAlign = math.Pi/2, draw.YTop
	for i, t := range l.rows.titles {
		c.FillText(title, vg.Point{X: left + l.columns.outer[0] - l.rowTitleWidth, Y: middle(ys[i])}, t)
	}
	for _, b := range l.bars {
		first, last := xs[b.firstColumn], xs[b.lastColumn]
		if b.below {
			b.draw(c, bottom, [2]vg.Length{first[0], last[1]})
		} else {
			b.draw(c, last[1]+l.columns.after[b.lastColumn]-l.besideBars[b.lastColumn],
				[2]vg.Length{ys[b.lastRow][0], ys[b.firstRow][1]})
		}
	}
	l.legend.draw(c, [2]vg.Length{xs[0][0], xs[len(xs)-1][1]}, bottom-l.barsBelow)
	return nil
}

// marginRoom is about the space that both margins of a plot take.
const marginRoom = vg.Length(60)

// minUnit is the minimum extent of a panel's data area that is worth drawing.
const minUnit = vg.Length(12)

func center(spanX, spanY [2]vg.Length, size vg.Point) vg.Rectangle {
	low := vg.Point{X: middle(spanX) - size.X/2, Y: middle(spanY) - size.Y/2}
	return vg.Rectangle{Min: low, Max: low.Add(size)}
}

func middle(span [2]vg.Length) vg.Length { return (span[0] + span[1]) / 2 }

func sum[T vg.Length | float64](values []T) T {
	var total T
	for _, v := range values {
		total += v
	}
	return total
}
