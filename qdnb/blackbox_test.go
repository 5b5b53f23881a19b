package qdnb

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// solving returns the spec of a small run of an algorithm on a task without physics.
func solving(algorithm, env, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm, spec.Env = algorithm, env
	spec.Tune = runs.Assign("batch=30", "cells=32", "cvt_samples=500", "slice=5", "iso_sigma=0", "line_sigma=0")
	return spec
}

// Solutions are found, drawn from the task's initial range, and replayed with the same fitness and
// descriptor. They have no films.
func TestTasksWithoutPhysics(t *testing.T) {
	for env, limits := range map[string][2]float32{"arm": {0, 1}, "rastrigin": {-5.12, 5.12}} {
		run := train(t, solving("map-elites", env, t.TempDir(), 1))
		repertoire := must.Get(run.Repertoire())
		cell := repertoire.Best()
		best := repertoire.Genotype(cell)
		lowest, highest := slices.Min(best), slices.Max(best)
		third := (limits[1] - limits[0]) / 3
		if len(best) != 100 || lowest < limits[0] || highest > limits[1] ||
			lowest > limits[0]+third || highest < limits[1]-third {
			t.Errorf("%s: %d components from %g to %g", env, len(best), lowest, highest)
		}
		played := must.Get(Play(background, run, PlaySpec{Cells: []int{cell}}))
		result := played.Results[0]
		if off := result.Fitnesses[0] - repertoire.Fitnesses[cell]; math.Abs(float64(off)) > 1e-4 {
			t.Errorf("%s: cell %d has fitness %g, replayed %g", env, cell, repertoire.Fitnesses[cell],
				result.Fitnesses[0])
		}
		if got := repertoire.Near(result.Descriptors...); got != cell {
			t.Errorf("%s: cell %d replays to descriptor %g of cell %d", env, cell, result.Descriptors, got)
		}
		errtest.Want(t, errtest.Of(played.Films()), "no bodies to film")
	}
}
