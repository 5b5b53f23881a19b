package results_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// config returns a run's configuration; hyperparameters are JSON.
func config(t testing.TB, algorithm, env string, seed int64, hyperparameters string) runs.Config {
	t.Helper()
	c := must.Get(runs.NewConfig(algorithm, env, seed, json.RawMessage(hyperparameters)))
	return c
}

const trainedColumns = "generation,evaluations,env_steps,seconds,max_fitness,coverage,qd_score," +
	"invalid,final\n"

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

func (f *folder) trained(t testing.TB, experiment, label string, c runs.Config, fitness, coverage,
	score float64) {
	t.Helper()
	put(t, f.root, c, finished(fitness, coverage, score),
		// the end of the budget is measured again
		trainedColumns+fmt.Sprintf("1,10,2500,1.5,-inf,0,0,0,0\n2,20,5000,2.5,-inf,0,0,0,0\n"+
			"2,20,5000,2.5,%g,%g,%g,0,1\n", fitness, coverage, score))
	f.lines = append(f.lines, sweep.Line{Experiment: experiment, Label: label, Run: c,
		Budget: runs.Budget{Generations: 2}})
}

func (f *folder) other(t testing.TB, experiment, label string, c runs.Config, metrics string) {
	t.Helper()
	put(t, f.root, c, runs.Status{Progress: runs.Progress{Evaluations: 9, EnvSteps: 90},
		Finished: true}, metrics)
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
			config(t, "map-elites", "ant-uni", seed, `{"iso_sigma":0.01,"line_sigma":0.1}`), 1,
			1, 200+100*x)
		f.trained(t, "sensitivity", "dads-reward",
			config(t, "dads-reward", "ant-uni", seed, `{"diversity_reward_scale":10,"alpha_init":0.5}`), 1,
			1, 100)
		f.trained(t, "prior", "dads-reward", config(t, "dads-reward", "ant-omni", seed,
			`{"descriptor_full_state":false,"x":1}`), 1, 40, 1)
		f.trained(t, "prior", "dads-reward, no prior", config(t, "dads-reward", "ant-omni", seed,
			`{"descriptor_full_state":true,"x":1}`), 1, 10+x, 1)
		f.other(t, "adaptation", "map-elites",
			config(t, "adaptation", "ant-uni", seed,
				fmt.Sprintf(`{"skills":%q,"perturbation":"gravity","values":[[0.5],[1]]}`, me.Name())),
			"index,x,y,skill,fitness_median,fitness_mean,fitness_std,fitness_q1,fitness_q3\n"+
				"0,0.5,nan,3,nan,0,0,0,0\n0,0.5,nan,7,60,0,0,0,0\n"+fmt.Sprintf(
				"1,1,nan,3,%g,0,0,0,0\n1,1,nan,7,70,0,0,0,0\n", 80+40*x))
		f.other(t, "adaptation", "map-elites",
			config(t, "adaptation", "ant-maze", seed,
				`{"skills":"map-elites-ant-maze-0-00000000","perturbation":"target","values":[[1,2],[3,4]]}`),
			"index,x,y,skill,fitness_median,fitness_mean,fitness_std,fitness_q1,fitness_q3\n"+
				"0,1,2,0,-10,0,0,0,0\n"+fmt.Sprintf("1,3,4,0,%g,0,0,0,0\n", -30-10*x))
		f.other(t, "hurdles", "map-elites", config(t, "ppo", "halfcheetah-hurdles", seed,
			fmt.Sprintf(`{"skills":%q}`, me.Name())),
			"generation,evaluations,env_steps,seconds,fitness_mean,fitness_std,fitness_max,"+
				"hurdles_mean,hurdles_max,policy_loss,value_loss,entropy\n"+
				"0,0,0,0,10,0,20,0,1,0,0,0\n"+fmt.Sprintf("1,0,%d,0,30,0,40,2,3,0,0,0\n", 1000+1000*seed))
	}
	return f
}

