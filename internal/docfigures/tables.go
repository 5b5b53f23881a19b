package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"example.com/qdnb/envs/verify"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/xla"
)

// chart is a panel of intervals.
type chart struct {
	figures.Axes
	Rows []figures.Interval
}

// drawn draws charts side by side.
func drawn(charts ...chart) (figures.Grid, error) {
	var panels []*figures.Panel
	for _, c := range charts {
		panel, err := figures.Intervals(c.Axes, c.Rows...)
		if err != nil {
			return figures.Grid{}, err
		}
		panels = append(panels, panel)
	}
	return figures.InRows(len(panels), panels...), nil
}

// performance draws the ratios of docs/performance.csv: dots are medians, bars all rounds. Of a
// case measured on several machines it draws the last.
func performance(context.Context, string) (figures.Grid, error) {
	file, err := os.Open("docs/performance.csv")
	if err != nil {
		return figures.Grid{}, err
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return figures.Grid{}, err
	}
	whole := chart{Axes: figures.Axes{Title: "JAX, whole population", XLabel: "speed-up",
		XLimits: [2]float64{0, 65}}}
	sliced := chart{Axes: figures.Axes{Title: "JAX, best slices", XLabel: "speed-up",
		XLimits: [2]float64{0, 65}}}
	for _, row := range rows[1:] {
		at := func(column string) string { return row[slices.Index(rows[0], column)] }
		var numbers [3]float64
		for i, column := range []string{"ratio", "low", "high"} {
			if numbers[i], err = strconv.ParseFloat(at(column), 64); err != nil {
				return figures.Grid{}, err
			}
		}
		name := at("stage") + ", " + at("case")
		if at("measure") != "running" {
			name += ", " + at("measure")
		}
		measured := figures.Interval{Name: name, Value: numbers[0], Low: numbers[1], High: numbers[2]}
		same := func(r figures.Interval) bool { return r.Name == name }
		if at("against") == "whole" {
			whole.Rows = append(slices.DeleteFunc(whole.Rows, same), measured)
			nothing := math.NaN() // unless the next row has the slices
			sliced.Rows = append(slices.DeleteFunc(sliced.Rows, same), figures.Interval{Name: name,
				Value: nothing, Low: nothing, High: nothing})
		} else {
			sliced.Rows[len(sliced.Rows)-1] = measured
		}
	}
	return drawn(whole, sliced)
}

// adaptation draws figure 4 of the paper from the shipped runs.
func adaptation(context.Context, string) (figures.Grid, error) {
	data, err := paper.Open("notebooks/results")
	if err != nil {
		return figures.Grid{}, err
	}
	return paper.Adaptation(data)
}

// verified draws the worst differences of single steps from the golden files, on two backends. A
// ring is an array, a dot the worst one of an environment.
func verified(ctx context.Context, _ string) (figures.Grid, error) {
	files, err := filepath.Glob("envs/testdata/onestep_*.npz")
	if err != nil {
		return figures.Grid{}, err
	}
	if len(files) == 0 {
		return figures.Grid{}, fmt.Errorf("no golden files in envs/testdata: run it in the root of the checkout")
	}
	var panels []chart
	for _, backend := range []string{"cpu", "go"} {
		platform, err := xla.Open(ctx, backend)
		if err != nil {
			return figures.Grid{}, err
		}
		panel := chart{Axes: figures.Axes{Title: platform.Name(), XLimits: [2]float64{0, 1.2},
			XLabel: "difference from Brax / tolerance"}}
		for _, file := range files {
			report, err := verify.File(platform, file)
			if err != nil {
				return figures.Grid{}, err
			}
			row := figures.Interval{Name: report.Env}
			for _, array := range report.Arrays {
				row.Points = append(row.Points, array.WorstShare)
			}
			row.Value = slices.Max(row.Points)
			row.High = row.Value
			panel.Rows = append(panel.Rows, row)
		}
		panels = append(panels, panel)
	}
	return drawn(panels...)
}
