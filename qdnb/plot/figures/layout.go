package figures

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// panel is one plot of a layout. The layout draws the title itself, centred over the data area. A
// plot would centre it over data and axis.
type panel struct {
	plot   *plot.Plot
	title  string
	aspect float64 // width / height of the data area
	// labels are those of the axes; fitLabels breaks them into lines.
	labels []string
}

// layout arranges panels and their decorations in a grid with aligned data areas.
type layout struct {
	panels                   [][]*panel // rows of equal length; nil: a gap
	equal                    bool       // keep every panel's aspect at any size
	rowTitles, columnTitles  []string
	gapX, gapY               vg.Length
	rightBars                []*colorBar // one over all rows, or one per row (nil: none for this row)
	bottomBars               []*colorBar // one per column (nil: none for this column)
	legend                   *legend
	columnWidths, rowHeights []float64 // relative; set by weigh
	titleSizes               titleSizes
	// overhangs is how far the widest title of each column extends beyond its data and gap on each
	// side.
	overhangs []vg.Length
}

// titleSizes holds the sizes of row, column and panel titles, which are smaller than titleSize if
// titles would otherwise overlap.
type titleSizes struct{ row, column, panel vg.Length }

// figure returns the layout as a figure of a width; the height follows from the aspects of the
// panels.
func (l *layout) figure(width vg.Length) *Figure {
	l.weigh()
	height := vg.Length(0)
	// Text and size depend on each other; a few iterations converge.
	for range 3 {
		m := l.margins(width)
		unit := (width - m.sumX()) / vg.Length(sum(l.columnWidths))
		l.fitText(unit, unit)
		m = l.margins(width)
		l.fitRowTitles(unit, m)
		m = l.margins(width)
		height = m.sumY() + unit*vg.Length(sum(l.rowHeights))
	}
	return &Figure{width: width, height: height, draw: l.draw}
}

// within returns the layout as a figure of a width. If that exceeds the height, the figure has this
// height and the width that follows from it.
func (l *layout) within(width, height vg.Length) *Figure {
	f := l.figure(width)
	if f.height <= height {
		return f
	}
	for range 3 {
		m := l.margins(width)
		unit := max(minUnit, (height-m.sumY())/vg.Length(sum(l.rowHeights)))
		l.fitText(unit, unit)
		l.fitTitles(unit)
		m = l.margins(width)
		width = m.sumX() + unit*vg.Length(sum(l.columnWidths))
		f = &Figure{width: width, height: m.sumY() + unit*vg.Length(sum(l.rowHeights)), draw: l.draw}
	}
	return f
}

// weigh sets the relative sizes of columns and rows. If all panels of each column have one aspect,
// all rows have the same height. Otherwise all columns have the same width.
func (l *layout) weigh() {
	rows, columns := len(l.panels), len(l.panels[0])
	l.columnWidths, l.rowHeights = make([]float64, columns), make([]float64, rows)
	l.titleSizes, l.overhangs = titleSizes{titleSize, titleSize, titleSize}, make([]vg.Length, columns)
	uniform := true
	for j := range columns {
		for i := range rows {
			p := l.panels[i][j]
			if p == nil {
				continue
			}
			if w := l.columnWidths[j]; w != 0 && math.Abs(w-p.aspect) > 1e-9*w {
				uniform = false
			}
			if p.labels == nil {
				p.labels = []string{p.plot.X.Label.Text, p.plot.Y.Label.Text}
			}
			p.fitLabels(vg.Point{X: labelRoom, Y: labelRoom}) // the size is not known yet
			l.columnWidths[j] = max(l.columnWidths[j], p.aspect)
			l.rowHeights[i] = max(l.rowHeights[i], 1/p.aspect)
		}
	}
	for j := range columns {
		if !uniform || l.columnWidths[j] == 0 {
			l.columnWidths[j] = 1
		}
	}
	for i := range rows {
		if uniform || l.rowHeights[i] == 0 {
			l.rowHeights[i] = 1
		}
	}
}

