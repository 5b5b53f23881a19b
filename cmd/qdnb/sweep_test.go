package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// writePlan writes a plan of runs that take a second or two each. The last needs the first.
func writePlan(t *testing.T, n int, generations int) (path string, lines []sweep.Line) {
	t.Helper()
	for seed := range int64(n) {
		config := must.Get(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: seed, Tune: runs.Assign(
			"batch=16", "cells=32", "cvt_samples=500", "hidden=8,8", "episode_length=20")}.Config())
		line := sweep.Line{Experiment: "training", Label: "map-elites", Run: config,
			Budget: qdnb.Generations(generations)}
		if seed == int64(n-1) {
			line.Needs = []sweep.Need{{Run: lines[0].Run, Budget: lines[0].Budget}}
		}
		lines = append(lines, line)
	}
	var text bytes.Buffer
	must.Do(sweep.Write(&text, lines))
	path = filepath.Join(t.TempDir(), "plan.jsonl")
	must.Do(os.WriteFile(path, text.Bytes(), 0o666))
	return path, lines
}

// lineStatuses returns the lines of `qdnb sweep status --json`.
func lineStatuses(t *testing.T, plan, root string) (list []sweep.Status) {
	t.Helper()
	var report struct {
		Total sweep.Totals `json:"total"`
		Lines []lineStatus `json:"lines"`
	}
	answer(t, &report, "sweep", "status", "--json", "--plan", plan, "--runs", root)
	for i, line := range report.Lines {
		if line.Index != i || line.Hash == "" || line.Run == "" {
			t.Errorf("line %d is reported as %+v", i, line)
		}
		list = append(list, line.Status)
	}
	errtest.Equal(t, "lines in total", report.Total.Lines, len(list))
	return list
}

func TestSweepPlanRunStatusResults(t *testing.T) {
	plan, lines := writePlan(t, 4, 3)
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "results")
	check := func(want ...sweep.Status) {
		t.Helper()
		errtest.Equal(t, "the lines", lineStatuses(t, plan, root), want)
	}
	check(sweep.Ready, sweep.Ready, sweep.Ready, sweep.Waiting)

	t.Setenv("SLURM_ARRAY_TASK_ID", "3") // runs what it needs too
	succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--index", "auto")
	os.Unsetenv("SLURM_ARRAY_TASK_ID")
	check(sweep.Done, sweep.Ready, sweep.Ready, sweep.Done)
	t.Setenv("JOB_COMPLETION_INDEX", "1")
	succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--index=auto")
	check(sweep.Done, sweep.Done, sweep.Ready, sweep.Done)

	stdout, stderr := succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--out", out)
	if !strings.Contains(stderr, "line 2/4") || strings.Contains(stderr, "line 1/4") ||
		!strings.Contains(stdout, "training.csv") {
		t.Errorf("%s%s", stdout, stderr)
	}
	check(sweep.Done, sweep.Done, sweep.Done, sweep.Done)
	collected, err := os.ReadFile(filepath.Join(out, "training.csv"))
	if err != nil || strings.Count(string(collected), "\n") != 5 {
		t.Errorf("training.csv (%v): %s", err, collected)
	}
	again := filepath.Join(t.TempDir(), "again")
	succeed(t, "sweep", "results", "--plan", plan, "--runs", root, "--out", again)
	if other, err := os.ReadFile(filepath.Join(again, "training.csv")); err != nil || !bytes.Equal(other, collected) {
		t.Errorf("sweep results wrote (%v)\n%s\nnot\n%s", err, other, collected)
	}

	stdout, _ = succeed(t, "sweep", "status", "--plan", plan, "--runs", root, "--all")
	if !strings.Contains(stdout, "4 lines, 4 done") || !strings.Contains(stdout, lines[2].Run.Name()) ||
		strings.Contains(stdout, "to go") || strings.Contains(stdout, "stale") {
		t.Error(stdout)
	}

	// A run of other programs is listed.
	status := filepath.Join(root, lines[2].Run.Name(), "status.json")
	text := string(must.Get(os.ReadFile(status)))
	other := regexp.MustCompile(`"(programs|numbers)": *"\w{16}"`).ReplaceAllString(text, `"$1":"0123456789abcdef"`)
	must.Do(os.WriteFile(status, []byte(other), 0o666))
	stdout, _ = succeed(t, "sweep", "status", "--plan", plan, "--runs", root)
	if !strings.Contains(stdout, lines[2].Run.Name()+": computed by other programs than today's\n") ||
		!strings.Contains(stdout, "stale   1 line") || strings.Contains(stdout, lines[1].Run.Name()) {
		t.Error(stdout)
	}
	var report struct{ Lines []lineStatus }
	answer(t, &report, "sweep", "status", "--json", "--plan", plan, "--runs", root)
	if a, b := report.Lines[1].Programs, report.Lines[2].Programs; a != session.SamePrograms || b != session.OtherPrograms {
		t.Errorf("programs %q and %q", a, b)
	}
	stdout, _ = succeed(t, "show", "--runs", root, lines[2].Run.Name())
	errtest.Contains(t, stdout, "programs       other programs (commit ")
}

