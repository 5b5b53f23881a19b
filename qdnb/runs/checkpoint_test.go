package runs

import (
	"bytes"
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

// advance saves a checkpoint of each generation from (exclusive) to to, and finishes there if last.
func advance(t testing.TB, w *Writer, from, to int64, last bool) {
	t.Helper()
	if from == to {
		from-- // nothing is left to train
	}
	for g := from + 1; g <= to; g++ {
		if g == to && last {
			must.Do(w.StageRepertoire(gridAt(g).repertoire()))
		}
		must.Do(w.SaveCheckpoint(g, gridAt(g).arrays(), nil))
	}
}

// expect loads the newest checkpoint, which must be of a generation.
func expect(t testing.TB, w *Writer, want int64) (warnings []string) {
	t.Helper()
	arrays, generation, warnings, err := w.LoadCheckpoint(nil)
	if err != nil || generation != want {
		t.Fatalf("generation %d, want %d: %q, %v", generation, want, warnings, err)
	}
	if want >= 0 && !reflect.DeepEqual(arrays, gridAt(want).arrays()) {
		t.Fatalf("generation %d: %v", generation, arrays)
	}
	return warnings
}

// checkpointFiles returns the files of checkpoints, and repertoire.npz if there is one, with their
// contents.
func checkpointFiles(t testing.TB, w *Writer) map[string]string {
	t.Helper()
	files := map[string]string{}
	paths := must.Get(filepath.Glob(filepath.Join(w.Dir, checkpointsDir, "*")))
	if path := filepath.Join(w.Dir, repertoireFile); exists(path) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		files[filepath.Base(path)] = string(must.Get(os.ReadFile(path)))
	}
	return files
}

// A killed process may leave any checkpoint: each loads with its genotypes. Two are kept.
func TestGenotypesOfEveryCheckpoint(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	for g := range int64(20) {
		advance(t, w, g-1, g, false)
		if g%7 == 3 { // the process is killed
			must.Do(w.Close())
			w = create(t, root)
		}
		if warnings := expect(t, w, g); len(warnings) > 0 {
			t.Fatal(warnings)
		}
		if n := len(checkpointFiles(t, w)); n != 2*int(min(g+1, 2)) {
			t.Fatalf("generation %d: %d files", g, n)
		}
	}
}

// A finished run has the genotypes of its repertoire in repertoire.npz alone. However it was
// interrupted, it has the same files.
func TestFinishedRunStoresItsRepertoireOnce(t *testing.T) {
	finish := func(stops ...int64) (*Writer, map[string]string) {
		root, from := t.TempDir(), int64(-1)
		w := create(t, root)
		for _, stop := range stops {
			advance(t, w, from, stop, false)
			must.Do(w.Close())
			w = create(t, root)
			expect(t, w, stop)
			from = stop
		}
		advance(t, w, from, 20, true)
		return w, checkpointFiles(t, w)
	}
	w, files := finish()
	if len(files) != 3 {
		t.Errorf("%d files, want a state, the other genotypes and repertoire.npz", len(files))
	}
	others, err := npz.Read(w.checkpointPath(genotypesKind, 20))
	if err != nil || len(others) != 1 || !slices.Equal(others["genotypes"].Shape, []int{7, 3}) {
		t.Errorf("other genotypes %v, %v", others, err)
	}
	if r, err := w.Repertoire(); err != nil || len(r.Genotypes) != 7*gridParams ||
		!slices.Equal(r.AllGenotypes(), gridAt(20).repertoire().Genotypes) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, stops := range [][]int64{{3}, {0, 1, 2, 19}, {20}} {
		if _, got := finish(stops...); !reflect.DeepEqual(got, files) {
			t.Errorf("interrupted at %v: other files", stops)
		}
	}
	expect(t, w, 20)

	// a grid that is the repertoire, after a checkpoint of the same generation
	arrays := gridAt(20).arrays()
	delete(arrays, "genotypes")
	must.Do(w.SaveCheckpoint(20, arrays, nil))
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, arrays, nil))
	if n := len(checkpointFiles(t, w)); n != 2 {
		t.Errorf("%d files, want the state and repertoire.npz", n)
	}

	// a repertoire of another state, and one with other genotypes
	must.Do(w.SaveRepertoire(gridAt(3).repertoire()))
	if _, generation, warnings, err := w.LoadCheckpoint(nil); err != nil || generation != -1 ||
		!strings.Contains(warnings[0], "repertoire.npz is of another state") {
		t.Errorf("generation %d, %q, %v", generation, warnings, err)
	}
	arrays = gridAt(20).arrays()
	arrays["passive_genotypes"].Data.([]float32)[3] = 99
	must.Do(w.StageRepertoire(gridAt(20).repertoire()))
	must.Do(w.SaveCheckpoint(20, arrays, nil))
	if got, _, _, err := w.LoadCheckpoint(nil); err != nil || !reflect.DeepEqual(got, arrays) {
		t.Errorf("%v, %v", got, err)
	}
}

