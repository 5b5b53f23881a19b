package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Axis is a column of metrics.csv that metric curves are drawn against.
type Axis struct {
	Column string // of metrics.csv
	Label  string
}

// The axes of the paper's curves.
var (
	Evaluations = Axis{"evaluations", "evaluations"}
	EnvSteps    = Axis{"env_steps", "environment steps"}
	Seconds     = Axis{"seconds", "time with compilation (s)"}
)

var metrics = []string{"max_fitness", "coverage", "qd_score"}

// Metrics draws maximum fitness, coverage and QD score of runs in a row for each of the axes. Runs
// that differ only in their seeds are one line, see [Columns].
func Metrics(trained []*runs.Run, axes ...Axis) (Grid, error) {
	if len(trained) == 0 || len(axes) == 0 {
		return Grid{}, fmt.Errorf("figures: metrics of %d runs on %d axes: want at least one of each", len(trained), len(axes))
	}
	cell.Begin()
	var panels []*Panel
	for _, axis := range axes {
		more, err := columnPanels(trained, axis, true, metrics...)
		if err != nil {
			return Grid{}, err
		}
		panels = append(panels, more...)
	}
	return InRows(len(metrics), panels...), nil
}

// Columns draws arbitrary columns of the metrics.csv of runs against the axis: one panel per
// column, up to three in a row, with a logarithmic axis if some values are a hundred times as large
// as most. Runs that differ only in their seeds are one line with a band, their median and
// [Quartiles]. If a run lacks a column, it returns an error that lists the columns of the run.
func Columns(trained []*runs.Run, axis Axis, columns ...string) (Grid, error) {
	if len(trained) == 0 || len(columns) == 0 {
		return Grid{}, fmt.Errorf("figures: %d columns of %d runs: want at least one of each", len(columns), len(trained))
	}
	cell.Begin()
	panels, err := columnPanels(trained, axis, true, columns...)
	rows := (len(panels) + 2) / 3 // as even as possible: four panels make two rows of two
	return InRows((len(panels)+max(rows, 1)-1)/max(rows, 1), panels...), err
}

// columnPanels returns a panel for each column. If fit is set, those that a linear axis would flatten are logarithmic,
// and the first values of a fitness do not flatten the others.
func columnPanels(trained []*runs.Run, axis Axis, fit bool, columns ...string) (panels []*Panel, err error) {
	if err := runs.Given(trained...); err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	var row Panels
	for _, column := range columns {
		lines, err := curvesOf(trained, func(run *runs.Run) (Series, error) { return seriesOf(run, axis, column) })
		if err != nil {
			return nil, err
		}
		axes := Axes{XLabel: axis.Label, YLabel: columnLabel(column), LogY: fit && flattened(lines)}
		if fit && column == metrics[0] && !axes.LogY {
			axes.YLimits = Rising(lines)
		}
		row.Add(Lines(axes, lines...))
	}
	return row.Row()
}

