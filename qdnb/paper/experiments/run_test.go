package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// lenient decodes some of a run's hyperparameters.
func lenient(t *testing.T, c runs.Config, into any) {
	t.Helper()
	must.Do(json.Unmarshal(c.Hyperparameters, into))
}

// tiny returns a line that trains for a second.
func tiny(t *testing.T, seed int64, generations int) sweep.Line {
	t.Helper()
	config := must.Get(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: seed, Tune: runs.Assign(
		"batch=8", "cells=16", "cvt_samples=100", "hidden=4", "episode_length=10")}.Config())
	line := must.Get(sweep.Line{Experiment: "training", Label: "map-elites", Run: config,
		Budget: qdnb.Generations(generations)}.Sealed())
	return line
}

// edited returns a line with other hyperparameters.
func edited(t *testing.T, line sweep.Line, old, new string) sweep.Line {
	t.Helper()
	line.Run.Hyperparameters = json.RawMessage(strings.Replace(string(line.Run.Hyperparameters), old, new, 1))
	line = must.Get(line.Sealed())
	return line
}

func done(t *testing.T, root string, line sweep.Line) bool {
	return must.Get(sweep.IsDone(root, line.Run, line.Budget))
}

func TestAFailureStopsOnlyWhatNeedsIt(t *testing.T) {
	good, bad := tiny(t, 0, 2), edited(t, tiny(t, 1, 2), `"batch":8`, `"batch":0`)
	unknown := edited(t, tiny(t, 2, 2), `"batch":8`, `"batch":8,"bach":8`)
	older := edited(t, tiny(t, 3, 2), `"batch":8,`, ``) // from a version without this hyperparameter
	needs := tiny(t, 4, 2)
	needs.Needs = []sweep.Need{{Run: bad.Run, Budget: bad.Budget}}
	last := tiny(t, 5, 2)
	lines := []sweep.Line{bad, unknown, older, needs, good, last}
	root := t.TempDir()
	var log bytes.Buffer
	o := RunOptions{Runs: root, Quiet: true, Log: &log}
	err := Run(context.Background(), lines, o)
	if !errors.Is(err, ErrFailed) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v; want %v", err, ErrFailed)
	}
	for _, want := range []string{"4 of 6 lines failed", "batch must be between 1",
		`unknown field "bach"; did you mean "batch"?`,
		"write the plan again", "which failed"} {
		errtest.Contains(t, err.Error(), want)
	}
	again := bad
	again.Experiment = "reward" // the same run
	log.Reset()
	err = Run(context.Background(), []sweep.Line{bad, again}, o)
	if !errors.Is(err, ErrFailed) || strings.Contains(log.String(), "line 1/2: ") {
		t.Errorf("two lines of a run that fails: %v\n%s", err, log.String())
	}
	for i, line := range lines {
		if want := i >= 4; done(t, root, line) != want {
			t.Errorf("line %d is done: %v, want %v", i, !want, want)
		}
	}

	log.Reset()
	if err := Run(context.Background(), lines[4:], o); err != nil || strings.Contains(log.String(), "line 0") {
		t.Errorf("a complete line was repeated: %v, %s", err, log.String())
	}
	for _, index := range []int{-1, 6} {
		errtest.Want(t, RunIndex(context.Background(), lines, index, o), "6 lines, 0 to 5")
	}
}

// A single line runs its needs first.
func TestIndexMakesItsNeeds(t *testing.T) {
	needed, line := tiny(t, 0, 2), tiny(t, 1, 2)
	line.Needs = []sweep.Need{{Run: needed.Run, Budget: needed.Budget}}
	root := t.TempDir()
	must.Do(RunIndex(context.Background(), []sweep.Line{tiny(t, 2, 2), line}, 1,
		RunOptions{Runs: root, Quiet: true, Log: new(bytes.Buffer)}))
	if !done(t, root, needed) || !done(t, root, line) || done(t, root, tiny(t, 2, 2)) {
		t.Error("expected only the line and its needs to be done")
	}
}

// A folder held by another process is left for the end, and then waited for.
func TestHeldFoldersAreWaitedFor(t *testing.T) {
	held, free := tiny(t, 0, 2), tiny(t, 1, 2)
	root := t.TempDir()
	writer := must.Get(runs.Create(root, held.Run))
	var log bytes.Buffer
	ended := make(chan error)
	go func() {
		ended <- Run(context.Background(), []sweep.Line{held, free},
			RunOptions{Runs: root, Quiet: true, Log: &log, Poll: 20 * time.Millisecond})
	}()
	for deadline := time.Now().Add(5 * time.Minute); !done(t, root, free); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the free line is not done while the other is held")
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	writer.Close()
	must.Do(<-ended)
	if !done(t, root, held) || !strings.Contains(log.String(), "which holds "+held.Run.Name()) {
		t.Errorf("done: %v; %s", done(t, root, held), log.String())
	}
}

