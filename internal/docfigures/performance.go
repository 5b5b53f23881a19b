package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/qdnb/plot/figures"
)

// compared are the stages of docs/performance.csv that performance.png draws, each against one peer.
var compared = []struct {
	stage, row, peer string
	hue              color.NRGBA
}{
	{"rollout", "Rollouts on %s", "Brax, best batch size", blue},
	{"generation", "MAP-Elites on %s, in JAX", "JAX, best batch size", green},
	{"qdax", "MAP-Elites on %s, by QDax", "QDax, best batch size", purple},
	{"evolution", "MAP-Elites on a walker, %s", "pyribs with mjbatch", orange},
}

// bar is a bar from 1 to the median of a ratio, in a row of a panel of intervals, with the number behind it.
type bar struct {
	row   int
	ratio float64
	hue   color.NRGBA
	name  string
}

// Plot implements plot.Plotter.
func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	const half = vg.Length(4.2)
	y := toY(-float64(b.row))
	c.SetColor(b.hue)
	c.Fill(vg.Rectangle{Min: vg.Point{X: toX(1), Y: y - half}, Max: vg.Point{X: toX(b.ratio), Y: y + half}}.Path())
	text := p.X.Tick.Label
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	c.FillText(text, vg.Point{X: toX(b.ratio) + 4, Y: y + text.FontExtents().Descent}, fmt.Sprintf("%.3g×", b.ratio))
}

// Thumbnail implements plot.Thumbnailer.
func (b bar) Thumbnail(c *draw.Canvas) {
	c.SetColor(b.hue)
	c.Fill(c.Path())
}

// performance draws how many times as fast as a peer qdnb is, on a logarithmic axis. Of a case measured several
// times it draws the last record.
func performance(context.Context, string) (figures.Grid, error) {
	all, err := recorded(performanceFile)
	if err != nil {
		return figures.Grid{}, err
	}
	slices.Reverse(all) // the newest record of a case first
	var bars []bar
	var legend []figures.Entry
	for _, c := range compared {
		first := len(bars)
		var drawn []string
		for _, r := range all {
			if r["stage"] != c.stage || r["against"] != "best slices" || r["measure"] != "running" ||
				slices.Contains(drawn, r["case"]) {
				continue
			}
			drawn = append(drawn, r["case"])
			ratio, err := r.number("ratio")
			if err != nil {
				return figures.Grid{}, err
			}
			bars = append(bars, bar{ratio: ratio, hue: c.hue, name: fmt.Sprintf(c.row, r["case"])})
		}
		if len(bars) == first { // not measured
			continue
		}
		slices.SortFunc(bars[first:], func(a, b bar) int { return cmp.Compare(b.ratio, a.ratio) })
		legend = append(legend, figures.Entry{Text: c.peer, Mark: bars[first]})
	}
	var rows []figures.Interval
	most := 1.0
	for i := range bars {
		bars[i].row, most = i, max(most, bars[i].ratio)
		rows = append(rows, figures.Interval{Value: math.NaN(), Low: math.NaN(), High: math.NaN(),
			Style: &figures.Style{Name: bars[i].name}})
	}
	panel, err := figures.MarkedIntervals(figures.Axes{Title: "Time of a peer divided by qdnb's", XLabel: "Speed-up",
		LogX: true, XLimits: [2]float64{0.8, 1.6 * most}}, rows, "")
	if err != nil {
		return figures.Grid{}, err
	}
	panel.Legend, panel.Width, panel.Aspect = legend, 4.2*vg.Inch, 2.1
	for _, b := range bars {
		panel.Add(b)
	}
	panel.Add(figures.Vertical(1))
	return figures.InRows(1, panel), nil
}

// performanceFile has the measurements of `make bench-peer` and `make test`.
const performanceFile = "docs/performance.csv"

// record is a row of a CSV file: its columns by name.
type record map[string]string

func (r record) number(column string) (float64, error) { return strconv.ParseFloat(r[column], 64) }

// recorded reads the rows of a CSV file, in their order.
func recorded(path string) ([]record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	var found []record
	for _, row := range rows[1:] {
		r := record{}
		for i, column := range rows[0] {
			r[column] = row[i]
		}
		found = append(found, r)
	}
	return found, nil
}
