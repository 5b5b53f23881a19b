package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// trained is a folder with small runs of MAP-Elites and DIAYN+REWARD, which tests read.
var trained = sync.OnceValue(func() string {
	root := filepath.Join(filepath.Dir(program), "runs")
	for algorithm, set := range map[string][]string{"map-elites": {"batch=16"}, "diayn-reward": skilledSettings} {
		must.Get(qdnb.Train(context.Background(), qdnb.Spec{Algorithm: algorithm, Env: "pointmaze", Runs: root, Backend: "go",
			Quiet: true, Budget: qdnb.Generations(2), Tune: runs.Assign(append(set, tinySettings...)...)}))
	}
	return root
})

var (
	tinySettings    = []string{"cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=8"}
	skilledSettings = []string{"env_batch_size=10", "replay_buffer_size=200", "batch_size=8", "grad_updates_per_step=0.1",
		"evaluation_states=3"}
)

// drawn lists the figures that show draws for a run.
func drawn(t *testing.T, run string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "figures")
	succeed(t, "show", run, "--figures", dir)
	return filesIn(t, dir)
}

// filesIn lists the files of a folder, if it exists.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// Show draws the available data: trajectories for skills, nothing for an imported policy.
func TestShowDrawsWhatThereIs(t *testing.T) {
	const all = "distribution.png metrics.png repertoire.png snapshots.png"
	run := must.Get(runs.LoadFrom(trained(), "diayn-reward-pointmaze-0"))
	errtest.Equal(t, "figures of trained skills", drawn(t, run.Dir), all+" trajectories.png")
	policy := filepath.Join(t.TempDir(), "policy.npy")
	must.Do(npz.WriteNPY(policy, npz.Of(must.Get(run.Skills()).Policy)))
	for want, args := range map[string][]string{"": {"--algorithm", "diayn-reward", "--policy", policy},
		all: {"--algorithm", "map-elites", "--repertoire", filepath.Join(run.Dir, "repertoire.npz")}} {
		var made importResult
		answer(t, &made, append([]string{"import", "--json", "--runs", t.TempDir(), "--env", "pointmaze",
			"--set", "hidden=[8,8]"}, args...)...)
		errtest.Equal(t, "figures of an import", drawn(t, made.Run), want)
	}
}

// emptyRun makes the folder of a run that has not started and uses the skills of a run "aurora". It
// returns the run's name.
func emptyRun(t *testing.T, root, algorithm, env string) string {
	t.Helper()
	c := must.Get(runs.NewConfig(algorithm, env, 0, map[string]string{"skills": "aurora"}))
	w := must.Get(runs.Create(root, c))
	must.Do(errors.Join(w.SaveStatus(runs.Status{}), w.Close()))
	return c.Name()
}

// Pages and animations of a repertoire, a cell and skills.
func TestShowMakesPages(t *testing.T) {
	const elites, skilled = "map-elites-pointmaze-0", "diayn-reward-pointmaze-0"
	run := must.Get(runs.LoadFrom(trained(), elites))
	cell := strconv.Itoa(must.Get(run.RepertoireMap()).Filled()[0])
	page := filepath.Join(t.TempDir(), "pages", "page.html")
	animation := filepath.Join(t.TempDir(), "pages", "skills.gif")
	for _, c := range []struct {
		file string
		args []string
	}{
		{page, []string{elites, "--html", page}},
		{page, []string{elites, "--html", page, "--cell", cell}},
		{page, []string{elites, "--html", page, "--films", "2"}},
		{page, []string{skilled, "--html", page}},
		{page, []string{skilled, "--html", page, "--skill", "1"}},
		{filepath.Join(run.Dir, "figures", "cell-"+cell+".html"), []string{elites, "--cell", cell}},
		{animation, []string{elites, "--gif", animation, "--films", "2"}},
		{animation, []string{elites, "--gif", animation, "--cell", cell}},
		{animation, []string{skilled, "--gif", animation}},
	} {
		os.Remove(c.file)
		stdout, _ := succeed(t, append([]string{"show", "--runs", trained(), "--backend", "go"}, c.args...)...)
		errtest.Contains(t, stdout, c.file)
		begins := map[string]string{".html": "<!DOCTYPE html>", ".gif": "GIF89a"}[filepath.Ext(c.file)]
		if data := string(must.Get(os.ReadFile(c.file))); !strings.HasPrefix(data, begins) {
			t.Errorf("%v: it begins with %.20q", c.args, data)
		}
	}
}

