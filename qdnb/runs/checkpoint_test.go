package runs

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// grid is a repertoire of 8 cells in training: each cell has the generation in which it was filled,
// or -1.
type grid [8]int64

const gridParams = 3

// gridAt returns the grid after a generation: cell k changes every k+1 generations from generation
// k on; the last cell is never filled.
func gridAt(generation int64) (g grid) {
	for k := range g {
		g[k] = -1
		if n := int64(k); generation >= n && k < len(g)-1 {
			g[k] = n + (generation-n)/(n+1)*(n+1)
		}
	}
	return g
}

// arrays are those of a checkpoint. The passive repertoire has the individuals of the other cells.
func (g grid) arrays() map[string]npz.Array {
	genotypes, passive := make([]float32, len(g)*gridParams), make([]float32, len(g)*gridParams)
	fitnesses, empty := make([]float32, len(g)), float32(math.Inf(-1))
	passiveFitnesses := slices.Clone(fitnesses)
	for k, generation := range g {
		fitnesses[k], passiveFitnesses[len(g)-1-k] = empty, empty
		if generation >= 0 {
			genotype := []float32{float32(k), float32(generation), float32(k) / 7}
			fitnesses[k], passiveFitnesses[len(g)-1-k] = float32(generation), 1
			copy(genotypes[k*gridParams:], genotype)
			copy(passive[(len(g)-1-k)*gridParams:], genotype)
		}
	}
	return map[string]npz.Array{
		"genotypes": npz.Of(genotypes, len(g), gridParams), "fitnesses": npz.Of(fitnesses),
		"passive_genotypes": npz.Of(passive, len(g), gridParams),
		"passive_fitnesses": npz.Of(passiveFitnesses), "state": npz.Of(g[:]),
	}
}

// repertoire is the final repertoire: the passive one.
func (g grid) repertoire() *Repertoire {
	arrays := g.arrays()
	return &Repertoire{Params: gridParams, Dims: 1,
		Genotypes:   arrays["passive_genotypes"].Data.([]float32),
		Fitnesses:   arrays["passive_fitnesses"].Data.([]float32),
		Descriptors: make([]float32, len(g)), Centroids: make([]float32, len(g))}
}

// advance saves a checkpoint of each generation from (exclusive) to to.
func advance(t testing.TB, w *Writer, from, to int64) {
	t.Helper()
	for g := from + 1; g <= to; g++ {
		must.Do(w.SaveCheckpoint(g, gridAt(g).arrays(), nil))
	}
}

// expect loads the newest checkpoint, which must be of a generation.
func expect(t testing.TB, w *Writer, want int64) (warnings []string) {
	t.Helper()
	from, err := w.LoadCheckpoint(nil)
	if err != nil || from.Generation != want {
		t.Fatalf("generation %d, want %d: %q, %v", from.Generation, want, from.Warnings, err)
	}
	if want >= 0 && !reflect.DeepEqual(from.Arrays, gridAt(want).arrays()) {
		t.Fatalf("generation %d: %v", want, from.Arrays)
	}
	return from.Warnings
}

// checkpointFiles counts the files of checkpoints, and repertoire.npz if there is one.
func checkpointFiles(w *Writer) int {
	n := len(must.Get(filepath.Glob(filepath.Join(w.Dir, checkpointsDir, "*"))))
	if w.HasRepertoire() {
		n++
	}
	return n
}

// A finished run has the genotypes of its repertoire in repertoire.npz alone.
func TestFinishedRunStoresItsRepertoireOnce(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 20)
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, gridAt(20).arrays(), nil))
	if n := checkpointFiles(w); n != 2 {
		t.Errorf("%d files, want the state and repertoire.npz", n)
	}
	stored, err := npz.Read(w.checkpointPath(stateKind, 20))
	if _, twice := stored["passive_genotypes"]; err != nil || twice || !slices.Equal(stored["genotypes"].Shape, []int{7, 3}) {
		t.Errorf("stored are %v, %v", stored, err)
	}
	if r, err := w.Repertoire(); err != nil || len(r.Genotypes) != 7*gridParams ||
		!slices.Equal(r.AllGenotypes(), gridAt(20).repertoire().Genotypes) {
		t.Errorf("%+v, %v", r, err)
	}
	expect(t, w, 20)

	// a repertoire of another state, none, and one with other genotypes
	must.Do(w.SaveRepertoire(gridAt(3).repertoire()))
	errtest.Contains(t, expect(t, w, -1)[0], "repertoire.npz is of another state")
	must.Do(os.Remove(filepath.Join(w.Dir, repertoireFile)))
	errtest.Contains(t, expect(t, w, -1)[0], "repertoire.npz is missing")
	arrays := gridAt(20).arrays()
	arrays["passive_genotypes"].Data.([]float32)[3] = 99
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, arrays, nil))
	errtest.Equal(t, "arrays", must.Get(w.LoadCheckpoint(nil)).Arrays, arrays)
}

