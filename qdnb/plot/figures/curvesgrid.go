package figures

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// CurveGrid is a table of curve panels, such as a row per environment and a column per metric, with
// one legend below. The panels of a column share their x axis, whose numbers and label appear below
// the lowest panel.
type CurveGrid struct {
	Panels                  [][]Panel // rows; a panel without points says so
	RowTitles, ColumnTitles []string  // replace the panels' own titles; nil: none
	Note                    string    // a sentence below the panels, optional
}

// CurveTable draws a grid of panels as wide as the text of a page. Rows may differ in length.
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
	}
	k, err := keyOf(g.Panels)
	if err != nil {
		return nil, err
	}
	k.legend.note = g.Note
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
			drawn.aspect = 1.9
			if lowest == nil {
				lowest = &drawn.plot.X
			} else {
				drawn.plot.X.Tick.Marker = unlabelled{lowest}
				drawn.plot.X.Tick.Label.Font.Size = 0.01 // practically no height
			}
			if p.empty() {
				markEmpty(drawn.plot)
			}
			l.panels[i][j] = drawn
		}
	}
	return l.figure(pageWidth), nil
}

// columnLimits returns the x limits that the panels of a column share: the first limits given, or
// else the range of the data.
func (g *CurveGrid) columnLimits(column int) ([2]float64, error) {
	var limits [2]float64
	var xs [][]float64
	log, first := false, true
	for i, row := range g.Panels {
		if column >= len(row) {
			continue
		}
		p := row[column]
		if !first && p.LogX != log {
			return limits,
				fmt.Errorf("figures: panel %d of column %d: its x axis differs from the one above: "+
					"want only linear or only logarithmic axes in a column", i, column)
		}
		log, first = p.LogX, false
		if limits == [2]float64{} {
			limits = p.XLimits
		}
		for _, s := range p.Series {
			xs = append(xs, s.X)
		}
	}
	low, high := axisRange(limits, log, 0, xs)
	return [2]float64{low, high}, nil
}

func (p *Panel) empty() bool {
	for _, s := range p.Series {
		if len(s.runs(p.LogX, p.LogY)) > 0 {
			return false
		}
	}
	return true
}

// unlabelled puts ticks where another axis of the same range has them. Labels become blanks,
// because a tick without a label would be a minor tick, which has no grid line.
type unlabelled struct{ as *plot.Axis }

func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	ticks := u.as.Tick.Marker.Ticks(low, high)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// markEmpty states in an empty panel that there are no runs.
func markEmpty(p *plot.Plot) {
	p.Y.Tick.Marker = plot.ConstantTicks(nil)
	p.Add(note("no runs"))
}

type note string

func (n note) Plot(c draw.Canvas, _ *plot.Plot) {
	style := textStyle(labelSize)
	style.Color = axisColor
	style.YAlign = draw.YCenter
	c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}, string(n))
}