// When stopped, it saves the current run, also while it waits. The same call resumes.
func TestStopAndGoOn(t *testing.T) {
	line := tiny(t, 0, 1_000_000)
	root := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	o := RunOptions{Runs: root, Quiet: true, Log: new(bytes.Buffer), Poll: time.Hour}
	ended := make(chan error)
	go func() { ended <- Run(ctx, []sweep.Line{line}, o) }()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if s := sweep.Inspect(root, []sweep.Line{line})[0]; s.Status == sweep.Running {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the line is still %s after minutes", s.Status)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, qdnb.ErrInterrupted) {
		t.Fatalf("stopped: %v", err)
	}
	run, err := runs.Open(filepath.Join(root, line.Run.Name()))
	if err != nil || run.Status.Finished {
		t.Fatalf("finished %v, %v", run.Status.Finished, err)
	}
	line.Budget = qdnb.Generations(int(run.Status.Generation) + 1)
	if err := Run(context.Background(), []sweep.Line{line}, o); err != nil || !done(t, root, line) {
		t.Errorf("resuming: %v", err)
	}

	more := tiny(t, 0, int(line.Budget.Generations)+1)
	writer := must.Get(runs.Create(root, more.Run))
	defer writer.Close()
	ctx, stop = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if err := RunIndex(ctx, []sweep.Line{more}, 0, o); !errors.Is(err, qdnb.ErrInterrupted) {
		t.Errorf("stopped while waiting: %v", err)
	}
}

// An existing plan decides what to run. Missing runs are made once, and complete runs are only
// reported.
func TestPrepareMakesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	var plan bytes.Buffer
	must.Do(sweep.Write(&plan, []sweep.Line{tiny(t, 0, 2), tiny(t, 1, 2)}))
	path := filepath.Join(dir, paper.PlanFile)
	must.Do(os.WriteFile(path, plan.Bytes(), 0o666))
	for _, want := range []string{"running the 2 missing of 2 runs", "all 2 runs are complete in"} {
		var log bytes.Buffer
		must.Do(PrepareIn(context.Background(), dir, RunOptions{Quiet: true, Log: &log}, "training"))
		if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "all 2 runs") {
			t.Errorf("said %q, want %q", log.String(), want)
		}
		if want == "all 2 runs are complete in" && strings.Contains(log.String(), "missing") {
			t.Errorf("repeated a complete run: %q", log.String())
		}
	}
	data := must.Get(paper.Open(dir))
	if data.Complete != 2 || len(data.Trained) != 2 {
		t.Errorf("%d complete, %d training runs; want 2 and 2", data.Complete, len(data.Trained))
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, plan.Bytes()) {
		t.Errorf("the plan was changed (%v)", err)
	}
}

// Missing experiments are added to the plan, and an interrupted Prepare leaves a plan that the same
// call resumes.
func TestPreparePlansWhatIsNot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, experiment := range []string{"smerl-targets", "prior"} {
		err := PrepareIn(ctx, dir, RunOptions{Scale: Smoke, Quiet: true, Log: new(bytes.Buffer)}, experiment)
		if !errors.Is(err, qdnb.ErrInterrupted) {
			t.Fatalf("%v; want %v", err, qdnb.ErrInterrupted)
		}
	}
	lines := must.Get(sweep.ReadFile(filepath.Join(dir, paper.PlanFile)))
	found := map[string]int{}
	for _, line := range lines {
		found[line.Experiment]++
	}
	if found["smerl-targets"] == 0 || found["prior"] == 0 || len(found) != 2 {
		t.Errorf("the plan has %v", found)
	}
	errtest.Want(t, PrepareIn(ctx, dir, RunOptions{Log: new(bytes.Buffer)}, "trainig"), `"training"`)
}

func TestPrepareRefusesADamagedPlan(t *testing.T) {
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, paper.PlanFile), []byte("{\n"), 0o666))
	errtest.Want(t, PrepareIn(context.Background(), dir, RunOptions{Log: new(bytes.Buffer)}, "training"), paper.PlanFile)
}

// Prepare describes shipped runs and trains nothing. Code that needs their policies gets an error that says to train
// them again.
func TestPrepareShipped(t *testing.T) {
	dir := t.TempDir()
	lines := []sweep.Line{tiny(t, 0, 3), tiny(t, 1, 3)}
	root := filepath.Join(dir, paper.RunsFolder)
	must.Do(Run(context.Background(), lines[:1], RunOptions{Runs: root, Quiet: true, Log: new(bytes.Buffer)}))
	out := filepath.Join(t.TempDir(), "results")
	about := paper.About{Scale: "smoke", Machine: "a test"}
	must.Get(paper.Ship(out, lines, root, about))
	var log bytes.Buffer
	must.Do(PrepareIn(context.Background(), out, RunOptions{Log: &log}, "training"))
	if !strings.HasPrefix(log.String(), "Runs shipped with qdnb: scale smoke, trained on a test") ||
		!strings.Contains(log.String(), "training: 1 run, 16 cells") ||
		!strings.Contains(log.String(), "MAP-Elites on pointmaze, seed 0\n") {
		t.Errorf("said %q", log.String())
	}
	data := must.Get(paper.Open(out))
	shipped := must.Get(data.Run(lines[0].Run.Name()))
	_, err := qdnb.Play(context.Background(), shipped, qdnb.PlaySpec{Backend: "go"})
	errtest.Want(t, err, "shipped without its policies: train it again")
}

// A measurement extrapolates to six minutes, and leaves nothing behind.
func TestMeasure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	half := 500 * time.Millisecond
	if got := must.Get(Measure(t.Context(), "map-elites", "pointmaze", half)); got < 1e6 || got > 1e10 {
		t.Errorf("%d steps", got)
	}
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elite", "pointmaze", half)), "map-elites")
	errtest.Want(t, errtest.Of(Measure(t.Context(), "map-elites", "pointmazes", half)), "pointmaze")
}
