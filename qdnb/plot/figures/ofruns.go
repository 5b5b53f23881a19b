package figures

import (
	"errors"
	"fmt"
	"math"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/runs"
)

// CellsOf returns the cells of a run's repertoire, final or snapshot, for [RepertoireMap] and
// [MapGrid].
func CellsOf(run *runs.Run, r *runs.Repertoire) (*Cells, error) {
	centroids, err := Points2D(r.Centroids, r.Dims)
	if err != nil {
		return nil, err
	}
	descriptors, err := Points2D(r.Descriptors, r.Dims)
	if err != nil {
		return nil, err
	}
	task, _ := catalog.Find(run.Config.Env)
	lower, upper := r.Lower, r.Upper
	if lower == nil && upper == nil { // from a checkpoint
		lower, upper = task.Descriptor.Lower, task.Descriptor.Upper
	}
	if len(lower) != 2 || len(upper) != 2 {
		return nil, errors.New("figures: the repertoire's file lacks the limits of its descriptors: " +
			"add the arrays descriptor_min and descriptor_max")
	}
	names := [2]string{"descriptor 1", "descriptor 2"}
	if noted := run.Status.Descriptor; len(noted) == 2 {
		names = [2]string(noted)
	} else if known := task.Descriptor.Components; len(known) == 2 { // older runs do not record them
		names = [2]string(known)
	}
	c := &Cells{
		XLabel: names[0], YLabel: names[1], Centroids: centroids, Descriptors: descriptors,
		Lower: [2]float64{float64(lower[0]), float64(lower[1])},
		Upper: [2]float64{float64(upper[0]), float64(upper[1])},
	}
	for _, fitness := range r.Fitnesses {
		c.Fitness = append(c.Fitness, float64(fitness))
	}
	return c, nil
}

// Repertoire draws the newest repertoire of a run; for a finished run this is the final one.
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
	cells.Title = titleOf(run, newest)
	return RepertoireMap(*cells)
}

func titleOf(run *runs.Run, s *runs.Snapshot) string {
	return fmt.Sprintf("%s on %s, generation %s", MethodName(run.Config.Algorithm), run.Config.Env,
		grouped(s.Generation))
}

// Snapshots draws at most n of the repertoire snapshots of a run in a row, with a shared colour
// bar: the first, the last, and between them those closest to equal ratios of generations, because
// a repertoire fills fast at first and slowly later.
func Snapshots(run *runs.Run, n int) (*Figure, error) {
	snapshots, err := run.Snapshots()
	if err != nil {
		return nil, err
	}
	if len(snapshots) == 0 || n < 1 {
		return nil, fmt.Errorf("figures: %s has %d snapshots and %d are to be drawn: want at least "+
			"one of each", run.Name(), len(snapshots), n)
	}
	generations := make([]int64, len(snapshots))
	for i, snapshot := range snapshots {
		generations[i] = snapshot.Generation
	}
	grid := Grid{Bar: BarShared, Maps: make([][]Map, 1)}
	for _, i := range byRatio(generations, n) {
		cells, err := CellsOf(run, &snapshots[i].Repertoire)
		if err != nil {
			return nil, err
		}
		cells.Title = "generation " + grouped(snapshots[i].Generation)
		cells.Descriptors = nil // too small to see
		grid.Maps[0] = append(grid.Maps[0], cells)
	}
	return MapGrid(grid)
}

// byRatio returns the indices of at most n of the rising numbers: the last, the first, and those
// closest to equal ratios between them.
func byRatio(rising []int64, n int) []int {
	last := len(rising) - 1
	if n = min(n, len(rising)); n == 1 {
		return []int{last}
	}
	log := func(i int) float64 { return math.Log(float64(max(rising[i], 1))) }
	var picked []int
	next := 0
	for k := range n {
		want := log(0) + (log(last)-log(0))*float64(k)/float64(n-1)
		for i := next + 1; i <= last-(n-1-k); i++ { // leave one for each of the others
			if math.Abs(log(i)-want) < math.Abs(log(next)-want) {
				next = i
			}
		}
		picked = append(picked, next)
		next++
	}
	return picked
}

// Axis is a column of metrics.csv that metric curves are drawn against.
type Axis struct {
	Column string // of metrics.csv
	Label  string
	Unit   float64 // values of the column per unit of the axis
}

// The axes of the paper's curves.
var (
	Evaluations = Axis{"evaluations", "evaluations", 1}
	EnvSteps    = Axis{"env_steps", "environment steps", 1}
	Minutes     = Axis{"seconds", "time including compilation (min)", 60}
)

// Metrics draws maximum fitness, coverage and QD score of runs in a row for each of the axes.
func Metrics(trained []*runs.Run, axes ...Axis) (*Figure, error) {
	var panels []Panel
	for _, axis := range axes {
		more, err := columnPanels(trained, axis, "max_fitness", "coverage", "qd_score")
		if err != nil {
			return nil, err
		}
		panels = append(panels, more...)
	}
	return Curves(panels, 3)
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

// grouped formats a count with a thin space between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u2009" + text[at:]
	}
	return text
}
