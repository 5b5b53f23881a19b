// Package paper draws every figure and table of the paper, by number, from the runs of its
// experiments, and compares results with the paper's printed numbers.
//
// The package only draws and aggregates. It does not import GoMLX, so a notebook cell that uses it
// starts in a second. The calls of a figure, such as figure 6, are
//
//	Open                paper.go              an experiments folder: plan.jsonl and the folder runs
//	  results.Collect   results/collect.go    a row of numbers for each run, with its curve
//	Find, Item.Draw     items.go              calls the function of a figure, for the command; cells call it
//	CurvesOverTime      curves.go             rows of environments, columns of metrics: metricCurves
//	  FinishedRuns      results/scores.go     the complete runs, of the first experiment that has any
//	  curvesOf          curves.go             the curves of a method on an environment, one per seed
//	  curveAxis.over    curves.go             the axis that all of them share
//	  span.panel        curves.go             medians and quartiles (figures.Quartiles)
//	    figures.Lines   plot/figures          a panel: a gonum plot
//	Grid.Save, .Show    plot/figures/grid.go  panels with one legend, arranged by layout.go
package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// FolderVariable is the environment variable that names the experiments folder.
const FolderVariable = "QDNB_EXPERIMENTS"

// Contents of an experiments folder.
const (
	PlanFile   = "plan.jsonl"
	RunsFolder = "runs"
)

// Folder returns the folder of experiments: the value of [FolderVariable] if set. Otherwise, in a
// checkout of qdnb (the current folder or the nearest parent whose go.mod has its module path), it
// is the shipped folder notebooks/results if that has runs of one of the needed experiments, else
// build/experiments/small. Outside of a checkout it is experiments in the current folder.
//
// needs are names of experiments and IDs of [Items]. Without needs, Folder never returns the shipped
// folder, because its runs have no policies.
func Folder(needs ...string) string {
	if dir := os.Getenv(FolderVariable); dir != "" {
		return dir
	}
	here, err := os.Getwd()
	if err != nil {
		return "experiments"
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if text, _ := os.ReadFile(filepath.Join(dir, "go.mod")); ofModule.Match(text) { // a checkout
			shipped := filepath.Join(dir, shippedFolder)
			lines, _ := sweep.ReadFile(filepath.Join(shipped, PlanFile))
			if slices.ContainsFunc(lines, func(l sweep.Line) bool {
				return slices.Contains(Experiments(needs...), l.Experiment)
			}) {
				return shipped
			}
			return filepath.Join(dir, "build", "experiments", "small")
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(here, "experiments")
		}
	}
}

// Experiments replaces IDs of [Items] by the experiments whose runs they need. Other names are
// kept.
func Experiments(needs ...string) (names []string) {
	for _, need := range needs {
		experiments := []string{need}
		if item, err := Find(need); err == nil {
			experiments = item.Experiments
		}
		for _, name := range experiments {
			names = lists.With(names, name)
		}
	}
	return names
}

// ofModule matches the go.mod of this module.
var ofModule = regexp.MustCompile(`(?m)^\s*module\s+"?example\.com/qdnb"?(\s|$)`)

// Data are the runs for figures and tables.
type Data struct {
	*results.Tables
	Dir   string // the experiments folder
	Lines []sweep.Line
	About *About // nil unless the folder is shipped
}

// Open reads an experiments folder. Runs that are incomplete or unreadable are left out of figures
// and counted in Tables.
func Open(dir string) (*Data, error) {
	path := filepath.Join(dir, PlanFile)
	if _, err := os.Stat(path); err != nil {
		return nil, names.Wrongf("%s has no %s: make the runs with experiments.Prepare in a notebook, or "+
			"`make experiments`", dir, PlanFile)
	}
	d := &Data{Dir: dir}
	if Shipped(dir) {
		d.About = new(About)
		text, err := os.ReadFile(filepath.Join(dir, aboutFile))
		if err == nil {
			err = runs.Decode(text, d.About)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, aboutFile), err)
		}
	}
	var err error
	if d.Lines, err = sweep.ReadFile(path); err != nil {
		return nil, err
	}
	if d.Tables, err = results.Collect(filepath.Join(dir, RunsFolder), d.Lines); err == nil {
		cell.UsesPlan(dir, d.Identity()) // in place of each run
	}
	return d, err
}

// Name is the scale of shipped runs, and the last part of the path of another folder.
func (d *Data) Name() string {
	if d.About != nil {
		return d.About.Scale
	}
	return filepath.Base(d.Dir)
}

// linesOf returns the lines of an experiment.
func (d *Data) linesOf(experiment string) []sweep.Line {
	return lists.Where(d.Lines, func(line sweep.Line) bool { return line.Experiment == experiment })
}

// Run opens a run by its name.
func (d *Data) Run(name string) (*runs.Run, error) {
	return runs.Open(filepath.Join(d.Dir, RunsFolder, name))
}

// absent is the error of a figure or table without runs. Notebooks print it in place of the figure; see
// package nb.
type absent struct{ text string }

// Error implements error.
func (e absent) Error() string { return e.text }

// Absent says that an output has nothing to show, which is no failure.
func (e absent) Absent() bool { return true }
