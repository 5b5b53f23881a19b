package figures

import (
	"fmt"
	"image/color"
	"math"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/runs"
)

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

// ParetoFronts draws the first two objectives of the newest repertoire of Pareto fronts of a run: a
// line for the front of each cell, and one for the front of all solutions.
func ParetoFronts(run *runs.Run) (*Panel, error) {
	newest, err := newestFronts(run)
	if err != nil {
		return nil, err
	}
	cells := Series{Name: "a cell", Style: &Style{Name: "front of a cell", Color: rgb(0xb0b0b0)}}
	global := Series{Name: "all", Style: &Style{Name: "front of all solutions",
		Color: color.NRGBA{A: 0xff}}}
	var all [][]float64
	for _, front := range newest.Fronts() {
		cells.add(append(pareto.Front(front), []float64{math.NaN(), math.NaN()})) // a gap
		all = append(all, front...)
	}
	global.add(pareto.Front(all))
	axes := Axes{Title: titleOf(run, newest.Generation), XLabel: "objective 1", YLabel: "objective 2"}
	if task, ok := catalog.Find(run.Config.Env); ok && len(task.Objectives) > 1 {
		axes.XLabel, axes.YLabel = task.Objectives[0].Name, task.Objectives[1].Name
	}
	return Lines(axes, cells, global)
}

func (s *Series) add(points [][]float64) {
	for _, at := range points {
		s.X, s.Y = append(s.X, at[0]), append(s.Y, at[1])
	}
}

// newestFronts returns the newest repertoire of a run, which must have fronts of two objectives.
func newestFronts(run *runs.Run) (*runs.Snapshot, error) {
	if err := runs.Given(run); err != nil {
		return nil, fmt.Errorf("figures: %w", err)
	}
	newest, err := run.Newest()
	if err == nil && (newest == nil || len(newest.ReferencePoint()) < 2) {
		err = fmt.Errorf("figures: %s has no Pareto fronts of several objectives: train mome", run.Name())
	}
	return newest, err
}
