package runs

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// packedRepertoire is testRepertoire as files hold it: without the genotypes of empty cells.
func packedRepertoire() *Repertoire {
	r := testRepertoire()
	r.Genotypes = []float32{1, 2, 3, 4, 5, 6}
	return r
}

// testRepertoire has four cells, two of them filled.
func testRepertoire() *Repertoire {
	empty := float32(math.Inf(-1))
	return &Repertoire{
		Params: 3, Dims: 2,
		Genotypes:   []float32{0, 0, 0, 1, 2, 3, 0, 0, 0, 4, 5, 6},
		Fitnesses:   []float32{empty, -3, empty, -1},
		Descriptors: []float32{0, 0, 0.5, 0.25, 0, 0, -0.5, 0.75},
		Centroids:   []float32{-0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 0.5},
		Lower:       []float32{-1, -1}, Upper: []float32{1, 1},
		Offset: 585.775,
	}
}

func TestRepertoireFigures(t *testing.T) {
	r := testRepertoire()
	want := Stats{MaxFitness: -1, Coverage: 50, QDScore: -4 + 2*585.775, Filled: 2, Cells: 4}
	errtest.Equal(t, "stats", r.Stats(), want)
	errtest.Equal(t, "filled", r.Filled(), []int{1, 3})
	if r.Best() != 3 || !reflect.DeepEqual(r.Genotype(3), []float32{4, 5, 6}) ||
		!reflect.DeepEqual(r.Descriptor(3), []float32{-0.5, 0.75}) || !reflect.DeepEqual(r.Centroid(3),
		[]float32{-0.5, 0.5}) {
		t.Errorf("best is cell %d: %v %v", r.Best(), r.Genotype(3), r.Descriptor(3))
	}
	r.Fitnesses = []float32{r.Fitnesses[0], r.Fitnesses[0]}
	if s := r.Stats(); !math.IsInf(s.MaxFitness, -1) || s.Coverage != 0 || s.QDScore != 0 || r.Best() != -1 {
		t.Errorf("an empty repertoire: %+v, best %d", s, r.Best())
	}
	errtest.Equal(t, "the coverage without cells", new(Repertoire).Stats().Coverage, 0)
}

// 12_stats.npz: metrics computed by QDax (branch qdbenchmark), float32. It sums in float32, so the
// QD score agrees to six digits.
func TestGoldenStats(t *testing.T) {
	data := golden.Read(t, "12_stats.npz")
	r := &Repertoire{Fitnesses: data.Float32s("qd.fitnesses"),
		Offset: data.Number("const.reward_offset") * data.Number("const.episode_length")}
	s := r.Stats()
	want := data.Float64s("qd.metrics") // max fitness, coverage, QD score
	for i, got := range []float64{s.MaxFitness, s.Coverage, s.QDScore} {
		if math.Abs(got-want[i]) > 1e-6*math.Abs(want[i]) {
			t.Errorf("%s is %v, QDax has %v", []string{"max fitness", "coverage", "QD score"}[i], got, want[i])
		}
	}
}

func TestRepertoireRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repertoire.npz")
	full := testRepertoire()
	must.Do(full.Write(path))
	want := packedRepertoire()
	errtest.Equal(t, "repertoire", must.Get(ReadRepertoire(path, true)), want)
	want.Genotypes = nil
	got, err := ReadRepertoire(path, false)
	if err != nil || !reflect.DeepEqual(got, want) || got.Genotype(1) != nil {
		t.Errorf("without genotypes: %+v, %v", got, err)
	}
}

// Genotypes are found by cell, with the rows of empty cells and without.
func TestGenotypesOfCells(t *testing.T) {
	for name, r := range map[string]*Repertoire{"full": testRepertoire(), "packed": packedRepertoire()} {
		errtest.Equal(t, fmt.Sprintf("%s: all", name), r.AllGenotypes(), testRepertoire().Genotypes)
		errtest.Equal(t, fmt.Sprintf("%s: cell 1", name), r.Genotype(1), []float32{1, 2, 3})
		errtest.Equal(t, fmt.Sprintf("%s: cell 3", name), r.Rows()[3], []float32{4, 5, 6})
	}
	if r := packedRepertoire(); r.Genotype(2) != nil {
		t.Errorf("an empty cell has %v", r.Genotype(2))
	}
	none := testRepertoire()
	none.Genotypes = nil
	if none.AllGenotypes() != nil || none.Genotype(1) != nil {
		t.Error("genotypes that were not read")
	}
}