// An unfinished run is drawn from its snapshot, else from its checkpoint, and its resume command finishes it.
func TestShowOfAnUnfinishedRun(t *testing.T) {
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	elites := qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: 3, Budget: qdnb.Generations(4),
		Tune: runs.Assign(append(tinySettings, "batch=16")...)}
	skills := qdnb.Spec{Algorithm: "diayn-reward", Env: "pointmaze", Budget: qdnb.Generations(4),
		Tune: runs.Assign(slices.Concat(tinySettings, skilledSettings, []string{"early_interval=200"})...)}
	for _, c := range []struct {
		spec     qdnb.Spec
		sessions int
		want     string
	}{{elites, 1, "distribution.png metrics.png repertoire.png"},
		{elites, 3, "distribution.png metrics.png repertoire.png snapshots.png"},
		{skills, 2, "distribution.png metrics.png repertoire.png snapshots.png"}} {
		c.spec.Runs, c.spec.Backend, c.spec.Quiet = filepath.Join(t.TempDir(), "my runs"), "go", true
		for range c.sessions { // each is stopped after its first step
			if _, err := qdnb.Train(stopped, c.spec); !errors.Is(err, qdnb.ErrInterrupted) {
				t.Fatal(err)
			}
		}
		dir := filepath.Join(c.spec.Runs, must.Get(c.spec.Config()).Name())
		figures := filepath.Join(t.TempDir(), "figures")
		stdout, stderr, status := invoke(t, "show", dir, "--figures", figures)
		if got := filesIn(t, figures); status != 0 || got != c.want {
			t.Errorf("%s after %d sessions: status %d, figures %q, want %q; %s", c.spec.Algorithm,
				c.sessions, status, got, c.want, stderr)
		}
		_, command, _ := strings.Cut(stdout, "unfinished; resume it with `qdnb ")
		command, _, _ = strings.Cut(command, "`")
		args := arguments(command)
		if len(args) == 0 || strings.Contains(command, "cvt_seed") {
			t.Fatalf("no short command resumes the run: %s", stdout)
		}
		if out, _ := succeed(t, append(args, "-q", "--backend", "go")...); !strings.Contains(out, "run            "+dir+"\n") {
			t.Fatalf("qdnb %s: %s", command, out)
		}
		if stdout, _, _ := invoke(t, "show", dir, "--figures", figures); !strings.Contains(stdout, "state          complete") {
			t.Errorf("the resumed run: %s", stdout)
		}
	}
	root := t.TempDir()
	// runs without data yet
	for _, algorithm := range []string{"map-elites", "dads", records.Adaptation, records.HierarchicalControl} {
		name := emptyRun(t, root, algorithm, "walker-uni")
		if stdout, _ := succeed(t, "show", name, "--runs", root); !strings.Contains(stdout, "unfinished; rerun the") {
			t.Errorf("%s: %s", name, stdout)
		}
	}
}

// Without one of its limits, a resumed run would take the paper's two hours.
func TestResumeNamesEveryLimit(t *testing.T) {
	spec := qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze"}
	config := must.Get(spec.Config())
	run := &runs.Run{Dir: filepath.Join(t.TempDir(), config.Name()), Config: config}
	for want, budget := range map[string]runs.Budget{
		" --generations 7 ":  {Generations: 7},
		" --evaluations 8 ":  {Evaluations: 8},
		" --env-steps 9 ":    {EnvSteps: 9},
		" --time 1h0m0s ":    {Time: time.Hour},
		" --cpu-time 12m0s ": {CPU: 12 * time.Minute},
	} {
		run.Status.Budget = budget
		errtest.Contains(t, resume(run), want)
	}
}

