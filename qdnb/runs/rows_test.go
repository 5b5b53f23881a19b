package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/hostile"
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

// gridGenotype returns the genotype of a cell filled in a generation.
func gridGenotype(cell int, generation int64) []float32 {
	return []float32{float32(cell), float32(generation), float32(cell) / 7}
}

// arrays are those of a checkpoint. The passive repertoire has the members of the other cells.
func (g grid) arrays() map[string]npz.Array {
	genotypes, passive := make([]float32, len(g)*gridParams), make([]float32, len(g)*gridParams)
	fitnesses, empty := make([]float32, len(g)), float32(math.Inf(-1))
	passiveFitnesses := slices.Clone(fitnesses)
	for k, generation := range g {
		fitnesses[k], passiveFitnesses[len(g)-1-k] = empty, empty
		if generation >= 0 {
			fitnesses[k], passiveFitnesses[len(g)-1-k] = float32(generation), 1
			copy(genotypes[k*gridParams:], gridGenotype(k, generation))
			copy(passive[(len(g)-1-k)*gridParams:], gridGenotype(k, generation))
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
			must(t, w.StageRepertoire(gridAt(g).repertoire()))
		}
		must(t, w.SaveCheckpoint(g, gridAt(g).arrays(), nil))
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

// rowFilesOf returns the names of the files of rows with their contents.
func rowFilesOf(t testing.TB, w *Writer) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(w.Dir, rowsDir))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		files[entry.Name()] = string(mustRead(t, filepath.Join(w.Dir, rowsDir, entry.Name())))
	}
	return files
}

// storedRows counts the rows in the folder rows.
func storedRows(t testing.TB, w *Writer) (n int) {
	t.Helper()
	for name := range rowFilesOf(t, w) {
		rows, err := w.readRowsFile(name)
		must(t, err)
		n += rows.Shape[0]
	}
	return n
}

// A killed process may leave any checkpoint: each loads with its rows. The folder holds at most
// twice the rows of the two checkpoints.
func TestRowsOfEveryCheckpoint(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	for g := range int64(40) {
		advance(t, w, g-1, g, false)
		if g%7 == 3 { // the process is killed
			must(t, w.Close())
			w = create(t, root)
		}
		if warnings := expect(t, w, g); len(warnings) > 0 {
			t.Fatal(warnings)
		}
		if n := storedRows(t, w); n > 4*7 {
			t.Fatalf("generation %d: %d rows are stored", g, n)
		}
	}
}

// A checkpoint writes only rows that changed; a row that several arrays hold is written once.
func TestCheckpointWritesChangedRows(t *testing.T) {
	w := create(t, t.TempDir())
	arrays := gridAt(6).arrays()
	must(t, w.SaveCheckpoint(6, arrays, nil))
	if n := storedRows(t, w); n != 7 {
		t.Errorf("%d rows, want 7", n)
	}
	before := rowFilesOf(t, w)
	must(t, w.SaveCheckpoint(7, arrays, nil))
	if after := rowFilesOf(t, w); !reflect.DeepEqual(after, before) {
		t.Errorf("without changes it wrote %d files", len(after))
	}
	arrays["genotypes"].Data.([]float32)[3*gridParams] = 99
	must(t, w.SaveCheckpoint(8, arrays, nil))
	if n := storedRows(t, w); n != 8 {
		t.Errorf("%d rows, want 8", n)
	}
	arrays["fitnesses"].Data.([]float32)[3] = float32(math.Inf(-1)) // the cell is emptied
	must(t, w.SaveCheckpoint(9, arrays, nil))
	loaded, _, _, err := w.LoadCheckpoint(nil)
	must(t, err)
	row := loaded["genotypes"].Data.([]float32)[3*gridParams : 4*gridParams]
	if !slices.Equal(row, []float32{0, 0, 0}) {
		t.Errorf("an emptied cell has %v", row)
	}
}

