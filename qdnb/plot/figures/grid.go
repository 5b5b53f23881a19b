package figures

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

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
	l := &layout{columns: tracks{titles: g.Columns, gap: 14}, rows: tracks{titles: g.Rows, gap: 10}, fixed: true}
	var panels []*Panel
	titled := false
	for i, row := range g.Panels {
		for j, p := range row {
			if p == nil {
				continue
			}
			s, err := newSlot(p)
			if err != nil {
				return nil, fmt.Errorf("figures: row %d, column %d: %w", i, j, err)
			}
			if i+s.rows > len(g.Panels) || j+s.columns > columns {
				return nil, fmt.Errorf("figures: the panel of row %d and column %d spans %d x %d of %d x %d", i,
					j, s.rows, s.columns, len(g.Panels), columns)
			}
			s.row, s.column = i, j
			titled = titled || s.title != "" && i > 0
			l.fixed = l.fixed && p.Fixed
			l.slots, panels = append(l.slots, s), append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil, fmt.Errorf("figures: no panels: want at least one that is not nil")
	}
	joinPalettes(panels)
	l.legend = legend{joinEntries(panels), g.Note}
	l.bars = drawnBars(l.slots, columns)
	if len(g.Panels) > 2 { // save space
		l.columns.gap = 8
		if titled {
			l.rows.gap = 5
		}
		if slices.ContainsFunc(l.bars, func(b *drawnBar) bool { return b.below }) {
			l.columns.gap = 4 // the bars and tick labels separate the columns
		}
	}
	if !g.ownAxes {
		l.shareAxes(len(g.Panels) > 2)
	}
	l.weigh(len(g.Panels), columns)
	return l.figure(), nil
}