// foreignArrays are those of a file of another program, or of an older version: all cells have a
// row of genotypes.
func foreignArrays() map[string]npz.Array {
	arrays := testRepertoire().arrays()
	delete(arrays, cellsKey)
	arrays[genotypesKey] = npz.Of(testRepertoire().Genotypes, 4, 3)
	return arrays
}

func TestRepertoireOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repertoire.npz")
	arrays := foreignArrays()
	for _, key := range []string{lowerKey, upperKey, offsetKey} {
		delete(arrays, key)
	}
	arrays[fitnessesKey] = npz.Of([]float64{math.Inf(-1), -3, math.Inf(-1), -1}) // float64 is accepted
	must.Do(npz.Write(path, arrays))
	if r, err := ReadRepertoire(path,
		true); err != nil || r.Lower != nil || r.Offset != 0 || r.Stats().Filled != 2 ||
		!reflect.DeepEqual(r.AllGenotypes(), testRepertoire().Genotypes) {
		t.Errorf("%+v, %v", r, err)
	}
	for want, changed := range map[string]map[string]npz.Array{
		`no array "centroids"`: {centroidsKey: {}},
		"no genotypes":         {genotypesKey: {}},
		"genotypes has shape [3 4], not [4, parameters] or, of the filled cells, [2, parameters]": {
			genotypesKey: npz.Of(make([]float32, 12), 3, 4)},
		"genotype_cells are not the cells with a fitness": {
			genotypesKey: npz.Of(make([]float32, 6), 2, 3), cellsKey: npz.Of([]int32{1, 2})},
		"fitnesses has shape [2 2]":          {fitnessesKey: npz.Of(make([]float32, 4), 2, 2)},
		"descriptors has shape [3 2], not":   {descriptorsKey: npz.Of(make([]float32, 6), 3, 2)},
		"centroids has shape [2 4], not":     {centroidsKey: npz.Of(make([]float32, 8), 2, 4)},
		"centroids: shape [4 2] needs 8 ele": {centroidsKey: npz.Of(make([]float32, 4), 2, 2)},
		"objectives has shape [4 2], 4 cells and 3 centroids do not fit": {
			objectivesKey: npz.Of(make([]float32, 8), 4, 2), centroidsKey: npz.Of(make([]float32, 6), 3, 2)},
		"objectives has shape [4 0 2]": {objectivesKey: npz.Of([]float32{}, 4, 0, 2)},
		"reference_point has shape [3], not [2]": {
			objectivesKey: npz.Of(make([]float32, 8), 4, 1, 2), referenceKey: npz.Of(make([]float32, 3))},
		"descriptor_min has shape [3]": {lowerKey: npz.Of(make([]float32, 3))},
		"qd_offset has shape [2]":      {offsetKey: npz.Of(make([]float32, 2))},
		"fitness of cell 1 is NaN":     {fitnessesKey: npz.Of([]float32{1, float32(math.NaN()), 1, 1})},
	} {
		writeChanged(path, foreignArrays(), changed)
		errtest.Want(t, errtest.Of(ReadRepertoire(path, true)), want, path)
	}
}

// writeChanged writes arrays, some of which are changed, or left out if they have no data.
func writeChanged(path string, arrays, changed map[string]npz.Array) {
	maps.Copy(arrays, changed)
	maps.DeleteFunc(arrays, func(_ string, a npz.Array) bool { return a.Data == nil })
	must.Do(npz.Write(path, arrays))
}

