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

	"example.com/qdnb/internal/cell"
)

// Grid is a table of panels with aligned data areas, such as methods by environments, and one legend
// below. Of neighbours with equal axes only the lowest (leftmost) shows numbers and labels. Colour
// bars that differ between columns are below the grid, others to the right. Names of methods and
// labels of trajectories have one style in all panels.
type Grid struct {
	Panels        [][]*Panel // rows of columns; nil leaves a gap, short rows end in gaps
	Rows, Columns []string   // titles, optional, one per row or column
	Note          string     // a sentence below the panels, optional

	mapOf   string // the run of which the grid is the map
	ownAxes bool   // all panels show their numbers and labels
}

// InRows arranges panels in rows of the given number of columns.
func InRows(columns int, panels ...*Panel) Grid {
	return Grid{Panels: slices.Collect(slices.Chunk(panels, max(columns, 1)))}
}

// Panels collects the panels of a grid. Its zero value is ready.
type Panels struct {
	list []*Panel
	err  error // the first one
}

// Add adds a panel, unless there is an error.
func (p *Panels) Add(panel *Panel, err error) {
	if p.err = cmp.Or(p.err, err); p.err == nil {
		p.list = append(p.list, panel)
	}
}

// Row returns the panels, or the first error of those that were added.
func (p *Panels) Row() ([]*Panel, error) { return p.list, p.err }

// InRows is [InRows] of the panels.
func (p *Panels) InRows(columns int) (Grid, error) {
	if p.err != nil {
		return Grid{}, p.err
	}
	return InRows(columns, p.list...), nil
}

// Show is [Figure.Show] of the grid's figure.
func (g Grid) Show(name string) error {
	f, err := g.Figure()
	if err != nil {
		return err
	}
	cell.MapFollows(g.mapOf)
	return f.Show(name)
}

// Save is [Figure.Save] of the grid's figure.
func (g Grid) Save(path string) error { return save(g, path) }

// pageWidth and pageHeight are the size of the text area of a page, the maximum for figures.
const (
	pageWidth  = 7.5 * vg.Inch
	pageHeight = 9.5 * vg.Inch
)

