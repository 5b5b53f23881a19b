package paper

import (
	"slices"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
)

func TestRewardImpact(t *testing.T) {
	data := &Data{Tables: &results.Tables{}}
	add := func(label, env string, scores ...float64) {
		for seed, score := range scores {
			data.Trained = append(data.Trained, results.Trained{Experiment: results.ExperimentReward,
				Label: label, Algorithm: label, Env: env,
				Seed: int64(seed), Finished: true, QDScore: score})
		}
	}
	add("diayn", "ant-uni", 10, 30, 90)
	add("diayn-reward", "ant-uni", 40, 100, 40)
	add("dads", "ant-uni", 10)
	add("dads", "ant-omni", 10)
	add("dads-reward", "ant-omni", 0)
	table := must.Get(RewardImpact(data))
	// The paper: 7.46e4 / 1.29e5, 1.13e5 / 2.88e5, 4.84e4 / 4.00e4 and 3.50e5 / 3.05e5.
	want := [][]string{{"ant-uni", "0.75", "0.58", "", "0.39"}, {"ant-omni", "", "1.21", "", "1.15"}}
	for i, row := range table.Rows {
		if got := texts(row); !slices.Equal(got, want[i]) {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
	if len(table.Rows) != 2 || len(table.Header) != 5 {
		t.Errorf("%d rows, header %q", len(table.Rows), table.Header)
	}
}