// A finished run has each genotype of a filled cell once: in repertoire.npz or, if it is only in
// another archive, in one other file. However it was interrupted, it has the same files.
func TestFinishedRunStoresRowsOnce(t *testing.T) {
	finish := func(stops ...int64) (*Writer, map[string]string) {
		root, from := t.TempDir(), int64(-1)
		w := create(t, root)
		for _, stop := range stops {
			advance(t, w, from, stop, false)
			must(t, w.Close())
			w = create(t, root)
			expect(t, w, stop)
			from = stop
		}
		advance(t, w, from, 20, true)
		files := rowFilesOf(t, w)
		files[repertoireFile] = string(mustRead(t, filepath.Join(w.Dir, repertoireFile)))
		checkpoint := filepath.Join(checkpointsDir, generationFile(20))
		files[checkpoint] = string(mustRead(t, filepath.Join(w.Dir, checkpoint)))
		return w, files
	}
	w, files := finish()
	if len(files) != 2 {
		t.Errorf("%d files, want repertoire.npz and the checkpoint", len(files))
	}
	kept, err := generationFiles(filepath.Join(w.Dir, checkpointsDir))
	must(t, err)
	if !slices.Equal(kept, []int64{20}) {
		t.Errorf("checkpoints %v", kept)
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

	// rows that the repertoire lacks
	arrays := gridAt(20).arrays()
	arrays["genotypes"].Data.([]float32)[0] = 99
	must(t, w.StageRepertoire(gridAt(20).repertoire()))
	must(t, w.SaveCheckpoint(20, arrays, nil))
	if n := storedRows(t, w); n != 1 {
		t.Errorf("%d rows besides the repertoire, want 1", n)
	}
	if got, _, _, err := w.LoadCheckpoint(nil); err != nil || !reflect.DeepEqual(got, arrays) {
		t.Errorf("%v, %v", got, err)
	}
}

// A finished run that is extended and killed at any moment loses nothing, although repertoire.npz
// is replaced.
func TestExtendedRunKeepsItsRows(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	advance(t, w, -1, 10, true)
	must(t, w.Close())
	w = create(t, root)
	expect(t, w, 10)
	first := mustRead(t, filepath.Join(w.Dir, repertoireFile))
	for g := int64(11); g <= 13; g++ {
		advance(t, w, g-1, g, false)
		expect(t, w, g)
		if !bytes.Equal(mustRead(t, filepath.Join(w.Dir, repertoireFile)), first) {
			t.Fatal("repertoire.npz changed before the end")
		}
	}

	must(t, w.StageRepertoire(gridAt(14).repertoire())) // killed before the last checkpoint
	must(t, w.Close())
	w = create(t, root)
	expect(t, w, 13)
	if r, err := w.Repertoire(); err != nil || !slices.Equal(r.AllGenotypes(),
		gridAt(10).repertoire().Genotypes) {
		t.Errorf("%+v, %v", r, err)
	}

	// killed between the last checkpoint and the replacement of repertoire.npz
	must(t, w.StageRepertoire(gridAt(14).repertoire()))
	staged := filepath.Join(rowsDir, w.rows.staged.file)
	content := mustRead(t, filepath.Join(w.Dir, staged))
	must(t, w.SaveCheckpoint(14, gridAt(14).arrays(), nil))
	must(t, w.Close())
	must(t, os.WriteFile(filepath.Join(w.Dir, repertoireFile), first, 0o666))
	must(t, os.MkdirAll(filepath.Join(w.Dir, rowsDir), 0o777))
	must(t, os.WriteFile(filepath.Join(w.Dir, staged), content, 0o666))
	w = create(t, root)
	expect(t, w, 14)
	must(t, w.StageRepertoire(gridAt(14).repertoire())) // it finishes again
	must(t, w.SaveCheckpoint(14, gridAt(14).arrays(), nil))
	expect(t, w, 14)
	if !bytes.Equal(mustRead(t, filepath.Join(w.Dir, repertoireFile)), content) ||
		len(rowFilesOf(t, w)) != 0 {
		t.Error("the repertoire was not replaced")
	}
	advance(t, w, 14, 16, false)
	expect(t, w, 16)
}

// Any damage of rows is detected: the checkpoint before is used if it does not need them.
func TestDamagedRows(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	must(t, w.SaveCheckpoint(1, gridAt(0).arrays(), nil))
	shared := slices.Collect(func(yield func(string) bool) {
		for name := range rowFilesOf(t, w) {
			yield(name)
		}
	})[0]
	arrays := gridAt(0).arrays()
	changed := gridAt(1).arrays()
	for _, name := range []string{"genotypes", "fitnesses"} { // one more cell
		arrays[name] = changed[name]
	}
	must(t, w.SaveCheckpoint(2, arrays, nil))
	for name, content := range rowFilesOf(t, w) {
		path := filepath.Join(w.Dir, rowsDir, name)
		check := func(what string, data []byte) {
			t.Helper()
			if data == nil {
				must(t, os.Remove(path))
			} else {
				must(t, os.WriteFile(path, data, 0o666))
			}
			got, generation, warnings, err := w.LoadCheckpoint(nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			switch {
			case generation == 2 && reflect.DeepEqual(got, arrays): // not in the rows or their type
			case generation == -1 && name == shared && len(warnings) == 2,
				generation == 1 && name != shared && len(warnings) == 1:
				if !strings.HasPrefix(warnings[0], "checkpoint gen-000000002.npz is damaged (") ||
					!strings.Contains(warnings[0], path) {
					t.Fatalf("%s: %q", what, warnings)
				}
			default:
				t.Fatalf("%s: generation %d, %q", what, generation, warnings)
			}
		}
		for i := range content {
			data := []byte(content)
			data[i] ^= 1 << (i % 8)
			check(fmt.Sprintf("%s: bit flip at byte %d", name, i), data)
		}
		for n := 0; n < len(content); n += 3 {
			check(fmt.Sprintf("%s: cut off at byte %d", name, n), []byte(content[:n]))
		}
		var swapped bytes.Buffer // intact, but with other rows
		must(t, npz.WriteTo(&swapped, map[string]npz.Array{genotypesKey: npz.Of(make([]float32, 6), 2,
			gridParams)}, ""))
		check(name+": other rows", swapped.Bytes())
		check(name+": missing", nil)
		must(t, os.WriteFile(path, []byte(content), 0o666))
	}
}

// A disk or permission error is reported, since an older checkpoint would lose work.
func TestUnreadableRowsAreReported(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 1, false)
	for name := range rowFilesOf(t, w) {
		path := filepath.Join(w.Dir, rowsDir, name)
		must(t, os.Remove(path))
		must(t, os.Mkdir(path, 0o777)) // reading a folder is an error of the file system
	}
	_, _, _, err := w.LoadCheckpoint(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read checkpoint ") ||
		!strings.Contains(err.Error(), plainRows) {
		t.Errorf("%v", err)
	}
}

// If a row cannot be written, the checkpoint before stays, and the next attempt succeeds.
func TestRowsAfterAFailure(t *testing.T) {
	for _, last := range []bool{false, true} {
		w := create(t, t.TempDir())
		advance(t, w, -1, 3, false)
		dir := filepath.Join(w.Dir, rowsDir)
		must(t, os.Rename(dir, dir+"-away"))
		must(t, os.WriteFile(dir, nil, 0o666)) // the folder cannot be created
		var err error
		if last {
			err = w.StageRepertoire(gridAt(4).repertoire())
		} else {
			err = w.SaveCheckpoint(4, gridAt(4).arrays(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), w.Dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("last %v: %v", last, err)
		}
		must(t, os.Remove(dir))
		must(t, os.Rename(dir+"-away", dir))
		expect(t, w, 3)
		advance(t, w, 3, 4, last)
		expect(t, w, 4)
	}
}

// saveOld saves a checkpoint as programs did that stored all arrays in it.
func saveOld(t testing.TB, w *Writer, generation int64) {
	t.Helper()
	arrays := gridAt(generation).arrays()
	about, err := json.Marshal(map[string]any{"run": w.Name(), "generation": generation, "meta": nil})
	must(t, err)
	arrays[metaKey] = npz.Of(about)
	must(t, saveSealed(filepath.Join(w.Dir, checkpointsDir, generationFile(generation)), arrays))
}

// A folder whose checkpoints and repertoire hold all genotypes loads, resumes and finishes with the
// files of any other run.
func TestFolderOfOlderProgram(t *testing.T) {
	whole := create(t, t.TempDir())
	advance(t, whole, -1, 20, true)

	root := t.TempDir()
	w := create(t, root)
	saveOld(t, w, 8)
	saveOld(t, w, 9)
	old := gridAt(9).repertoire()
	arrays := old.arrays()
	delete(arrays, cellsKey)
	arrays[genotypesKey] = npz.Of(old.Genotypes, old.Cells(), old.Params)
	must(t, w.saveArrays(repertoireFile, arrays))
	if r, err := w.Repertoire(); err != nil || !reflect.DeepEqual(r, old) {
		t.Fatalf("%+v, %v", r, err)
	}
	expect(t, w, 9)
	advance(t, w, 9, 10, false)
	must(t, w.Close())
	w = create(t, root)
	expect(t, w, 10)
	must(t, os.Truncate(filepath.Join(w.Dir, checkpointsDir, generationFile(10)), 10))
	if warnings := expect(t, w, 9); len(warnings) != 1 { // the old checkpoint is still there
		t.Errorf("%q", warnings)
	}
	advance(t, w, 9, 20, true)
	for _, name := range []string{repertoireFile, filepath.Join(checkpointsDir, generationFile(20))} {
		if !bytes.Equal(mustRead(t, filepath.Join(w.Dir, name)),
			mustRead(t, filepath.Join(whole.Dir, name))) {
			t.Errorf("%s differs", name)
		}
	}
	if files := rowFilesOf(t, w); len(files) != 0 {
		t.Errorf("%d files of rows are left", len(files))
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
	must(t, w.SaveCheckpoint(1, arrays, nil))
	got, _, _, err := w.LoadCheckpoint(nil)
	if err != nil || !reflect.DeepEqual(got, arrays) || len(rowFilesOf(t, w)) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	empty := map[string]npz.Array{"genotypes": npz.Of(make([]float32, 6), 2, 3),
		"fitnesses": npz.Of([]float32{float32(math.Inf(-1)), float32(math.Inf(-1))})}
	must(t, w.SaveCheckpoint(2, empty, nil))
	got, _, _, err = w.LoadCheckpoint(nil)
	if err != nil || !reflect.DeepEqual(got, empty) || len(rowFilesOf(t, w)) != 0 {
		t.Errorf("an empty repertoire: %v, %v", got, err)
	}
	taken := gridAt(3).arrays()
	taken["genotypes"+rowsSuffix] = npz.Of([]float32{1})
	if err := w.SaveCheckpoint(3, taken, nil); err == nil || !strings.Contains(err.Error(),
		`the array name "genotypes_rows" is reserved`) {
		t.Errorf("%v", err)
	}
}

// Files that are not rows stay in the folder.
func TestOnlyRowsAreRemoved(t *testing.T) {
	w := create(t, t.TempDir())
	advance(t, w, -1, 2, false)
	own := filepath.Join(w.Dir, rowsDir, "notes.txt")
	must(t, os.WriteFile(own, nil, 0o666))
	advance(t, w, 2, 3, true)
	must(t, filepath.WalkDir(filepath.Join(w.Dir, rowsDir),
		func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path != own {
				t.Errorf("%s is left", path)
			}
			return err
		}))
	if !exists(own) {
		t.Error("it was removed")
	}
}

func TestDiscardTakesTheRowsAlong(t *testing.T) {
	w := create(t, t.TempDir())
	must(t, w.StageRepertoire(gridAt(3).repertoire()))
	must(t, w.Discard())
	if exists(w.Dir) {
		t.Error("the folder is left")
	}
}

// FuzzRows loads a checkpoint whose references and file of rows are arbitrary.
func FuzzRows(f *testing.F) {
	seed := func(references, rows, shape string) { f.Add(references, rows, shape) }
	seed("genotypes_rows <i4 2,3 0 0 0 1 0 1\ngenotypes_sha256 |u1 2,32", "genotypes <f4 2,3 1",
		`{"genotypes":[4,3]}`)
	seed("genotypes_rows <i4 1,3 3 0 5\ngenotypes_sha256 |u1 1,32", "genotypes <f4 2,3 1",
		`{"genotypes":[4,3]}`)
	seed("genotypes_rows <i4 1,3 0 1 0\ngenotypes_sha256 |u1 1,32", "genotypes <f8 2,3 1",
		`{"genotypes":[4611686018427387904,4]}`)
	seed("genotypes_rows <i4 1,3 -1 -1 -1\ngenotypes_sha256 |u1 1,32", "genotypes <f4 2,0",
		`{"genotypes":[1,0],"x":[1,2]}`)
	seed("genotypes_rows <i4 0,3\ngenotypes_sha256 |u1 0,32", "", `{"genotypes":[9999999,9999999]}`)
	seed("genotypes_rows <f4 3, 0.5\ngenotypes_sha256 |u1 31,", "genotypes <f4 6,",
		`{"genotypes":[-1,3],"\u0001":null}`)
	config := Config{Algorithm: "a", Env: "b"}
	whole := maxArrayBytes
	maxArrayBytes = 1 << 20
	f.Cleanup(func() { maxArrayBytes = whole })
	f.Fuzz(func(t *testing.T, references, rows, shapes string) {
		w, err := Create(t.TempDir(), config)
		must(t, err)
		defer w.Close()
		arrays, err := readArchive(hostile.Archive(references))
		if err != nil {
			return
		}
		about := checkpointMeta{Run: w.Name(), Generation: 5, Meta: []byte("{}"),
			Files: []string{"rows-0123456789abcdef.npz"}}
		if json.Unmarshal([]byte(shapes), &about.Shapes) != nil {
			return
		}
		// with the true checksums, so that the rows are used
		content, err := readArchive(hostile.Archive(rows))
		flat, ok := content[genotypesKey].Data.([]float32)
		places, errPlaces := arrays["genotypes"+rowsSuffix].Int32s()
		if shape := content[genotypesKey].Shape; err == nil && ok && errPlaces == nil && len(shape) == 2 {
			var sums []uint8
			for i := 2; i < len(places); i += 3 {
				if row := int(places[i]); row >= 0 && row < shape[0] {
					sum := rowSums(flat, shape[1], []int{row})[0]
					sums = append(sums, sum[:]...)
				}
			}
			arrays["genotypes"+sumsSuffix] = npz.Of(sums)
		}
		text, err := json.Marshal(about)
		must(t, err)
		arrays[metaKey] = npz.Of(text)
		if saveSealed(filepath.Join(w.Dir, checkpointsDir, generationFile(5)), arrays) != nil {
			return // an invalid name
		}
		must(t, os.MkdirAll(filepath.Join(w.Dir, rowsDir), 0o777))
		must(t, os.WriteFile(filepath.Join(w.Dir, rowsDir, about.Files[0]), hostile.Archive(rows), 0o666))
		hostile.Bounded(t, len(references)+len(rows)+int(maxArrayBytes), func() {
			got, generation, warnings, err := w.LoadCheckpoint(nil)
			hostile.Error(t, err)
			for _, warning := range warnings {
				hostile.Error(t, &advice{text: warning})
			}
			if generation < 0 {
				return
			}
			for name, shape := range about.Shapes {
				if !slices.Equal(got[name].Shape, shape) {
					t.Errorf("%q has shape %v, not %v", name, got[name].Shape, shape)
				}
			}
			if err := w.SaveCheckpoint(6, got, nil); err != nil {
				hostile.Error(t, err)
			}
		})
	})
}

// readArchive reads all arrays of a file in memory.
func readArchive(data []byte) (map[string]npz.Array, error) {
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return r.ReadAll()
}
