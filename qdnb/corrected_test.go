package qdnb

import (
	"math"
	"testing"

	"example.com/qdnb/qdnb/nb"
)

// The corrected repertoire holds means over the episodes, and never more policies than the archived
// one.
func TestCorrected(t *testing.T) {
	run := train(t, small(t.TempDir(), 4))
	filled := nb.Must(run.RepertoireMap()).Filled()
	recording := nb.Must(Play(background, run, PlaySpec{Cells: filled, Episodes: 8, Backend: "go"}))
	c, err := recording.Corrected(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Fitness) != len(filled) || len(c.Descriptor) != len(filled) || c.Episodes != 8 {
		t.Errorf("%d and %d deviations of %d policies over %d episodes", len(c.Fitness),
			len(c.Descriptor), len(filled), c.Episodes)
	}
	before, after := c.Archived.Stats(), c.Repertoire.Stats()
	best := math.Inf(-1)
	for _, r := range recording.Results {
		best = max(best, r.Mean())
	}
	if after.Filled > before.Filled || after.Filled == 0 || math.Abs(after.MaxFitness-best) > 1e-4 {
		t.Errorf("%+v after %+v; the best mean is %g", after, before, best)
	}
	if figure, err := c.Figure(); err != nil || figure == nil {
		t.Errorf("its figure: %v", err)
	}
	if _, err := nb.Must(Play(background, run, PlaySpec{Cells: filled[1:], Episodes: 2,
		Backend: "go"})).Corrected(run); err == nil {
		t.Error("a cell is missing, and nothing says so")
	}
}
