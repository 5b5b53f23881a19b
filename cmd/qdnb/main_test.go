package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
)

// program is the path of a qdnb built for the tests.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "qdnb")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "qdnb")
	build := []string{"build", "-ldflags=-w", "-o", program}
	// coverage profiles of child processes; `go test` sets its own GOCOVERDIR
	if folder := os.Getenv("QDNB_COVERAGE"); folder != "" {
		build = append(build, "-coverpkg=../../...")
		os.Setenv("GOCOVERDIR", folder)
	}
	if out, err := exec.Command("go", append(build, ".")...).CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		os.Exit(1)
	}
	os.Setenv(backend.BackendEnv, "go") // XLA compiles each program for seconds
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// invoke runs the program and returns its output and exit status.
func invoke(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatal(err)
		}
		status = exit.ExitCode()
	}
	return out.String(), errs.String(), status
}

// succeed runs the program, which must not fail, and returns its output.
func succeed(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, status := invoke(t, args...)
	if status != 0 {
		t.Fatalf("qdnb %s: status %d, %s%s", strings.Join(args, " "), status, stdout, stderr)
	}
	return stdout, stderr
}

// mistake is a command that fails with a status and one line that says why.
type mistake struct {
	args   []string
	status int
	says   string
}

func refuses(t *testing.T, mistakes ...mistake) {
	t.Helper()
	for _, c := range mistakes {
		stdout, stderr, status := invoke(t, c.args...)
		if status != c.status || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("qdnb %s: status %d, want %d with a line about %q; got %q%q", strings.Join(c.args, " "),
				status, c.status, c.says, stdout, stderr)
		}
	}
}

// small are the settings of a run that takes a second.
var small = []string{"--algorithm", "map-elites", "--env", "pointmaze", "--set", "batch=16",
	"--set", "cells=32", "--set", "cvt_samples=500",
	"--set", "hidden=[8,8]", "--set", "episode_length=20"}

func TestTrainPrintsOneJSONObjectAndGoesOn(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		generations, backend string
		want                 float64
	}{{"2", "go", 2}, {"4", "go", 4}, {"3", "gpu", 4}} { // the last is already done, and needs no backend
		var result map[string]any
		answer(t, &result, append([]string{"train", "--json", "--runs", root, "--generations", c.generations, "--backend",
			c.backend}, small...)...)
		for key, value := range map[string]any{"algorithm": "map-elites", "env": "pointmaze", "seed": 0.0, "finished": true,
			"generations": c.want, "evaluations": 16 * (c.want + 1), "env_steps": 320 * (c.want + 1)} {
			errtest.Equal(t, "--generations "+c.generations+": "+key, result[key], value)
		}
		for _, key := range []string{"run", "seconds", "compile_seconds", "max_fitness", "coverage", "qd_score", "backend"} {
			if _, ok := result[key]; !ok {
				t.Errorf("no %q in %v", key, result)
			}
		}
	}
}

// train and show print the newest corrected metrics, and the steps of evaluations that only measure.
func TestCorrectedAndEvaluationStepsArePrinted(t *testing.T) {
	args := append([]string{"train", "-q", "--backend", "go", "--runs", t.TempDir(), "--generations", "1"}, small...)
	args[slices.Index(args, "map-elites")] = "dns"
	args = slices.Clip(append(args, "--set", "capacity=32"))
	stdout, _ := succeed(t, append(args, "--corrected", "2", "--by", "median")...)
	var result struct {
		Run             string
		EvaluationSteps int64 `json:"evaluation_steps"`
		Corrected       struct{ Average string }
	}
	answer(t, &result, append(args, "--json")...)
	shown, _ := succeed(t, "show", result.Run, "--figures", t.TempDir())
	for _, text := range []string{stdout, shown} {
		errtest.Contains(t, text, "\neval steps     1280, which only measure\n", ": median of 2 episodes, generation 1\n")
	}
	errtest.Equal(t, "evaluation steps and kind of average", fmt.Sprint(result.EvaluationSteps, " ", result.Corrected.Average),
		"1280 median of 2 episodes")
	refuses(t, mistake{append(args, "--corrected", "3"), 1, "qdnb eval " + result.Run + " --corrected"})
}

