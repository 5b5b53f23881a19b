package results_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// config returns a run's configuration; hyperparameters are JSON.
func config(t testing.TB, algorithm, env string, seed int64, hyperparameters string) runs.Config {
	return must.Get(runs.NewConfig(algorithm, env, seed, json.RawMessage(hyperparameters)))
}

const trainedColumns = "generation,evaluations,env_steps,seconds,max_fitness,coverage,qd_score," + "invalid,final\n"

// put writes the folder of a run.
func put(t testing.TB, root string, c runs.Config, status runs.Status, metrics string) {
	t.Helper()
	w := must.Get(runs.Create(root, c))
	defer w.Close()
	must.Do(w.SaveStatus(status))
	must.Do(os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(metrics), 0o666))
}

// finished returns the status of a complete training run.
func finished(fitness, coverage, score float64) runs.Status {
	return runs.Status{
		Progress:   runs.Progress{Generation: 2, Evaluations: 20, EnvSteps: 5000, Seconds: 2.5},
		MaxFitness: fitness, Coverage: coverage, QDScore: score, Finished: true,
		Budget: runs.Budget{Generations: 2},
	}
}

// folder has made-up runs of every experiment.
type folder struct {
	root  string
	lines []sweep.Line
}

func (f *folder) trained(t testing.TB, experiment, label string, c runs.Config, fitness, coverage, score float64) {
	t.Helper()
	put(t, f.root, c, finished(fitness, coverage, score),
		// the end of the budget is measured again
		trainedColumns+fmt.Sprintf("1,10,2500,1.5,-inf,0,0,0,0\n2,20,5000,2.5,-inf,0,0,0,0\n"+
			"2,20,5000,2.5,%g,%g,%g,0,1\n", fitness, coverage, score))
	f.lines = append(f.lines, sweep.Line{Experiment: experiment, Label: label, Run: c, Budget: runs.Budget{Generations: 2}})
}

func (f *folder) other(t testing.TB, experiment, label string, c runs.Config, metrics string) {
	t.Helper()
	put(t, f.root, c, runs.Status{Progress: runs.Progress{Evaluations: 9, EnvSteps: 90}, Finished: true}, metrics)
	f.lines = append(f.lines, sweep.Line{Experiment: experiment, Label: label, Run: c})
}