// After a stopped process, a killed process and two processes that share the plan, the runs are the same as those of
// a single process. Package faults kills processes at more moments, and single runs, too.
func TestSweepSurvivesSignalsAndCompany(t *testing.T) {
	endless, lines := writePlan(t, 2, 1_000_000)
	root, alone := t.TempDir(), t.TempDir()
	arguments := func(plan, root string, more ...string) []string {
		return append([]string{"sweep", "run", "-q", "--plan", plan, "--runs", root, "--poll", "50ms"}, more...)
	}
	inTraining := func(log string) bool {
		metrics, err := os.ReadFile(log)
		return err == nil && bytes.Count(metrics, []byte("\n")) > 5
	}
	t.Setenv(session.CheckpointEnv, "0s") // so that a kill meets checkpoints
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		cmd := exec.Command(program, arguments(endless, root, "--jobs", "2")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		must.Do(cmd.Start())
		started := false
		for deadline := time.Now().Add(5 * time.Minute); !started; time.Sleep(20 * time.Millisecond) {
			for i, s := range lineStatuses(t, endless, root) {
				started = started || s == sweep.Running && inTraining(filepath.Join(root, lines[i].Run.Name(),
					"metrics.csv"))
			}
			if time.Now().After(deadline) {
				cmd.Process.Kill()
				cmd.Wait()
				t.Fatalf("nothing is in training: %s", stderr.String())
			}
		}
		must.Do(cmd.Process.Signal(signal))
		err := cmd.Wait()
		if signal == syscall.SIGTERM && (err == nil || cmd.ProcessState.ExitCode() != exitInterrupted ||
			!strings.Contains(stderr.String(), "is saved")) {
			t.Errorf("SIGTERM: %v: %s", err, stderr.String())
		}
	}
	started := must.Get(runs.Open(filepath.Join(root, lines[0].Run.Name())))
	generations := int(started.Status.Generation) + 300
	plan, _ := writePlan(t, 2, generations)
	if out, err := exec.Command(program, arguments(plan, root, "--jobs", "2")...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	succeed(t, arguments(plan, alone)...)
	for _, line := range lines {
		name := line.Run.Name()
		if got, want := curve(t, filepath.Join(root, name)),
			curve(t, filepath.Join(alone, name)); got != want || strings.Count(got, "\n") != generations+1 {
			t.Errorf("%s: %d rows differ from the %d of a single process", name,
				strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		stored := func(root string) []byte { return must.Get(os.ReadFile(filepath.Join(root, name, "repertoire.npz"))) }
		if !bytes.Equal(stored(root), stored(alone)) {
			t.Errorf("%s ends with another repertoire", name)
		}
	}
}

// curve returns a run's log without times.
func curve(t *testing.T, dir string) string {
	t.Helper()
	table := must.Get(runs.ReadTable(filepath.Join(dir, "metrics.csv")))
	var text strings.Builder
	for _, row := range table.Rows {
		for i, name := range table.Columns {
			if name != "seconds" {
				fmt.Fprintf(&text, "%v ", row[i])
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func TestSweepScripts(t *testing.T) {
	plan, _ := writePlan(t, 3, 1)
	stdout, _ := succeed(t, "sweep", "script", "slurm", "--plan", plan, "--runs", "/shared/it's/runs",
		"--parallel", "2", "--gpus", "1", "--limit", "26h30m", "--sbatch=--partition=gpu")
	for _, want := range []string{"#SBATCH --partition=gpu\n", "#SBATCH --time=26:30:00\n",
		"#SBATCH --gpus-per-node=1\n", "--array=0-1%2", "--array=2%2",
		`--runs '/shared/it'\''s/runs'`, "--plan '" + plan + "'", "'" + program + "' sweep run"} {
		errtest.Contains(t, stdout, want)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		cmd := exec.Command(bash, "-n")
		cmd.Stdin = strings.NewReader(stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash cannot read the script: %s", out)
		}
	}
	stdout, _ = succeed(t, "sweep", "script", "kubernetes", "--plan", plan, "--image", "registry/qdnb:1",
		"--gpus", "2", "--claim", "shared")
	for _, want := range []string{"completionMode: Indexed\n", "completions: 3\n", "parallelism: 3\n",
		"image: registry/qdnb:1\n", "claimName: shared\n",
		`--plan, "/data/plan.jsonl", --runs, "/data/runs", --index, auto`, "nvidia.com/gpu: 2\n",
		"memory: 8Gi\n"} {
		errtest.Contains(t, stdout, want)
	}
	stdout, _ = succeed(t, "sweep", "script", "kubernetes", "--plan", plan, "--cpus", "3", "--runs", "mine/runs")
	if !strings.Contains(stdout, `--runs, "/data/mine/runs"`) ||
		!strings.Contains(stdout, "- name: QDNB_WORKERS") || !strings.Contains(stdout, `value: "3"`) {
		t.Errorf("the manifest for 3 cores is\n%s", stdout)
	}
}

// A plan of several experiments has the lines of each. With --once, no run is planned twice.
func TestPlanOfSeveralExperiments(t *testing.T) {
	plan := func(args ...string) []string {
		stdout, _ := succeed(t, append([]string{"sweep", "plan", "--scale", "smoke", "--experiment"}, args...)...)
		return strings.Split(strings.TrimSpace(stdout), "\n")
	}
	all, once := plan("training,adaptation,training"), plan("training,adaptation", "--once")
	if apart := append(plan("training"), plan("adaptation")...); !slices.Equal(all, apart) {
		t.Errorf("%d lines, but %d of the experiments alone", len(all), len(apart))
	}
	lines := must.Get(sweep.Read(strings.NewReader(strings.Join(once, "\n")), "plan"))
	names := map[string]bool{}
	for _, line := range lines {
		if names[line.Run.Name()] {
			t.Errorf("%s is planned twice", line.Run.Name())
		}
		names[line.Run.Name()] = true
	}
	if len(once) >= len(all) {
		t.Errorf("%d of %d lines with --once", len(once), len(all))
	}
}

// Shipped runs need the name of their machine, and a damaged one gives no figure.
func TestSweepShip(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "results")
	ship := []string{"sweep", "ship", "--plan", filepath.Join(dir, paper.PlanFile), "--runs",
		filepath.Join(dir, paper.RunsFolder), "--out", out, "--scale", "small"}
	refuses(t, mistake{ship, 1, "do not record their machine"})
	stdout, _ := succeed(t, append(ship, "--machine", "a test")...)
	errtest.Contains(t, stdout, "6 runs, 0.0", "0 lines of the plan are not complete")
	found := must.Get(filepath.Glob(filepath.Join(out, paper.RunsFolder, "*", "metrics.csv")))
	must.Do(os.Truncate(found[3], 20))
	_, stderr := succeed(t, "figures", "--in", out, "--out", t.TempDir(), "--only", "table-9")
	if len(found) != 6 || !strings.Contains(stderr, found[3]) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a truncated file: %s", stderr)
	}
}

// The runs of a plan lie next to it, wherever the command runs, unless --runs or $QDNB_RUNS names a folder.
func TestRunsAreBesideThePlan(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	plan := filepath.Join(dir, "plan.jsonl")
	lines := []sweep.Line{{Experiment: "training", Label: "map-elites", Budget: runs.Budget{Generations: 1},
		Run: must.Get(runs.NewConfig("map-elites", "arm", 0, map[string]int{"batch": 16}))}}
	var text bytes.Buffer
	must.Do(sweep.Write(&text, lines))
	must.Do(os.WriteFile(plan, text.Bytes(), 0o666))
	for root, generation := range map[string]int64{filepath.Join(dir, "runs"): 1, other: 0} {
		w := must.Get(runs.Create(root, lines[0].Run))
		must.Do(w.SaveStatus(runs.Status{Progress: runs.Progress{Generation: generation}, Finished: true}))
		must.Do(w.Close())
	}
	t.Chdir(t.TempDir())
	check := func(root string, status sweep.Status, args ...string) {
		t.Helper()
		var report struct {
			Runs  string
			Lines []struct{ Status sweep.Status }
		}
		answer(t, &report, append([]string{"sweep", "status", "--json", "--plan", plan}, args...)...)
		if report.Runs != root || report.Lines[0].Status != status {
			t.Errorf("%v: %+v, want %s in %s", args, report, status, root)
		}
	}
	check(filepath.Join(dir, "runs"), sweep.Done)
	check(other, sweep.Ready, "--runs", other)
	out := filepath.Join(t.TempDir(), "tables")
	succeed(t, "sweep", "results", "--plan", plan, "--out", out)
	errtest.Contains(t, filesIn(t, out), "training.csv")
	script, _ := succeed(t, "sweep", "script", "slurm", "--plan", plan, "--program", "qdnb")
	errtest.Contains(t, script, filepath.Join(dir, "runs"))
	t.Setenv("QDNB_RUNS", other)
	check(other, sweep.Ready)
}
