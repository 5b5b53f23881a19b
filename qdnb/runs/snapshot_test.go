package runs

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// The newest repertoire comes from the newest intact checkpoint or snapshot; for a finished run it
// is the final one.
func TestNewestRepertoire(t *testing.T) {
	w := create(t, t.TempDir())
	must.Do(w.Begin(-1, "generation"))
	expect := func(what string, generation int64, fitness float32, limits bool) {
		t.Helper()
		run := must.Get(Open(w.Dir))
		s := must.Get(run.Newest())
		if s == nil || s.Generation != generation || s.Fitnesses[0] != fitness ||
			(s.Lower != nil) != limits || s.Genotypes != nil {
			t.Errorf("%s: %+v, want generation %d with fitness %v", what, s, generation, fitness)
		}
	}
	of := func(fitness float32) *Repertoire {
		r := testRepertoire()
		r.Fitnesses[0] = fitness
		return r
	}
	checkpoint := func(generation int64, prefix string, fitness float32) {
		t.Helper()
		arrays := map[string]npz.Array{}
		if prefix != "" { // a separate archive, which is not measured
			arrays["fitnesses"], arrays[originsKey] = npz.Of([]float32{99}), npz.Of([]int32{1, 2})
		}
		for name, array := range of(fitness).arrays() {
			arrays[prefix+name] = array
		}
		maps.DeleteFunc(arrays, func(name string, _ npz.Array) bool {
			return name == prefix+lowerKey || name == prefix+upperKey || name == prefix+offsetKey
		})
		must.Do(w.SaveCheckpoint(generation, arrays, nil))
	}

	run := must.Get(Open(w.Dir))
	if s, err := run.Newest(); s != nil || err != nil {
		t.Errorf("of a run without anything: %+v, %v", s, err)
	}
	checkpoint(2, "", 2)
	expect("a checkpoint", 2, 2, false)
	must.Do(w.SaveSnapshot(Snapshot{Progress: Progress{Generation: 3}, Repertoire: *of(3)}))
	expect("a later snapshot", 3, 3, true)
	checkpoint(5, "passive_", 5)
	expect("a later checkpoint", 5, 5, true)
	must.Do(os.WriteFile(w.checkpointPath(stateKind, 6), []byte("cut off"), 0o666))
	expect("beside a damaged checkpoint", 5, 5, true)
	must.Do(w.SaveRepertoire(of(4)))
	expect("a run that is being extended", 5, 5, true)
	must.Do(w.SaveStatus(Status{Progress: Progress{Generation: 7}, Finished: true}))
	expect("a finished run", 7, 4, true)
}

// Training does not write a snapshot again, but the others are of use without it.
func TestDamagedSnapshotsCanBeLeftOut(t *testing.T) {
	w := create(t, t.TempDir())
	for generation := range int64(2) {
		must.Do(w.SaveSnapshot(Snapshot{Progress: Progress{Generation: generation}, Repertoire: *testRepertoire()}))
	}
	damaged := filepath.Join(w.Dir, snapshotsDir, generationFile(snapshotKind, 0))
	must.Do(os.Truncate(damaged, 100))
	errtest.Want(t, errtest.Of(w.Snapshots()), damaged, "remove it to leave this snapshot out")
	must.Do(os.Remove(damaged))
	if list, err := w.Snapshots(); err != nil || len(list) != 1 || list[0].Generation != 1 {
		t.Errorf("without it: %v, %v", list, err)
	}
}
