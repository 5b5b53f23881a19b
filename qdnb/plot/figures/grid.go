package figures

import (
	"fmt"

	"gonum.org/v1/plot/vg"
)

// BarScope selects which maps of a [Grid] share a colour bar and its range.
type BarScope int

// The scopes of a colour bar.
const (
	BarShared    BarScope = iota // one range for all maps
	BarPerRow                    // one per row, for rows of different environments
	BarPerColumn                 // one per column
)

// Map is a panel of a [Grid]: a repertoire (*[Cells]) or trajectories (*[Arena]).
type Map interface {
	check() error
	// axes returns the limits and labels of x and y.
	axes() (lower, upper [2]float64, labels [2]string)
	// panel draws the map with the colours of bar, which is nil if no cell is filled, or of the
	// labels of paths.
	panel(bar *colorBar, labels labelColors) (*panel, error)
}

// Grid is a table of maps, such as methods by environments, snapshots of one run over time, or
// repertoires above the trajectories of their skills.
type Grid struct {
	Maps [][]Map // rows of columns; nil leaves a gap, short rows end in gaps

	RowTitles, ColumnTitles []string // optional, one per row or column

	Bar BarScope

	// Dense saves space if there are many maps: only the lowest row labels its axes.
	Dense bool

	Note string // a sentence below the maps, optional
}

// pageWidth and pageHeight are the size of the text area of a page, the maximum for figures.
const (
	pageWidth  = 7.5 * vg.Inch
	pageHeight = 9.5 * vg.Inch
)

// MapGrid draws several maps with common axes and colours, on at most one page. Within a column
// (row) of equal axes only the lowest (leftmost) map has tick labels. The range of a colour bar
// covers the data of all maps that share it. If every one of them sets Min and Max, it is the
// widest of those ranges. Paths with one label have one colour in all maps, and the maps share one
// legend.
func MapGrid(g Grid) (*Figure, error) {
	maps := g.rectangle()
	if err := g.check(maps); err != nil {
		return nil, fmt.Errorf("figures: grid: %w", err)
	}
	l := &layout{
		equal: true, rowTitles: g.RowTitles, columnTitles: g.ColumnTitles,
		gapX: 14, gapY: 8,
	}
	if g.Dense {
		l.gapX, l.gapY = 8, 12 // row titles with method names are long
	}
	bars := gridBars(maps, g.Bar)
	switch g.Bar {
	case BarPerRow:
		l.rightBars = bars
	case BarPerColumn:
		l.bottomBars = bars
		if g.Dense {
			l.gapX = 4 // the bars and tick labels separate the columns
		}
	default:
		if bars[0] != nil {
			l.rightBars = bars
		}
	}
	var arenas []*Arena
	for _, row := range maps {
		for _, m := range row {
			if a, ok := m.(*Arena); ok {
				arenas = append(arenas, a)
			}
		}
	}
	labels := newLabelColors(arenas...)
	for i, row := range maps {
		l.panels = append(l.panels, make([]*panel, len(row)))
		for j, m := range row {
			if m == nil {
				continue
			}
			p, err := m.panel(bars[g.Bar.group(i, j)], labels)
			if err != nil {
				return nil, fmt.Errorf("figures: grid: row %d, column %d: %w", i, j, err)
			}
			g.axes(maps, i, j, p)
			if p.title != "" && g.Dense {
				l.gapY = 5
			}
			l.panels[i][j] = p
		}
	}
	l.legend = &legend{note: g.Note}
	if len(arenas) > 0 {
		l.legend.entries = labels.legend(arenas...)
	}
	// From the width of a text column for two columns up to a full page; wide maps take more.
	l.weigh()
	width := min(vg.Length(1.5+1.75*sum(l.columnWidths))*vg.Inch, pageWidth)
	return l.within(width, pageHeight), nil
}

// rectangle returns the table with rows of equal length. Nil *Cells and *Arena become nil maps.
func (g *Grid) rectangle() [][]Map {
	columns := 0
	for _, row := range g.Maps {
		columns = max(columns, len(row))
	}
	maps := make([][]Map, len(g.Maps))
	for i, row := range g.Maps {
		maps[i] = make([]Map, columns)
		for j, m := range row {
			switch m := m.(type) {
			case *Cells:
				if m != nil {
					maps[i][j] = m
				}
			case *Arena:
				if m != nil {
					maps[i][j] = m
				}
			}
		}
	}
	return maps
}

func (g *Grid) check(maps [][]Map) error {
	if len(maps) == 0 || len(maps[0]) == 0 {
		return fmt.Errorf("no maps: want at least one")
	}
	rows, columns := len(maps), len(maps[0])
	if g.RowTitles != nil && len(g.RowTitles) != rows {
		return fmt.Errorf("%d rows but %d row titles", rows, len(g.RowTitles))
	}
	if g.ColumnTitles != nil && len(g.ColumnTitles) != columns {
		return fmt.Errorf("%d columns but %d column titles", columns, len(g.ColumnTitles))
	}
	for i, row := range maps {
		for j, m := range row {
			if m == nil {
				continue
			}
			if err := m.check(); err != nil {
				return fmt.Errorf("row %d, column %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// axes removes the labels and ticks of a panel that a neighbour already shows.
func (g *Grid) axes(maps [][]Map, i, j int, p *panel) {
	below, left := explained(maps, i, j, 1, 0), explained(maps, i, j, 0, -1)
	if below {
		hideTicks(&p.plot.X)
	}
	if left {
		hideTicks(&p.plot.Y)
	}
	if g.Dense && below {
		p.plot.Y.Label.Text = ""
	}
}

// group returns the index of the bar of a map.
func (b BarScope) group(row, column int) int {
	switch b {
	case BarPerRow:
		return row
	case BarPerColumn:
		return column
	}
	return 0
}

// gridBars returns one bar, or one per row or column.
func gridBars(maps [][]Map, scope BarScope) []*colorBar {
	shared := make([][]Map, 1+scope.group(len(maps)-1, len(maps[0])-1))
	for i, row := range maps {
		for j, m := range row {
			k := scope.group(i, j)
			shared[k] = append(shared[k], m)
		}
	}
	bars := make([]*colorBar, len(shared))
	for k := range bars {
		bars[k] = newBar(shared[k]...)
	}
	return bars
}

// explained reports whether the next map in the direction (di, dj) has the same axis, so that its
// ticks serve both.
func explained(maps [][]Map, i, j, di, dj int) bool {
	ni, nj := i+di, j+dj
	if ni < 0 || ni >= len(maps) || nj < 0 || nj >= len(maps[ni]) || maps[ni][nj] == nil {
		return false
	}
	lower, upper, labels := maps[i][j].axes()
	otherLower, otherUpper, otherLabels := maps[ni][nj].axes()
	d := 0 // the axis along which they are aligned
	if di == 0 {
		d = 1
	}
	return lower[d] == otherLower[d] && upper[d] == otherUpper[d] && labels[d] == otherLabels[d]
}