// everything returns a folder with runs of all experiments.
func everything(t testing.TB) *folder {
	f := &folder{root: t.TempDir()}
	for seed := range int64(2) {
		x := float64(seed)
		me := config(t, "map-elites", "ant-uni", seed, `{"iso_sigma":0.005,"line_sigma":0.05}`)
		f.trained(t, "training", "map-elites", me, 100+10*x, 40+x, 1000+100*x)
		f.trained(t, "training", "dads-reward", config(t, "dads-reward", "ant-uni", seed,
			`{"diversity_reward_scale":2,"alpha_init":0.1}`), 300+x, 20, 500+10*x)
		f.trained(t, "smerl-targets", "sac", config(t, "sac", "ant-maze", seed, `{}`), -1000-100*x, 1, 1)
		f.trained(t, "reward", "dads", config(t, "dads", "ant-uni", seed, `{}`), 50, 10, 90+x)
		f.trained(t, "sensitivity", "map-elites",
			config(t, "map-elites", "ant-uni", seed, `{"iso_sigma":0.01,"line_sigma":0.1}`), 1, 1, 200+100*x)
		f.trained(t, "sensitivity", "dads-reward",
			config(t, "dads-reward", "ant-uni", seed, `{"diversity_reward_scale":10,"alpha_init":0.5}`), 1, 1, 100)
		f.trained(t, "prior", "dads-reward", config(t, "dads-reward", "ant-omni", seed,
			`{"descriptor_full_state":false,"x":1}`), 1, 40, 1)
		f.trained(t, "prior", "dads-reward, no prior", config(t, "dads-reward", "ant-omni", seed,
			`{"descriptor_full_state":true,"x":1}`), 1, 10+x, 1)
		f.other(t, "adaptation", "map-elites", config(t, "adaptation", "ant-uni", seed,
			fmt.Sprintf(`{"skills":%q,"perturbation":"gravity","values":[[0.5],[1]]}`, me.Name())),
			"index,x,y,skill,fitness_median,fitness_mean,fitness_std,fitness_q1,fitness_q3\n"+
				"0,0.5,nan,3,nan,0,0,0,0\n0,0.5,nan,7,60,0,0,0,0\n"+fmt.Sprintf(
				"1,1,nan,3,%g,0,0,0,0\n1,1,nan,7,70,0,0,0,0\n", 80+40*x))
		f.other(t, "adaptation", "map-elites", config(t, "adaptation", "ant-maze", seed,
			`{"skills":"map-elites-ant-maze-0-00000000","perturbation":"target","values":[[1,2],[3,4]]}`),
			"index,x,y,skill,fitness_median,fitness_mean,fitness_std,fitness_q1,fitness_q3\n"+
				"0,1,2,0,-10,0,0,0,0\n"+fmt.Sprintf("1,3,4,0,%g,0,0,0,0\n", -30-10*x))
		f.other(t, "hurdles", "map-elites", config(t, "hierarchical-control", "halfcheetah-hurdles", seed,
			fmt.Sprintf(`{"skills":%q}`, me.Name())),
			"generation,evaluations,env_steps,seconds,fitness_mean,fitness_std,max_fitness,"+
				"hurdles_mean,hurdles_max,policy_loss,value_loss,entropy\n"+
				"0,0,0,0,10,0,20,0,1,0,0,0\n"+fmt.Sprintf("1,0,%d,0,30,0,40,2,3,0,0,0\n", 1000+1000*seed))
	}
	return f
}

