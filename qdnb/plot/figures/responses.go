package figures

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Responses is a figure of how scores respond to perturbations. It has rows of curve panels over
// the size of a perturbation, with a dot at each measured value. Optional panels show the scores of
// methods for a perturbation without a size (Beside), and further curves (Below). Only Rows is
// required; a panel of Rows without points says so.
type Responses struct {
	Rows    [][]Panel      // rows of equal length
	Nominal float64        // the unperturbed x, marked in each panel of Rows; 0: no mark
	Beside  *IntervalPanel // to the right, as high as all Rows
	Below   []Panel        // below, in one row as wide as the figure
}

const (
	responsesRow = 1.62 * vg.Inch // height of a row with its labels
	besidePart   = 0.3            // of the width
	besidePad    = vg.Length(7)   // at the right, for half of a tick label
)

// Figure draws the panels with one legend below all of them. It returns an error if there are no
// rows or they differ in length.
func (r Responses) Figure() (*Figure, error) {
	if len(r.Rows) == 0 || len(r.Rows[0]) == 0 {
		return nil, errors.New("figures: responses without panels: want at least one row")
	}
	for _, row := range r.Rows {
		if len(row) != len(r.Rows[0]) {
			return nil, fmt.Errorf("figures: rows of %d and %d panels: want rows of equal length",
				len(r.Rows[0]), len(row))
		}
	}
	k, err := keyOf(append(slices.Clip(r.Rows), r.Below))
	if err != nil {
		return nil, err
	}
	var beside *panel
	if r.Beside != nil {
		if err := r.Beside.check(); err != nil {
			return nil, err
		}
		styles := MethodStyles(r.Beside.names()...)
		maps.Copy(styles, k.styles)
		beside = r.Beside.panel(styles, false)
	}

	height := responsesRow*vg.Length(len(r.Rows)) + k.legend.height(pageWidth-2*outerPad)
	below := vg.Length(0)
	if len(r.Below) > 0 {
		below = 1.15 * responsesRow // wider panels may be taller
	}
	return &Figure{width: pageWidth, height: height + below + 2*outerPad,
		draw: func(c draw.Canvas) error {
			area := c
			area.Min.Y += k.legend.height(c.Size().X-2*outerPad) + outerPad
			// if the figure has been resized
			scale := area.Size().Y / (responsesRow*vg.Length(len(r.Rows)) + below)
			if len(r.Below) > 0 {
				bottom := area
				bottom.Max.Y = area.Min.Y + scale*below
				area.Min.Y = bottom.Max.Y
				if err := drawLayout(bottom, r.below(k)); err != nil {
					return err
				}
			}
			if beside != nil {
				right := area
				right.Min.X = area.Max.X - besidePart*area.Size().X
				right.Max.X -= besidePad
				area.Max.X = right.Min.X
				if err := drawLayout(right, &layout{panels: [][]*panel{{beside}}}); err != nil {
					return err
				}
			}
			if err := drawLayout(area, r.rows(k)); err != nil {
				return err
			}
			k.legend.draw(c, [2]vg.Length{c.Min.X, c.Max.X},
				c.Min.Y+outerPad+k.legend.height(c.Size().X-2*outerPad))
			return nil
		}}, nil
}

func (r Responses) rows(k *key) *layout {
	l := &layout{gapX: 12, gapY: 6}
	for _, row := range r.Rows {
		panels := make([]*panel, len(row))
		for j := range row {
			panels[j] = row[j].panel(k)
			if row[j].empty() {
				markEmpty(panels[j].plot)
				continue
			}
			if r.Nominal != 0 {
				panels[j].plot.Add(verticalMark(r.Nominal, panels[j].plot))
			}
			for _, s := range row[j].Series { // nothing was measured between the points
				for _, run := range s.runs(row[j].LogX, row[j].LogY) {
					panels[j].plot.Add(dots(points(s, run), k.styles[s.Name].Color, 1.2))
				}
			}
		}
		l.panels = append(l.panels, panels)
	}
	return l
}

func (r Responses) below(k *key) *layout {
	l := &layout{gapX: 14, panels: make([][]*panel, 1)}
	for i := range r.Below {
		l.panels[0] = append(l.panels[0], r.Below[i].panel(k))
	}
	return l
}

// drawLayout fills a canvas, which may be part of a figure.
func drawLayout(c draw.Canvas, l *layout) error {
	l.weigh()
	return l.draw(c)
}

var markStyle = draw.LineStyle{Color: axisColor, Width: 0.6, Dashes: []vg.Length{2, 2}}

// verticalMark returns a thin dashed line at an x, over the whole height.
func verticalMark(x float64, p *plot.Plot) plot.Plotter {
	return quiet{&plotter.Line{XYs: plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}},
		LineStyle: markStyle}}
}