// storedRun writes a finished run of MAP-Elites with two cells, filled with random policies.
func storedRun(t *testing.T, root, env string, dims int, status runs.Status) string {
	t.Helper()
	config := must.Get(runs.NewConfig("map-elites", env, 0, map[string]any{"hidden": []int{8}, "episode_length": 20}))
	w := must.Get(runs.Create(root, config))
	params := (status.Observations+1)*8 + 9*status.Actions
	numbers := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(i%7) / 7
		}
		return list
	}
	repertoire := runs.Repertoire{Dims: dims, Params: params, Genotypes: numbers(2 * params),
		Fitnesses: []float32{1, 2}, Descriptors: numbers(2 * dims), Centroids: numbers(2 * dims),
		Lower: make([]float32, dims), Upper: slices.Repeat([]float32{1}, dims)}
	status.Finished = true
	must.Do(errors.Join(w.Begin(-1, "generation", "evaluations", "seconds", "max_fitness", "coverage",
		"qd_score"), w.Log(0, 10, 1, 2, 100, 3),
		w.SaveSnapshot(runs.Snapshot{Repertoire: repertoire}), w.SaveRepertoire(&repertoire), w.SaveStatus(status), w.Close()))
	return w.Dir
}

// show says how many evaluations were not finite, and whether any was. One descriptor component gives a strip, several
// give a map of each pair, more than six give parallel coordinates, and what is left out is said.
func TestShowOfStoredRuns(t *testing.T) {
	const drawn = "distribution.png metrics.png repertoire.png"
	for _, c := range []struct {
		dims       int
		best       float64
		drawn, say string
	}{
		{2, 2, drawn + " snapshots.png", "invalid        312 of 2000 evaluations were not finite, and were left out\n"},
		{2, math.Inf(-1), drawn + " snapshots.png", "complete; no evaluation was finite: see what envtest.Check says"},
		{1, 2, drawn + " snapshots.png", ""},
		{3, 2, drawn, "need one or two descriptor components: the run has 3"},
		{4, 2, drawn, "need one or two descriptor components: the run has 4"},
		{7, 2, drawn, "need one or two descriptor components: the run has 7"},
	} {
		run := storedRun(t, t.TempDir(), "elsewhere", c.dims, runs.Status{Observations: 2, Actions: 2,
			MaxFitness: c.best, Invalid: 312, Progress: runs.Progress{Evaluations: 2000}})
		dir := filepath.Join(t.TempDir(), "figures")
		stdout, _ := succeed(t, "show", run, "--figures", dir)
		errtest.Contains(t, stdout, c.say)
		errtest.Equal(t, fmt.Sprintf("figures of %d components", c.dims), filesIn(t, dir), c.drawn)
	}
}

// The command line lacks the code of a custom environment. Policies are shown with their stored
// evaluation, exported, and evaluated in a built-in environment of the same sizes.
func TestRunsOfCustomEnvironments(t *testing.T) {
	root := t.TempDir()
	run := storedRun(t, root, "elsewhere", 2, runs.Status{Observations: 2, Actions: 2})
	stored := "cell 1         fitness 2, descriptor [0.2857 0.4286], as stored by training; layers [2 8 2]"
	const needed = "elsewhere is not a built-in environment: new episodes need its code"
	out := filepath.Join(root, "policy.npz")
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"show", run, "--cell", "1"}, 0, stored + "\nno film        " + needed, ""},
		{[]string{"show", run, "--cell", "1", "--html", out + ".html"}, 1, "", needed},
		{[]string{"eval", run, "--cell", "1"}, 1, stored, needed},
		{[]string{"eval", run}, 1, stored, needed}, // the best cell
		{[]string{"eval", run, "--gravity", "2"}, 1, "", needed},
		{[]string{"play", run}, exitUsage, "", "qdnb.Play"},
		{[]string{"eval", run, "--env", "pointmaze", "--episodes", "2"}, 0, "cell  1", ""},
		{[]string{"eval", run, "--env", "walker-uni"}, exitUsage, "", "walker-uni has 20 observations and 6 " +
			"actions, but the policies of map-elites-elsewhere"},
		{[]string{"export", run, "--out", out}, 0, "layer_1.kernel [8 2]", ""},
	} {
		stdout, stderr, status := invoke(t, c.args...)
		if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("qdnb %s: status %d, %q, %q; want %d, %q, %q", strings.Join(c.args, " "), status,
				stdout, stderr, c.status, c.stdout, c.stderr)
		}
	}
}

// listed writes a run with a status.
func listed(t *testing.T, root, algorithm string, seed int64, status runs.Status) string {
	t.Helper()
	w := must.Get(runs.Create(root, must.Get(runs.NewConfig(algorithm, "arm", seed, map[string]int{"batch": 16}))))
	must.Do(errors.Join(w.SaveStatus(status), w.Close()))
	return w.Name()
}