// A mistake gives one line and a status, and leaves nothing. The library's tests have the mistakes of specs.
func TestMistakes(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	plan, _ := writePlan(t, 2, 1)
	elsewhere := t.TempDir()
	adaptation := filepath.Join(elsewhere, emptyRun(t, elsewhere, records.Adaptation, "ant-uni"))
	train := func(more ...string) []string {
		return append(append([]string{"train", "-q", "--runs", root}, small...), more...)
	}
	in := func(command string, more ...string) []string { // of a run
		return append([]string{command, "--runs", trained()}, more...)
	}
	sweep := func(more ...string) []string {
		return append([]string{"sweep", "run", "-q", "--runs", root, "--plan", plan}, more...)
	}
	script := func(cluster string, more ...string) []string {
		return append([]string{"sweep", "script", cluster, "--plan", plan}, more...)
	}
	programs := func(out, kind string) []string {
		return []string{"programs", "--out", out, "--kind", kind, "--algorithm", "map-elites", "--env", "pointmaze"}
	}
	page, gif := filepath.Join(root, "page.html"), filepath.Join(root, "skills.gif")
	const elites, skilled = "map-elites-pointmaze-0", "diayn-reward-pointmaze-0"
	refuses(t, []mistake{
		{[]string{"fly"}, exitUsage, "fly"},
		{[]string{"help", "fly"}, exitUsage, "fly"},
		{[]string{"help", "sweep", "fly"}, exitUsage, "fly"},
		{programs(filepath.Join(root, "programs"), "gpu"), exitUsage, "gpu"},
		{programs(filepath.Join(file, "programs"), "cpu"), 1, "choose another one"},
		{[]string{"doctor", "--backend", "gpux"}, exitUsage, `unknown backend "gpux"; did you mean "gpu"?`},

		{[]string{"train", "--env", "pointmaze"}, exitUsage, "--algorithm"},
		{train("--algorithm", "map-elits"), exitUsage, `did you mean "map-elites"`},
		{train("--env", "ant-umi"), exitUsage, `did you mean "ant-uni"`},
		{train("--generation", "1"), exitUsage, "did you mean \"--generations\""},
		{train("--set", "bach=3"), exitUsage, `did you mean "batch"`},
		{train("--generations", "-1"), exitUsage, "--generations must be 1 or more"},
		{train("--generations=0"), exitUsage, "--generations must be 1 or more"},
		{train("--time=0s"), exitUsage, "--time must be more than 0"},
		{train("--corrected", "1000000000"), exitUsage, "--corrected (Spec.Corrected) must be between 0 and"},
		{train("--seeds", "0..1", "--seed", "2"), exitUsage, "can't be used together"},
		{[]string{"train"}, exitUsage, "missing flags: --algorithm=NAME, and --env=NAME, --robot=FILE or --simulator=COMMAND"},
		{train("--seeds", "2..0"), exitUsage, "0..7 or 0,3,5"},
		{train("--runs", filepath.Join(file, "runs")), 1, "is not a folder"},
		{train("--task", "velocity"), exitUsage, "add --robot FILE"},
		{[]string{"train", "--robot", "robot.txt"}, exitUsage, "ends in .xml or .json"},

		{in("show"), exitUsage, "no run given"},
		{in("show", "a", "--run", "b"), exitUsage, "one run"},
		{in("show", "nothing"), exitUsage, "nothing"},
		{in("show", elites, "--html", page, "--films=-1"), exitUsage, "--films -1: want a positive number"},
		{in("show", elites, "--gif", page), exitUsage, "want a file that ends in .gif"},
		{in("show", elites, "--html", gif), exitUsage, "want a file that ends in .html or .htm"},
		{in("show", elites, "--gif", gif, "--html", page), exitUsage, "mutually exclusive"},
		{in("show", skilled, "--html", page, "--films", "2"), exitUsage, "drop it"},
		{in("show", elites, "--films", "2"), exitUsage, "add --html"},
		{in("show", elites, "--html", page, "--json"), exitUsage, "--json"},
		{in("show", elites, "--html"), exitUsage, "--html needs a value (see"},
		{in("show", elites, "--cell", "--json"), exitUsage, "--cell needs a value (see"},
		{in("train", "--set"), exitUsage, "--set needs a value (see"},
		{in("show", elites, "--cell", "32"), exitUsage, "has cells 0 to 31"},
		{in("show", skilled, "--skill", "77"), exitUsage, "there is no skill 77"},

		{[]string{"eval"}, exitUsage, "no run given"},
		{in("eval", elites, "--run", "other"), exitUsage, "one run"},
		{in("eval", elites, "--env", "ant-uni"), exitUsage, "ant-uni has 87 observations and 8 actions"},
		{in("eval", elites, "--target", "1,2"), exitUsage, "nor a target"},
		{in("eval", elites, "--target", "1"), exitUsage, "want two coordinates, as in 10,30, not \"1\" (see `qdnb eval --help`)"},
		{in("eval", elites, "--by", "median"), exitUsage, "--corrected"},
		{in("eval", elites, "--figure", filepath.Join(root, "a.png")), exitUsage, "--figure draws corrected repertoires"},
		{in("eval", elites, "--corrected", "--figure", filepath.Join(root, "a.txt")), exitUsage, "known: html, pdf, png, svg"},
		{[]string{"eval", adaptation}, exitUsage, "no policies of its own: name the run whose skills it uses, aurora"},

		{[]string{"import", "--policy", file, "--env", "pointmaze"}, exitUsage, "--algorithm"},
		{[]string{"import", "--policy", file, "--env", "pointmaze", "--algorithm", "dads"}, 1, "cut off"},
		{[]string{"import", "--policy", root, "--env", "pointmaze", "--algorithm", "dads"}, exitUsage, "it is a folder: give"},
		{[]string{"export", "--out", "a.npz"}, exitUsage, "no run given"},
		{[]string{"export", "--run", adaptation, "--out", filepath.Join(root, "a.npz")}, exitUsage, "no policies of its own"},
		{in("export", elites, "--out", filepath.Join(file, "a.npz")), 1, "not a directory"},
		{in("export", elites, "--out", "a.txt"), exitUsage, "ends in neither .npz nor .onnx"},
		{in("export", elites, "--out", "a.npz", "--skill", "0"), exitUsage, "no skills: give a cell"},
		{in("export", elites, "--out", "a.npz", "--cell", "0", "--repertoire"), exitUsage, "mutually exclusive"},
		{[]string{"import", "--env", "pointmaze", "--algorithm", "dads"}, exitUsage, "give one of --policy and --repertoire"},
		{[]string{"train", "--env", "arm", "--algorithm", "dads", "--runs", root}, exitUsage, "learns from observations"},
		{append([]string{"train", "--runs", root, "--seeds", "1,1", "-q"}, small...), exitUsage, "seed 1 is given twice"},
		{in("play", elites), exitUsage, "`qdnb show RUN --html skill.html`"},
		{in("play", elites, "--cell=-3"), exitUsage, "--cell must be at least 0, not -3"},
		{[]string{"programs", "--kind", "cpu", "--out", root, "--devices", "0", "--env", "arm", "--algorithm", "dns"}, exitUsage,
			"at least 1 device"},

		{[]string{"robot", filepath.Join(root, "none.xml")}, exitUsage, "none.xml: there is no such file: give"},
		{[]string{"robot", filepath.Join(root, "none.json")}, exitUsage, "none.json: there is no such file: give"},
		{[]string{"robot", filepath.Join(file, "none.txt")}, exitUsage, "none.txt: there is no such file: give"},
		{[]string{"robot", file}, exitUsage, "want a robot that ends in"},
		{in("play", elites, "--out", "gait.avi"), exitUsage, "ends in .gif or .mp4"},

		{[]string{"sweep", "plan", "--experiment", "adaption"}, exitUsage, `did you mean "adaptation"?`},
		{[]string{"sweep", "plan", "--experiment", "prior", "--seeds", "0"}, exitUsage, "--seeds must be 1 or more"},
		{[]string{"sweep", "plan"}, exitUsage, "--experiment"},
		{[]string{"sweep", "plan", "--experiment", ""}, exitUsage, "--experiment names none: give one of adapt"},
		{[]string{"sweep", "results", "--plan", plan, "--runs", filepath.Join(root, "none"), "--out",
			filepath.Join(root, "results")}, 1, "give --runs the folder of its runs"},
		{sweep("--corrected=-2"), exitUsage, "--corrected must be between 0 and"},
		{sweep("--plan", "no/plan"), exitUsage, "plan no/plan: there is no such file: write one with `qdnb sweep plan"},
		{[]string{"sweep", "run", "a.jsonl"}, exitUsage, "unexpected argument a.jsonl, and --plan=FILE is missing"},
		{[]string{"figures", "--in", root}, exitUsage, "has no plan.jsonl: make"},
		{[]string{"list", filepath.Join(root, "none")}, exitUsage, "no runs in"},
		{[]string{"show", root}, exitUsage, "no run in"},
		{sweep("--index", "2"), exitUsage, "2 lines, 0 to 1"},
		{sweep("--index=-1"), exitUsage, "index -1 is out of range"},
		{sweep("--index", "x"), exitUsage, `--index is "x", not a non-negative integer`},
		{sweep("--index", "auto"), exitUsage, "not a task of a job array"},
		{sweep("--index", "0", "--out", root), exitUsage, "sweep results"},
		{sweep("--jobs", "0"), exitUsage, "--jobs must be"},
		{sweep("--poll", "0s"), exitUsage, "--poll must be"},
		{script("lsf"), exitUsage, "known: kubernetes, slurm"},
		{script("slurm", "--name", "a b"), exitUsage, "lower-case letters"},
		{script("slurm", "--memory", "8"), exitUsage, "as in 8G"},
		{script("slurm", "--limit", "1m"), exitUsage, "--limit must be"},
		{script("kubernetes", "--runs", "/shared/runs"), exitUsage, "is not in the volume"},
		{script("kubernetes", "--runs", "../runs"), exitUsage, "is not in the volume"},
		{script("kubernetes", "--runs", "/database"), exitUsage, "is not in the volume"},
	}...)
	errtest.Equal(t, "mistakes leave", filesIn(t, root), "file")
}

