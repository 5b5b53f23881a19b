package main

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
)

// chart is a panel of intervals, or of lines.
type chart struct {
	figures.Axes
	Rows  []figures.Interval
	Lines []figures.Series
}

// drawn draws charts side by side.
func drawn(charts ...chart) (figures.Grid, error) {
	var panels figures.Panels
	for _, c := range charts {
		panels.Add(figures.Lines(c.Axes, c.Lines...))
	}
	return panels.InRows(len(charts))
}

// record is a row of docs/performance.csv: its columns by name.
type record map[string]string

func (r record) number(column string) (float64, error) { return strconv.ParseFloat(r[column], 64) }

// name names the case with its stage.
func (r record) name() string {
	name := r["stage"] + ", " + r["case"]
	if r["measure"] != "running" {
		name += ", " + r["measure"]
	}
	return name
}

// records reads docs/performance.csv, in the order of its measurements.
func records() ([]record, error) {
	file, err := os.Open("docs/performance.csv")
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

// performance draws the ratios of docs/performance.csv on a logarithmic axis, a colour for each stage: dots
// are medians, bars all rounds. Of a case measured several times it draws the last.
func performance(context.Context, string) (figures.Grid, error) {
	rows, err := records()
	if err != nil {
		return figures.Grid{}, err
	}
	charts := []chart{{Axes: figures.Axes{Title: "JAX, whole population"}},
		{Axes: figures.Axes{Title: "JAX, best slices"}}}
	for i := range charts {
		charts[i].XLabel, charts[i].LogX = "Speed-up", true
	}
	var stages []string
	indices := map[string]int{} // a case has the same row in both
	for _, r := range rows {
		panel := slices.Index([]string{"whole", "best slices"}, r["against"])
		if panel < 0 || r["stage"] == "evolution" { // not JAX
			continue
		}
		index, ok := indices[r.name()]
		if !ok {
			index, indices[r.name()] = len(indices), len(indices)
			if !slices.Contains(stages, r["stage"]) {
				stages = append(stages, r["stage"])
			}
			for i := range charts {
				charts[i].Rows = append(charts[i].Rows, figures.Interval{Name: r["stage"], Value: math.NaN(),
					Low: math.NaN(), High: math.NaN(), Style: &figures.Style{Name: r.name()}})
			}
		}
		row := &charts[panel].Rows[index]
		for column, number := range map[string]*float64{"ratio": &row.Value, "low": &row.Low, "high": &row.High} {
			if *number, err = r.number(column); err != nil {
				return figures.Grid{}, err
			}
		}
	}
	styles := figures.MethodStyles(stages...)
	var panels []*figures.Panel
	for _, c := range charts {
		c.XLimits = [2]float64{1, 1}
		for _, other := range charts { // one axis for both
			for _, row := range other.Rows {
				for _, x := range []float64{row.Low, row.High} {
					if !math.IsNaN(x) {
						c.XLimits = [2]float64{min(c.XLimits[0], x/1.1), max(c.XLimits[1], x*1.1)}
					}
				}
			}
		}
		for i := range c.Rows {
			c.Rows[i].Style.Color = styles[c.Rows[i].Name].Color
		}
		panel, err := figures.MarkedIntervals(c.Axes, c.Rows, "Median, and all rounds")
		if err != nil {
			return figures.Grid{}, err
		}
		panel.Add(figures.Vertical(1))
		panels = append(panels, panel)
	}
	return figures.InRows(len(panels), panels...), nil
}

// history draws all records of docs/performance.csv over the commits that they were measured at: the
// speed-ups, and the seconds of the steps of `make test`, divided by the first record of their case.
func history(context.Context, string) (figures.Grid, error) {
	rows, err := records()
	if err != nil {
		return figures.Grid{}, err
	}
	var ticks plot.ConstantTicks
	cases := map[string]int{}
	kinds := [2]struct {
		title, column string
		lines         []figures.Series
	}{{title: "speed-up", column: "ratio"}, {title: "time of make test", column: "qdnb_s"}}
	for _, r := range rows {
		at := strings.Join([]string{r["date"], r["commit"]}, "\n")
		if n := len(ticks); n == 0 || ticks[n-1].Label != at {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: at})
		}
		kind, name := &kinds[0], r["stage"]
		if r["against"] == "" {
			kind, name = &kinds[1], r["case"]
		}
		value, err := r.number(kind.column)
		if err != nil {
			return figures.Grid{}, err
		}
		key := strings.Join([]string{r["machine"], r.name(), r["against"]}, "\n")
		i, ok := cases[key]
		if !ok {
			i, cases[key] = len(kind.lines), len(kind.lines)
			kind.lines = append(kind.lines, figures.Series{Name: name, Dots: true})
		}
		line := &kind.lines[i]
		line.X, line.Y = append(line.X, ticks[len(ticks)-1].Value), append(line.Y, value)
	}
	var panels []*figures.Panel
	for _, kind := range kinds {
		if len(kind.lines) == 0 {
			continue
		}
		for _, line := range kind.lines {
			first := line.Y[0]
			for i := range line.Y {
				line.Y[i] /= first
			}
		}
		panel, err := figures.Lines(figures.Axes{Title: kind.title + " / first record",
			XLimits: [2]float64{-0.5, float64(len(ticks)) - 0.5}}, kind.lines...)
		if err != nil {
			return figures.Grid{}, err
		}
		panel.X.Tick.Marker = ticks
		panels = append(panels, panel)
	}
	return figures.InRows(len(panels), panels...), nil
}

// adaptation draws figure 4 of the paper from the shipped runs.
func adaptation(context.Context, string) (figures.Grid, error) {
	data, err := paper.Open("notebooks/results")
	if err != nil {
		return figures.Grid{}, err
	}
	return paper.Adaptation(data)
}
