package paper

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/claims"
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
