package qdnb

import (
	"math"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// The file of a run with two objectives has the fronts, none of whose solutions
// dominates another one, and the fittest of each; metrics.csv has their hypervolumes.
func TestFronts(t *testing.T) {
	spec := solving("mome", "rastrigin-multi", t.TempDir(), 6)
	spec.Tune = more(spec.Tune, "front_size=4", "iso_sigma=0.05", "line_sigma=0.5")
	run := train(t, spec)
	r := must.Get(run.Repertoire())
	fronts, score, solutions := r.Fronts(), 0.0, 0
	if len(fronts) != 32 || r.Cells() != 32 {
		t.Fatalf("%d fronts, %d cells", len(fronts), r.Cells())
	}
	for cell, front := range fronts {
		best := math.Inf(-1)
		for _, s := range front {
			best = max(best, s[0]+s[1])
		}
		if got := float64(r.Fitnesses[cell]); math.Abs(got-best) > 0.01 {
			t.Errorf("cell %d shows the fitness %g, its front has %v", cell, got, front)
		}
		if len(pareto.Front(front)) != len(front) || len(front) > 4 {
			t.Errorf("cell %d has the front %v", cell, front)
		}
		score, solutions = score+pareto.Hypervolume(front, r.ReferencePoint()), solutions+len(front)
	}
	table := must.Get(run.Metrics())
	last := table.Rows[len(table.Rows)-1]
	if got := last[8]; math.Abs(got-score) > 1e-6*score || last[11] != float64(solutions) || solutions <= 32 {
		t.Errorf("moqd_score %g of %g solutions, want %g of %d", got, last[11], score, solutions)
	}
	for _, draw := range []func(*runs.Run) (*figures.Panel, error){
		figures.Hypervolumes, figures.ParetoFronts} {
		must.Get(draw(run))
	}
	if _, err := figures.ParetoFronts(train(t, solving("map-elites", "arm", t.TempDir(), 1))); err == nil {
		t.Error("a figure of fronts of MAP-Elites")
	}
}

// With one objective the MOQD score is the QD score.
func TestFrontsOfOneObjective(t *testing.T) {
	spec := solving("mome", "sphere", t.TempDir(), 4)
	spec.Tune = more(spec.Tune, "front_size=2", "iso_sigma=0.1")
	table := must.Get(train(t, spec).Metrics())
	for _, row := range table.Rows {
		if math.Abs(row[6]-row[8]) > 1e-4*row[6] {
			t.Errorf("generation %g: QD score %g, MOQD score %g", row[0], row[6], row[8])
		}
	}
}