// A folder is listed in order, whatever the states of its runs, and one that cannot be read does not hide the others.
func TestList(t *testing.T) {
	root := filepath.Join(t.TempDir(), "notebooks", "runs")
	ten := listed(t, root, "map-elites", 10, runs.Status{MaxFitness: -1.5, QDScore: 20.25, Finished: true})
	two := listed(t, root, "map-elites", 2, runs.Status{MaxFitness: math.Inf(-1)})
	aurora := listed(t, root, "aurora", 3, runs.Status{MaxFitness: 1, QDScore: 2, Backend: runs.Imported, Finished: true})
	broken := listed(t, root, "broken", 0, runs.Status{})
	must.Do(os.WriteFile(filepath.Join(root, broken, "config.json"), []byte("{"), 0o666))
	must.Do(os.Mkdir(filepath.Join(root, "notes"), 0o777))

	stdout, stderr := succeed(t, "list", root)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	date := must.Get(runs.LoadFrom(root, ten)).Status.Updated.Local().Format("2006-01-02 15:04")
	for i, want := range []string{"run algorithm environment seed state QD score max fitness date",
		aurora + " aurora arm 3 imported 2 1 " + date, two + " map-elites arm 2 unfinished - - " + date,
		ten + " map-elites arm 10 complete 20.25 -1.5 " + date,
		"show one with `qdnb show " + filepath.Join(root, aurora) + "`"} {
		if len(lines) != 5 || strings.Join(strings.Fields(lines[i]), " ") != want {
			t.Fatalf("line %d of\n%s\nis not %q", i, stdout, want)
		}
	}
	if !strings.Contains(stderr, filepath.Join(broken, "config.json")) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("the run that cannot be read: %s", stderr)
	}

	again, _ := succeed(t, "list", "--json", "--runs", root)
	var answer struct {
		Runs []struct {
			Name, Env, State, Date string
			Seed                   int
			QDScore                float64  `json:"qd_score"`
			MaxFitness             *float64 `json:"max_fitness"`
		}
		Unreadable int
	}
	must.Do(json.Unmarshal([]byte(again), &answer))
	if r := answer.Runs; len(r) != 3 || answer.Unreadable != 1 || r[1].Name != two || r[1].MaxFitness != nil ||
		*r[2].MaxFitness != -1.5 || r[2].QDScore != 20.25 || r[2].Seed != 10 || r[0].State != "imported" || r[0].Date == "" {
		t.Error(again)
	}

	refuses(t,
		mistake{[]string{"list", filepath.Join(root, "notes")}, exitUsage, "no runs in " + filepath.Join(root, "notes")},
		mistake{[]string{"list", filepath.Join(root, "none")}, exitUsage, "`qdnb train` makes one"})
	t.Chdir(filepath.Dir(filepath.Dir(root)))
	refuses(t, mistake{[]string{"list"}, 1, "no runs in runs; but in notebooks/runs: `qdnb list notebooks/runs` lists them"})
}

// The provenance of a run is shown: budget, date, machine and commit, and in JSON the hyperparameters.
func TestShowProvenance(t *testing.T) {
	root := t.TempDir()
	commit := strings.Repeat("0123456789", 4)
	name := listed(t, root, "map-elites", 1, runs.Status{Budget: runs.Budget{Generations: 7}, Machines: []runs.MachineUse{
		{Machine: "an abacus", Version: "v1.2", Commit: commit, After: -1},
		{Machine: "a slide rule", Version: "v1.3", Commit: "unknown", After: 4}}})
	date := must.Get(runs.LoadFrom(root, name)).Status.Updated
	stdout, _ := succeed(t, "show", name, "--runs", root)
	errtest.Contains(t, stdout, "\nbudget         7 generations\n", "\ndate           "+dateText(&date)+"\n",
		"\nmachine        an abacus (from generation 0)\n", "\nmachine        a slide rule (from generation 5)\n",
		"\ncommit         "+commit+", version v1.2 (from generation 0)\n")
	if strings.Contains(stdout, "source") {
		t.Errorf("a run without custom parts has a source:\n%s", stdout)
	}
	source := filepath.Join(root, name, "source.txt")
	must.Do(os.WriteFile(source, nil, 0o666))
	if stdout, _ := succeed(t, "show", name, "--runs", root, "-v"); !strings.Contains(stdout,
		"\nsource         "+source+"\n") {
		t.Errorf("no source in\n%s", stdout)
	}
	stdout, _ = succeed(t, "show", name, "--runs", root, "--json")
	var answer struct {
		Hyperparameters map[string]int
		Machines        []runs.MachineUse
		Budget          runs.Budget
		Date            string
	}
	must.Do(json.Unmarshal([]byte(stdout), &answer))
	if answer.Hyperparameters["batch"] != 16 || len(answer.Machines) != 2 || answer.Machines[0].Commit != commit ||
		answer.Budget.Generations != 7 || !strings.HasPrefix(answer.Date, date.Format("2006-01-02T15:04:05")) {
		t.Error(stdout)
	}
}

