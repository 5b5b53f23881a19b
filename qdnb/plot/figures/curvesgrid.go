package figures

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CurveGrid are panels of curves in a table, such as a row for each environment and a column for
// each metric, with one legend below. The panels of a column share their x axis: its numbers and
// label stand below the lowest one.
type CurveGrid struct {
	Panels                  [][]Panel // rows; a panel without a point stays empty and says so
	RowTitles, ColumnTitles []string  // in place of the panels' own titles; nil: none
	Aspect                  float64   // width of a panel by its height; 0: 1.9
	Missing                 string    // what an empty panel says; "": "no runs"
}

// CurveTable draws a grid of panels, as wide as a page's text. Rows may be of different lengths.
func CurveTable(g CurveGrid) (*Figure, error) {
	columns := 0
	for _, row := range g.Panels {
		columns = max(columns, len(row))
	}
	switch {
	case columns == 0:
		return nil, fmt.Errorf("figures: a table of curves without panels: want at least one")
	case g.RowTitles != nil && len(g.RowTitles) != len(g.Panels):
		return nil, fmt.Errorf("figures: %d row titles for %d rows of panels", len(g.RowTitles),
			len(g.Panels))
	case g.ColumnTitles != nil && len(g.ColumnTitles) != columns:
		return nil, fmt.Errorf("figures: %d column titles for %d columns of panels", len(g.ColumnTitles),
			columns)
	case g.Aspect < 0 || !finite(g.Aspect):
		return nil, fmt.Errorf("figures: panels of aspect %g: want a positive one", g.Aspect)
	}
	if g.Aspect == 0 {
		g.Aspect = 1.9
	}
	if g.Missing == "" {
		g.Missing = "no runs"
	}
	k, err := keyOf(g.Panels)
	if err != nil {
		return nil, err
	}
	l := &layout{rowTitles: g.RowTitles, columnTitles: g.ColumnTitles, gapX: 12, gapY: 8,
		legend: k.legend}
	for range g.Panels {
		l.panels = append(l.panels, make([]*panel, columns))
	}
	for j := range columns {
		limits, err := g.columnLimits(j)
		if err != nil {
			return nil, err
		}
		var lowest *plot.Axis
		for i := len(g.Panels) - 1; i >= 0; i-- {
			if j >= len(g.Panels[i]) {
				continue
			}
			p := g.Panels[i][j]
			p.XLimits = limits
			if lowest != nil {
				p.XLabel = ""
			}
			drawn := p.panel(k)
			drawn.aspect = g.Aspect
			if lowest == nil {
				lowest = &drawn.plot.X
			} else {
				drawn.plot.X.Tick.Marker = unlabelled{lowest}
				drawn.plot.X.Tick.Label.Font.Size = 0.01 // what is as good as no height
			}
			if p.empty() {
				drawn.plot.Y.Tick.Marker = plot.ConstantTicks(nil)
				drawn.plot.Add(note(g.Missing))
			}
			l.panels[i][j] = drawn
		}
	}
	return l.figure(pageWidth), nil
}

// columnLimits are the ends of the x axis that the panels of a column share: the first limits that
// are given, or those of the data.
func (g *CurveGrid) columnLimits(column int) ([2]float64, error) {
	var xs [][]float64
	log, first := false, true
	for i, row := range g.Panels {
		if column >= len(row) {
			continue
		}
		p := row[column]
		if !first && p.LogX != log {
			return p.XLimits,
				fmt.Errorf("figures: panel %d of column %d: its x axis and that of the panel above are not "+
					"of one kind", i, column)
		}
		log, first = p.LogX, false
		if p.XLimits != [2]float64{} {
			return p.XLimits, nil
		}
		for _, s := range p.Series {
			xs = append(xs, s.X)
		}
	}
	low, high := axisRange([2]float64{}, log, 0, xs)
	return [2]float64{low, high}, nil
}

// empty tells whether nothing of the panel can be drawn.
func (p *Panel) empty() bool {
	for _, s := range p.Series {
		if len(s.runs(p.LogX, p.LogY)) > 0 {
			return false
		}
	}
	return true
}

// unlabelled puts ticks where another axis of the same range has them. Labels become blanks: a tick
// without one would be a minor tick, which has no line of the grid.
type unlabelled struct{ as *plot.Axis }

// Ticks implements plot.Ticker.
func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	ticks := u.as.Tick.Marker.Ticks(low, high)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// note is a text in the middle of a panel.
type note string

// Plot implements plot.Plotter.
func (n note) Plot(c draw.Canvas, _ *plot.Plot) {
	style := textStyle(labelSize)
	style.Color = axisColor
	style.YAlign = draw.YCenter
	c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}, string(n))
}
