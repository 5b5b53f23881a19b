package paper

import (
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
)

func TestClaims(t *testing.T) {
	data := &Data{Tables: &results.Tables{}}
	for _, method := range []string{"map-elites", "dads-reward"} {
		for i := range 9 { // a full grid
			score := 10 - float64(i)
			if method == "map-elites" {
				score += 9
			}
			data.Trained = append(data.Trained, results.Trained{
				Experiment: results.ExperimentSensitivity, Label: method, Algorithm: method, Env: "ant-uni",
				Finished: true, QDScore: score,
				A: results.Setting{Name: "a", Value: float64(i / 3)},
				B: results.Setting{Name: "b", Value: float64(i % 3)},
			})
		}
	}
	table := must.Get(Claims(data, "sensitivity", "ant-trap-fitness"))
	verdicts := map[string]string{}
	for _, row := range table.Rows {
		verdicts[row[0].Text] = row[1].Text
		if row[1].Bold != (row[1].Text != string(claims.NotEnough)) || row[2].Text == "" {
			t.Errorf("%+v", row)
		}
	}
	worst := "on ant-uni even the worst setting of MAP-Elites beats the best of DADS+REWARD"
	if len(verdicts) != 6 || verdicts[worst] != string(
		claims.Holds) || verdicts["on ant-trap DADS+REWARD has the best max fitness"] != string(
		claims.NotEnough) {
		t.Errorf("%v, want the five claims of sensitivity, of which one holds, and another that "+
			"nothing is known of", verdicts)
	}
	if all, err := Claims(data); err != nil || len(all.Rows) != len(claims.All()) {
		t.Errorf("all: %v", err)
	}
	errtest.Want(t, errtest.Of(Claims(data, "sensitivit")), `unknown claim "sensitivit"`)
}

func TestClaimsOfNothing(t *testing.T) {
	for name, data := range map[string]*Data{"nil": nil, "empty": {}} {
		if table, err := Claims(data); err == nil {
			t.Errorf("%s data: %v", name, table)
		}
	}
}
