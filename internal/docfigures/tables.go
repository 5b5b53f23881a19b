package main

import (
	"context"
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
)

// performanceFile has the measurements of `make bench-peer` and `make test`.
const performanceFile = "docs/performance.csv"

// record is a row of a CSV file: its columns by name.
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

// records reads the rows of a CSV file, in their order.
func records(path string) ([]record, error) {
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

// history draws the cases of docs/performance.csv that were measured more than once, over the commits of
// their records: the speed-ups, and the seconds of the steps of `make test`, divided by the first record.
func history(context.Context, string) (figures.Grid, error) {
	rows, err := records(performanceFile)
	if err != nil {
		return figures.Grid{}, err
	}
	key := func(r record) string { return strings.Join([]string{r["machine"], r.name(), r["against"]}, "\n") }
	measured := map[string]int{}
	for _, r := range rows {
		measured[key(r)]++
	}
	rows = slices.DeleteFunc(rows, func(r record) bool { return measured[key(r)] < 2 })
	var ticks plot.ConstantTicks
	cases := map[string]int{}
	kinds := [2]struct {
		title, column string
		lines         []figures.Series
	}{{title: "Speed-up", column: "ratio"}, {title: "Time of make test", column: "qdnb_s"}}
	for _, r := range rows {
		at := strings.Join([]string{r["date"], r["commit"]}, "\n")
		if n := len(ticks); n == 0 || ticks[n-1].Label != at {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: at})
		}
		kind, name := &kinds[0], r.name()
		if r["against"] == "" {
			kind, name = &kinds[1], r["case"]
		}
		value, err := r.number(kind.column)
		if err != nil {
			return figures.Grid{}, err
		}
		i, ok := cases[key(r)]
		if !ok {
			i, cases[key(r)] = len(kind.lines), len(kind.lines)
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
		panel, err := figures.Lines(figures.Axes{Title: kind.title + ", relative to the first record",
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