// A finished run that is extended and killed at any moment loses nothing, although repertoire.npz
// is replaced.
func TestExtendedRunKeepsItsGenotypes(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	advance(t, w, -1, 10, true)
	must.Do(w.Close())
	w = create(t, root)
	expect(t, w, 10)
	first := must.Get(os.ReadFile(filepath.Join(w.Dir, repertoireFile)))
	for g := int64(11); g <= 13; g++ {
		advance(t, w, g-1, g, false)
		expect(t, w, g)
		if !bytes.Equal(must.Get(os.ReadFile(filepath.Join(w.Dir, repertoireFile))), first) {
			t.Fatal("repertoire.npz changed before the end")
		}
	}
	advance(t, w, 13, 14, true)
	last := checkpointFiles(t, w)
	put := func(name, content string) {
		must.Do(os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o666))
	}
	// killed before the state was written, and before repertoire.npz was replaced
	for _, written := range []bool{false, true} {
		must.Do(w.Close())
		must.Do(os.RemoveAll(w.Dir))
		w = create(t, root)
		advance(t, w, -1, 10, true)
		for _, kind := range []string{genotypesKind, repertoireKind, stateKind} {
			content := last[generationFile(kind, 14)]
			if kind == repertoireKind {
				content = last[repertoireFile]
			}
			if kind != stateKind || written {
				put(filepath.Join(checkpointsDir, generationFile(kind, 14)), content)
			}
		}
		must.Do(w.Close())
		w = create(t, root)
		if !written {
			expect(t, w, 10)
			must.Do(w.Begin(10, "generation"))
			advance(t, w, 10, 13, false)
		}
		expect(t, w, map[bool]int64{true: 14, false: 13}[written])
		must.Do(w.StageRepertoire(gridAt(14).repertoire()))
		must.Do(w.SaveCheckpoint(14, gridAt(14).arrays(), nil))
		if got := checkpointFiles(t, w); !reflect.DeepEqual(got, last) {
			t.Errorf("state written %v: other files", written)
		}
	}
	advance(t, w, 14, 16, false)
	expect(t, w, 16)
}

// Any damage of genotypes is detected: the checkpoint before is used.
func TestDamagedGenotypes(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 1, false)
	path := w.checkpointPath(genotypesKind, 1)
	content := must.Get(os.ReadFile(path))
	check := func(what string, data []byte) {
		t.Helper()
		must.Do(os.WriteFile(path, data, 0o666))
		got, generation, warnings, err := w.LoadCheckpoint(nil)
		switch {
		case err == nil && generation == 1 && reflect.DeepEqual(got, gridAt(1).arrays()): // unused bytes
		case err == nil && generation == 0 && len(warnings) == 1 && strings.Contains(warnings[0], path) &&
			strings.HasPrefix(warnings[0], "checkpoint state-000000001.npz is damaged ("):
		default:
			t.Fatalf("%s: generation %d, %q, %v", what, generation, warnings, err)
		}
	}
	eachDamage(content, check)
	check("of another generation", must.Get(os.ReadFile(w.checkpointPath(genotypesKind, 0))))
	must.Do(os.Remove(path))
	if warnings := expect(t, w, 0); len(warnings) != 1 || !strings.Contains(warnings[0], "is missing") {
		t.Errorf("missing: %q", warnings)
	}
	// A disk or permission error is reported, since an older checkpoint would lose work.
	must.Do(os.Mkdir(path, 0o777)) // reading a folder is an error of the file system
	_, _, _, err := w.LoadCheckpoint(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read checkpoint ") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// If genotypes cannot be written, the checkpoint before stays, and the next attempt succeeds.
func TestGenotypesAfterAFailure(t *testing.T) {
	for _, kind := range []string{genotypesKind, repertoireKind, stateKind} {
		w := create(t, t.TempDir())
		advance(t, w, -1, 3, false)
		path := w.checkpointPath(kind, 4)
		must.Do(os.Mkdir(path, 0o777))
		must.Do(w.StageRepertoire(gridAt(4).repertoire()))
		errtest.Want(t, w.SaveCheckpoint(4, gridAt(4).arrays(), nil), w.Dir)
		must.Do(os.Remove(path))
		expect(t, w, 3)
		advance(t, w, 3, 4, true)
		expect(t, w, 4)
	}
}

// Other arrays are stored as they are: of other types, without fitnesses, with one axis.
func TestOtherArraysAreStoredWhole(t *testing.T) {
	w := create(t, t.TempDir())
	arrays := map[string]npz.Array{
		"genotypes": npz.Of([]float64{1, 2}, 2, 1), "fitnesses": npz.Of([]float32{1, 1}),
		"a_genotypes": npz.Of([]float32{1, 2}, 2, 1),
		"b_genotypes": npz.Of([]float32{1, 2}), "b_fitnesses": npz.Of([]float32{1, 1}),
		"c_genotypes": npz.Of([]float32{1, 2}, 1, 2), "c_fitnesses": npz.Of([]float32{1, 1}),
	}
	must.Do(w.SaveCheckpoint(1, arrays, nil))
	got, _, _, err := w.LoadCheckpoint(nil)
	if err != nil || !reflect.DeepEqual(got, arrays) || len(checkpointFiles(t, w)) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	empty := map[string]npz.Array{"genotypes": npz.Of(make([]float32, 6), 2, 3),
		"fitnesses": npz.Of([]float32{float32(math.Inf(-1)), float32(math.Inf(-1))})}
	must.Do(w.SaveCheckpoint(2, empty, nil))
	if got, _, _, err = w.LoadCheckpoint(nil); err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("an empty repertoire: %v, %v", got, err)
	}
}
