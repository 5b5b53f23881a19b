package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// adapted adds an adaptation run of two skills, the best of which has the given scores: at values for
// gravity or actuators, at points for targets.
func (f *folder) adapted(t *testing.T, experiment, label, env string, seed int64,
	perturbation string, at [][2]float64, scores ...float64) {
	t.Helper()
	hyperparameters := fmt.Sprintf(`{"skills":"%s-%s-%d-00000000","perturbation":%q}`, label, env, seed, perturbation)
	c := must.Get(runs.NewConfig("adaptation", env, seed, json.RawMessage(hyperparameters)))
	metrics := "index,x,y,skill,fitness_median\n"
	for i, score := range scores {
		metrics += fmt.Sprintf("%d,%g,%g,0,%g\n%d,%g,%g,1,%g\n", i, at[i][0], at[i][1], score-50, i,
			at[i][0], at[i][1], score)
	}
	status := runs.Status{Progress: runs.Progress{Evaluations: 9, EnvSteps: 90}}
	f.run(t, sweep.Line{Experiment: experiment, Label: label, Run: c}, status, metrics)
}

// adapted has MAP-Elites and DIAYN+REWARD over four seeds on ant-uni, and DIAYN+REWARD and DIAYN in
// the experiment "reward". Everything else is missing.
func adapted(t *testing.T) *Data {
	f := newFolder(t)
	nan := math.NaN()
	multipliers := [][2]float64{{0.25, nan}, {1, nan}, {5, nan}}
	for seed := range int64(4) {
		x := []float64{0, 10, 20, 90}[seed]
		f.adapted(t, results.ExperimentAdaptation, "diayn-reward", "ant-uni", seed, results.Gravity,
			multipliers, 10+x, 100+x, -50-x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", seed, results.Gravity,
			multipliers, 300+x, 400, 200+x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-maze", seed, results.Target,
			[][2]float64{{1, 2}, {3, 4}}, -100, -300-4*x)
		f.adapted(t, results.ExperimentReward, "diayn", "walker-uni", seed, results.Actuators, multipliers[:2], 7, 8)
	}
	f.lines = append(f.lines, f.lines[0]) // the experiment "reward" shares this run
	f.lines[len(f.lines)-1].Experiment = results.ExperimentReward
	return f.open(t)
}

// Panels have medians or interquartile means over seeds, with quartiles, for their environment and
// perturbation.
func TestAdaptationPanels(t *testing.T) {
	data := adapted(t)
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	errtest.Equal(t, "labels", labels, []string{"map-elites", "diayn-reward"})
	// For 0, 10, 20, 90 the median is 15, the interquartile mean 15, and the quartiles are 7.5 and
	// 37.5.
	drawn := must.Get(Adaptation(data)).Panels
	want := []figures.Series{
		{Name: "map-elites", X: []float64{0.25, 1, 5}, Y: []float64{315, 400, 215},
			Low: []float64{307.5, 400, 207.5}, High: []float64{337.5, 400, 237.5}},
		{Name: "diayn-reward", X: []float64{0.25, 1, 5}, Y: []float64{25, 115, -65},
			Low: []float64{17.5, 107.5, -87.5}, High: []float64{47.5, 137.5, -57.5}},
	}
	gravity := drawn[0][0]
	if gravity.Title.Text != "ant-uni" || gravity.X.Min != 0.25 || gravity.X.Max != 5 {
		t.Errorf("%s from %g to %g", gravity.Title.Text, gravity.X.Min, gravity.X.Max)
	}
	for i, s := range linesOf(gravity) {
		if w := want[i]; s.Name != w.Name || !reflect.DeepEqual([][]float64{s.X, s.Y, s.Low, s.High},
			[][]float64{w.X, w.Y, w.Low, w.High}) {
			t.Errorf("gravity on ant-uni: %+v, want %+v", s, w)
		}
	}
	if len(drawn) != 2 || len(drawn[1]) != 2 || len(drawn[0][1].Legend)+len(drawn[1][0].Legend) > 0 {
		t.Errorf("%+v", drawn)
	}
	// Targets fill both rows. Their means per seed are -200 - 2x.
	if targets := drawn[0][2]; targets.Rows != 2 || targets.X.Min > -380 || targets.X.Max < -200 {
		t.Errorf("targets in %d rows from %g to %g", targets.Rows, targets.X.Min, targets.X.Max)
	}

	f := newFolder(t)
	for seed, score := range []float64{0, 1, 2, 9, 100} {
		f.adapted(t, results.ExperimentAdaptation, "aurora", "walker-uni", int64(seed), results.Actuators,
			[][2]float64{{0, math.NaN()}}, score)
	}
	of := f.open(t)
	errtest.Equal(t, "the interquartile mean",
		linesOf(must.Get(of.adaptation([]string{"aurora"}, "", stats.IQM)).Panels[1][0])[0].Y[0], 4)
}