func TestCollectWritesTheTables(t *testing.T) {
	f := everything(t)
	for seed, score := range []float64{0, 1, 2, 9, 100} { // mean, median and interquartile mean differ
		f.trained(t, "training", "aurora", config(t, "aurora", "ant-omni", int64(seed), `{}`), score, 1, score)
	}
	tables := must.Get(results.Collect(f.root, f.lines))
	if tables.Complete != len(f.lines) || tables.Lines != len(f.lines) || len(tables.Problems) > 0 {
		t.Fatalf("%d of %d lines are complete; problems %v", tables.Complete, tables.Lines, tables.Problems)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	paths := must.Get(tables.Write(dir))
	text := ""
	for _, path := range paths {
		text += "# " + filepath.Base(path) + "\n" + string(must.Get(os.ReadFile(path))) + "\n"
	}
	imagetest.Text(t, "tables.txt", text)
}

func TestIncompleteAndBrokenRuns(t *testing.T) {
	f := everything(t)
	missing := config(t, "aurora", "ant-uni", 0, `{}`)
	half := config(t, "aurora", "ant-uni", 1, `{}`)
	status := finished(5, 6, 7)
	status.Finished = false
	put(t, f.root, half, status, trainedColumns+"1,10,2500,1.5,1,1,1,0,0\n")
	extended := config(t, "aurora", "ant-uni", 2, `{}`) // complete, but the plan asks for more
	put(t, f.root, extended, finished(5, 6, 7), trainedColumns)
	for _, c := range []runs.Config{missing, half, extended} {
		f.lines = append(f.lines, sweep.Line{Experiment: "training", Label: "aurora", Run: c,
			Budget: runs.Budget{Generations: 3}})
	}
	damage := func(line int, name, text string) {
		t.Helper()
		must.Do(os.WriteFile(filepath.Join(f.root, f.lines[line].Run.Name(), name), []byte(text), 0o666))
	}
	perSeed := len(f.lines) / 2
	damage(0, "metrics.csv", "generation,steps\n1,2\n")                        // from another version
	damage(1, "config.json", `{"algorithm":"dads-reward","version":3}`)        // unknown field
	damage(2, "status.json", `{"generation":`)                                 // truncated
	damage(8, "metrics.csv", "index,x\n")                                      // adaptation
	damage(10, "metrics.csv", strings.Repeat("x", 100))                        // hurdles
	damage(perSeed, "config.json", `{"algorithm":"other","env":"e","seed":0}`) // another run's
	tables := must.Get(results.Collect(f.root, f.lines))
	if tables.Missing != 1 || tables.Incomplete != 2 || len(tables.Problems) != 6 {
		t.Errorf("%d missing, %d incomplete, %d problems: %v", tables.Missing, tables.Incomplete,
			len(tables.Problems), tables.Problems)
	}
	for _, problem := range tables.Problems {
		if text := problem.Error(); strings.Contains(text, "\n") || !strings.Contains(text, f.root) {
			t.Errorf("%q is not one line that names the folder", text)
		}
	}
	errtest.Equal(t, "scores of incomplete runs", tables.Scores("aurora", "ant-uni", results.QDScore), nil)
	if i := slices.IndexFunc(tables.Trained, func(r results.Trained) bool { return r.Run == half.Name() }); i < 0 ||
		tables.Trained[i].Finished {
		t.Error("the incomplete run is not marked")
	}
	must.Get(tables.Write(t.TempDir()))
	errtest.Want(t, errtest.Of(results.Collect(f.root, nil)), "no runs")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	errtest.Want(t, errtest.Of(tables.Write(filepath.Join(file, "dir"))), "choose another one")
}

func TestAggregates(t *testing.T) {
	value := func(x, score float64) results.Value { return results.Value{X: x, Score: score} }
	tables := &results.Tables{
		Adapted: []results.Adapted{
			{Label: "a", Env: "e", Perturbation: results.Gravity, Values: []results.Value{value(0.1+0.2, -50), value(1, -100)}},
			{Label: "a", Env: "e", Perturbation: results.Gravity, Values: []results.Value{value(0.3, 5), value(1, 0)}},
			{Label: "a", Env: "e", Perturbation: results.Gravity, Values: []results.Value{value(0.3, 5)}},
			{Label: "a", Env: "e", Perturbation: results.Actuators, Run: "r", Experiment: "adaptation",
				Values: []results.Value{value(4, 5)}},
			{Label: "a", Env: "e", Perturbation: results.Actuators, Run: "r", Experiment: "reward",
				Values: []results.Value{value(4, 5)}},
		},
		Controlled: []results.Controlled{
			{Label: "a", Curve: []results.ControlPoint{{EnvSteps: 0, FitnessMean: 0},
				{EnvSteps: 10, FitnessMean: 10}}},
			{Label: "a", Curve: []results.ControlPoint{{EnvSteps: 4, FitnessMean: 4},
				{EnvSteps: 20, FitnessMean: 20}}},
			{Label: "c"},
		},
	}
	if got := tables.Multipliers(results.Gravity, "e"); len(got) != 2 || got[1] != 1 {
		t.Errorf("multipliers %v", got)
	}
	gains := tables.Gains(results.Gravity, "e", "a", 0.3)
	errtest.Equal(t, "gains, two of which are not defined", fmt.Sprint(len(gains), gains[0], gains[1], gains[2]),
		fmt.Sprint(3, 0.5, math.NaN(), math.NaN()))
	errtest.Equal(t, "nominal scores", tables.Adaptation(results.Gravity, "e", "a", 1), []float64{-100, 0})
	errtest.Equal(t, "scores of a run shared by two experiments", tables.Adaptation(results.Actuators, "e", "a", 4),
		[]float64{5})
	if fitness, _ := tables.FinalControl("a"); !slices.Equal(fitness, []float64{10, 20}) {
		t.Errorf("final returns %v", fitness)
	}
}

// All runs on an environment are cut at the smallest share of the paper's steps among them, except
// those of experiments of their own and of methods that the paper does not have.
func TestEqualShares(t *testing.T) {
	tables := &results.Tables{}
	add := func(experiment, label string, share float64, curve ...results.Point) {
		paper := float64(results.PaperSteps(label, "ant-uni"))
		for i := range curve {
			curve[i].EnvSteps *= paper
		}
		tables.Trained = append(tables.Trained, results.Trained{Experiment: experiment, Label: label,
			Algorithm: label, Env: "ant-uni", Finished: true, Point: results.Point{EnvSteps: share * paper, QDScore: 9},
			Curve: curve})
	}
	add("training", "map-elites", 1.5, results.Point{EnvSteps: 0.05, QDScore: 1},
		results.Point{EnvSteps: 0.1, QDScore: 2}, results.Point{EnvSteps: 0.2, QDScore: 3})
	add("reward", "dads", 0.1, results.Point{EnvSteps: 0.05, QDScore: 4})
	add("training", "aurora", 0.5, results.Point{EnvSteps: 0.3, QDScore: 5})
	add("prior", "dads-reward", 0.01)
	add("beyond", "dns", 0)
	if share := tables.Share("training", "ant-uni"); math.Abs(share-0.1) > 1e-9 {
		t.Errorf("share %v", share)
	}
	if at := results.QDScore.Reached(1.5, tables.Trained[0]); math.Abs(at-0.1) > 1e-9 {
		t.Errorf("1.5 is reached at %v", at)
	}
	errtest.Equal(t, "3.5 is reached at", fmt.Sprint(results.QDScore.Reached(3.5, tables.Trained[0])), "NaN")
	errtest.Equal(t, "share without runs", fmt.Sprint(tables.Share("training", "ant-omni")), "NaN")
	cut := tables.EqualShares()
	for label, want := range map[string][]float64{"map-elites": {2}, "dads": {9}, "dns": nil, "dads-reward": {9}} {
		errtest.Equal(t, label, cut.Scores(label, "ant-uni", results.QDScore), want)
	}
	if got := cut.Scores("aurora", "ant-uni", results.QDScore); len(got) != 1 || !math.IsNaN(got[0]) {
		t.Errorf("before the first row: %v", got)
	}
	errtest.Equal(t, "at the end", results.QDScore.AfterSteps(1e12, tables.Trained), []float64{9, 9, 9, 9, 9})
}

// What makes a run too small for the paper's claims follows from its configuration and metrics.
func TestShortcomings(t *testing.T) {
	for _, c := range []struct {
		algorithm, env, settings, metrics string
		want                              []string
		shut                              bool
	}{
		{"map-elites", "ant-uni", `{"episode_length":250,"cells":1024}`, "", nil, false},
		{"map-elites", "ant-uni", `{"batch":7}`, "", nil, false},
		{"map-elites", "ant-omni", `{"episode_length":50,"cells":32}`, "",
			[]string{"episodes of 50 steps, not 250", "32 cells, not 1024"}, false},
		{"map-elites", "ant-maze", `{"episode_length":250,"cells":1024}`, "", []string{"episodes of 250 steps, not 500"}, false},
		{"smerl-dads", "ant-uni", `{}`, ",accepted_share\n1,1,1,1,1,nan\n2,1,1,1,1,0\n", nil, true},
		{"smerl-dads", "ant-uni", `{}`, ",accepted_share\n1,1,1,1,1,0\n2,1,1,1,1,0.01\n", nil, false},
		{"diayn-reward", "ant-uni", `{}`, ",accepted_share\n1,1,1,1,1,0\n", nil, false},
	} {
		f := &folder{root: t.TempDir()}
		config := config(t, c.algorithm, c.env, 0, c.settings)
		put(t, f.root, config, finished(1, 1, 1), "env_steps,seconds,max_fitness,coverage,qd_score"+
			cmp.Or(c.metrics, "\n1,1,1,1,1\n"))
		tables := must.Get(results.Collect(f.root, []sweep.Line{{Experiment: "training",
			Label: c.algorithm, Run: config, Budget: runs.Budget{Generations: 2}}}))
		if len(tables.Problems) > 0 {
			t.Fatal(tables.Problems)
		}
		if r := tables.Trained[0]; !slices.Equal(r.Short, c.want) || r.GateShut != c.shut {
			t.Errorf("%s on %s with %s: %q, %t", c.algorithm, c.env, c.settings, r.Short, r.GateShut)
		}
	}
}

// Predictions start from the newest records of a Xeon: 300 updates, 256 policies for 250 steps, and a generation of
// 1000.
func TestTwoCoreSecondsAreThoseOfTheRecords(t *testing.T) {
	recorded := map[string]float64{}
	rows := must.Get(csv.NewReader(bytes.NewReader(must.Get(os.ReadFile("../../../docs/performance.csv")))).ReadAll())
	for _, row := range rows {
		if strings.HasPrefix(row[0], "Intel Xeon") && row[3] == "running" {
			recorded[row[1]+" "+row[2]] = must.Get(strconv.ParseFloat(row[7], 64))
		}
	}
	step := func(env string) float64 { return results.TwoCoreSeconds("map-elites", env, 1e9) / 1e9 }
	generation := func(algorithm string) float64 { // of 100 episodes of 250 steps
		return results.TwoCoreSeconds(algorithm, "ant-uni", 25_000) - 25_000*step("ant-uni")/1.08
	}
	predicted := map[string]float64{
		"updates td3":          generation("pga-map-elites") - 5,
		"updates sac":          generation("diayn") / 25_000 * 300,
		"generation pointmaze": 250_000 * step("pointmaze"),
	}
	for _, env := range protocol.Environments() {
		if env != "pointmaze" {
			predicted["rollout "+env] = 64_000 * step(env) / 1.08
		}
	}
	for name, seconds := range predicted {
		if math.Abs(seconds/recorded[name]-1) > 0.005 {
			t.Errorf("%s: predicted %.4g s, recorded %.4g s", name, seconds, recorded[name])
		}
	}
}

// docs/experiments.md has the mean and the longest hours of a run of each family. Its row of MAP-Elites
// has the runs of other experiments, too.
func TestTwoCoreSecondsAreThoseOfThePage(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/experiments.md"))
	for family, algorithm := range map[string]string{"AURORA": "aurora",
		"PGA-MAP-Elites": "pga-map-elites", "PGA-AURORA": "pga-aurora"} {
		sum, most, longest := 0.0, 0.0, ""
		for _, env := range protocol.Environments() {
			hours := results.TwoCoreSeconds(algorithm, env, results.PaperSteps(algorithm, env)) / 3600
			if sum += hours; hours > most {
				most, longest = hours, env
			}
		}
		mean := sum / float64(len(protocol.Environments()))
		row := ""
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+family+" |") {
				row = line
			}
		}
		errtest.Contains(t, row, fmt.Sprintf("| %.1f | %.1f (%s) |", mean, most, longest))
	}
	for algorithm, want := range map[string]float64{"map-elites": 1.3, "dads-reward": 13.0, "smerl-diayn": 15.3} {
		steps := results.PaperSteps(algorithm, "ant-maze")
		if got := results.TwoCoreSeconds(algorithm, "ant-maze", steps) / 3600; math.Abs(got-want) > 0.06 {
			t.Errorf("%s: %.2f h, want %.1f", algorithm, got, want)
		}
	}
	for _, unknown := range [][2]string{{"mine", "ant-uni"}, {"map-elites", "mine"}} {
		errtest.Equal(t, unknown, fmt.Sprint(results.TwoCoreSeconds(unknown[0], unknown[1], 1)), "NaN")
	}
}