// By default, only hyperparameters that differ from the defaults are printed; -v prints all as JSON.
func TestHyperparametersAreShort(t *testing.T) {
	root := t.TempDir()
	train := append([]string{"train", "--runs", root, "--generations", "1", "--backend", "go"}, small...)
	const short = "batch=16 cells=32 cvt_samples=500 episode_length=20 hidden=[8,8] (-v lists all)\n"
	show := []string{"show", "map-elites", "--runs", root, "--figures", t.TempDir()}
	for _, args := range [][]string{train, show} {
		stdout, stderr, status := invoke(t, args...)
		if status != 0 || !strings.Contains(stdout, "hyperparams    "+short) || strings.Contains(stdout+stderr, "{") {
			t.Errorf("qdnb %s: status %d, %s%s", args[0], status, stdout, stderr)
		}
		if stdout, _, _ := invoke(t, append(args, "-v")...); !strings.Contains(stdout,
			`hyperparams    {"batch":16,`) || !strings.Contains(stdout, `"iso_sigma":`) {
			t.Errorf("qdnb %s -v: %s", args[0], stdout)
		}
	}
	if _, stderr, _ := invoke(t, train...); !strings.Contains(stderr, "\nhyperparameters: "+short) {
		t.Errorf("training begins with %s", stderr)
	}
	config, err := qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze"}.Config()
	if got := hyperparameters(config, false); err != nil || got != "defaults (-v lists them)" {
		t.Errorf("of defaults: %q, %v", got, err)
	}
}

