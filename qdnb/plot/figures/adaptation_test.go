package figures

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// adapted returns an adaptation run with the given rows: index, x, y, skill, median.
func adapted(t *testing.T, perturbation string, rows ...[5]float64) *runs.Run {
	t.Helper()
	config := must.Get(runs.NewConfig("adaptation", "ant-uni", 0,
		map[string]any{"perturbation": perturbation, "skills": "map-elites-ant-uni-0-1a2b3c4d"}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	must.Do(w.Begin(-1, "generation", "index", "x", "y", "skill", "fitness_median"))
	for i, row := range rows {
		must.Do(w.Log(append([]float64{float64(i)}, row[:]...)...))
	}
	return w.Run
}

// The method's score is the best skill's score at each value. The second curve shows the skill that
// is best without perturbation, or best on average.
func TestAdaptation(t *testing.T) {
	nan := math.NaN()
	gravity := adapted(t, "gravity",
		[5]float64{0, 0.5, nan, 3, 10}, [5]float64{0, 0.5, nan, 7, 40}, [5]float64{1, 1, nan, 3, 90},
		[5]float64{1, 1, nan, 7, 60})
	target := adapted(t, "target",
		[5]float64{0, 11, 35, 3, -10}, [5]float64{0, 11, 35, 7, -40}, [5]float64{1, 2, 14, 3, -90},
		[5]float64{1, 2, 14, 7, -50})
	for run, want := range map[*runs.Run][]Series{
		gravity: {{Name: "map-elites", X: []float64{0.5, 1}, Y: []float64{40, 90}},
			{Name: "best skill without perturbation", X: []float64{0.5, 1}, Y: []float64{10, 90}}},
		target: {{Name: "map-elites", X: []float64{0, 1}, Y: []float64{-10, -50}},
			{Name: "best skill on average", X: []float64{0, 1}, Y: []float64{-40, -50}}},
	} {
		panel := must.Get(Adaptation(run))
		for i, s := range want {
			got := panel.Legend[i].Mark.(*Series)
			if got.Name != s.Name || !slices.Equal(got.X, s.X) || !slices.Equal(got.Y, s.Y) {
				t.Errorf("%s: %+v, want %+v", panel.X.Label.Text, got, s)
			}
		}
	}
	errtest.Want(t, errtest.Of(Adaptation(adapted(t, "gravity"))), "no results yet")
}