// margins are the lengths around the data areas.
type margins struct {
	left, right   []vg.Length // of each column
	bottom, top   []vg.Length // of each row
	outer         [4]vg.Length
	gapX, gapY    vg.Length // the sums of the gaps
	bottomBars    vg.Length // bottomBars and rowTitleWidth are included in outer
	rowTitleWidth vg.Length
}

const (
	leftSide = iota
	rightSide
	bottomSide
	topSide
)

func (m *margins) sumX() vg.Length {
	return sum(m.left) + sum(m.right) + m.gapX + m.outer[leftSide] + m.outer[rightSide]
}

func (m *margins) sumY() vg.Length {
	return sum(m.bottom) + sum(m.top) + m.gapY + m.outer[bottomSide] + m.outer[topSide]
}

func (l *layout) margins(width vg.Length) *margins {
	rows, columns := len(l.panels), len(l.panels[0])
	m := &margins{
		left: make([]vg.Length, columns), right: make([]vg.Length, columns),
		bottom: make([]vg.Length, rows), top: make([]vg.Length, rows),
		gapX: l.gapX * vg.Length(columns-1), gapY: l.gapY * vg.Length(rows-1),
	}
	rowTitle, columnTitle, title := textStyle(l.titleSizes.row), textStyle(l.titleSizes.column),
		textStyle(l.titleSizes.panel)
	var columnTitleHeight, rightBars, legendHeight vg.Length
	for i, row := range l.panels {
		for j, p := range row {
			if p == nil {
				continue
			}
			// The margins hardly depend on the size of the canvas they are measured on, unless a label
			// does not fit in.
			x, y := p.plot.X.Label, p.plot.Y.Label
			c := draw.NewCanvas(new(recorder.Canvas), 2*max(labelRoom, x.TextStyle.Width(x.Text)),
				2*max(labelRoom, y.TextStyle.Width(y.Text)))
			d := p.plot.DataCanvas(c)
			m.left[j] = max(m.left[j], d.Min.X-c.Min.X)
			m.right[j] = max(m.right[j], c.Max.X-d.Max.X)
			m.bottom[i] = max(m.bottom[i], d.Min.Y-c.Min.Y)
			m.top[i] = max(m.top[i], c.Max.Y-d.Max.Y)
			if p.title != "" {
				m.top[i] = max(m.top[i], title.Height(p.title)+titleGap)
			}
		}
	}
	for _, t := range l.rowTitles {
		m.rowTitleWidth = max(m.rowTitleWidth, rowTitle.Height(t)+2*titleGap)
	}
	for _, t := range l.columnTitles {
		columnTitleHeight = max(columnTitleHeight, columnTitle.Height(t)+titleGap)
	}
	for _, b := range l.rightBars {
		if b != nil {
			rightBars = max(rightBars, b.thickness(false))
		}
	}
	for j, b := range l.bottomBars {
		if b != nil {
			m.bottomBars = max(m.bottomBars, b.thickness(true))
			m.left[j] = max(m.left[j], barOverhang[0])
			m.right[j] = max(m.right[j], barOverhang[1])
		}
	}
	for j, overhang := range l.overhangs {
		m.left[j], m.right[j] = max(m.left[j], overhang), max(m.right[j], overhang)
	}
	if l.legend != nil {
		legendHeight = l.legend.height(width - 2*outerPad)
	}
	m.outer = [4]vg.Length{
		leftSide:   outerPad + m.rowTitleWidth,
		rightSide:  outerPad + rightBars,
		bottomSide: outerPad + m.bottomBars + legendHeight,
		topSide:    outerPad + columnTitleHeight,
	}
	return m
}

// titleGap is the distance from the data to the title above.
const titleGap = vg.Length(5)