// Any damage of a checkpoint is detected: the checkpoint before is used.
func TestDamagedCheckpoints(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 2)
	path := w.checkpointPath(stateKind, 2)
	content := must.Get(os.ReadFile(path))
	check := func(what string, data []byte) {
		t.Helper()
		must.Do(os.WriteFile(path, data, 0o666))
		from, err := w.LoadCheckpoint(nil)
		switch g := from.Generation; {
		case err == nil && g == 2 && reflect.DeepEqual(from.Arrays, gridAt(2).arrays()): // unused bytes
		case err == nil && g == 1 && len(from.Warnings) == 1 && reflect.DeepEqual(from.Arrays, gridAt(1).arrays()) &&
			strings.HasPrefix(from.Warnings[0], "checkpoint state-000000002.npz is damaged (") &&
			strings.HasSuffix(from.Warnings[0], "; trying state-000000001.npz"):
		default:
			t.Fatalf("%s: generation %d, %q, %v", what, g, from.Warnings, err)
		}
	}
	eachDamage(content, check)
	check("a byte more", append(slices.Clone(content), 0))
	check("of another generation", must.Get(os.ReadFile(w.checkpointPath(stateKind, 1))))
	other := must.Get(Create(filepath.Dir(w.Dir), Config{Algorithm: "a", Env: "b"}))
	defer other.Close()
	must.Do(other.SaveCheckpoint(2, nil, nil))
	check("of another run", must.Get(os.ReadFile(other.checkpointPath(stateKind, 2))))
	must.Do(os.Remove(path))
	expect(t, w, 1)
	// A disk or permission error is reported, since an older checkpoint would lose work.
	must.Do(os.Symlink(path, path)) // reading it is an error of the file system, but it is there
	errtest.Want(t, errtest.Of(w.LoadCheckpoint(nil)), "cannot read checkpoint ", path)
}

// A damaged checkpoint does not count as one of the two that are kept.
func TestDamagedCheckpointsAreNotKept(t *testing.T) {
	w := create(t, t.TempDir())
	train(t, w, -1, 20)
	must.Do(os.Truncate(w.checkpointPath(stateKind, 20), 100))
	must.Get(w.LoadCheckpoint(nil))
	train(t, w, 10, 10)
	must.Do(w.SaveCheckpoint(15, nil, nil))
	errtest.Equal(t, "checkpoints", must.Get(generations(filepath.Join(w.Dir, checkpointsDir), stateKind)), []int64{10, 15})
	for _, g := range []int64{10, 15} {
		must.Do(os.Truncate(w.checkpointPath(stateKind, g), 100))
	}
	if warnings := expect(t, w, -1); len(warnings) != 2 || !strings.Contains(warnings[1], "starting from the beginning") {
		t.Errorf("%q", warnings)
	}
}

// Other arrays are stored as they are: of other types, without fitnesses, with one axis. So are those of an
// empty repertoire.
func TestOtherArraysAreStoredWhole(t *testing.T) {
	w, empty := create(t, t.TempDir()), float32(math.Inf(-1))
	for g, arrays := range []map[string]npz.Array{{
		"genotypes": npz.Of([]float64{1, 2}, 2, 1), "fitnesses": npz.Of([]float32{1, 1}),
		"a_genotypes": npz.Of([]float32{1, 2}, 2, 1),
		"b_genotypes": npz.Of([]float32{1, 2}), "b_fitnesses": npz.Of([]float32{1, 1}),
		"c_genotypes": npz.Of([]float32{1, 2}, 1, 2), "c_fitnesses": npz.Of([]float32{1, 1}),
	}, {
		"genotypes": npz.Of(make([]float32, 6), 2, 3), "fitnesses": npz.Of([]float32{empty, empty}),
	}} {
		must.Do(w.SaveCheckpoint(int64(g), arrays, nil))
		errtest.Equal(t, "arrays", must.Get(w.LoadCheckpoint(nil)).Arrays, arrays)
	}
}
