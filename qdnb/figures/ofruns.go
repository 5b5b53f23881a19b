package figures

import (
	"errors"
	"fmt"

	"example.com/qdnb/qdnb/runs"
)

// CellsOf are the cells of a repertoire of a run, the final one or a snapshot, as [RepertoireMap] and [MapGrid] take them.
func CellsOf(run *runs.Run, r *runs.Repertoire) (*Cells, error) {
	centroids, err := Points2D(r.Centroids, r.Dims)
	if err != nil {
		return nil, err
	}
	descriptors, err := Points2D(r.Descriptors, r.Dims)
	if err != nil {
		return nil, err
	}
	e, known := environments[run.Config.Env]
	lower, upper := r.Lower, r.Upper
	if lower == nil && upper == nil && known { // of a checkpoint
		lower, upper = []float32{float32(e.lower[0]), float32(e.lower[1])}, []float32{float32(e.upper[0]), float32(e.upper[1])}
	}
	if len(lower) != 2 || len(upper) != 2 {
		return nil, errors.New("figures: the repertoire's file does not say the limits of its descriptors, descriptor_min and descriptor_max")
	}
	names := [2]string{"descriptor 1", "descriptor 2"}
	if noted := run.Status.Descriptor; len(noted) == 2 {
		names = [2]string(noted)
	} else if known { // runs of older programs have noted nothing
		names = e.names
	}
	c := &Cells{
		XLabel: names[0], YLabel: names[1], Centroids: centroids, Descriptors: descriptors,
		Lower: [2]float64{float64(lower[0]), float64(lower[1])}, Upper: [2]float64{float64(upper[0]), float64(upper[1])},
	}
	for _, fitness := range r.Fitnesses {
		c.Fitness = append(c.Fitness, float64(fitness))
	}
	return c, nil
}

// Repertoire draws the newest repertoire of a run: the final one of a run that is finished.
func Repertoire(run *runs.Run) (*Figure, error) {
	newest, err := run.Newest()
	if err != nil {
		return nil, err
	}
	if newest == nil {
		return nil, fmt.Errorf("figures: %s has no repertoire yet: train it first", run.Name())
	}
	cells, err := CellsOf(run, &newest.Repertoire)
	if err != nil {
		return nil, err
	}
	cells.Title = fmt.Sprintf("%s on %s, generation %s", MethodName(run.Config.Algorithm), run.Config.Env, grouped(newest.Generation))
	return RepertoireMap(*cells)
}

// Snapshots draws the repertoires that a run kept on its way, in rows of columns, with one colour bar.
func Snapshots(run *runs.Run, columns int) (*Figure, error) {
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	if len(snapshots) == 0 || columns < 1 {
		return nil, fmt.Errorf("figures: %s has %d snapshots to draw in %d columns", run.Name(), len(snapshots), columns)
	}
	grid := Grid{Bar: BarShared}
	for i, snapshot := range snapshots {
		cells, err := CellsOf(run, &snapshot.Repertoire)
		if err != nil {
			return nil, err
		}
		cells.Title = "generation " + grouped(snapshot.Generation)
		cells.Descriptors = nil // too small to see
		if i%columns == 0 {
			grid.Maps = append(grid.Maps, nil)
		}
		row := &grid.Maps[len(grid.Maps)-1]
		*row = append(*row, cells)
	}
	return MapGrid(grid)
}

// Axis is what metric curves are drawn against.
type Axis struct {
	Column string // of metrics.csv
	Label  string
	Unit   float64 // of the column, in one of the axis
}

// The axes of the paper's curves.
var (
	Evaluations = Axis{"evaluations", "evaluations", 1}
	EnvSteps    = Axis{"env_steps", "environment steps", 1}
	Minutes     = Axis{"seconds", "time (min)", 60}
)

// Metrics draws max fitness, coverage and QD score of runs in a row for each of the axes.
func Metrics(trained []*runs.Run, axes ...Axis) (*Figure, error) {
	metrics := []struct{ column, label string }{
		{"max_fitness", "Max fitness"}, {"coverage", "Coverage (%)"}, {"qd_score", "QD score"},
	}
	var panels []Panel
	for _, axis := range axes {
		for _, metric := range metrics {
			panel := Panel{XLabel: axis.Label, YLabel: metric.label}
			for _, run := range trained {
				series, err := seriesOf(run, axis, metric.column)
				if err != nil {
					return nil, err
				}
				panel.Series = append(panel.Series, series)
			}
			panels = append(panels, panel)
		}
	}
	return Curves(panels, len(metrics))
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
	if err != nil {
		return Series{}, err
	}
	for i := range x {
		x[i] /= axis.Unit
	}
	return Series{Name: run.Config.Algorithm, X: x, Y: y}, nil
}

// grouped writes a count with a thin space between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u2009" + text[at:]
	}
	return text
}