// Figure draws the panels as they are now, at most as wide as a page. Panels with Fixed keep the
// figure within the height of a page, too.
func (g Grid) Figure() (f *Figure, err error) {
	defer caught(&err)
	columns := 0
	for _, row := range g.Panels {
		columns = max(columns, len(row))
	}
	switch {
	case g.Rows != nil && len(g.Rows) != len(g.Panels):
		return nil, fmt.Errorf("figures: %d row titles for %d rows of panels", len(g.Rows), len(g.Panels))
	case g.Columns != nil && len(g.Columns) != columns:
		return nil, fmt.Errorf("figures: %d column titles for %d columns of panels", len(g.Columns), columns)
	}
	l := &layout{rowTitles: g.Rows, columnTitles: g.Columns, gapX: 14, gapY: 10, fixed: true}
	var panels []*Panel
	titled := false
	for i, row := range g.Panels {
		l.cells = append(l.cells, make([]*slot, columns))
		for j, p := range row {
			if p == nil {
				continue
			}
			c, err := newSlot(p)
			if err != nil {
				return nil, fmt.Errorf("figures: row %d, column %d: %w", i, j, err)
			}
			if i+c.rows > len(g.Panels) || j+c.columns > columns {
				return nil, fmt.Errorf("figures: the panel of row %d and column %d spans %d x %d of %d x %d", i,
					j, c.rows, c.columns, len(g.Panels), columns)
			}
			titled = titled || c.title != "" && i > 0
			l.fixed = l.fixed && p.Fixed
			l.cells[i][j], panels = c, append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil, fmt.Errorf("figures: no panels: want at least one that is not nil")
	}
	joinPalettes(panels)
	l.legend = legend{joinEntries(panels), g.Note}
	l.bars = drawnBars(l.cells)
	if len(g.Panels) > 2 { // save space
		l.gapX = 8
		if titled {
			l.gapY = 5
		}
		if slices.ContainsFunc(l.bars, func(b *drawnBar) bool { return b.below }) {
			l.gapX = 4 // the bars and tick labels separate the columns
		}
	}
	if !g.ownAxes {
		l.shareAxes()
	}
	l.weigh()
	return l.figure(), nil
}

type layout struct {
	cells                    [][]*slot // rows of equal length; nil: a gap
	fixed                    bool      // all panels keep their aspects
	rowTitles, columnTitles  []string
	gapX, gapY               vg.Length
	bars                     []*drawnBar
	legend                   legend
	columnWidths, rowHeights []float64 // relative; set by weigh
	// The sizes of titles are smaller than titleSize if titles would otherwise overlap.
	rowSize, columnSize, panelSize vg.Length
	// overhangs is how far the widest title of each column extends beyond its data and gap on each
	// side.
	overhangs []vg.Length
}

func (l *layout) all(yield func(at [2]int, c *slot) bool) {
	for i, row := range l.cells {
		for j, c := range row {
			if c != nil && !yield([2]int{i, j}, c) {
				return
			}
		}
	}
}

// figure takes the width from the widths of panels, and the height from their aspects.
func (l *layout) figure() *Figure {
	unit := vg.Length(math.Inf(1))
	for at, c := range l.all {
		width := c.Width
		if width == 0 {
			width = 3.5 * vg.Inch
		}
		if c.rows == 1 && c.columns == 1 {
			unit = min(unit, width/vg.Length(l.columnWidths[at[1]]))
		}
	}
	if math.IsInf(float64(unit), 0) {
		unit = 3.5 * vg.Inch
	}
	l.fitText(unit, unit)
	m := l.margins(pageWidth)
	width := min(m.sumX()+unit*vg.Length(sum(l.columnWidths)), pageWidth)
	width, height := l.byWidth(width)
	if l.fixed && height > pageHeight {
		width, height = l.byHeight(width, pageHeight)
	}
	return &Figure{width: width, height: height, draw: l.draw, layout: l}
}

// byWidth returns the size of a figure at which panels have their aspects. It is wider than the given
// width if the panels need that.
func (l *layout) byWidth(width vg.Length) (w, h vg.Length) {
	// Text and size depend on each other; a few iterations converge.
	for range 3 {
		m := l.margins(width)
		unit := (width - m.sumX()) / vg.Length(sum(l.columnWidths))
		if least := minUnit / vg.Length(slices.Min(l.columnWidths)); unit < least { // too many columns for a page
			unit, width = least, m.sumX()+least*vg.Length(sum(l.columnWidths))
		}
		l.fitText(unit, unit)
		l.fitRowTitles(unit, l.margins(width))
		m = l.margins(width)
		h = m.sumY() + unit*vg.Length(sum(l.rowHeights))
	}
	return width, h
}

// byHeight is [layout.byWidth] of a height. The width is about the figure's.
func (l *layout) byHeight(width, height vg.Length) (w, h vg.Length) {
	for range 3 {
		m := l.margins(width)
		unit := max(minUnit, (height-m.sumY())/vg.Length(sum(l.rowHeights)))
		l.fitText(unit, unit)
		l.fitTitles(unit)
		m = l.margins(width)
		width = m.sumX() + unit*vg.Length(sum(l.columnWidths))
		h = m.sumY() + unit*vg.Length(sum(l.rowHeights))
	}
	return width, h
}

// clone returns a copy to measure, which leaves the text of the layout as it is.
func (l *layout) clone() *layout {
	c := *l
	c.overhangs, c.cells = slices.Clone(l.overhangs), nil
	for _, row := range l.cells {
		row = slices.Clone(row)
		for j, cell := range row {
			if cell != nil {
				cell := *cell
				row[j] = &cell
			}
		}
		c.cells = append(c.cells, row)
	}
	return &c
}

// weigh sets the relative sizes of columns and rows. If all panels of each column have one aspect,
// all rows have the same height. Otherwise all columns have the same width. Panels that span several
// rows or columns take what there is.
func (l *layout) weigh() {
	rows, columns := len(l.cells), len(l.cells[0])
	l.columnWidths, l.rowHeights = make([]float64, columns), make([]float64, rows)
	l.rowSize, l.columnSize, l.panelSize = titleSize, titleSize, titleSize
	l.overhangs = make([]vg.Length, columns)
	uniform := true
	for at, c := range l.all {
		c.fitLabels(vg.Point{X: labelRoom, Y: labelRoom}) // the size is not known yet
		if c.rows == 1 && c.columns == 1 {
			w := &l.columnWidths[at[1]]
			uniform = uniform && (*w == 0 || math.Abs(*w-c.aspect) <= 1e-9**w)
			*w = max(*w, c.aspect)
			l.rowHeights[at[0]] = max(l.rowHeights[at[0]], 1/c.aspect)
		}
	}
	for at, c := range l.all {
		if w := &l.columnWidths[at[1]]; *w == 0 {
			*w = c.aspect * float64(c.rows) / float64(c.columns)
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

// shareAxes removes the numbers and labels that the panel below, or to the left, already shows. Above
// a gap the first panel of the row below counts.
func (l *layout) shareAxes() {
	at := func(i, j int) *slot {
		if i >= len(l.cells) || j < 0 {
			return nil
		}
		return l.cells[i][j]
	}
	hide := func(axis *plot.Axis, shown *plot.Axis) {
		axis.Tick.Marker = unlabelled{shown}
		axis.Tick.Label.Font.Size = 0.01 // practically no space
	}
	for corner, c := range l.all {
		below, left := at(corner[0]+c.rows, corner[1]), at(corner[0], corner[1]-1)
		if below == nil { // a gap: rows are even if the rest of the row below shows its axis
			below = at(corner[0]+c.rows, 0)
		}
		if below != nil && below.columns == c.columns && shows(&below.X, &c.X) {
			hide(&c.plot.X, &below.plot.X)
			c.labels[0] = ""
			if len(l.cells) > 2 && below.Y.Label.Text == c.Y.Label.Text {
				c.labels[1] = ""
			}
		}
		if left != nil && left.rows == c.rows && shows(&left.Y, &c.Y) {
			hide(&c.plot.Y, &left.plot.Y)
			c.labels[1] = ""
		}
	}
}

// shows reports whether a neighbour's axis shows the numbers and the label of an axis, too.
func shows(neighbour, axis *plot.Axis) bool {
	return neighbour.Min == axis.Min && neighbour.Max == axis.Max &&
		(axis.Label.Text == "" || axis.Label.Text == neighbour.Label.Text) &&
		reflect.DeepEqual(neighbour.Scale, axis.Scale) &&
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

type margins struct {
	left, right   []vg.Length // of each column
	bottom, top   []vg.Length // of each row
	outer         [4]vg.Length
	gapX, gapY    vg.Length   // the sums of the gaps
	bars          []vg.Length // the space of bars to the right of each column, included in right
	barsBelow     vg.Length   // barsBelow and rowTitleWidth are included in outer
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
	rows, columns := len(l.cells), len(l.cells[0])
	m := &margins{
		left: make([]vg.Length, columns), right: make([]vg.Length, columns),
		bottom: make([]vg.Length, rows), top: make([]vg.Length, rows), bars: make([]vg.Length, columns),
		gapX: l.gapX * vg.Length(columns-1), gapY: l.gapY * vg.Length(rows-1),
	}
	rowTitle, columnTitle, title := textStyle(l.rowSize), textStyle(l.columnSize), textStyle(l.panelSize)
	for at, p := range l.all {
		i, j := at[0], at[1]
		// The margins depend a little on the size of the canvas they are measured on: numbers near the
		// ends of an axis overhang a small one.
		c := draw.NewCanvas(new(recorder.Canvas), p.size.X+marginRoom, p.size.Y+marginRoom)
		d := p.plot.DataCanvas(c)
		right, bottom := &m.right[j+p.columns-1], &m.bottom[i+p.rows-1]
		m.left[j], *right = max(m.left[j], d.Min.X-c.Min.X), max(*right, c.Max.X-d.Max.X)
		*bottom, m.top[i] = max(*bottom, d.Min.Y-c.Min.Y), max(m.top[i], c.Max.Y-d.Max.Y)
		if p.title != "" {
			m.top[i] = max(m.top[i], title.Height(p.title)+titleGap)
		}
	}
	for _, t := range l.rowTitles {
		m.rowTitleWidth = max(m.rowTitleWidth, rowTitle.Height(t)+2*titleGap)
	}
	var columnTitleHeight vg.Length
	for _, t := range l.columnTitles {
		columnTitleHeight = max(columnTitleHeight, columnTitle.Height(t)+titleGap)
	}
	for j, overhang := range l.overhangs {
		m.left[j], m.right[j] = max(m.left[j], overhang), max(m.right[j], overhang)
	}
	for _, b := range l.bars {
		if first, last := b.firstColumn, b.lastColumn; b.below {
			m.barsBelow = max(m.barsBelow, b.thickness())
			m.left[first], m.right[last] = max(m.left[first], barOverhang[0]), max(m.right[last], barOverhang[1])
		} else {
			m.bars[last] = max(m.bars[last], b.thickness())
		}
	}
	for j := range m.bars {
		m.right[j] += m.bars[j]
	}
	m.outer = [4]vg.Length{
		leftSide:   outerPad + m.rowTitleWidth,
		rightSide:  outerPad,
		bottomSide: outerPad + m.barsBelow + l.legend.height(width-2*outerPad),
		topSide:    outerPad + columnTitleHeight,
	}
	return m
}

// titleGap is the distance from the data to the title above.
const titleGap = vg.Length(5)

// fitText adapts the number of ticks and the size of titles to the data areas. ux and uy are the
// lengths of one unit of relative size.
func (l *layout) fitText(ux, uy vg.Length) {
	l.rowSize, l.columnSize, l.panelSize = titleSize, titleSize, titleSize
	for at, c := range l.all {
		size := l.areaSize(at, ux, uy)
		c.size = size
		setTicks(&c.plot, size)
		c.fitLabels(size)
		l.panelSize = fitSize(l.panelSize, c.title, max(size.X, ux*vg.Length(l.columnWidths[at[1]]))+l.gapX)
	}
	for i, t := range l.rowTitles {
		l.rowSize = fitSize(l.rowSize, t, uy*vg.Length(l.rowHeights[i])+l.gapY)
	}
	for j, t := range l.columnTitles {
		l.columnSize = fitSize(l.columnSize, t, ux*vg.Length(l.columnWidths[j])+l.gapX)
	}
}

// fitTitles reserves space for titles that are wider than their columns. unit is the length of one
// unit of relative size.
func (l *layout) fitTitles(unit vg.Length) {
	for j := range l.overhangs {
		var widest vg.Length
		if l.columnTitles != nil {
			widest = textStyle(l.columnSize).Width(l.columnTitles[j])
		}
		for _, row := range l.cells {
			if c := row[j]; c != nil && c.columns == 1 {
				widest = max(widest, textStyle(l.panelSize).Width(c.title))
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
		l.gapY = max(l.gapY, textStyle(l.rowSize).Width(t)+titleGap-row)
	}
}

// fitSize returns the largest text size, at least tickSize, at which the text fits in the room.
func fitSize(size vg.Length, text string, room vg.Length) vg.Length {
	for size > tickSize && textStyle(size).Width(text) > room-2 {
		size--
	}
	return size
}

// areaSize returns the size of a panel's data area.
func (l *layout) areaSize(at [2]int, ux, uy vg.Length) vg.Point {
	c := l.cells[at[0]][at[1]]
	return c.within(ux*vg.Length(sum(l.columnWidths[at[1]:at[1]+c.columns])),
		uy*vg.Length(sum(l.rowHeights[at[0]:at[0]+c.rows])))
}

func (l *layout) draw(c draw.Canvas) error {
	size := c.Size()
	var m *margins
	var ux, uy vg.Length
	for range 3 {
		m = l.margins(size.X)
		ux = (size.X - m.sumX()) / vg.Length(sum(l.columnWidths))
		uy = (size.Y - m.sumY()) / vg.Length(sum(l.rowHeights))
		if ux < minUnit/vg.Length(slices.Max(l.columnWidths)) || uy < minUnit/vg.Length(slices.Max(l.rowHeights)) {
			return fmt.Errorf("%.3g x %.3g in is too small for %d x %d panels with their labels: use a "+
				"larger Size", size.X/vg.Inch, size.Y/vg.Inch, len(l.cells), len(l.cells[0]))
		}
		if l.fixed {
			ux = min(ux, uy)
			uy = ux
		}
		l.fitText(ux, uy)
	}
	// Space that fixed aspects leave over surrounds the block.
	x0 := c.Min.X + m.outer[leftSide] + (size.X-m.sumX()-ux*vg.Length(sum(l.columnWidths)))/2
	y0 := c.Max.Y - m.outer[topSide] - (size.Y-m.sumY()-uy*vg.Length(sum(l.rowHeights)))/2
	columnSpan, rowSpan := make([][2]vg.Length, len(m.left)), make([][2]vg.Length, len(m.top))
	x, y := x0, y0
	for j := range columnSpan { // the data spans, without margins
		x += m.left[j]
		columnSpan[j] = [2]vg.Length{x, x + ux*vg.Length(l.columnWidths[j])}
		x = columnSpan[j][1] + m.right[j] + l.gapX
	}
	for i := range rowSpan {
		y -= m.top[i]
		rowSpan[i] = [2]vg.Length{y - uy*vg.Length(l.rowHeights[i]), y}
		y = rowSpan[i][0] - m.bottom[i] - l.gapY
	}
	blockBottom := y + l.gapY
	for at, p := range l.all {
		x := [2]vg.Length{columnSpan[at[1]][0], columnSpan[at[1]+p.columns-1][1]}
		y := [2]vg.Length{rowSpan[at[0]+p.rows-1][0], rowSpan[at[0]][1]}
		area := center(x, y, p.within(x[1]-x[0], y[1]-y[0]))
		touchPanelOf(c, p.Panel, area, titleAt(l.rowTitles, at[0]), titleAt(l.columnTitles, at[1]), p.title)
		p.draw(c, area, l.panelSize)
	}
	title := textStyle(l.columnSize)
	for j, t := range l.columnTitles {
		c.FillText(title, vg.Point{X: middle(columnSpan[j]),
			Y: y0 + titleGap + title.FontExtents().Descent}, t)
	}
	title = textStyle(l.rowSize)
	title.Rotation, title.YAlign = math.Pi/2, draw.YTop
	for i, t := range l.rowTitles {
		c.FillText(title, vg.Point{X: x0 - m.rowTitleWidth, Y: middle(rowSpan[i])}, t)
	}
	for _, b := range l.bars {
		if b.below {
			b.draw(c, blockBottom, [2]vg.Length{columnSpan[b.firstColumn][0], columnSpan[b.lastColumn][1]})
		} else {
			b.draw(c, columnSpan[b.lastColumn][1]+m.right[b.lastColumn]-m.bars[b.lastColumn],
				[2]vg.Length{rowSpan[b.lastRow][0], rowSpan[b.firstRow][1]})
		}
	}
	l.legend.draw(c, [2]vg.Length{columnSpan[0][0], columnSpan[len(columnSpan)-1][1]}, blockBottom-m.barsBelow)
	return nil
}

// marginRoom is about the space that both margins of a plot take.
const marginRoom = vg.Length(60)

// minUnit is the minimum extent of a panel's data area that is worth drawing.
const minUnit = vg.Length(12)

func titleAt(titles []string, i int) string {
	if i < len(titles) {
		return titles[i]
	}
	return ""
}

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