// A folder none of whose runs can be read is an error, as JSON, too.
func TestListOfBrokenRuns(t *testing.T) {
	root := t.TempDir()
	name := listed(t, root, "map-elites", 1, runs.Status{})
	must.Do(os.WriteFile(filepath.Join(root, name, "status.json"), []byte("{"), 0o666))
	for _, args := range [][]string{{"list", root}, {"list", root, "--json"}} {
		if _, stderr, status := invoke(t, args...); status != 1 || !strings.Contains(stderr, "none of the runs") {
			t.Errorf("%q: status %d, %q", args, status, stderr)
		}
	}
}

// experimentsFolder writes made-up training runs of two methods on ant-trap.
func experimentsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var lines []sweep.Line
	for seed := range int64(3) {
		for algorithm, fitness := range map[string]float64{"map-elites": 381, "dads-reward": 1280} {
			lines = append(lines, made(t, filepath.Join(dir, paper.RunsFolder), algorithm, seed,
				fitness+float64(seed), 50+float64(seed)))
		}
	}
	file := must.Get(os.Create(filepath.Join(dir, paper.PlanFile)))
	must.Do(sweep.Write(file, lines))
	must.Do(file.Close())
	return dir
}

func TestFigures(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	stdout, _ := succeed(t, "figures", "--in", dir, "--out", out, "--only", "fig 6,table-1,table-3", "--format", "png,svg,pdf")
	for name, begins := range map[string]string{
		"figure-6.png": "\x89PNG", "figure-6.svg": "<?xml", "figure-6.pdf": "%PDF", "table-1.md": "",
		"table-1.csv": "", "table-1.tex": "", "table-3.md": "",
	} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || len(data) == 0 || !strings.HasPrefix(string(data), begins) || !strings.Contains(stdout, name) {
			t.Errorf("%s: %d bytes, %v; output %q", name, len(data), err, stdout)
		}
	}
	text := string(must.Get(os.ReadFile(filepath.Join(out, "table-1.csv"))))
	if !strings.Contains(text, "382") || !strings.Contains(text, "1280") { // the medians over seeds
		t.Errorf("table 1 is\n%s", text)
	}
}

// Each failure is reported in one line, and the other items are still drawn.
func TestFiguresOfMissingRuns(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	_, stderr, status := invoke(t, "figures", "--in", dir, "--out", out, "--only", "figure-5,table-1")
	if status != 1 || !strings.Contains(stderr, "figure-5") || !strings.Contains(stderr, "failed to draw 1 of 2 items") {
		t.Errorf("status %d: %s", status, stderr)
	}
	must.Get(os.Stat(filepath.Join(out, "table-1.md")))
	for _, c := range []mistake{
		{[]string{"--in", t.TempDir()}, exitUsage, "make experiments"},
		{[]string{"--in", dir, "--only", "figure-99"}, exitUsage, "figure-99"},
		{[]string{"--in", dir, "--experiment", "smerl-targets"}, exitUsage,
			"no selected figure or table uses the experiment smerl-targets"},
		{[]string{"--in", dir, "--only", "figure-2", "--experiment", "hurdles,prior"}, exitUsage,
			"uses the experiment hurdles or prior"},
		{[]string{"--in", dir, "--experiment", "trainig"}, exitUsage, `"training"`},
		{[]string{"--in", dir, "--only", "table-3", "--tables", "xls"}, exitUsage, "xls"},
		{[]string{"--in", dir, "--only", "table-3", "--out", filepath.Join(dir, paper.PlanFile)}, 1, "choose another one"},
	} {
		c.args = append([]string{"figures"}, c.args...)
		refuses(t, c)
	}
	// Items that are the same for all runs need no runs.
	succeed(t, "figures", "--in", t.TempDir(), "--out", out, "--only", "table-2")
}