func TestVersionAndHelp(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		stdout, _ := succeed(t, arg)
		errtest.Contains(t, stdout, "qdnb      ", "commit    ", "go        "+runtime.Version(),
			"module    github.com/gomlx/gomlx v", "plugin    ")
	}
	for _, path := range []string{"", "sweep"} { // no command is named
		want, _, _ := invoke(t, append(strings.Fields(path), "--help")...)
		got, stderr, status := invoke(t, strings.Fields(path)...)
		errtest.Equal(t, path, fmt.Sprint(got, stderr, status), fmt.Sprint(want, exitUsage))
	}
	for _, path := range []string{"", "train", "sweep", "sweep plan", "help"} {
		command := strings.Fields(path)
		want, _, _ := invoke(t, append(command, "--help")...)
		got, stderr, status := invoke(t, append([]string{"help"}, command...)...)
		if status != 0 || got != want || !strings.Contains(got, "Usage: qdnb "+path) {
			t.Errorf("help %s: status %d, %s, want %s", path, status, got+stderr, want)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Setenv(backend.BackendEnv, "")
	var found diagnosis
	if answer(t, &found, "doctor", "--json"); found.Workers < 1 {
		t.Errorf("doctor: %+v", found)
	}
	programs := filepath.Join(t.TempDir(), "programs")
	must.Do(os.MkdirAll(programs, 0o700))
	must.Do(os.WriteFile(filepath.Join(programs, "a.xla"), make([]byte, 3<<20), 0o600))
	for _, c := range []struct{ env, args, says string }{
		{programs, "", "1 compiled programs, 3.0 of 512 MB"},
		{programs, "--forget", "0 compiled programs"},
		{"off", "", "not cached"},
	} {
		t.Setenv(backend.ProgramsEnv, c.env)
		stdout, _ := succeed(t, append([]string{"doctor", "--backend", "go"}, strings.Fields(c.args)...)...)
		errtest.Contains(t, stdout, c.says, "go        go1.", "module    github.com/gomlx/gomlx v", "plugin    cuda  ",
			"cache     ", "programs  ", "backend   go, ", "check     ", "advice    the pure Go backend is slow")
	}
	// The diagnosis is printed even if the backend cannot be opened.
	stdout, stderr, status := invoke(t, "doctor", "--backend", filepath.Join(t.TempDir(), "plugin.so"))
	if status == 0 || !strings.Contains(stdout, "plugin    cpu") || strings.Count(strings.TrimSpace(stderr), "\n") > 0 ||
		!strings.Contains(stderr, "plugin.so") {
		t.Errorf("doctor with a missing plugin: status %d, %s%s", status, stdout, stderr)
	}
	t.Setenv(backend.ProgramsEnv, "relative")
	refuses(t, mistake{[]string{"doctor", "--backend", "go"}, 1, "absolute path"})
}

// A robot is printed with its notes, drawn, and shown on a page.
func TestRobot(t *testing.T) {
	dir := t.TempDir()
	picture, page := filepath.Join(dir, "ant.png"), filepath.Join(dir, "ant.html")
	const ant = "../../envs/mujoco/testdata/accepted/gym_ant_model.json"
	stdout, _ := succeed(t, "robot", ant, "--picture", picture, "--html", page)
	errtest.Contains(t, stdout, "13 bodies, 8 joint angles, 14 degrees of freedom, 8 actions", "ankle_1", "0.5236 to 1.222",
		"world - torso", "constraints are solved to convergence")
	for _, path := range []string{picture, page} {
		if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", path, err)
		}
	}
	refuses(t, mistake{[]string{"robot", ant, "--verify"}, exitUsage, "give that file"},
		mistake{[]string{"robot", "../../envs/mujoco/testdata/refused/noslip_model.json", "--picture", picture}, 1,
			"noslip_iterations"})
	stdout, _ = succeed(t, "robot", "../../envs/robots/go1.json", "--picture", picture)
	errtest.Contains(t, stdout, "\nFR_calf - RL_calf    8\n", "of 97 possible contacts without friction between links",
		"of 65 possible contacts with friction between links")
	// A robot with contacts that are not modelled is shown all the same. Its file is read once.
	model := must.Get(os.ReadFile("../../envs/mujoco/testdata/refused/ellipsoid_collides_model.json"))
	once := filepath.Join(dir, "once.json")
	must.Do(syscall.Mkfifo(once, 0o600))
	go func() {
		must.Do(os.WriteFile(once, model, 0))
		_ = os.WriteFile(once, nil, 0) // what a second reader would get
	}()
	stdout, _ = succeed(t, "robot", once, "--picture", picture)
	errtest.Contains(t, stdout, " is left out: ")
}

