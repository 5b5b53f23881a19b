package paper

import (
	"strings"
	"testing"

	"example.com/qdnb/qdnb/claims"
	"example.com/qdnb/qdnb/results"
)

func TestClaims(t *testing.T) {
	data := &Data{Tables: &results.Tables{}}
	for _, label := range []string{"smerl-diayn", "smerl-dads", "pga-map-elites", "dads-reward"} {
		for seed := range int64(2) {
			fitness := 900.0
			if strings.HasPrefix(label, "smerl") {
				fitness = 440
			}
			data.Trained = append(data.Trained, results.Trained{Experiment: results.ExperimentTraining, Label: label, Algorithm: label,
				Env: "ant-trap", Seed: seed, Finished: true, MaxFitness: fitness, Coverage: 20})
		}
	}
	// In the order of the package, whatever that of the arguments is.
	table, err := Claims(data, "hurdles-jump", "ant-trap-smerl", "ant-trap-coverage")
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 3 {
		t.Fatalf("%d rows, want 3", len(table.Rows))
	}
	for i, want := range []struct {
		claim, verdict, seeds string
	}{{"near full coverage", "does not hold", "2"}, {"SMERL stays in the trap", "holds", "2"}, {"jumps repeatedly", "not enough data", "0"}} {
		row := table.Rows[i]
		if !strings.Contains(row[0].Text, want.claim) || row[1].Text != want.verdict || row[2].Text != want.seeds || row[3].Text == "" {
			t.Errorf("row %d: %+v, want %+v and evidence", i, row, want)
		}
	}
	if want := "Holds: 1 of 3. Does not hold: 1. Not enough runs: 1."; table.Notes[0] != want {
		t.Errorf("%q, want %q", table.Notes[0], want)
	}
	if table, err = Claims(data); err != nil || len(table.Rows) != len(claims.All()) {
		t.Errorf("all: %d rows, %v", len(table.Rows), err)
	}
	if _, err := Claims(data, "ant-trap"); err == nil || !strings.Contains(err.Error(), "ant-trap-smerl") {
		t.Errorf("an unknown claim: %v, want the names of those that there are", err)
	}
	if _, err := Claims(nil); err == nil {
		t.Error("without data: no error")
	}
}
