package figures

import (
	"fmt"

	"gonum.org/v1/plot/vg"
)

// BarScope says which maps of a [Grid] share a range of colours and its bar.
type BarScope int

// The scopes of a colour bar.
const (
	BarShared    BarScope = iota // one range for all maps
	BarPerRow                    // one per row, for rows of different environments
	BarPerColumn                 // one per column
)

// Grid is a table of repertoire maps: methods by environments, or snapshots of one run over time.
type Grid struct {
	Cells [][]*Cells // rows of columns; nil leaves a hole, short rows end in holes

	RowTitles, ColumnTitles []string // optional, one per row or column

	Bar BarScope
}

// RepertoireGrid draws several maps with common axes and colours. Within a column (row) of equal limits only the
// lowest (leftmost) map has tick labels. The range of a colour bar is that of the data of all maps that share it, or,
// where each of them states Min and Max, the widest of those.
func RepertoireGrid(g Grid) (*Figure, error) {
	rows, columns := len(g.Cells), 0
	for _, row := range g.Cells {
		columns = max(columns, len(row))
	}
	if err := g.check(rows, columns); err != nil {
		return nil, fmt.Errorf("figures: repertoire grid: %w", err)
	}
	cells := make([][]*Cells, rows)
	for i, row := range g.Cells {
		cells[i] = make([]*Cells, columns)
		copy(cells[i], row)
	}

	l := &layout{
		equal: true, rowTitles: g.RowTitles, columnTitles: g.ColumnTitles,
		gapX: 14, gapY: 8,
	}
	bars := gridBars(cells, g.Bar)
	switch g.Bar {
	case BarPerRow:
		l.rightBars = bars
	case BarPerColumn:
		l.bottomBars = bars
	default:
		if bars[0] != nil {
			l.rightBars = bars
		}
	}
	for i, row := range cells {
		l.panels = append(l.panels, make([]*panel, columns))
		for j, c := range row {
			if c == nil {
				continue
			}
			bar := bars[0]
			switch g.Bar {
			case BarPerRow:
				bar = bars[i]
			case BarPerColumn:
				bar = bars[j]
			}
			p, err := c.panel(bar, !explained(cells, i, j, 1, 0), !explained(cells, i, j, 0, -1))
			if err != nil {
				return nil, err
			}
			l.panels[i][j] = p
		}
	}
	// From two columns in a text column to the full width of a page.
	width := min(1.5+1.75*vg.Length(columns), 7.5)
	return l.figure(width * vg.Inch), nil
}

func (g *Grid) check(rows, columns int) error {
	if rows == 0 || columns == 0 {
		return fmt.Errorf("it needs at least one repertoire")
	}
	if g.RowTitles != nil && len(g.RowTitles) != rows {
		return fmt.Errorf("%d rows but %d row titles", rows, len(g.RowTitles))
	}
	if g.ColumnTitles != nil && len(g.ColumnTitles) != columns {
		return fmt.Errorf("%d columns but %d column titles", columns, len(g.ColumnTitles))
	}
	for i, row := range g.Cells {
		for j, c := range row {
			if c == nil {
				continue
			}
			if err := c.check(); err != nil {
				return fmt.Errorf("row %d, column %d: %w", i, j, err)
			}
		}
	}
	return nil
}

// gridBars returns one bar, or one per row or column.
func gridBars(cells [][]*Cells, scope BarScope) []*colorBar {
	var bars []*colorBar
	switch scope {
	case BarPerRow:
		for _, row := range cells {
			bars = append(bars, newRepertoireBar(row...))
		}
	case BarPerColumn:
		for j := range cells[0] {
			var column []*Cells
			for _, row := range cells {
				column = append(column, row[j])
			}
			bars = append(bars, newRepertoireBar(column...))
		}
	default:
		var all []*Cells
		for _, row := range cells {
			all = append(all, row...)
		}
		bars = append(bars, newRepertoireBar(all...))
	}
	return bars
}

// explained tells whether the next map in the direction (di, dj) has the same limits, so that its ticks do for both.
func explained(cells [][]*Cells, i, j, di, dj int) bool {
	ni, nj := i+di, j+dj
	if ni < 0 || ni >= len(cells) || nj < 0 || nj >= len(cells[ni]) || cells[ni][nj] == nil {
		return false
	}
	a, b := cells[i][j], cells[ni][nj]
	d := 0 // the axis along which they are aligned
	if di == 0 {
		d = 1
	}
	return a.Lower[d] == b.Lower[d] && a.Upper[d] == b.Upper[d]
}