// Below a limit of address space with which Go's runtime or a library would abort, there is one line.
func TestLimitedAddressSpace(t *testing.T) {
	for _, limit := range []int{200_000, 700_000, 800_000, 1_000_000, 1_200_000, 1_900_000} { // kB
		out, err := exec.Command("/bin/sh", "-c", fmt.Sprintf("ulimit -v %d && exec %s version", limit, program)).CombinedOutput()
		want := fmt.Sprintf("qdnb: this process may use %.1f GB of address space, and needs 2.0 GB", float64(limit)*1024/1e9)
		if !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 1 || err == nil {
			t.Errorf("%d kB: %v, %.500s", limit, err, out)
		}
	}
}

// A command whose output has no room fails, also where it prints line by line.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("SKIPPED: this system has no device that is always full: %v", err)
	}
	defer func() { _ = full.Close() }()
	run := must.Get(filepath.Glob(filepath.Join(trained(), "map-elites-pointmaze-0*")))[0]
	for _, args := range [][]string{{"version"}, {"doctor"}, {"list", trained()},
		{"list", "--json", trained()}, {"show", run}, {"eval", run, "--episodes", "1"}, {"figures", "--list"},
		{"sweep", "plan", "--experiment", "prior"},
		{"export", "--run", run, "--out", filepath.Join(t.TempDir(), "policies.npz")}} {
		var errs bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Stdout, cmd.Stderr = full, &errs
		err := cmd.Run()
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		if last := lines[len(lines)-1]; err == nil || !strings.HasPrefix(last, "qdnb: ") ||
			!strings.Contains(last, "redirect the output elsewhere") {
			t.Errorf("qdnb %s: %v, %q", strings.Join(args, " "), err, errs.String())
		}
	}
}