// fitText adapts the number of ticks and the size of titles to the data areas. ux and uy are the
// lengths of one unit of relative size.
func (l *layout) fitText(ux, uy vg.Length) {
	l.titleSizes = titleSizes{titleSize, titleSize, titleSize}
	room := func(j int) vg.Length { return ux*vg.Length(l.columnWidths[j]) + l.gapX }
	for i, row := range l.panels {
		for j, p := range row {
			if p != nil {
				size := l.areaSize(i, j, ux, uy)
				setTicks(p.plot, size)
				p.fitLabels(size)
				l.titleSizes.panel = fitSize(l.titleSizes.panel, p.title, room(j))
			}
		}
	}
	for i, t := range l.rowTitles {
		l.titleSizes.row = fitSize(l.titleSizes.row, t, uy*vg.Length(l.rowHeights[i])+l.gapY)
	}
	for j, t := range l.columnTitles {
		l.titleSizes.column = fitSize(l.titleSizes.column, t, room(j))
	}
}

// fitTitles reserves space for titles that are wider than their columns. unit is the length of one
// unit of relative size.
func (l *layout) fitTitles(unit vg.Length) {
	for j := range l.overhangs {
		var widest vg.Length
		if l.columnTitles != nil {
			widest = textStyle(l.titleSizes.column).Width(l.columnTitles[j])
		}
		for _, row := range l.panels {
			if p := row[j]; p != nil {
				widest = max(widest, textStyle(l.titleSizes.panel).Width(p.title))
			}
		}
		l.overhangs[j] = max(0, (widest+titleGap-unit*vg.Length(l.columnWidths[j])-l.gapX)/2)
	}
}

// fitRowTitles moves rows apart if their titles would overlap. unit is the length of one unit of
// relative size.
func (l *layout) fitRowTitles(unit vg.Length, m *margins) {
	for i, t := range l.rowTitles {
		row := m.bottom[i] + unit*vg.Length(l.rowHeights[i]) + m.top[i]
		l.gapY = max(l.gapY, textStyle(l.titleSizes.row).Width(t)+titleGap-row)
	}
}

// fitSize returns the largest text size, at least tickSize, at which the text fits in the room.
func fitSize(size vg.Length, text string, room vg.Length) vg.Length {
	for size > tickSize && textStyle(size).Width(text) > room-2 {
		size--
	}
	return size
}

// areaSize returns the size of a panel's data area, with its aspect preserved if l.equal is set.
func (l *layout) areaSize(i, j int, ux, uy vg.Length) vg.Point {
	w, h := ux*vg.Length(l.columnWidths[j]), uy*vg.Length(l.rowHeights[i])
	if p := l.panels[i][j]; l.equal && p != nil {
		w, h = min(w, h*vg.Length(p.aspect)), min(h, w/vg.Length(p.aspect))
	}
	return vg.Point{X: w, Y: h}
}

