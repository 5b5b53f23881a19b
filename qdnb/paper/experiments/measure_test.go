package experiments

import (
	"slices"
	"testing"
	"time"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/registry"
)

// A measurement extrapolates to six minutes, and leaves nothing behind.
func TestMeasure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	half := 500 * time.Millisecond
	if got := must.Get(Measure(t.Context(), "map-elites", "pointmaze", half)); got < 1e6 || got > 1e10 {
		t.Errorf("%d steps", got)
	}
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elite", "pointmaze", half)), "map-elites")
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elites", "pointmazes", half)), "pointmaze")
}

// The shipped table names what exists, with steps that a run can take.
func TestMediumSteps(t *testing.T) {
	for pair, steps := range stepsInMinutes() {
		if _, err := registry.Find(pair[0]); err != nil || !slices.Contains(catalog.Names(), pair[1]) || steps < 10_000 {
			t.Errorf("%v: %d steps, %v", pair, steps, err)
		}
	}
}
