package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/runs"
)

// Metric is a number of each solution in a repertoire, by which [Repertoire] colours it.
type Metric struct {
	Label string // of the colour bar
	// Of returns the values of the cells, filled or not. A NaN is drawn as an empty cell.
	Of func(r *runs.Repertoire) ([]float64, error)
}

// ByFitness colours a repertoire by fitness.
var ByFitness = Metric{"Fitness", func(r *runs.Repertoire) ([]float64, error) {
	return lists.Convert[float64](r.Fitnesses), nil
}}

// ByGeneration colours a repertoire by the generation that found each solution, in repertoires that have
// [runs.Repertoire.Origins].
var ByGeneration = Metric{"Generation of discovery", func(r *runs.Repertoire) (values []float64, err error) {
	if len(r.Origins) != 2*r.Cells() {
		return nil, fmt.Errorf("the repertoire does not record when its solutions were found: only those of neuroevolution do")
	}
	for cell := range r.Fitnesses {
		generation := math.NaN()
		if origin := r.Origins[2*cell]; origin >= 0 {
			generation = float64(origin)
		}
		values = append(values, generation)
	}
	return values, nil
}}

// By colours a repertoire by values of your own, one for each cell.
func By(label string, values []float64) Metric {
	return Metric{label, func(r *runs.Repertoire) ([]float64, error) {
		if len(values) != r.Cells() {
			return nil, fmt.Errorf("%d values of %s for %d cells", len(values), label, r.Cells())
		}
		return values, nil
	}}
}

// of returns the values of the cells, -Inf for empty ones.
func (m Metric) of(run *runs.Run, r *runs.Repertoire) ([]float64, error) {
	values, err := m.Of(r)
	if err != nil {
		return nil, fmt.Errorf("figures: %s: %w", run.Name(), err)
	}
	values = slices.Clone(values)
	for cell, fitness := range r.Fitnesses {
		if !(float64(fitness) > math.Inf(-1)) {
			values[cell] = math.Inf(-1)
		}
	}
	return values, nil
}

// MaxPairDims is the largest number of descriptor components whose pairs [Repertoire] draws on a
// page.
const MaxPairDims = 6

// Repertoire draws the newest repertoire of a run; for a finished run this is the final one. In a notebook
// a slider goes back to its snapshots, unless the colours show another metric. If descriptors have 3 to 6
// components, it draws a map for each pair of them; if more, it draws the solutions in parallel coordinates
// (see [Parallel]). The colours show the fitness, or another metric.
func Repertoire(run *runs.Run, by ...Metric) (Grid, error) {
	cell.Begin()
	newest, err := newestOf(run)
	if err != nil {
		return Grid{}, err
	}
	metric := ByFitness
	if len(by) > 1 {
		return Grid{}, fmt.Errorf("figures: a repertoire has one colour: it is to show %d metrics", len(by))
	}
	if len(by) > 0 {
		metric = by[0]
	}
	values, err := metric.of(run, &newest.Repertoire)
	if err != nil {
		return Grid{}, err
	}
	title, bar := titleOf(run, newest.Generation), &ColorBar{Label: metric.Label}
	switch d := newest.Dims; {
	case d > MaxPairDims:
		names, lower, upper, err := axesOf(run, &newest.Repertoire)
		if err != nil {
			return Grid{}, err
		}
		points := Points{Title: title, Components: names, Lower: lists.Convert[float64](lower),
			Upper: lists.Convert[float64](upper), Bar: bar}
		for _, cell := range newest.Filled() {
			points.At = append(points.At, lists.Convert[float64](newest.Descriptor(cell)))
			points.Values = append(points.Values, values[cell])
		}
		panel, err := Parallel(points)
		return InRows(1, panel), err
	case d > 2:
		var panels Panels
		for i := range d {
			for j := i + 1; j < d; j++ {
				cells, err := pairOf(run, &newest.Repertoire, values, i, j)
				if err != nil {
					return Grid{}, err
				}
				cells.Bar = bar
				panels.Add(Map(*cells))
			}
		}
		g, err := panels.InRows(3)
		g.ownAxes = true // neighbours that share a component do so by chance
		g.Note = title + ". Each bin shows the fittest of the solutions with these two components."
		return g, err
	}
	var snapshots []runs.Snapshot
	if len(by) == 0 {
		if snapshots, err = run.Snapshots(); err != nil {
			return Grid{}, err
		}
	}
	panel, err := MapOf(run, &newest.Repertoire, func(c *Cells) {
		c.Title, c.Fitness, c.Bar = title, values, bar
		for _, s := range snapshots {
			if s.Generation < newest.Generation && slices.Equal(s.Centroids, newest.Centroids) {
				c.History = append(c.History, Moment{"generation " + grouped(s.Generation), lists.Convert[float64](s.Fitnesses)})
			}
		}
	})
	g := InRows(1, panel)
	if newest.Dims == 2 && len(by) == 0 { // as in Progress
		g.mapOf = run.Name()
	}
	return g, err
}

