package qdnb

import (
	"slices"
	"testing"

	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
)

// A run of a method that measures at intervals ends with a measurement of its final state.
// Extended, it equals a run that never ended there, to the bit.
func TestEndOfBudgetIsMeasured(t *testing.T) {
	for algorithm, tune := range map[string][]string{"diayn-reward": nil, "sac": nil,
		"dns":    {"capacity=24"},
		"aurora": {"capacity=24", "loop=2", "epochs=4", "training_batch=16"}} {
		t.Run(algorithm, func(t *testing.T) {
			of := func(folder string, generations int) Spec {
				spec := smallDiscovery(algorithm, folder, generations)
				if tune != nil {
					spec = small(folder, generations)
					spec.Algorithm, spec.Tune = algorithm, more(spec.Tune, tune...)
				}
				spec.KeepReplay, spec.Corrected, spec.Seed = true, 2, 3
				return spec
			}
			whole := train(t, of(t.TempDir(), 18))
			spec := of(t.TempDir(), 9)
			run := train(t, spec)
			table := nb.Must(run.Metrics())
			final := nb.Must(table.Column(runs.FinalColumn))
			last := len(final) - 1
			if slices.Index(final, 1) != last {
				t.Errorf("rows of a measurement at the end: %v", final)
			}
			if steps := nb.Must(table.Column(algorithms.EvaluationSteps)); steps[last]-steps[last-1] != steps[0] {
				t.Errorf("the measurement at the end is not counted: evaluation steps %v", steps)
			}
			stored, status := nb.Must(run.RepertoireMap()).Stats(), run.Status
			snapshots, corrected := nb.Must(run.Snapshots()), nb.Must(run.Corrected())
			for what, stats := range map[string]runs.Stats{"repertoire.npz": stored,
				"the last snapshot": snapshots[len(snapshots)-1].Stats()} {
				for column, x := range map[string]float64{"max_fitness": stats.MaxFitness,
					"coverage": stats.Coverage, "qd_score": stats.QDScore, "generation": 9} {
					if got := nb.Must(table.Column(column))[last]; got != x {
						t.Errorf("%s: the last row has %v, but %s %v", column, got, what, x)
					}
				}
			}
			if status.MaxFitness != stored.MaxFitness || status.Coverage != stored.Coverage ||
				status.QDScore != stored.QDScore || status.Generation != 9 {
				t.Errorf("status %+v of the repertoire %+v", status, stored)
			}
			if before := nb.Must(table.Column("qd_score"))[last-1]; before == stored.QDScore {
				t.Error("the measurement changed nothing: the test proves nothing")
			}
			if run.HasSkills() {
				best := slices.Max(nb.Must(run.Evaluation()).Fitnesses)
				if stored.MaxFitness < float64(best) {
					t.Errorf("max fitness %v, but a skill has %v", stored.MaxFitness, best)
				}
			}
			if c := corrected[len(corrected)-1]; c.Generation != 9 {
				t.Errorf("the last corrected repertoire is of generation %d", c.Generation)
			}
			if again := train(t, spec); again.Status.Updated != status.Updated {
				t.Error("a finished run was changed")
			}

			stopped(t, of(spec.Runs, 18))
			if run := nb.Must(runs.Open(run.Dir)); run.Status.Finished ||
				slices.Contains(nb.Must(nb.Must(run.Metrics()).Column(runs.FinalColumn)), 1) {
				t.Errorf("an extension shows the end of the shorter run: %+v", run.Status)
			}
			extended := train(t, of(spec.Runs, 18))
			sameEnd(t, "the extended run", extended, whole)
			for _, of := range []func(*runs.Run) ([]runs.Snapshot, error){(*runs.Run).Snapshots,
				(*runs.Run).Corrected} {
				have := map[int64][]float32{} // those of the shorter run have other points
				for _, s := range nb.Must(of(extended)) {
					have[s.Generation] = s.Fitnesses
				}
				for _, s := range nb.Must(of(whole)) {
					if s.Generation >= 9 && !slices.Equal(have[s.Generation], s.Fitnesses) {
						t.Errorf("the snapshot of generation %d of the extended run differs", s.Generation)
					}
				}
			}
		})
	}
}

// A run that ends with a measurement has no second one.
func TestMeasuredEndHasOneRow(t *testing.T) {
	spec := small(t.TempDir(), 10)
	spec.Algorithm, spec.Tune = "dns", more(spec.Tune, "capacity=24")
	final := nb.Must(nb.Must(train(t, spec).Metrics()).Column(runs.FinalColumn))
	if len(final) != 11 || slices.Contains(final, 1) {
		t.Errorf("rows of a measurement at the end: %v", final)
	}
}
