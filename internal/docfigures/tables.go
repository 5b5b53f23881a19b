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

// performance draws the ratios of docs/performance.csv: dots are medians, bars all rounds. Of a
// case measured on several machines it draws the last.
func performance(context.Context, string) (*figures.Figure, error) {
	file, err := os.Open("docs/performance.csv")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	whole := figures.IntervalPanel{Title: "JAX, whole population", XLabel: "speed-up",
		XLimits: [2]float64{0, 65}}
	sliced := figures.IntervalPanel{Title: "JAX, best slices", XLabel: "speed-up",
		XLimits: [2]float64{0, 65}}
	for _, row := range rows[1:] {
		at := func(column string) string { return row[slices.Index(rows[0], column)] }
		var numbers [3]float64
		for i, column := range []string{"ratio", "low", "high"} {
			if numbers[i], err = strconv.ParseFloat(at(column), 64); err != nil {
				return nil, err
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
	return figures.Intervals([]figures.IntervalPanel{whole, sliced}, 2)
}

// adaptation draws figure 4 of the paper from the shipped runs.
func adaptation(context.Context, string) (*figures.Figure, error) {
	data, err := paper.Open("notebooks/results")
	if err != nil {
		return nil, err
	}
	return paper.Adaptation(data)
}

// verified draws the worst differences of single steps from the golden files, on two backends. A
// ring is an array, a dot the worst one of an environment.
func verified(ctx context.Context, _ string) (*figures.Figure, error) {
	files, err := filepath.Glob("envs/testdata/onestep_*.npz")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no golden files in envs/testdata: run it in the root of the checkout")
	}
	var panels []figures.IntervalPanel
	for _, backend := range []string{"cpu", "go"} {
		platform, err := xla.Open(ctx, backend)
		if err != nil {
			return nil, err
		}
		panel := figures.IntervalPanel{Title: platform.Name(), XLimits: [2]float64{0, 1.2},
			XLabel: "difference from Brax / tolerance"}
		for _, file := range files {
			report, err := verify.File(platform, file)
			if err != nil {
				return nil, err
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
	return figures.Intervals(panels, 2)
}
