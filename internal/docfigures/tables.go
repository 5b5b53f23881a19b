package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/envs/verify"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/xla"
)

// performance draws the ratios of docs/performance.csv: dots are medians, bars all rounds. Of a
// case measured on several machines it draws the last.
func performance(program) (*figures.Figure, error) {
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

// tableRow matches a row of a Markdown table.
var tableRow = regexp.MustCompile(`(?m)^\| *(.+?) *\|$`)

// bars returns a panel of bars from 0: a column of the table of a page whose header has it, without
// the row of the sum, named by the first column.
func bars(page, title, column, label string) (p figures.IntervalPanel, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return p, err
	}
	p = figures.IntervalPanel{Title: title, XLabel: label}
	at, most := -1, 0.0
	for line := range strings.SplitSeq(string(text), "\n") {
		match := tableRow.FindStringSubmatch(line)
		if match == nil {
			at = -1
			continue
		}
		cells := strings.Split(match[1], "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if at < 0 {
			at = slices.Index(cells, column)
			continue
		}
		if at >= len(cells) || strings.HasPrefix(cells[0], "---") || strings.HasPrefix(cells[0], "**") {
			continue
		}
		number, err := strconv.ParseFloat(strings.ReplaceAll(cells[at], " ", ""), 64)
		if err != nil {
			return p, err
		}
		p.Rows = append(p.Rows, figures.Interval{Name: cells[0], Value: number, High: number})
		most = max(most, number)
	}
	if len(p.Rows) == 0 {
		return p, fmt.Errorf("%s has no table with a column %q", page, column)
	}
	p.XLimits[1] = 4 * math.Ceil(most*1.05/4)
	return p, nil
}

// scale draws the core-hours of the table in docs/scale.md.
func scale(program) (*figures.Figure, error) {
	all, err := bars("docs/scale.md", "All runs", "core-hours", "core-hours")
	if err != nil {
		return nil, err
	}
	one, err := bars("docs/scale.md", "One run on two cores", "mean h, 2 cores", "hours")
	if err != nil {
		return nil, err
	}
	return figures.Intervals([]figures.IntervalPanel{all, one}, 2)
}

// accelerators draws the nodes of a control step in the table of docs/accelerators.md.
func accelerators(program) (*figures.Figure, error) {
	before, err := bars("docs/accelerators.md", "before", "before", "nodes")
	if err != nil {
		return nil, err
	}
	now, err := bars("docs/accelerators.md", "now", "now", "nodes")
	now.XLimits = before.XLimits
	if err != nil {
		return nil, err
	}
	return figures.Intervals([]figures.IntervalPanel{before, now}, 2)
}

// adaptation draws figure 4 of the paper from the shipped runs.
func adaptation(program) (*figures.Figure, error) {
	data, err := paper.Open("notebooks/results")
	if err != nil {
		return nil, err
	}
	return paper.Adaptation(data)
}

// verified draws the worst differences of single steps from the golden files, on two backends. A
// ring is an array, a dot the worst one of an environment.
func verified(p program) (*figures.Figure, error) {
	files, err := filepath.Glob("envs/testdata/onestep_*.npz")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no golden files in envs/testdata: run it in the root of the checkout")
	}
	var panels []figures.IntervalPanel
	for _, backend := range []string{"cpu", "go"} {
		platform, err := xla.Open(p.ctx, backend)
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
