package docfigures

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

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

// column returns the first cells of a page's table and the numbers of another column, without the
// row of the sum. The table is the one whose header has the column.
func column(page, name string) (names []string, numbers []float64, err error) {
	at := -1
	for line := range strings.SplitSeq(page, "\n") {
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
			at = slices.Index(cells, name)
			continue
		}
		if at >= len(cells) || strings.HasPrefix(cells[0], "---") || strings.HasPrefix(cells[0], "**") {
			continue
		}
		number, err := strconv.ParseFloat(strings.ReplaceAll(cells[at], " ", ""), 64)
		if err != nil {
			return nil, nil, err
		}
		names, numbers = append(names, cells[0]), append(numbers, number)
	}
	return names, numbers, nil
}

// scale draws the core-hours of the table in docs/scale.md.
func scale(program) (*figures.Figure, error) {
	page, err := os.ReadFile("docs/scale.md")
	if err != nil {
		return nil, err
	}
	var panels []figures.IntervalPanel
	for _, c := range []struct{ title, column string }{
		{"All runs", "core-hours"}, {"One run on two cores", "mean h, 2 cores"},
	} {
		names, hours, err := column(string(page), c.column)
		if err != nil {
			return nil, err
		}
		label := "core-hours"
		if c.column != label {
			label = "hours"
		}
		panel, err := bars(c.title, label, names, hours)
		if err != nil {
			return nil, err
		}
		panels = append(panels, panel)
	}
	return figures.Intervals(panels, 2)
}

// accelerators draws the nodes of a control step in the table of docs/accelerators.md.
func accelerators(program) (*figures.Figure, error) {
	page, err := os.ReadFile("docs/accelerators.md")
	if err != nil {
		return nil, err
	}
	names, before, err := column(string(page), "before")
	if err != nil {
		return nil, err
	}
	_, now, err := column(string(page), "now")
	if err != nil {
		return nil, err
	}
	left, err := bars("before", "nodes", names, before)
	if err != nil {
		return nil, err
	}
	right, err := bars("now", "nodes", names, now)
	right.XLimits = left.XLimits
	if err != nil {
		return nil, err
	}
	return figures.Intervals([]figures.IntervalPanel{left, right}, 2)
}

// adaptation draws figure 4 of the paper from the shipped runs.
func adaptation(program) (*figures.Figure, error) {
	data, err := paper.Open("notebooks/results")
	if err != nil {
		return nil, err
	}
	return paper.Adaptation(data)
}

// fuzzTarget matches a fuzz target of a test file.
var fuzzTarget = regexp.MustCompile(`(?m)^func Fuzz\w+\(`)

// trust counts the fuzz targets of each package.
func trust(program) (*figures.Figure, error) {
	targets := map[string]float64{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != "." && (name[0] == '.' || name == "build") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if n := len(fuzzTarget.FindAll(text, -1)); n > 0 {
				targets[filepath.ToSlash(filepath.Dir(path))] += float64(n)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names := slices.SortedFunc(maps.Keys(targets), func(a, b string) int {
		return cmp.Or(cmp.Compare(targets[b], targets[a]), cmp.Compare(a, b))
	})
	values := make([]float64, len(names))
	for i, name := range names {
		values[i] = targets[name]
	}
	panel, err := bars("", "fuzz targets", names, values)
	if err != nil {
		return nil, err
	}
	figure, err := figures.Intervals([]figures.IntervalPanel{panel}, 1)
	if err != nil {
		return nil, err
	}
	return figure.Size(0, 4.2*vg.Inch), nil
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
