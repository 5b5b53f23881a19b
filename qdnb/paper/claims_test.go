package paper

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
)

// Open claims are a note, and their evidence is shown nevertheless.
func TestClaims(t *testing.T) {
	data := &Data{Tables: &results.Tables{}}
	for label, fitness := range map[string]float64{"diayn-reward": -9000, "dads-reward": -9500,
		"smerl-diayn": -9100, "smerl-dads": -9200, "map-elites": -9900, "pga-map-elites": -9800,
		"aurora": -9700, "pga-aurora": -9600} {
		for seed := range int64(3) {
			data.Trained = append(data.Trained, results.Trained{Experiment: results.ExperimentTraining, Seed: seed,
				Label: label, Algorithm: label, Env: "ant-maze", Finished: true, MaxFitness: fitness, QDScore: 1,
				EnvSteps: results.PaperSteps(label, "ant-maze")})
		}
	}
	table := must.Get(Claims(data, "ant-maze", "max-fitness", "adaptation"))
	if len(table.Rows) != 6 || len(table.Notes) != 1 ||
		!strings.HasPrefix(table.Notes[0], "Open: max-fitness: needs MAP-Elites on ant-trap and ") {
		t.Fatalf("%+v", table)
	}
	for i, want := range map[int]claims.Verdict{0: claims.Undecided, 1: claims.Holds, 2: claims.Undecided} {
		if row := table.Rows[i]; row[1].Text != string(want) || row[1].Bold == (want == claims.Undecided) ||
			i < 2 && row[2].Text == "" {
			t.Errorf("%+v", row)
		}
	}
	if all, err := Claims(data); err != nil || len(all.Rows) != len(claims.Check(data.Tables)) {
		t.Errorf("all: %v", err)
	}
	errtest.Want(t, errtest.Of(Claims(data, "adaptatio")), `unknown claim "adaptatio"`)
}
