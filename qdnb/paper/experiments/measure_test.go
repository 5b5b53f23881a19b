package experiments

import (
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
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
