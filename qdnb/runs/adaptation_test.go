package runs

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestAdaptation(t *testing.T) {
	config := must.Get(NewConfig("adaptation", "ant-uni", 0,
		map[string]any{"perturbation": "gravity", "skills": "map-elites-ant-uni-0-1a2b3c4d"}))
	w := must.Get(Create(t.TempDir(), config))
	defer w.Close()
	metrics := func(text string) {
		t.Helper()
		must.Do(os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(text), 0o666))
	}
	metrics("index,x,y,skill,fitness_median\n1,2,nan,3,nan\n1,2,nan,7,5\n1,2,nan,9,5\n" +
		"0,0.5,nan,3,-inf\n0,0.5,nan,7,nan\n2,3,nan,3,nan\n")
	a := must.Get(w.Adaptation())
	if a.Perturbation != "gravity" || a.Skills != "map-elites-ant-uni-0-1a2b3c4d" || len(a.Values) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []struct {
		x      float64
		skills []int
		best   int
		score  float64
	}{{0.5, []int{3, 7}, 3, math.Inf(-1)}, {2, []int{3, 7, 9}, 7, 5}, {3, []int{3}, -1, math.NaN()}} {
		v := a.Values[i]
		best, score := v.Best()
		same := score == want.score || math.IsNaN(score) && math.IsNaN(want.score)
		if v.Index != i || v.X != want.x || !math.IsNaN(v.Y) || !reflect.DeepEqual(v.Skills,
			want.skills) || best != want.best || !same {
			t.Errorf("value %d: %+v, best %d with %g; want %+v", i, v, best, score, want)
		}
	}
	if v := a.Values[1]; v.Score(9) != 5 || !math.IsNaN(v.Score(3)) || !math.IsNaN(v.Score(8)) {
		t.Errorf("scores of skills 9, 3 and 8: %g, %g, %g", v.Score(9), v.Score(3), v.Score(8))
	}
	controller := must.Get(NewConfig("hierarchical-control", "halfcheetah-hurdles", 0, map[string]any{"skills": "a-run"}))
	for _, config := range []Config{testConfig(t), controller} {
		other := must.Get(Create(t.TempDir(), config))
		defer other.Close()
		errtest.Want(t, errtest.Of(other.Adaptation()), "is not a run of adaptation")
	}
	for text, want := range map[string]string{
		"index,x,y,skill,fitness_median\n": "no results yet",
		"generation,max_fitness\n1,2\n":    "index",
	} {
		metrics(text)
		errtest.Want(t, errtest.Of(w.Adaptation()), want)
	}
}