// made writes a complete training run on ant-trap with made-up numbers and returns its plan line.
func made(t *testing.T, root, algorithm string, seed int64, fitness, coverage float64) sweep.Line {
	t.Helper()
	c := must.Get(runs.NewConfig(algorithm, "ant-trap", seed, map[string]int{"batch": 7}))
	w := must.Get(runs.Create(root, c))
	defer w.Close()
	must.Do(w.Begin(-1, "generation", "env_steps", "seconds", "max_fitness", "coverage", "qd_score"))
	steps := results.PaperSteps(algorithm, "ant-trap")
	must.Do(w.Log(1, float64(steps), 2, fitness, coverage, 3))
	budget := runs.Budget{Generations: 1}
	status := runs.Status{Progress: runs.Progress{Generation: 1, EnvSteps: steps, Seconds: 2},
		MaxFitness: fitness, Coverage: coverage, QDScore: 3,
		Budget: budget, Finished: true}
	must.Do(w.SaveStatus(status))
	return sweep.Line{Experiment: "training", Label: algorithm, Run: c, Budget: budget}
}

func TestClaims(t *testing.T) {
	dir := experimentsFolder(t)
	var got checked
	if answer(t, &got, "claims", "--json", "--in", dir); got.Complete != 6 || got.Missing != 0 ||
		len(got.Problems) != 0 || len(got.Claims) != len(claims.Check(&results.Tables{})) {
		t.Fatalf("%+v", got)
	}

	// Text output, with a folder that cannot be read.
	entries := must.Get(os.ReadDir(filepath.Join(dir, "runs")))
	must.Do(os.WriteFile(filepath.Join(dir, "runs", entries[0].Name(), "config.json"), []byte(`{"version": 2}`), 0o666))
	stdout, stderr := succeed(t, "claims", "--in", dir)
	if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, entries[0].Name()) {
		t.Errorf("with a broken folder: %q", stderr)
	}
	errtest.Contains(t, stdout, "open           ant-trap (table 1), seeds: ", "-> best: DADS+REWARD 1280 (± ",
		"\nopen: qd-score: needs PGA-MAP-Elites on ant-trap")
	refuses(t, mistake{[]string{"claims", "--in", filepath.Join(dir, "none")}, exitUsage, "has no plan.jsonl"})
}

// The committed page is what the command writes from the shipped runs.
func TestCommittedPage(t *testing.T) {
	root, out := filepath.Join("..", ".."), t.TempDir()
	shipped := filepath.Join(root, "notebooks", "results")
	succeed(t, "reproduction", "--in", shipped, "--in", shipped+"-paper", "--out", out)
	if string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md")))) !=
		string(must.Get(os.ReadFile(filepath.Join(root, "docs", "reproduction.md")))) {
		t.Error("docs/reproduction.md is out of date: run `make reproduction`")
	}
}

func TestReproductionCommand(t *testing.T) {
	dir := experimentsFolder(t)
	out := filepath.Join(t.TempDir(), "docs")
	stdout, stderr := succeed(t, "reproduction", "--in", dir, "--in", experimentsFolder(t), "--out", out)
	if stderr != "" || strings.Count(stdout, "\n") != 2 {
		t.Fatalf("%q, %s", stdout, stderr)
	}
	page := string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md"))))
	picture, err := os.ReadFile(filepath.Join(out, "reproduction.png"))
	if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("the figure: %v", err)
	}
	errtest.Equal(t, "numbers of DADS+REWARD", strings.Count(page, " 1280 = (1280) |"), 2)

	entries := must.Get(os.ReadDir(filepath.Join(dir, paper.RunsFolder)))
	damaged := filepath.Join(dir, paper.RunsFolder, entries[0].Name(), "status.json")
	must.Do(os.WriteFile(damaged, []byte("{"), 0o666))
	out = filepath.Join(t.TempDir(), "docs")
	refuses(t, mistake{[]string{"reproduction", "--in", dir, "--out", out}, 1, damaged},
		mistake{[]string{"reproduction", "--in", t.TempDir(), "--out", out}, exitUsage, "has no plan.jsonl"})
	errtest.Want(t, errtest.Of(os.Stat(out)), "no such file")
}
