package paper

import (
	"fmt"
	"math"
	"strings"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
)

// intermediatePoints are the snapshots that [Intermediate] draws, of the nine in the first half of
// training.
var intermediatePoints = []int{0, 2, 5, 8}

// Intermediate draws figures 11, 12a and 12b: the repertoires of methods on an environment at four
// points in the first half of training (in the paper, nine in the first of two hours). A row is the
// fraction of the budget spent, a column the seed of a method with the best final QD score. Above
// each map are its environment steps and the time since the first evaluation, as in
// [CurvesOverTime]. All maps share one colour range, from the data.
func Intermediate(d *Data, env string, methods ...string) (figures.Grid, error) {
	var columns [][]*figures.Panel
	var grid figures.Grid
	bar := new(figures.ColorBar)
	var failed unread
	time := clock
	for _, method := range methods {
		best := bestQDScore(d.FinishedRuns(method, env))
		if best == nil {
			continue
		}
		column, err := d.intermediate(best, bar)
		if err != nil {
			failed.add(err, method, env)
			continue
		}
		if best.CPUSeconds > 0 {
			time = cpuClock
		}
		columns = append(columns, column)
		grid.Columns = append(grid.Columns, figures.MethodName(method))
	}
	for _, point := range intermediatePoints {
		var row []*figures.Panel
		some := false
		for _, column := range columns {
			row = append(row, column[point])
			some = some || column[point] != nil
		}
		if some {
			grid.Panels = append(grid.Panels, row)
			grid.Rows = append(grid.Rows, fmt.Sprintf("%.0f %% of training",
				100*float64(point+1)/(2*runs.SnapshotPoints)))
		}
	}
	if len(grid.Panels) == 0 {
		return grid, d.nothing(failed, "intermediate repertoires of "+
			strings.Join(methodNames(methods), ", ")+" on "+env, results.ExperimentTraining)
	}
	grid.Note = "s, min: " + time
	if missing := failed.note(d.missing(methods, []string{env})); missing != "" {
		grid.Note += ". " + missing
	}
	return grid, nil
}

// intermediate draws the cells of a run's snapshots by the point of the budget passed; nil where
// no snapshot was kept.
func (d *Data) intermediate(trained *results.Trained, bar *figures.ColorBar) ([]*figures.Panel, error) {
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	column := make([]*figures.Panel, runs.SnapshotPoints)
	for i, snapshot := range snapshots {
		point := pointOf(run.Status.Budget, snapshot.Progress)
		if trained.CPUSeconds > 0 { // which snapshots do not record
			point = i
		}
		if point >= runs.SnapshotPoints || point < 0 || column[point] != nil {
			continue
		}
		title := fmt.Sprintf("%s steps, %s", tables.Count(float64(snapshot.EnvSteps)),
			tables.Duration(max(0, elapsed(*trained, float64(snapshot.EnvSteps), snapshot.Seconds))))
		if column[point], err = smallMap(run, &snapshot.Repertoire, bar, title); err != nil {
			return nil, err
		}
	}
	return column, nil
}

// pointOf returns the last point in the first half of the budget that a progress has passed: 0 for
// 1/18 of it, 8 for a half; -1 for none, and at the end.
func pointOf(b runs.Budget, p runs.Progress) int {
	fraction := b.Fraction(p)
	if fraction >= 1 {
		return -1
	}
	return min(int(math.Floor(fraction*2*runs.SnapshotPoints+1e-9)), runs.SnapshotPoints) - 1
}
