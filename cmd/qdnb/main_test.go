package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/xla/backend"
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
	for _, generations := range []string{"2", "4", "3"} { // the last is already done
		var result map[string]any
		answer(t, &result, append([]string{"train", "--json", "--runs", root, "--generations", generations},
			small...)...)
		want := map[string]any{"algorithm": "map-elites", "env": "pointmaze", "seed": 0.0, "finished": true}
		switch generations {
		case "2":
			want["generations"], want["evaluations"], want["env_steps"] = 2.0, 48.0, 960.0
		default:
			want["generations"], want["evaluations"], want["env_steps"] = 4.0, 80.0, 1600.0
		}
		for key, value := range want {
			errtest.Equal(t, "--generations "+generations+": "+key, result[key], value)
		}
		for _, key := range []string{"run", "seconds", "compile_seconds", "max_fitness", "coverage",
			"qd_score", "backend"} {
			if _, ok := result[key]; !ok {
				t.Errorf("no %q in %v", key, result)
			}
		}
		arrays := must.Get(npz.Read(filepath.Join(result["run"].(string), "repertoire.npz")))
		filled := arrays["genotype_cells"].Len()
		for name, shape := range map[string][]int{"genotypes": {filled, 114}, "fitnesses": {32},
			"descriptors": {32, 2}, "centroids": {32, 2}} {
			if got := arrays[name].Shape; filled == 0 || !slices.Equal(got, shape) {
				t.Errorf("%s has shape %v, not %v", name, got, shape)
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
	if result.EvaluationSteps != 1280 || result.Corrected.Average != "median of 2 episodes" {
		t.Errorf("%+v", result)
	}
	refuses(t, mistake{append(args, "--corrected", "3"), 1, "qdnb eval " + result.Run + " --corrected"},
		mistake{append(args, "--corrected", "1000000000"), 1, "--corrected (Spec.Corrected) must be between 0 and"})
}

func TestMistakesAreOneLineAndAStatus(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	train := func(more ...string) []string {
		return append(append([]string{"train", "-q", "--runs", root}, small...), more...)
	}
	programs := func(out, kind, env string) []string {
		return []string{"programs", "--out", out, "--kind", kind, "--algorithm", "map-elites", "--env", env}
	}
	unmade := filepath.Join(root, "programs")
	refuses(t, []mistake{
		{programs(unmade, "gpu", "pointmaze"), 1, "gpu"},
		{programs(unmade, "cuda", "pointmase"), 1, `did you mean "pointmaze"`},
		{programs(filepath.Join(file, "programs"), "cpu", "pointmaze"), 1, "choose another one"},
		{[]string{"train", "--algorithm", "map-elite", "--env", "pointmaze"}, 1,
			`did you mean "map-elites"`},
		{[]string{"train", "--env", "pointmaze"}, exitUsage, "--algorithm"},
		{[]string{"fly"}, exitUsage, "fly"},
		{train("--set", "bach=3"), 1, `did you mean "batch"`},
		{train("--generations=-1"), 1, "generations"},
		{train("--generations=0"), 1, "--generations must be 1 or more"},
		{train("--time=0s"), 1, "--time must be more than 0"},
		{train("--backend", "abacus"), exitUsage, "abacus"},
		{train("--backend", "cudaa"), exitUsage, `did you mean "cuda"`},
		{[]string{"show"}, exitUsage, "no run given"},
		{[]string{"show", "a", "--run", "b"}, exitUsage, "one run"},
		{[]string{"eval"}, exitUsage, "no run given"},
		{[]string{"export", "--out", "a.npz"}, exitUsage, "no run given"},
		{[]string{"eval", "nothing", "--runs", root}, 1, "nothing"},
		{[]string{"help", "fly"}, exitUsage, "fly"},
		{[]string{"help", "sweep", "fly"}, exitUsage, "fly"},
		{train("--backend", filepath.Join(root, "none.so")), 1, "none.so"},
		{train("--runs", filepath.Join(file, "runs")), 1, "file"},
		{[]string{"show", "nothing", "--runs", root}, 1, "nothing"},
		{[]string{"robot", filepath.Join(root, "none.xml")}, 1, "none.xml"},
		{[]string{"robot", file}, 1, "want a robot that ends in"},
	}...)
	if left, _ := filepath.Glob(filepath.Join(root, "map-elites-*")); len(left) > 0 {
		t.Errorf("runs that could not begin left %v", left)
	}
	if _, err := os.Stat(unmade); err == nil {
		t.Error("programs that could not be built left a folder")
	}
}

// Every command that computes rejects an unknown backend before anything else, even for a finished
// run.
func TestBackendsAreCheckedEverywhere(t *testing.T) {
	root := trained()
	train := []string{"train", "-q", "--runs", root, "--generations", "1", "--algorithm", "map-elites", "--env", "pointmaze",
		"--set", "batch=16"}
	for _, setting := range tinySettings { // those of the run
		train = append(train, "--set", setting)
	}
	for _, args := range [][]string{
		train, {"show", "map-elites", "--runs", root}, {"eval", "map-elites", "--runs", root},
		{"sweep", "run", "--plan", "none.jsonl"},
		{"doctor"},
	} {
		refuses(t, mistake{append(args, "--backend", "gpux"), exitUsage, `unknown backend "gpux"; did you mean "gpu"?`})
	}
	// gpu is an alias of cuda, and a finished run needs neither.
	stdout, _ := succeed(t, append(train, "--backend", "gpu")...)
	errtest.Contains(t, stdout, "state          complete")
}

// By default, only hyperparameters that differ from the defaults are printed; -v prints all as
// JSON.
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
	stdout, _ := succeed(t, "doctor", "--backend", "go")
	errtest.Contains(t, stdout, "go        go1.", "module    github.com/gomlx/gomlx v", "plugin    cuda  ", "cache     ",
		"programs  ", "backend   go, ", "check     ", "advice    the pure Go backend is slow")
	t.Setenv(backend.ProgramsEnv, filepath.Join(t.TempDir(), "programs"))
	must.Do(os.MkdirAll(os.Getenv(backend.ProgramsEnv), 0o700))
	entry := filepath.Join(os.Getenv(backend.ProgramsEnv), "a.xla")
	must.Do(os.WriteFile(entry, make([]byte, 3<<20), 0o600))
	if stdout, _, _ := invoke(t, "doctor", "--backend", "go"); !strings.Contains(stdout,
		"1 compiled programs, 3.0 of 512 MB") {
		t.Errorf("doctor does not see a compiled program: %s", stdout)
	}
	if stdout, _, _ := invoke(t, "doctor", "--backend", "go", "--forget"); !strings.Contains(stdout,
		"0 compiled programs") {
		t.Errorf("doctor --forget leaves programs: %s", stdout)
	}
	for value, says := range map[string]string{"off": "not cached", "relative": "absolute path"} {
		t.Setenv(backend.ProgramsEnv, value)
		if stdout, stderr, _ := invoke(t, "doctor", "--backend", "go"); !strings.Contains(stdout+stderr, says) {
			t.Errorf("$%s=%s: %s%s", backend.ProgramsEnv, value, stdout, stderr)
		}
	}
	t.Setenv(backend.ProgramsEnv, "off")
	// The diagnosis is printed even if the backend cannot be opened.
	stdout, stderr, status := invoke(t, "doctor", "--backend", filepath.Join(t.TempDir(), "plugin.so"))
	if status == 0 || !strings.Contains(stdout,
		"plugin    cpu") || strings.Count(strings.TrimSpace(stderr),
		"\n") > 0 || !strings.Contains(stderr, "plugin.so") {
		t.Errorf("doctor with a missing plugin: status %d, %s%s", status, stdout, stderr)
	}
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
	refuses(t, mistake{[]string{"robot", ant, "--verify"}, 1, "give that file"},
		mistake{[]string{"robot", "../../envs/mujoco/testdata/refused/mocap_model.json", "--picture", picture}, 1, "(nmocap)"},
		mistake{[]string{"robot", "../../envs/mujoco/testdata/refused/ellipsoid_collides_model.json", "--picture", picture}, 1,
			"--ignore-pairs leaves such contacts out"})
}

// Below a limit of address space with which Go's runtime or a library would abort, there is one line.
func TestLimitedAddressSpace(t *testing.T) {
	for _, limit := range []int{200_000, 700_000, 800_000, 1_000_000, 1_200_000, 1_900_000} { // kB
		out, err := exec.Command("/bin/sh", "-c", fmt.Sprintf("ulimit -v %d && exec %s version", limit,
			program)).CombinedOutput()
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