func TestCollectWritesTheTables(t *testing.T) {
	f := everything(t)
	tables := must.Get(results.Collect(f.root, f.lines))
	if tables.Complete != len(f.lines) || tables.Lines != len(f.lines) || len(tables.Problems) > 0 {
		t.Fatalf("%d of %d lines are complete; problems %v", tables.Complete, tables.Lines,
			tables.Problems)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	paths, err := tables.Write(dir)
	must.Do(err)
	contents := map[string]string{}
	for _, path := range paths {
		data := must.Get(os.ReadFile(path))
		contents[filepath.Base(path)] = string(data)
	}
	const trained = "label,algorithm,env,seed,run,env_steps,seconds,generation,max_fitness," +
		"coverage,qd_score,finished,paper_steps,steps_ratio\n"
	const summary = "label,env,metric,seeds,median,q1,q3,mean,std,iqm," +
		"median_low,median_high,iqm_low,iqm_high\n"
	me := f.lines[0].Run.Name()
	for name, want := range map[string]string{
		"training.csv": trained +
			"map-elites,map-elites,ant-uni,0," + me + ",5000,2.5,2,100,40,1000,true,1600000000,3.125e-06\n",
		"curves.csv": "label,env,seed,env_steps,seconds,max_fitness,coverage,qd_score\n" +
			"map-elites,ant-uni,0,2500,1.5,-inf,0,0\nmap-elites,ant-uni,0,5000,2.5,100,40,1000\n",
		"smerl_targets.csv":         "env,seed,max_fitness\nant-maze,0,-1000\nant-maze,1,-1100\n",
		"smerl_targets_summary.csv": "env,seeds,target,margin\nant-maze,2,-1050,105\n",
		"adaptation_targets.csv": "label,env,seed,targets,score\n" +
			"map-elites,ant-maze,0,2,-20\nmap-elites,ant-maze,1,2,-25\n",
		"adaptation.csv": "label,env,seed,perturbation,index,x,y,score,skill,skills\n" +
			"map-elites,ant-uni,0,gravity,0,0.5,nan,60,7,2\n" +
			"map-elites,ant-uni,0,gravity,1,1,nan,80,3,2\nmap-elites,ant-uni,1,gravity,0,0.5,nan,60,7,2\n" +
			"map-elites,ant-uni,1,gravity,1,1,nan,120,3,2\n" +
			"map-elites,ant-maze,0,target,0,1,2,-10,0,1\n",
		"adaptation_summary.csv": "label,env,perturbation,index,x,y,seeds,median,q1,q3,iqm," +
			"gain_median,gain_q1,gain_q3,gain_iqm\n" +
			"map-elites,ant-uni,gravity,0,0.5,nan,2,60,60,60,60,-0.375,-0.4375,-0.3125,-0.375\n",
		"hurdles.csv": "label,seed,env_steps,fitness_mean,fitness_max,hurdles_mean,hurdles_max\n" +
			"map-elites,0,0,10,20,0,1\nmap-elites,0,1000,30,40,2,3\n",
		"hurdles_summary.csv": "label,env_steps,seeds,fitness_median,fitness_q1,fitness_q3," +
			"fitness_iqm,hurdles_median,hurdles_q1,hurdles_q3\n" +
			"map-elites,0,2,10,10,10,10,0,0,0\nmap-elites,1000,2,25,22.5,27.5,25,1.5,1.25,1.75\n",
		"sensitivity.csv": "label,env,seed,a_name,a,b_name,b,qd_score\n" +
			"map-elites,ant-uni,0,iso_sigma,0.01,line_sigma,0.1,200\n",
		"sensitivity_summary.csv": "label,env,a_name,a,b_name,b,seeds,qd_score,normalised\n" +
			"map-elites,ant-uni,iso_sigma,0.01,line_sigma,0.1,2,250,1\n" +
			"dads-reward,ant-uni,diversity_reward_scale,10,alpha_init,0.5,2,100,0.4\n",
		"prior.csv": "label,prior,seed,seconds,env_steps,coverage\ndads-reward,true,0,1.5,2500,0\n" +
			"dads-reward,true,0,2.5,5000,40\n",
		"reward.csv": trained + "dads,dads,ant-uni,0,",
		"training_summary.csv": summary +
			"map-elites,ant-uni,max_fitness,2,105,102.5,107.5,105,5,105,100,110,100,110\n",
		"reward_summary.csv": summary + "dads-reward,ant-uni,max_fitness,2,300.5,",
		"training_summary.md": "## Max fitness: median (± standard deviation) [seeds]\n\n| method | " +
			"ant-uni |\n|---|---:|\n| MAP-Elites " +
			"| 105 (± 5.00) [2] |\n" +
			"| DADS+REWARD | **300 (± 0.500) [2]** |\n",
		"reward_adaptation.csv":         "label,env,seed,perturbation,index,x,y,score,skill,skills\n",
		"reward_adaptation_summary.csv": "label,",
		"reward_adaptation_targets.csv": "label,",
		"reward_summary.md": "## Max fitness: median (± standard deviation) [seeds]\n\n| method | " +
			"ant-uni |\n|---|---:|\n| DADS+REWARD " +
			"| **300 (± 0.500) [2]** |\n" +
			"| DADS | 50.0 (± 0) [2] |\n",
	} {
		got, ok := contents[name]
		if !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s is\n%swant it to begin with\n%s", name, got, want)
		}
		delete(contents, name)
	}
	if len(contents) > 0 {
		t.Errorf("more files: %v", contents)
	}
	for _, c := range []struct{ file, has string }{
		{"training_summary.csv",
			"\nmap-elites,all,qd_score_normalised,2,nan,nan,nan,nan,nan,0.9545454545454546," +
				"nan,nan,0.9090909090909091,1\n"},
		{"training_summary.md", "| MAP-Elites | **1050 \\| 1050 \\| 1050** |"},
		{"training_summary.md", "|---|---:|---:|---:|---:|\n| MAP-Elites | 1 | 5k | 1.6G | 3.1e−06 |"},
		{"adaptation_summary.csv",
			"\nmap-elites,ant-maze,target,-1,nan,nan,2,-22.5,-23.75,-21.25,-22.5,nan,nan,nan,nan\n"},
		{"prior.csv", `"dads-reward, no prior",false,1,2.5,5000,11` + "\n"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil || !strings.Contains(string(data), c.has) {
			t.Errorf("%s lacks %q:\n%s", c.file, c.has, data)
		}
	}
}

// Without a plan, Infer finds the same lines in the folders.
func TestInferFindsThePlan(t *testing.T) {
	f := everything(t)
	lines, problems, err := results.Infer(f.root)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	key := func(l sweep.Line) string { return l.Experiment + "/" + l.Label + "/" + l.Run.Name() }
	var got, want []string
	for _, l := range lines {
		got = append(got, key(l))
	}
	for _, l := range f.lines {
		want = append(want, key(l))
		// by itself it also belongs to training
		if l.Experiment == "prior" && !strings.HasSuffix(l.Label, "no prior") {
			l.Experiment = "training"
			want = append(want, key(l))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}

	// With two scales of one run, the longer one is used and reported.
	c := config(t, "map-elites", "ant-uni", 0, `{"iso_sigma":0.005,"line_sigma":0.05,"batch":7}`)
	status := finished(1, 1, 1)
	status.EnvSteps = 9999
	put(t, f.root, c, status, trainedColumns)
	lines, problems, err = results.Infer(f.root)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(),
		"training: map-elites on ant-uni, seed 0: 2 runs, using "+c.Name()+";") {
		t.Errorf("with two candidates: %v, %v", err, problems)
	}
	if !slices.ContainsFunc(lines,
		func(l sweep.Line) bool { return l.Run.Name() == c.Name() }) || len(lines) != len(got) {
		t.Errorf("%d lines, want %d with %s", len(lines), len(got), c.Name())
	}
	imported := config(t, "map-elites", "ant-uni", 1, `{"imported":"0123"}`)
	status.Backend = runs.Imported
	put(t, f.root, imported, status, trainedColumns)
	if all, _, err := results.Infer(f.root); err != nil || len(all) != len(lines) {
		t.Errorf("with an imported run: %d lines, %v; want %d", len(all), err, len(lines))
	}
	if none, problems, err := results.Infer(filepath.Join(f.root,
		"none")); len(none) > 0 || len(problems) > 0 || err != nil {
		t.Errorf("without a folder: %v, %v, %v", none, problems, err)
	}
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
	if got := tables.Scores("aurora", "ant-uni", results.QDScore); len(got) != 0 {
		t.Errorf("incomplete runs have scores %v", got)
	}
	if i := slices.IndexFunc(tables.Trained,
		func(r results.Trained) bool { return r.Run == half.Name() }); i < 0 ||
		tables.Trained[i].Finished {
		t.Error("the incomplete run is not marked")
	}
	if _, err := tables.Write(t.TempDir()); err != nil {
		t.Error(err)
	}
	errtest.Want(t, errtest.Of(results.Collect(f.root, nil)), "no runs")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	if _, err := tables.Write(filepath.Join(file, "dir")); err == nil {
		t.Error("tables were written below a file")
	}
}

// A truncated metrics.csv is read or reported, whatever its length.
func TestHalfFilesDoNotPanic(t *testing.T) {
	f := everything(t)
	for line, l := range f.lines[:11] {
		path := filepath.Join(f.root, l.Run.Name(), "metrics.csv")
		whole, err := os.ReadFile(path)
		must.Do(err)
		for end := 0; end < len(whole); end += 7 {
			must.Do(os.WriteFile(path, whole[:end], 0o666))
			tables, err := results.Collect(f.root, f.lines[line:line+1])
			if err != nil || len(tables.Problems) > 1 {
				t.Fatalf("%s, cut at %d: %v, %v", l.Name(), end, err, tables)
			}
		}
	}
}

func TestAggregates(t *testing.T) {
	value := func(x, score float64) results.Value { return results.Value{X: x, Score: score} }
	tables := &results.Tables{
		Adapted: []results.Adapted{
			{Label: "a", Env: "e", Perturbation: results.Gravity,
				Values: []results.Value{value(0.1+0.2, -50), value(1, -100)}},
			{Label: "a", Env: "e", Perturbation: results.Gravity,
				Values: []results.Value{value(0.3, 5), value(1, 0)}},
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
			{Label: "b", Curve: []results.ControlPoint{{EnvSteps: 0, FitnessMean: 1}}},
			{Label: "b", Curve: []results.ControlPoint{{EnvSteps: 5, FitnessMean: 1}}},
			{Label: "c"},
		},
	}
	if got := tables.Multipliers(results.Gravity, "e"); len(got) != 2 || got[1] != 1 {
		t.Errorf("multipliers %v", got)
	}
	gains := tables.Gains(results.Gravity, "e", "a", 0.3)
	if len(gains) != 3 || gains[0] != 0.5 || !math.IsNaN(gains[1]) || !math.IsNaN(gains[2]) {
		t.Errorf("gains %v, want 0.5 and two that are not defined", gains)
	}
	if got := tables.Adaptation(results.Gravity, "e", "a", 1); !slices.Equal(got, []float64{-100, 0}) {
		t.Errorf("nominal scores %v", got)
	}
	if got := tables.Adaptation(results.Actuators, "e", "a", 4); !slices.Equal(got, []float64{5}) {
		t.Errorf("a run shared by two experiments has scores %v", got)
	}
	curve := tables.HurdlesCurve("a")
	if len(curve) != 2 || curve[0].EnvSteps != 4 || curve[1].EnvSteps != 10 || curve[0].Median !=
		4 || math.Abs(curve[1].Median-10) > 1e-12 {
		t.Errorf("the curve %+v, want y = x at 4 and 10", curve)
	}
	if b, c := tables.HurdlesCurve("b"), tables.HurdlesCurve("c"); len(b) != 0 || len(c) != 0 {
		t.Errorf("curves with nothing in common: %v, %v", b, c)
	}
	if fitness, _ := tables.FinalControl("a"); !slices.Equal(fitness, []float64{10, 20}) {
		t.Errorf("final returns %v", fitness)
	}
	if got := (&results.Tables{}).Markdown("training"); !strings.Contains(got, "No run") {
		t.Errorf("of nothing: %q", got)
	}
}

// The edge is the outer tenth on each side of a component.
// The paper compares priors on ant-omni only.
func TestPriorRuns(t *testing.T) {
	var tables results.Tables
	for _, env := range []string{"ant-omni", "pointmaze"} {
		tables.Trained = append(tables.Trained, results.Trained{Experiment: results.ExperimentPrior,
			Algorithm: "dads-reward", Env: env, Finished: true, Prior: true})
	}
	if got := tables.PriorRuns("dads-reward", true); len(got) != 1 || got[0].Env != "ant-omni" {
		t.Errorf("%+v", got)
	}
}

func TestEdgeCoverage(t *testing.T) {
	root := t.TempDir()
	c := config(t, "map-elites", "walker-uni", 0, `{}`)
	put(t, root, c, finished(1, 2, 3), trainedColumns)
	empty := float32(math.Inf(-1))
	r := &runs.Repertoire{
		Params: 1, Dims: 2, Genotypes: make([]float32, 5), Fitnesses: []float32{1, empty, 2, 3, empty},
		Descriptors: make([]float32, 10),
		Centroids:   []float32{0.05, 0.5, 0.5, 0.95, 0.5, 0.5, 0.96, 0.01, 0.85, 0.15},
		Lower:       []float32{0, 0}, Upper: []float32{1, 1},
	}
	must.Do(r.Write(filepath.Join(root, c.Name(), "repertoire.npz")))
	line := sweep.Line{Experiment: "training", Label: "map-elites", Run: c,
		Budget: runs.Budget{Generations: 2}}
	tables, err := results.Collect(root, []sweep.Line{line})
	if err != nil || len(tables.Problems) > 0 {
		t.Fatal(err, tables.Problems)
	}
	// Cells 0, 1 and 3 lie at the edge; 0 and 3 are filled.
	if got := tables.Scores("map-elites", "walker-uni",
		results.EdgeCoverage); len(got) != 1 || math.Abs(got[0]-200.0/3) > 1e-9 {
		t.Errorf("the coverage of the edge is %v, want 66.7", got)
	}
	must.Do(os.WriteFile(filepath.Join(root, c.Name(), "repertoire.npz"), []byte("PK"), 0o666))
	if tables, err := results.Collect(root,
		[]sweep.Line{line}); err != nil || len(tables.Problems) != 1 {
		t.Errorf("with a damaged repertoire: %v, %v", err, tables)
	}
}