func TestSeedsAreRangesAndLists(t *testing.T) {
	for text, want := range map[string]seeds{"0..3": {0, 1, 2, 3}, "5": {5}, "-1..1,7": {-1, 0, 1, 7},
		"9223372036854775806..9223372036854775807": {9223372036854775806, 9223372036854775807}} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3..1", "a", "1..", "0,", "0..100000", "-9223372036854775808..9223372036854775807"} {
		var got seeds
		errtest.Want(t, got.UnmarshalText([]byte(text)), "is not a list of seeds such as 0..7 or 0,3,5")
	}
}

// The command line trains one run per seed and prints a line for each.
func TestTrainSeedsPrintsALineForEach(t *testing.T) {
	args := append([]string{"train", "--runs", t.TempDir(), "--backend", "go", "--generations", "2", "--json"}, small...)
	stdout, stderr := succeed(t, append(args, "--seeds", "3..5")...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 3 || !strings.Contains(stderr, "map-elites-pointmaze, 3 seeds") {
		t.Fatalf("%q, %q", stdout, stderr)
	}
	for i, line := range lines {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Seed != int64(3+i) || !r.Finished || r.Generations != 2 {
			t.Errorf("line %d is %s, %v", i, line, err)
		}
	}
	var first result
	must.Do(json.Unmarshal([]byte(lines[0]), &first))
	must.Do(os.WriteFile(filepath.Join(first.Run, "config.json"), []byte("{"), 0o666))
	stdout, stderr, status := invoke(t, append(args, "--seeds", "3..6")...)
	if n := strings.Count(stdout, "\n"); n != 3 || status != 1 || !strings.Contains(stderr, "qdnb: seed 3: "+first.Run) {
		t.Errorf("with a damaged run, %d of 4 seeds are trained: %q", n, stderr)
	}
}

// fakeGymnasium is a module in place of gymnasium: a point on a line, which actions move, is to reach 0.5.
const fakeGymnasium = `
class Space:
    def __init__(self, *limits): self.low, self.high = limits; self.shape = (len(self.low),)
class Env:
    observation_space, action_space = Space([-1, -1], [1, 1]), Space([-0.1], [0.1])
    class spec: max_episode_steps = 10
    def reset(self, seed=None):
        self.x, self.v = 0.0, 0.0
        return [self.x, self.v], {}
    def step(self, action):
        self.v = action[0]
        self.x += self.v
        print("noise")
        return [self.x, self.v], float("nan") if self.x < -0.9 else -abs(self.x - 0.5), False, False, {}
def make(name): return Env()
`

// A Python process evaluates policies as nn.Act does, for a run that is extended, shown and continued
// by another algorithm. A process that fails is one line.
func TestSimulatorProcess(t *testing.T) {
	if exec.Command("python3", "-c", "").Run() != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	modules, root := t.TempDir(), t.TempDir()
	must.Do(os.WriteFile(filepath.Join(modules, "gymnasium.py"), []byte(fakeGymnasium), 0o666))
	t.Setenv("PYTHONPATH", modules)
	tool := must.Get(filepath.Abs("../../tools/gymnasium_simulator.py"))
	command := "exec python3 " + tool + " Line-v0 --descriptor 0 1 --offset 1.5 --hidden 3 --processes "
	args := func(processes, algorithm string, more ...string) []string {
		return append([]string{"train", "--json", "--quiet", "--backend", "go", "--runs", root, "--algorithm", algorithm,
			"--simulator", command + processes, "--set", "hidden=[3]", "--set", "batch=8", "--set", "cells=16",
			"--set", "cvt_samples=100"}, more...)
	}
	var made result
	answer(t, &made, args("1", "map-elites", "--set", "iso_sigma=0.5", "--generations", "3")...)
	answer(t, &made, args("2", "map-elites", "--set", "iso_sigma=0.5", "--generations", "9")...)
	r := must.Get(must.Get(runs.Open(made.Run)).Repertoire())
	for _, cell := range r.Filled() {
		x, v, total := float32(0), float32(0), 0.0
		for range 10 {
			v = 0.1 * nn.Act([]int{2, 3, 1}, r.Genotype(cell), []float32{x, v})[0]
			x += v
			total -= math.Abs(float64(x) - 0.5)
		}
		if math.Abs(total-float64(r.Fitnesses[cell])) > 1e-4 {
			t.Errorf("cell %d has fitness %g, evaluated here %g", cell, r.Fitnesses[cell], total)
		}
	}
	if made.Evaluations != 80 || made.EnvSteps != 800 || made.Env != "Line-v0" || len(r.Filled()) < 2 {
		t.Errorf("%+v, %d cells", made, len(r.Filled()))
	}
	var dns result
	answer(t, &dns, args("1", "dns", "--generations", "2", "--from", filepath.Base(made.Run))...)
	if *dns.MaxFitness < *made.MaxFitness-1e-6 {
		t.Errorf("the best fitness is %g after a start from %g", *dns.MaxFitness, *made.MaxFitness)
	}
	facts := func(name string) string {
		return fmt.Sprintf(`echo '{"name": %q, "observations": 2, "actions": 1, "length": 9, "descriptor": `+
			`{"components": ["x"], "lower": [0], "upper": [1]}}'; read line; `, name)
	}
	results := func(fitness, descriptors string) string {
		return fmt.Sprintf(`echo '{"fitness": %q, "descriptors": %q}'; cat`, fitness, descriptors)
	}
	for want, simulator := range map[string]string{
		"give --hidden the layers":        command + "1 --hidden 4",
		"(exit status 3): see its output": "exit 3",
		`wrote "hello", which is no`:      "echo hello",
		"the environment has no name":     "echo '{}'; cat",
		"(exit status 4)":                 facts("dead") + "exit 4",
		"(signal: killed)":                facts("mute") + "exec sleep 60 >&-",
		"1048576 bytes in a line":         "cat /dev/zero",
		"2 fitnesses and 1 numbers":       facts("short") + results("AAAAAAAAAAA=", "AAAAAA=="),
		"30 results do not fit the 8":     facts("long") + results(strings.Repeat("AAAA", 40), strings.Repeat("AAAA", 40)),
	} {
		broken := args("1", "map-elites", "--generations", "9", "--set", "slice=1")
		broken[10] = simulator
		_, stderr, status := invoke(t, broken...)
		if status != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: status %d, %s", simulator, status, stderr)
		}
	}
}

