package experiments

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
)

// An existing plan decides what to run. Missing runs are made once, and complete runs are only
// reported.
func TestPrepareMakesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	var plan bytes.Buffer
	if err := sweep.Write(&plan, []sweep.Line{tiny(t, 0, 2), tiny(t, 1, 2)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, paper.PlanFile)
	if err := os.WriteFile(path, plan.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"running the 2 missing of 2 runs", "all 2 runs are complete in"} {
		var log bytes.Buffer
		if err := PrepareIn(context.Background(), dir, RunOptions{Quiet: true, Log: &log},
			"training"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "all 2 runs") {
			t.Errorf("said %q, want %q", log.String(), want)
		}
		if want == "all 2 runs are complete in" && strings.Contains(log.String(), "missing") {
			t.Errorf("repeated a complete run: %q", log.String())
		}
	}
	data, err := paper.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
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
		err := PrepareIn(ctx, dir, RunOptions{Scale: Smoke, Quiet: true, Log: new(bytes.Buffer)},
			experiment)
		if !errors.Is(err, qdnb.ErrInterrupted) {
			t.Fatalf("%v; want %v", err, qdnb.ErrInterrupted)
		}
	}
	lines, err := sweep.ReadFile(filepath.Join(dir, paper.PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, line := range lines {
		found[line.Experiment]++
	}
	if found["smerl-targets"] == 0 || found["prior"] == 0 || len(found) != 2 {
		t.Errorf("the plan has %v", found)
	}
	if err := PrepareIn(ctx, dir, RunOptions{Log: new(bytes.Buffer)},
		"trainig"); err == nil || !strings.Contains(err.Error(), `"training"`) {
		t.Errorf("a misspelt experiment: %v", err)
	}
}

func TestPrepareRefusesADamagedPlan(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, paper.PlanFile), []byte("{\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := PrepareIn(context.Background(), dir, RunOptions{Log: new(bytes.Buffer)}, "training")
	if err == nil || !strings.Contains(err.Error(), paper.PlanFile) {
		t.Errorf("%v", err)
	}
}