const pairBins = 25

// pairOf returns the solutions of a repertoire seen along all descriptor components but i and j:
// bins with the value of the fittest of those in them.
func pairOf(run *runs.Run, r *runs.Repertoire, values []float64, i, j int) (*Cells, error) {
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
	best := slices.Repeat([]float32{float32(math.Inf(-1))}, len(c.Fitness))
	for _, cell := range r.Filled() {
		d := r.Descriptor(cell)
		var at [2]int
		for k, x := range [2]float64{float64(d[i]), float64(d[j])} {
			share := (x - c.Lower[k]) / (c.Upper[k] - c.Lower[k])
			at[k] = int(min(max(share*pairBins, 0), pairBins-1))
		}
		if bin := at[1]*pairBins + at[0]; r.Fitnesses[cell] > best[bin] {
			best[bin], c.Fitness[bin] = r.Fitnesses[cell], values[cell]
		}
	}
	return c, nil
}

// Hypervolumes draws the newest repertoire of Pareto fronts of a run, coloured by the hypervolume
// of the front in each cell.
func Hypervolumes(run *runs.Run) (*Panel, error) {
	newest, err := newestFronts(run)
	if err != nil {
		return nil, err
	}
	return MapOf(run, &newest.Repertoire, func(c *Cells) {
		c.Title, c.Bar, c.Descriptors = titleOf(run, newest.Generation), &ColorBar{Label: "Hypervolume"}, nil
		for i, front := range newest.Fronts() {
			if c.Fitness[i] = math.Inf(-1); len(front) > 0 {
				c.Fitness[i] = pareto.Hypervolume(front, newest.ReferencePoint())
			}
		}
	})
}

// ParetoFronts draws the first two objectives of the newest repertoire of Pareto fronts of a run: the
// border of what each cell dominates, and that of all solutions.
func ParetoFronts(run *runs.Run) (*Panel, error) {
	newest, err := newestFronts(run)
	if err != nil {
		return nil, err
	}
	cells := Series{Name: "a cell", Style: &Style{Name: "Front of a cell", Color: rgb(0xb0b0b0)}}
	global := Series{Name: "all", Style: &Style{Name: "Front of all solutions", Color: color.NRGBA{A: 0xff}}}
	var all [][]float64
	for _, front := range newest.Fronts() {
		cells.add(append(stairs(front), []float64{math.NaN(), math.NaN()})) // a gap
		all = append(all, front...)
	}
	global.add(stairs(all))
	axes := Axes{Title: titleOf(run, newest.Generation), XLabel: "objective 1", YLabel: "objective 2"}
	if task, ok := catalog.Find(run.Config.Env); ok && len(task.Objectives) > 1 {
		axes.XLabel, axes.YLabel = task.Objectives[0].Name, task.Objectives[1].Name
	}
	return Lines(axes, cells, global)
}

// stairs returns the border of what solutions dominate in the first two objectives: a straight line between two of them
// would promise more.
func stairs(solutions [][]float64) (border [][]float64) {
	front := pareto.Front(lists.Map(solutions, func(s []float64) []float64 { return s[:2] }))
	for i, at := range front { // to the left and up
		if i > 0 {
			border = append(border, []float64{at[0], front[i-1][1]})
		}
		border = append(border, at)
	}
	return border
}

func (s *Series) add(points [][]float64) {
	for _, at := range points {
		s.X, s.Y = append(s.X, at[0]), append(s.Y, at[1])
	}
}

// newestFronts returns the newest repertoire of a run, which must have fronts of two objectives.
func newestFronts(run *runs.Run) (*runs.Snapshot, error) {
	newest, err := newestOf(run)
	if err == nil && len(newest.ReferencePoint()) < 2 {
		err = fmt.Errorf("figures: %s has no Pareto fronts of several objectives: train mome", run.Name())
	}
	return newest, err
}
