package paper

import (
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/tables"
)

// scored are training runs of two methods on two environments; the second environment has one seed
// of the first method only.
func scored() *Data {
	t := &results.Tables{}
	add := func(label, env string, qd ...float64) {
		for seed, score := range qd {
			t.Trained = append(t.Trained, results.Trained{Experiment: results.ExperimentTraining,
				Label: label, Algorithm: label, Env: env,
				Seed: int64(seed), Finished: true, QDScore: score, MaxFitness: -score})
		}
	}
	add("pga-map-elites", "ant-uni", 90, 80, 100, 70)
	add("dads-reward", "ant-uni", 10, 20, 30, 75)
	add("pga-map-elites", "walker-uni", 40)
	return &Data{Tables: t}
}

// The first four against the second: 15 of 16 pairs are larger. Of the 70 orders, 4 have a U of 15,
// 16 or as extreme on the other side.
func TestComparisons(t *testing.T) {
	table := must.Get(Comparisons(scored()))
	if want := []string{"metric", "methods", "ant-uni", "walker-uni"}; !reflect.DeepEqual(table.Header, want) {
		t.Fatalf("header %q, want %q", table.Header, want)
	}
	if len(table.Rows) != 2 {
		t.Fatalf("%d rows, want one for each metric: other pairs have no runs", len(table.Rows))
	}
	for i, want := range [][]string{
		{"max fitness", "PGA-MAP-Elites : DADS+REWARD", "0.06 (0.057)", ""},
		{"QD score", "PGA-MAP-Elites : DADS+REWARD", "0.94 (0.057)", ""},
	} {
		if row := table.Rows[i]; !reflect.DeepEqual(row, tables.Row(want...)) { // none is bold
			t.Errorf("row %d: %+v, want %q", i, row, want)
		}
	}
	separate := scored()
	separate.Trained[7].QDScore = 5 // all scores of the first method are larger: P is 2/70
	table = must.Get(Comparisons(separate, [2]string{"pga-map-elites", "dads-reward"}))
	if e := table.Rows[1][2]; e.Text != "1.00 (0.029)" || !e.Bold {
		t.Errorf("%+v, want 1.00 (0.029) in bold", e)
	}
	if _, err := Comparisons(scored(), [2]string{"aurora", "pga-map-elites"}); err == nil {
		t.Error("a pair without runs: no error")
	}
}

// Scores are divided by the largest on their environment. A method that lacks an environment is
// left out.
func TestOverall(t *testing.T) {
	// only ant-uni has runs of both methods
	shows := func(d *Data, want ...string) {
		t.Helper()
		contains(t, says(t, must.Get(Overall(d)), nil), want...)
	}
	shows(scored(), "ant-uni (incomplete: walker-uni)", "DADS+REWARD", "PGA-MAP-Elites")
	apart := scored() // and now no environment has
	apart.Trained[4].Env = "ant-trap"
	for i := range apart.Trained[5:8] {
		apart.Trained[5+i].Env = "ant-trap"
	}
	apart.Trained = append(apart.Trained, results.Trained{Experiment: results.ExperimentTraining,
		Label: "pga-map-elites", Env: "ant-trap", Finished: true, QDScore: 75})
	apart.Trained = append(apart.Trained, results.Trained{Experiment: results.ExperimentTraining,
		Label: "aurora", Env: "walker-uni", Finished: true, QDScore: 40})
	shows(apart, "PGA-MAP-Elites", "3 environments")
	only := scored()
	only.Trained = slices.DeleteFunc(only.Trained,
		func(r results.Trained) bool { return r.Label != "pga-map-elites" })
	shows(only, "PGA-MAP-Elites", "2 environments")
	// 0.7, 0.8, 0.9, 1 and 1: the mean of the middle three.
	if x := must.Get(Overall(only)).Panels[0][0].X; !(x.Min < 0.9 && x.Min >= 0.65 && x.Max > 0.9 && x.Max < 1.05) {
		t.Errorf("from %g to %g", x.Min, x.Max)
	}
	holes := scored()
	holes.Trained = holes.Trained[4:] // no method has both environments, and no environment both
	errtest.Want(t, errtest.Of(Overall(holes)), "training")
}