// draw fills a canvas of any size with the layout.
func (l *layout) draw(c draw.Canvas) error {
	size := c.Size()
	var m *margins
	var ux, uy vg.Length
	for range 3 {
		m = l.margins(size.X)
		ux = (size.X - m.sumX()) / vg.Length(sum(l.columnWidths))
		uy = (size.Y - m.sumY()) / vg.Length(sum(l.rowHeights))
		if ux < minUnit || uy < minUnit {
			return fmt.Errorf("%.3g x %.3g in is too small for %d x %d panels with their labels: use a "+
				"larger Size", size.X/vg.Inch, size.Y/vg.Inch, len(l.panels), len(l.panels[0]))
		}
		if l.equal {
			ux = min(ux, uy)
			uy = ux
		}
		l.fitText(ux, uy)
	}
	// Space that equal aspects leave over surrounds the block.
	x0 := c.Min.X + m.outer[leftSide] + (size.X-m.sumX()-ux*vg.Length(sum(l.columnWidths)))/2
	y0 := c.Max.Y - m.outer[topSide] - (size.Y-m.sumY()-uy*vg.Length(sum(l.rowHeights)))/2
	rows, columns := len(l.panels), len(l.panels[0])

	// The data spans of columns [left, right) and rows [bottom, top), without margins.
	columnSpan, rowSpan := make([][2]vg.Length, columns), make([][2]vg.Length, rows)
	x := x0
	for j := range columns {
		x += m.left[j]
		columnSpan[j] = [2]vg.Length{x, x + ux*vg.Length(l.columnWidths[j])}
		x = columnSpan[j][1] + m.right[j] + l.gapX
	}
	blockRight := x - l.gapX
	y := y0
	for i := range rows {
		y -= m.top[i]
		rowSpan[i] = [2]vg.Length{y - uy*vg.Length(l.rowHeights[i]), y}
		y = rowSpan[i][0] - m.bottom[i] - l.gapY
	}
	blockBottom := y + l.gapY

	for i, row := range l.panels {
		for j, p := range row {
			if p != nil {
				p.draw(c, center(columnSpan[j], rowSpan[i], l.areaSize(i, j, ux, uy)), l.titleSizes.panel)
			}
		}
	}
	title := textStyle(l.titleSizes.column)
	for j, t := range l.columnTitles {
		c.FillText(title, vg.Point{X: middle(columnSpan[j]),
			Y: y0 + titleGap + title.FontExtents().Descent}, t)
	}
	title = textStyle(l.titleSizes.row)
	title.Rotation = math.Pi / 2
	title.YAlign = draw.YTop
	for i, t := range l.rowTitles {
		c.FillText(title, vg.Point{X: x0 - m.rowTitleWidth, Y: middle(rowSpan[i])}, t)
	}
	for i, b := range l.rightBars {
		if b == nil {
			continue
		}
		span := rowSpan[i]
		if len(l.rightBars) == 1 {
			half := min((rowSpan[0][1]-rowSpan[rows-1][0])/2, maxBar/2)
			centre := (rowSpan[0][1] + rowSpan[rows-1][0]) / 2
			span = [2]vg.Length{centre - half, centre + half}
		}
		b.drawVertical(c, blockRight, span)
	}
	for j, b := range l.bottomBars {
		if b != nil {
			b.drawHorizontal(c, blockBottom, columnSpan[j])
		}
	}
	if l.legend != nil {
		span := [2]vg.Length{columnSpan[0][0], columnSpan[columns-1][1]}
		l.legend.draw(c, span, blockBottom-m.bottomBars)
	}
	return nil
}

// labelRoom is the room of labels of axes while the sizes of the axes are unknown.
const labelRoom = vg.Length(150)

// fitLabels breaks the labels of the axes into lines that are no longer than the axes, whose
// lengths are given. Next to a longer label gonum/plot misplaces the data area. Words that are
// longer than an axis are cut.
func (p *panel) fitLabels(lengths vg.Point) {
	for d, axis := range []*plot.Axis{&p.plot.X, &p.plot.Y} {
		room, style := []vg.Length{lengths.X, lengths.Y}[d], axis.Label.TextStyle
		lines := wrapped(p.labels[d], style, room)
		for i, line := range lines {
			for cut := []rune(line); len(cut) > 1 && style.Width(lines[i]) > room; {
				cut = cut[:len(cut)-1]
				lines[i] = string(cut) + "…"
			}
		}
		axis.Label.Text = strings.Join(lines, "\n")
	}
}

// minUnit is the minimum extent of a panel's data area that is worth drawing.
const minUnit = vg.Length(12)

// draw draws the plot so that its data area fills area, and its title above.
func (p *panel) draw(c draw.Canvas, area vg.Rectangle, size vg.Length) {
	p.plot.Draw(p.around(c, area))
	if p.title != "" {
		style := textStyle(size)
		at := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Max.Y + titleGap}
		c.FillText(style, at, p.title)
	}
}

// around returns the part of a canvas in which the data area of the plot is the given one.
func (p *panel) around(c draw.Canvas, area vg.Rectangle) draw.Canvas {
	// gonum/plot finds no data area in a canvas without room for the margins.
	room := vg.Point{X: labelRoom, Y: labelRoom}
	c.Min, c.Max = area.Min.Sub(room), area.Max.Add(room)
	for range 5 { // the plot's margins depend a little on its size
		d := p.plot.DataCanvas(c)
		c.Min = c.Min.Add(area.Min.Sub(d.Min))
		c.Max = c.Max.Add(area.Max.Sub(d.Max))
	}
	return c
}

// center returns the rectangle of the given size in the middle of a slot.
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