func TestWrongRepertoireIsNotWritten(t *testing.T) {
	for name, change := range map[string]func(*Repertoire){
		"genotypes": func(r *Repertoire) { r.Params = 4 },
		"negative":  func(r *Repertoire) { *r = Repertoire{Dims: -1} },
		"limits":    func(r *Repertoire) { r.Upper = r.Upper[:1] },
		"NaN":       func(r *Repertoire) { r.Fitnesses[0] = float32(math.NaN()) },
	} {
		r := testRepertoire()
		change(r)
		if err := r.Write(filepath.Join(t.TempDir(), "repertoire.npz")); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

func ExampleRepertoire_Stats() {
	empty := float32(math.Inf(-1))
	r := Repertoire{Fitnesses: []float32{empty, -3, empty, -1}, Offset: 10}
	s := r.Stats()
	fmt.Printf("max fitness %g, coverage %g %%, QD score %g\n", s.MaxFitness, s.Coverage, s.QDScore)
	// Output: max fitness -1, coverage 50 %, QD score 16
}

// grown returns a repertoire whose solutions lie in the cells that hold them.
func grown(cells int) *Repertoire {
	rng := rand.New(rand.NewPCG(5, 6))
	r := &Repertoire{Dims: 2, Offset: 1}
	for range cells {
		r.Centroids = append(r.Centroids, rng.Float32(), rng.Float32())
		r.Fitnesses = append(r.Fitnesses, float32(math.Inf(-1)))
		r.Descriptors = append(r.Descriptors, 0, 0)
	}
	for range 2 * cells {
		descriptor := []float32{rng.Float32(), rng.Float32()}
		cell := r.cellOf(descriptor)
		r.Fitnesses[cell] = rng.Float32()
		copy(r.Descriptor(cell), descriptor)
	}
	return r
}

func evaluations(r *Repertoire) (fitnesses, descriptors []float32) {
	for _, cell := range r.Filled() {
		fitnesses = append(fitnesses, r.Fitnesses[cell])
		descriptors = append(descriptors, r.Descriptor(cell)...)
	}
	return fitnesses, descriptors
}

// The archived evaluations give the archived repertoire.
func TestReinsertIsTheIdentity(t *testing.T) {
	r := grown(40)
	r.Objectives, r.Reference = npz.Of(make([]float32, 80), 40, 1, 2), []float32{0, 0}
	fitnesses, descriptors := evaluations(r)
	again, err := r.Reinsert(fitnesses, descriptors)
	if err == nil && (again.Objectives.Data != nil || again.Reference != nil) {
		t.Error("the fronts of the archived evaluations are kept")
	}
	must.Do(err)
	if !slices.Equal(again.Fitnesses, r.Fitnesses) || !slices.Equal(again.Descriptors, r.Descriptors) {
		t.Error("the repertoire has changed")
	}
}

// Cells of components of unequal scale are those of the unit square.
func TestCellsOfUnequalScale(t *testing.T) {
	plain, wide := grown(40), grown(40)
	plain.Lower, plain.Upper = []float32{0, 0}, []float32{1, 1}
	wide.Lower, wide.Upper = []float32{0, 0}, []float32{1, 1024}
	for i := 1; i < len(wide.Centroids); i += 2 {
		wide.Centroids[i] *= 1024
		wide.Descriptors[i] *= 1024
	}
	for x := range 10 {
		for y := range 10 {
			at := []float32{float32(x) / 10, float32(y) / 10}
			far := []float32{at[0], 1024 * at[1]}
			errtest.Equal(t, fmt.Sprintf("%v", far), wide.cellOf(far), plain.cellOf(at))
			errtest.Equal(t, fmt.Sprintf("the cell near %v", far), wide.Near(far...), plain.Near(at...))
		}
	}
}

// Solutions that move into one cell compete for it, and one without a number is lost.
func TestReinsertCompetes(t *testing.T) {
	r := grown(40)
	fitnesses, descriptors := evaluations(r)
	home := slices.Clone(descriptors[:2])
	for i := range fitnesses {
		copy(descriptors[2*i:], home)
	}
	fitnesses[0] = float32(math.NaN())
	fitnesses[1] = float32(math.Inf(1))
	descriptors[4] = float32(math.NaN())
	best := slices.Max(fitnesses[3:])
	after := must.Get(r.Reinsert(fitnesses, descriptors))
	cell := r.cellOf(home)
	if filled := after.Filled(); !slices.Equal(filled, []int{cell}) || after.Fitnesses[cell] != best {
		t.Errorf("cells %v are filled; cell %d has %g, not %g", filled, cell, after.Fitnesses[cell], best)
	}
	if _, err := r.Reinsert(fitnesses[1:], descriptors); err == nil {
		t.Error("a fitness is missing, and nothing says so")
	}
}

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
	expect("next to a damaged checkpoint", 5, 5, true)
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
	errtest.Want(t, errtest.Of(w.History()), w.Dir, "train with --keep-genotypes")
}