// curvesOf returns a line for each group of runs that differ only in their seeds: the quartiles of their curves.
func curvesOf(trained []*runs.Run, curve func(*runs.Run) (Series, error)) (lines []Series, err error) {
	for _, group := range groupsOf(trained) {
		var curves []Series
		for _, run := range group.runs {
			s, err := curve(run)
			if err != nil {
				return nil, fmt.Errorf("figures: %s: %w", run.Name(), err)
			}
			curves = append(curves, s)
		}
		line, err := median(group.name, curves)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// median returns the quartiles of curves at all their x, or the only curve itself.
func median(name string, curves []Series) (Series, error) {
	if len(curves) == 1 {
		curves[0].Name = name
		return curves[0], nil
	}
	for i, s := range curves {
		var rising Series
		for k, x := range s.X { // the final evaluation may repeat the last x
			if n := len(rising.X); n > 0 && x <= rising.X[n-1] {
				rising.X, rising.Y = rising.X[:n-1], rising.Y[:n-1]
			}
			rising.X, rising.Y = append(rising.X, x), append(rising.Y, s.Y[k])
		}
		curves[i] = rising
	}
	return Quartiles(name, curves, nil, stats.Median)
}

type group struct {
	name string // the algorithm, or what tells it from other groups of the algorithm
	runs []*runs.Run
}

func groupsOf(trained []*runs.Run) (groups []*group) {
	known, number := map[string]*group{}, map[string]int{}
	for _, run := range trained {
		config := run.Config
		config.Seed = 0
		g := known[config.Hash()]
		if g == nil {
			g = &group{name: config.Algorithm}
			known[config.Hash()], groups = g, append(groups, g)
			number[config.Algorithm]++
		}
		g.runs = append(g.runs, run)
	}
	for _, g := range groups {
		if config := g.runs[0].Config; number[config.Algorithm] > 1 {
			g.name = NameMethods(config.Algorithm) + difference(config, groups)
		}
	}
	return groups
}

// difference returns the environment and the settings that not all groups of an algorithm have.
func difference(config runs.Config, groups []*group) (text string) {
	own, err := config.Assignments()
	if err != nil {
		return ", " + config.Hash()[:6]
	}
	shared := func(has func(runs.Config) bool) bool {
		return !slices.ContainsFunc(groups, func(g *group) bool {
			other := g.runs[0].Config
			return other.Algorithm == config.Algorithm && !has(other)
		})
	}
	if !shared(func(c runs.Config) bool { return c.Env == config.Env }) {
		text += ", " + config.Env
	}
	for _, assignment := range own {
		if !shared(func(c runs.Config) bool {
			list, _ := c.Assignments()
			return slices.Contains(list, assignment)
		}) {
			text += ", " + assignment
		}
	}
	if text == "" { // they differ in parts of the user's
		text = ", " + config.Hash()[:6]
	}
	return text
}

func columnLabel(column string) string {
	switch column {
	case "coverage":
		return "coverage (%)"
	case "qd_score":
		return "QD score"
	}
	return strings.ReplaceAll(column, "_", " ")
}

func seriesOf(run *runs.Run, axis Axis, metric string) (Series, error) {
	table, err := run.Metrics()
	if err != nil {
		return Series{}, err
	}
	x, err := table.Column(axis.Column)
	if err != nil {
		return Series{}, err
	}
	y, err := table.Column(metric)
	return Series{X: x, Y: y}, err
}

// Distribution draws how the fitness of the newest repertoires of runs is distributed: the share of
// all cells that hold at least a fitness, which falls from the coverage to 0. Runs that differ only
// in their seeds are one line, see [Columns].
func Distribution(trained ...*runs.Run) (*Panel, error) {
	newest, all := map[*runs.Run]*runs.Snapshot{}, [][]float64(nil)
	for _, run := range trained {
		r, err := newestOf(run)
		if err != nil {
			return nil, err
		}
		newest[run] = r
		for _, f := range r.Fitnesses {
			all = append(all, []float64{float64(f)})
		}
	}
	low, high := axisRange([2]float64{}, false, 0, all)
	const points = 200
	lines, err := curvesOf(trained, func(run *runs.Run) (s Series, err error) {
		for i := range points + 1 {
			x, n := low+(high-low)*float64(i)/points, 0
			for _, f := range newest[run].Fitnesses {
				if float64(f) >= x {
					n++
				}
			}
			s.X, s.Y = append(s.X, x), append(s.Y, 100*float64(n)/float64(newest[run].Cells()))
		}
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	return Lines(Axes{XLabel: "fitness", YLabel: "cells of at least this fitness (%)"}, lines...)
}

// grouped formats a count with a thin space between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u2009" + text[at:]
	}
	return text
}

// CorrectedMetrics draws maximum fitness, coverage and QD score of runs in a row as they were
// logged, and in a second row with the same limits those of their corrected repertoires (see
// [runs.Run.Corrected]), a line for each kind of average. Runs that differ only in their seeds are one
// line with a band. A run without corrected repertoires is an error.
func CorrectedMetrics(trained []*runs.Run, axis Axis) (Grid, error) {
	panels, err := columnPanels(trained, axis, false, metrics...)
	if err != nil {
		return Grid{}, err
	}
	curves := map[*runs.Run]map[string][]Series{} // of each run and kind of average, by metric
	var kinds []string
	for _, run := range trained {
		if curves[run], err = corrected(run, axis); err != nil {
			return Grid{}, fmt.Errorf("figures: %s: %w", run.Name(), err)
		}
		kinds = slices.AppendSeq(kinds, maps.Keys(curves[run]))
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for i, column := range metrics {
		label := "corrected " + columnLabel(column)
		if len(kinds) == 1 {
			label = columnLabel(column) + ", " + kinds[0]
		}
		var lines []Series
		for _, kind := range kinds {
			with := slices.DeleteFunc(slices.Clone(trained), func(run *runs.Run) bool { return curves[run][kind] == nil })
			more, err := curvesOf(with, func(run *runs.Run) (Series, error) { return curves[run][kind][i], nil })
			if err != nil {
				return Grid{}, err
			}
			for k := range more {
				if len(kinds) > 1 { // else the axes name it
					more[k].Name = MethodName(more[k].Name) + ", " + kind
				}
			}
			lines = append(lines, more...)
		}
		below, err := Lines(Axes{XLabel: axis.Label, YLabel: label}, lines...)
		if err != nil {
			return Grid{}, err
		}
		shareLimits(panels[i], below)
		panels = append(panels, below)
	}
	return InRows(len(metrics), panels...), nil
}

// corrected returns the metrics of a run's corrected repertoires by the kind of their averages.
func corrected(run *runs.Run, axis Axis) (map[string][]Series, error) {
	snapshots, err := run.Corrected()
	if err == nil && len(snapshots) == 0 {
		err = fmt.Errorf("no corrected repertoires: train with Spec.Corrected, or use `qdnb eval %s "+
			"--corrected --save` for the final one", run.Dir)
	}
	of := map[string][]Series{}
	for _, s := range snapshots {
		x, ok := map[string]float64{"evaluations": float64(s.Evaluations), "seconds": s.Seconds,
			"env_steps": float64(s.EnvSteps), "generation": float64(s.Generation)}[axis.Column]
		if !ok {
			return nil, fmt.Errorf("corrected repertoires have no column %q", axis.Column)
		}
		kind, stats := s.Correction.String(), s.Stats()
		if of[kind] == nil {
			of[kind] = make([]Series, len(metrics))
		}
		for i, y := range []float64{stats.MaxFitness, stats.Coverage, stats.QDScore} {
			of[kind][i].X, of[kind][i].Y = append(of[kind][i].X, x), append(of[kind][i].Y, y)
		}
	}
	return of, err
}

// shareLimits gives two panels axes that cover the data of both.
func shareLimits(a, b *Panel) {
	for _, axes := range [][2]*plot.Axis{{&a.X, &b.X}, {&a.Y, &b.Y}} {
		low, high := min(axes[0].Min, axes[1].Min), max(axes[0].Max, axes[1].Max)
		for _, axis := range axes {
			axis.Min, axis.Max = low, high
		}
	}
}