// Training in a folder with an imported repertoire says that it exists; --from continues it.
func TestImportedRepertoireIsMentioned(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(t.TempDir(), "r.npz")
	must.Do(npz.Write(path, map[string]npz.Array{"genotypes": npz.Of(make([]float32, 24), 2, 12),
		"fitnesses": npz.Of([]float32{-30, -20}), "descriptors": npz.Of(make([]float32, 4), 2, 2),
		"centroids": npz.Of([]float32{0, 0, 0.1, 0.1}, 2, 2)}))
	both := []string{"--runs", root, "--algorithm", "map-elites", "--env", "pointmaze", "--set", "hidden=[2]", "--set",
		"episode_length=20"}
	succeed(t, append([]string{"import", "--repertoire", path}, both...)...)
	train := append([]string{"train", "--backend", "go", "--generations", "1", "--set", "batch=4", "--set", "cells=4",
		"--set", "cvt_samples=10"}, both...)
	_, stderr, _ := invoke(t, train...)
	_, name, _ := strings.Cut(stderr, "--from ")
	name, _, _ = strings.Cut(name, " ")
	errtest.Contains(t, stderr, "is not continued by")
	if _, stderr := succeed(t, append(train, "--from", name)...); strings.Contains(stderr, "is not continued by") {
		t.Error(stderr)
	}
}
