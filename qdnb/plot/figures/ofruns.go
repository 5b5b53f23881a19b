package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/runs"
)

// CellsOf returns the cells of a run's repertoire, final or snapshot, for [Map]. Those of one
// descriptor component are a strip of bars side by side. Components named x and y, or "final x (m)"
// and so on, are positions: their cells are under the walls, start and goal of the environment.
func CellsOf(run *runs.Run, r *runs.Repertoire) (*Cells, error) {
	if err := runs.Given(run); err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	if r == nil {
		return nil, untrained(run)
	}
	names, lower, upper, err := axesOf(run, r)
	if err != nil {
		return nil, err
	}
	flat, dots := r.Centroids, r.Descriptors
	if r.Dims == 1 {
		height := (upper[0] - lower[0]) / 4 // the widest map
		names, lower, upper = append(names, ""), append(lower, 0), append(upper, height)
		flat, dots = atHeight(flat, height/2), atHeight(dots, height/2)
	}
	if len(lower) != 2 {
		return nil, fmt.Errorf("figures: %s: a repertoire map needs 2 descriptor dimensions, these have %d: show "+
			"metric curves", run.Name(), r.Dims)
	}
	c := &Cells{
		XLabel: names[0], YLabel: names[1], Centroids: points(flat), Descriptors: points(dots),
		Lower: [2]float64{float64(lower[0]), float64(lower[1])},
		Upper: [2]float64{float64(upper[0]), float64(upper[1])},
	}
	c.Fitness = lists.Convert[float64](r.Fitnesses)
	x, y := strings.TrimPrefix(names[0], "final "), strings.TrimPrefix(names[1], "final ")
	c.Positions = (x == "x" || strings.HasPrefix(x, "x ")) && (y == "y" || strings.HasPrefix(y, "y "))
	if task, known := catalog.Find(run.Config.Env); known && c.Positions {
		c.Walls, c.Start, c.Goal = task.Walls, task.Start, task.Destination()
	}
	return c, nil
}

// newestOf returns the newest repertoire of a run.
func newestOf(run *runs.Run) (*runs.Snapshot, error) {
	newest, err := run.Newest()
	if err == nil && newest == nil {
		err = untrained(run)
	}
	return newest, err
}

func untrained(run *runs.Run) error {
	return fmt.Errorf("figures: %s has no repertoire yet: train it first", run.Name())
}

// MapOf draws the cells of [CellsOf] after a change of them.
func MapOf(run *runs.Run, r *runs.Repertoire, change func(*Cells)) (*Panel, error) {
	cells, err := CellsOf(run, r)
	if err != nil {
		return nil, err
	}
	change(cells)
	return Map(*cells)
}

func axesOf(run *runs.Run, r *runs.Repertoire) (names []string, lower, upper []float32, err error) {
	task, _ := catalog.Find(run.Config.Env)
	lower, upper = r.Lower, r.Upper
	if lower == nil && upper == nil { // from a checkpoint
		lower, upper = task.Descriptor.Lower, task.Descriptor.Upper
	}
	if len(lower) != r.Dims || len(upper) != r.Dims || r.Dims == 0 {
		return nil, nil, nil, fmt.Errorf("figures: %s: the repertoire's file lacks the limits of its descriptors: add "+
			"the arrays descriptor_min and descriptor_max", run.Name())
	}
	return ComponentNames(run, r.Dims), slices.Clone(lower), slices.Clone(upper), nil
}

// ComponentNames returns the names of a run's descriptor components.
func ComponentNames(run *runs.Run, dims int) (names []string) {
	if run == nil {
		run = new(runs.Run)
	}
	task, _ := catalog.Find(run.Config.Env)
	for _, known := range [][]string{run.Status.Descriptor, task.Descriptor.Components} {
		if len(known) == dims { // a stored repertoire may have others
			return slices.Clone(known)
		}
	}
	for k := range dims {
		names = append(names, fmt.Sprintf("descriptor %d", k+1))
	}
	return names
}

// atHeight returns points [n, 2] of numbers and a constant.
func atHeight(numbers []float32, y float32) (points []float32) {
	for _, x := range numbers {
		points = append(points, x, y)
	}
	return points
}

func points(flat []float32) (rows [][2]float64) {
	for i := 0; i+1 < len(flat); i += 2 {
		rows = append(rows, [2]float64{float64(flat[i]), float64(flat[i+1])})
	}
	return rows
}

func titleOf(run *runs.Run, generation int64) string {
	return fmt.Sprintf("%s on %s, generation %s", MethodName(run.Config.Algorithm), run.Config.Env, grouped(generation))
}

// Progress draws a run in training: its repertoire so far, if descriptors have two components, or else
// its coverage, and its QD score.
func Progress(run *runs.Run, r *runs.Repertoire) (Grid, error) {
	if err := runs.Given(run); err != nil {
		return Grid{}, fmt.Errorf("figures: %w", err)
	}
	if r == nil {
		return Grid{}, untrained(run)
	}
	var panels Panels
	title := titleOf(run, run.Status.Generation)
	columns := []string{"coverage", "qd_score"}
	if r.Dims == 2 {
		panels.Add(MapOf(run, r, func(c *Cells) { c.Title, c.Descriptors = title, nil }))
		columns, title = columns[1:], ""
	}
	style := MethodStyles(run.Config.Algorithm)[run.Config.Algorithm]
	for _, column := range columns {
		all, err := seriesOf(run, EnvSteps, column)
		if err != nil {
			return Grid{}, err
		}
		line := Series{Style: &style}
		every := len(all.X)/200 + 1
		for i := (len(all.X) - 1) % every; i < len(all.X); i += every { // the last point, too
			line.X, line.Y = append(line.X, all.X[i]), append(line.Y, all.Y[i])
		}
		panels.Add(Lines(Axes{Title: title, XLabel: EnvSteps.Label, YLabel: columnLabel(column)}, line))
		title = ""
	}
	return panels.InRows(2)
}

// Snapshots draws at most n of the repertoire snapshots of a run in a row, with a shared colour
// bar: the first, the last, and between them those closest to equal ratios of generations, because
// a repertoire fills fast at first and slowly later.
func Snapshots(run *runs.Run, n int) (Grid, error) {
	cell.Begin()
	snapshots, err := run.Snapshots()
	if err != nil {
		return Grid{}, err
	}
	if len(snapshots) == 0 || n < 1 {
		return Grid{}, fmt.Errorf("figures: %s has %d snapshots and %d are to be drawn: want at least "+
			"one of each", run.Name(), len(snapshots), n)
	}
	generations := lists.Map(snapshots, func(s runs.Snapshot) int64 { return s.Generation })
	var panels Panels
	bar := new(ColorBar)
	for _, i := range byRatio(generations, n) {
		panels.Add(MapOf(run, &snapshots[i].Repertoire, func(c *Cells) {
			c.Title = "Generation " + grouped(snapshots[i].Generation)
			c.Descriptors, c.Bar = nil, bar // dots are too small to see
		}))
	}
	return panels.InRows(n)
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
