package experiments

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
)

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
