package figures

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/runs"
)

// CellsOf returns the cells of a run's repertoire, final or snapshot, for [RepertoireMap] and
// [MapGrid]. Those of one descriptor component are bars side by side.
func CellsOf(run *runs.Run, r *runs.Repertoire) (*Cells, error) {
	names, lower, upper, err := axesOf(run, r)
	if err != nil {
		return nil, err
	}
	flat, dots := r.Centroids, r.Descriptors
	if r.Dims == 1 {
		height := (upper[0] - lower[0]) / 4 // the widest map
		names, lower, upper = append(names, ""), append(lower, 0), append(upper, height)
		flat, dots = beside(flat, height/2), beside(dots, height/2)
	}
	centroids, err := Points2D(flat, len(lower))
	if err != nil {
		return nil, err
	}
	descriptors, err := Points2D(dots, len(lower))
	if err != nil {
		return nil, err
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

// axesOf returns the names and the limits of the descriptor components of a repertoire.
func axesOf(run *runs.Run, r *runs.Repertoire) (names []string, lower, upper []float32, err error) {
	task, _ := catalog.Find(run.Config.Env)
	lower, upper = r.Lower, r.Upper
	if lower == nil && upper == nil { // from a checkpoint
		lower, upper = task.Descriptor.Lower, task.Descriptor.Upper
	}
	if len(lower) != r.Dims || len(upper) != r.Dims || r.Dims == 0 {
		return nil, nil, nil, errors.New("figures: the repertoire's file lacks the limits of its " +
			"descriptors: add the arrays descriptor_min and descriptor_max")
	}
	for _, known := range [][]string{run.Status.Descriptor, task.Descriptor.Components} {
		if len(known) == r.Dims { // older runs do not record them
			return slices.Clone(known), slices.Clone(lower), slices.Clone(upper), nil
		}
	}
	for k := range r.Dims {
		names = append(names, fmt.Sprintf("descriptor %d", k+1))
	}
	return names, slices.Clone(lower), slices.Clone(upper), nil
}

// beside returns points [n, 2] of numbers and a constant.
func beside(numbers []float32, y float32) (points []float32) {
	for _, x := range numbers {
		points = append(points, x, y)
	}
	return points
}

// pairBins is the number of bins per axis in the map of a pair of descriptor components.
const pairBins = 25

// pairOf returns the solutions of a repertoire seen along all descriptor components but i and j:
// bins with the highest fitness of those in them.
func pairOf(run *runs.Run, r *runs.Repertoire, i, j int) (*Cells, error) {
	names, lower, upper, err := axesOf(run, r)
	if err != nil {
		return nil, err
	}
	c := &Cells{XLabel: names[i], YLabel: names[j],
		Lower:   [2]float64{float64(lower[i]), float64(lower[j])},
		Upper:   [2]float64{float64(upper[i]), float64(upper[j])},
		Fitness: slices.Repeat([]float64{math.Inf(-1)}, pairBins*pairBins)}
	for bin := range c.Fitness {
		x, y := (float64(bin%pairBins)+0.5)/pairBins, (float64(bin/pairBins)+0.5)/pairBins
		c.Centroids = append(c.Centroids, [2]float64{c.Lower[0] + x*(c.Upper[0]-c.Lower[0]),
			c.Lower[1] + y*(c.Upper[1]-c.Lower[1])})
	}
	for _, cell := range r.Filled() {
		d := r.Descriptor(cell)
		var at [2]int
		for k, x := range [2]float64{float64(d[i]), float64(d[j])} {
			share := (x - c.Lower[k]) / (c.Upper[k] - c.Lower[k])
			at[k] = int(min(max(share*pairBins, 0), pairBins-1))
		}
		best := &c.Fitness[at[1]*pairBins+at[0]]
		*best = max(*best, float64(r.Fitnesses[cell]))
	}
	return c, nil
}

// MaxPairDims is the largest number of descriptor components whose pairs [Repertoire] draws on a
// page.
const MaxPairDims = 6

// Repertoire draws the newest repertoire of a run; for a finished run this is the final one. If
// descriptors have 3 to 6 components, it draws a map for each pair of them.
func Repertoire(run *runs.Run) (*Figure, error) {
	newest, err := run.Newest()
	if err != nil {
		return nil, err
	}
	if newest == nil {
		return nil, fmt.Errorf("figures: %s has no repertoire yet: train it first", run.Name())
	}
	if d := newest.Dims; d > 2 && d <= MaxPairDims {
		grid := Grid{Note: titleOf(run, newest) + ". Each bin shows the fittest of the solutions with " +
			"these two components."}
		for i := range d {
			for j := i + 1; j < d; j++ {
				cells, err := pairOf(run, &newest.Repertoire, i, j)
				if err != nil {
					return nil, err
				}
				if last := len(grid.Maps) - 1; last < 0 || len(grid.Maps[last]) == 3 {
					grid.Maps = append(grid.Maps, nil)
				}
				last := len(grid.Maps) - 1
				grid.Maps[last] = append(grid.Maps[last], cells)
			}
		}
		return MapGrid(grid)
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
