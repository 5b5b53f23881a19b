package paper

import (
	"fmt"
	"math"

	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
)

// Intermediate draws figures 11, 12a and 12b: the repertoires of methods on an environment at nine
// points in the first half of training (in the paper, the first of two hours). A row is the
// fraction of the budget spent, a column the seed of a method with the best final QD score. Above
// each map are its environment steps and the time since the first evaluation, as in
// [CurvesOverTime]. All maps share one colour range, from the data.
func Intermediate(d *Data, env string, methods ...string) (*figures.Figure, error) {
	var columns [][]*figures.Cells
	var grid figures.Grid
	var failed unread
	time := clock
	for _, method := range methods {
		best := bestQDScore(d.FinishedRuns(method, env))
		if best == nil {
			continue
		}
		column, err := d.intermediate(best)
		if err != nil {
			failed.add(err, method, env)
			continue
		}
		if best.CPUSeconds > 0 {
			time = cpuClock
		}
		columns = append(columns, column)
		grid.ColumnTitles = append(grid.ColumnTitles, figures.MethodName(method))
	}
	for point := range runs.SnapshotPoints {
		var row []figures.Map
		some := false
		for _, column := range columns {
			row = append(row, column[point])
			some = some || column[point] != nil
		}
		if some {
			grid.Maps = append(grid.Maps, row)
			grid.RowTitles = append(grid.RowTitles, fmt.Sprintf("%.0f %% of training",
				100*float64(point+1)/(2*runs.SnapshotPoints)))
		}
	}
	if len(grid.Maps) == 0 {
		return nil, d.nothing(failed, "intermediate repertoires on "+env, results.ExperimentTraining)
	}
	grid.Dense, grid.Note = true, "s, min: "+time
	if missing := failed.note(d.missing(methods, []string{env})); missing != "" {
		grid.Note += ". " + missing
	}
	return figures.MapGrid(grid)
}

// intermediate returns the cells of a run's snapshots by the point of the budget passed; nil where
// no snapshot was kept.
func (d *Data) intermediate(trained *results.Trained) ([]*figures.Cells, error) {
	run, err := d.Run(trained.Run)
	if err != nil {
		return nil, err
	}
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	column := make([]*figures.Cells, runs.SnapshotPoints)
	for i, snapshot := range snapshots {
		point := pointOf(run.Status.Budget, snapshot.Progress)
		if trained.CPUSeconds > 0 { // which snapshots do not record
			point = i
		}
		if point >= runs.SnapshotPoints || point < 0 || column[point] != nil {
			continue
		}
		cells, err := smallCells(run, &snapshot.Repertoire)
		if err != nil {
			return nil, err
		}
		shorten(cells)
		cells.Title = fmt.Sprintf("%s steps, %s", tables.Count(float64(snapshot.EnvSteps)),
			tables.Duration(max(0, elapsed(*trained, float64(snapshot.EnvSteps), snapshot.Seconds))))
		column[point] = cells
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