// The gain is relative to the seed's own score without perturbation, whatever its sign. Its axis is
// cut where gains say little.
func TestGainPanels(t *testing.T) {
	data := adapted(t)
	panel := must.Get(AdaptationGain(data)).Panels[0][0]
	me, diayn := linesOf(panel)[0], linesOf(panel)[1]
	errtest.Equal(t, "gains of MAP-Elites", me.Y, []float64{-21.25, 0, -46.25})
	if diayn.Y[1] != 0 || diayn.Y[2] > -150 || diayn.Y[2] < -160 {
		t.Errorf("gains of DIAYN+REWARD %v, want 0 at multiplier 1 and about -156 at 5", diayn.Y)
	}
	if y := panel.Y; y.Min != -gainLimit || y.Max <= 0 || y.Max > 20 {
		t.Errorf("limits %g and %g, want -150 and a little above 0", y.Min, y.Max)
	}
	nan := math.NaN()
	spread := []figures.Series{{Y: []float64{nan, 10}, Low: []float64{math.Inf(-1), 5}, High: []float64{nan, 49}}}
	if limits := gainLimits(spread); limits[0] != -gainLimit || math.Abs(limits[1]-60) > 2 {
		t.Errorf("limits %v, want -150 and about 60", limits)
	}
}

// Figure 16 has only the methods of the experiment "reward", from any experiment, and shared runs
// once.
func TestRewardAdaptation(t *testing.T) {
	data := adapted(t)
	if labels, want := data.rewardLabels(), []string{"diayn", "diayn-reward"}; !reflect.DeepEqual(labels, want) {
		t.Fatalf("%v, want %v", labels, want)
	}
	drawn := must.Get(RewardAdaptation(data)).Panels
	if s := linesOf(drawn[0][0]); len(s) != 1 || s[0].Name != "diayn-reward" || s[0].Y[0] != 25 {
		t.Errorf("gravity on ant-uni: %+v", s)
	}
	if s := linesOf(drawn[1][1]); len(s) != 1 || s[0].Name != "diayn" || s[0].Y[1] != 8 {
		t.Errorf("leg of walker-uni: %+v", s)
	}
	if len(drawn[0]) != 2 {
		t.Errorf("targets without runs: %+v", drawn[0])
	}
}

// Medians over seeds for each target position, the best in bold. Methods without such runs are left
// out.
func TestAdaptationTargets(t *testing.T) {
	f := newFolder(t)
	for seed, x := range []float64{0, 10, 80} {
		f.adapted(t, results.ExperimentAdaptation, "aurora", "ant-maze", int64(seed), results.Target,
			[][2]float64{{11.7, 35.2}, {-2.3, 14.9}}, -100-x, -200)
		f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-maze", int64(seed), results.Target,
			[][2]float64{{-2.3, 14.9}}, -150-x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", int64(seed), results.Gravity,
			[][2]float64{{1, math.NaN()}}, 9)
		f.adapted(t, results.ExperimentReward, "diayn", "ant-maze", int64(seed), results.Target,
			[][2]float64{{1, 2}}, 9)
	}
	table, err := AdaptationTargets(f.open(t))
	must.Do(err)
	errtest.Equal(t, "header", table.Header, []string{"method", "(12, 35)", "(-2, 15)"})
	number := tables.Plain.Number
	want := [][]tables.Entry{
		{{Text: "AURORA"}, {Text: number(-110), Bold: true}, {Text: number(-200)}},
		{{Text: "DADS+REWARD"}, {}, {Text: number(-160), Bold: true}},
	}
	errtest.Equal(t, "rows", table.Rows, want)
	gravity := newFolder(t)
	gravity.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 0, results.Gravity,
		[][2]float64{{1, math.NaN()}}, 9)
	if table, err = AdaptationTargets(gravity.open(t)); err != nil || len(table.Rows) != 0 || len(table.Notes) != 1 {
		t.Errorf("without targets: %+v, %v", table, err)
	}
}

// The best skills of the first seed, with empty entries for missing values.
func TestAdaptationSkills(t *testing.T) {
	f := newFolder(t)
	nan := math.NaN()
	f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 1, results.Gravity,
		[][2]float64{{0.5, nan}, {1, nan}}, nan, 3)
	f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 2, results.Gravity,
		[][2]float64{{0.5, nan}}, 7)
	f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-uni", 0, results.Gravity,
		[][2]float64{{0.5, nan}}, 7)
	f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-uni", 1, results.Actuators,
		[][2]float64{{0, nan}}, 7)
	data := f.open(t)
	table, err := AdaptationSkills(data, results.Gravity, "") // ant-uni, the only one
	must.Do(err)
	want := [][]tables.Entry{tables.Row("MAP-Elites", "2", "", "1"), tables.Row("DADS+REWARD", "2", "1", "")}
	if !reflect.DeepEqual(table.Rows, want) || !reflect.DeepEqual(table.Header,
		[]string{"method", "skills", "× 0.5", "× 1"}) {
		t.Errorf("%q\n%+v, want %+v", table.Header, table.Rows, want)
	}
	data.Adapted = slices.DeleteFunc(data.Adapted,
		func(a results.Adapted) bool { return a.Perturbation == results.Gravity })
	for env, want := range map[string]string{"walker-uni": "gravity on walker-uni: no run",
		"": "gravity on any environment: no run"} {
		if _, err := AdaptationSkills(data, results.Gravity, env); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q without runs: %v, want %q", env, err, want)
		}
	}
}

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
		errtest.Equal(t, "row", texts(row), want[i])
	}
	if len(table.Rows) != 2 || len(table.Header) != 5 {
		t.Errorf("%d rows, header %q", len(table.Rows), table.Header)
	}
}
