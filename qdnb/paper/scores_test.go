package paper

import (
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/tables"
)

// seededRuns are training runs with max fitness and QD score, one per seed.
func seededRuns(experiment, label, env string, steps int64, scores ...[2]float64) []results.Trained {
	var list []results.Trained
	for seed, s := range scores {
		list = append(list, results.Trained{Experiment: experiment, Label: label, Algorithm: label,
			Env: env, Seed: int64(seed), Finished: true,
			EnvSteps: steps, MaxFitness: s[0], QDScore: s[1]})
	}
	return list
}

func scoresData() *Data {
	return &Data{Tables: &results.Tables{Trained: slices.Concat(
		seededRuns("training", "map-elites", "ant-trap", 1000, [2]float64{100, 453_000},
			[2]float64{200, 453_000}, [2]float64{1200, 453_000}),
		seededRuns("training", "map-elites", "ant-uni", 3000, [2]float64{400, 9e5}),
		seededRuns("training", "dads-reward", "ant-trap", 500, [2]float64{1300, 1e5}),
		seededRuns("training", "pga-map-elites", "ant-uni", 100, [2]float64{400.1, 1e6}),
		seededRuns("training", "smerl-dads", "ant-uni", 100, [2]float64{10, 1000}),
		seededRuns("training", "my-variant", "ant-uni", 100, [2]float64{5, 7}),
		seededRuns("reward", "diayn", "ant-trap", 100, [2]float64{246, 5.8e4}),
	)}}
}

// texts are the entries of a row.
func texts(row []tables.Entry) (list []string) {
	for _, entry := range row {
		list = append(list, entry.Text)
	}
	return list
}

// csvOf makes a table that must not fail.
func csvOf(t *testing.T, make func(*Data) (*tables.Table, error), d *Data) string {
	t.Helper()
	table := must.Get(make(d))
	return table.CSV()
}

func TestScoreTables(t *testing.T) {
	d := scoresData()
	for name, c := range map[string]struct {
		make func(*Data) (*tables.Table, error)
		want string
	}{
		"Scores": {Scores,
			"metric,method,ant-trap,ant-uni\nmax fitness,MAP-Elites,200,400\nmax " +
				"fitness,PGA-MAP-Elites,,400\n" +
				"max fitness,DADS+REWARD,1300,\nmax fitness,SMERL(DADS),,10.0\nmax fitness,my-variant,,5.00\n" +
				"QD score,MAP-Elites,453000,900000\nQD score,PGA-MAP-Elites,,1000000\nQD " +
				"score,DADS+REWARD,100000,\nQD score,SMERL(DADS),,1000\n" +
				"QD score,my-variant,,7.00\n"},
		"ScoresWithStd": {ScoresWithStd,
			"metric,method,ant-trap,ant-uni\nmax fitness,MAP-Elites,200 (± 497),400\n"},
		"Aggregates": {Aggregates, "metric,method,ant-trap,ant-uni\nmax fitness,MAP-Elites,500 | 200 | "},
		"Steps": {Steps,
			"method,environments,steps,paper's,ratio\nMAP-Elites,2,2k,1.6G,1.3e-06\n" +
				"PGA-MAP-Elites,1,100,158M,6.3e-07\nDADS+REWARD,1,500,8.5M,5.9e-05\n" +
				"SMERL(DADS),1,100,8.5M,1.2e-05\nmy-variant,1,100,–,–\n"},
		"Unsupervised": {Unsupervised,
			"metric,method,ant-trap\nmax fitness,DADS+REWARD,1300\nmax fitness,DIAYN,246\n"},
	} {
		if got := csvOf(t, c.make, d); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s is\n%swant\n%s", name, got, c.want)
		}
	}
	table := must.Get(Scores(d))
	var bold []string
	for _, row := range table.Rows {
		for i, e := range row {
			if e.Bold {
				bold = append(bold, row[0].Text+" "+row[1].Text+" "+table.Header[i])
			}
		}
	}
	want := []string{ // both medians on ant-uni print 400
		"max fitness MAP-Elites ant-uni", "max fitness PGA-MAP-Elites ant-uni",
		"max fitness DADS+REWARD ant-trap", "QD score MAP-Elites ant-trap",
		"QD score PGA-MAP-Elites ant-uni",
	}
	errtest.Equal(t, "bold", bold, want)
	if notes := strings.Join(table.Notes, " "); !strings.Contains(notes, "1 to 3 seeds") {
		t.Error(notes)
	}
}
