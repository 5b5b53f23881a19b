package runs_test

import (
	"os"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

func TestDiscardRemovesOnlyARunThatNeverBegan(t *testing.T) {
	root := t.TempDir()
	config := must.Get(runs.NewConfig("count", "nothing", 0, map[string]int{"step": 1}))
	w := must.Get(runs.Create(root, config))
	must.Do(w.SaveReplay(1, 9, 1, func(int64, int64) ([]float32, error) { return []float32{1}, nil }))
	must.Do(w.Discard())
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("%v is left of a run that never began", left)
	}

	w = must.Get(runs.Create(root, config))
	if err := w.Begin(-1, "generation"); err != nil { // another run of a group failed after it
		t.Fatal(err)
	}
	must.Do(w.Discard())
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("%v is left of a run that logged nothing", left)
	}

	w = must.Get(runs.Create(root, config))
	if err := w.SaveStatus(runs.Status{Finished: true}); err != nil { // shipped, without checkpoints
		t.Fatal(err)
	}
	must.Do(w.Discard())
	if _, err := runs.Open(w.Dir + "/"); err != nil {
		t.Errorf("after Discard of a run without checkpoints: %v", err)
	}

	w = must.Get(runs.Create(root, config))
	must.Do(w.Begin(-1, "generation"))
	must.Do(w.SaveCheckpoint(3, map[string]npz.Array{"state": npz.Of([]int64{3})}, nil))
	must.Do(w.Discard())
	w = must.Get(runs.Create(root, config))
	defer w.Close()
	if _, generation, _, err := w.LoadCheckpoint(nil); err != nil || generation != 3 {
		t.Errorf("after Discard of a run with a checkpoint: generation %d, error %v", generation, err)
	}
}
