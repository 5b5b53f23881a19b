package runs

import (
	"errors"
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
	errtest.Equal(t, "the best cell", fmt.Sprint(r.Best(), r.Genotype(3), r.Descriptor(3), r.Centroid(3)),
		fmt.Sprint(3, []float32{4, 5, 6}, []float32{-0.5, 0.75}, []float32{-0.5, 0.5}))
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

// Genotypes are found by cell, with the rows of empty cells and without.
func TestGenotypesOfCells(t *testing.T) {
	for name, r := range map[string]*Repertoire{"full": testRepertoire(), "packed": packedRepertoire()} {
		errtest.Equal(t, fmt.Sprintf("%s: all", name), r.AllGenotypes(), testRepertoire().Genotypes)
		errtest.Equal(t, fmt.Sprintf("%s: cell 1", name), r.Genotype(1), []float32{1, 2, 3})
		errtest.Equal(t, fmt.Sprintf("%s: cell 3", name), r.Rows()[3], []float32{4, 5, 6})
	}
	errtest.Equal(t, "an empty cell", packedRepertoire().Genotype(2), nil)
	none := testRepertoire()
	none.Genotypes = nil
	errtest.Equal(t, "genotypes that were not read", fmt.Sprint(none.AllGenotypes(), none.Genotype(1)), "[] []")
}

// foreignArrays are those of a file of another program, or of an older version: all cells have a row of genotypes.
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
	if r, err := ReadRepertoire(path, true); err != nil || r.Lower != nil || r.Offset != 0 || r.Stats().Filled != 2 ||
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
	for _, change := range map[string]func(*Repertoire){
		"genotypes": func(r *Repertoire) { r.Params = 4 },
		"negative":  func(r *Repertoire) { *r = Repertoire{Dims: -1} },
		"limits":    func(r *Repertoire) { r.Upper = r.Upper[:1] },
		"NaN":       func(r *Repertoire) { r.Fitnesses[0] = float32(math.NaN()) },
	} {
		r := testRepertoire()
		change(r)
		errtest.Want(t, r.Write(filepath.Join(t.TempDir(), "repertoire.npz")))
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
	errtest.Equal(t, "the repertoire", fmt.Sprint(again.Fitnesses, again.Descriptors), fmt.Sprint(r.Fitnesses, r.Descriptors))
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
	errtest.Equal(t, "filled cells and the fitness", fmt.Sprint(after.Filled(), after.Fitnesses[cell]),
		fmt.Sprint([]int{cell}, best))
	errtest.Want(t, errtest.Of(r.Reinsert(fitnesses[1:], descriptors)))
}

// The newest repertoire comes from the newest intact checkpoint or snapshot; for a finished run it is the final one.
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
	errtest.Equal(t, "of a run without anything", must.Get(run.Newest()), nil)
	checkpoint(2, "", 2)
	expect("a checkpoint", 2, 2, false)
	must.Do(w.SaveStatus(Status{Lower: []float32{0, 0}, Upper: []float32{1, 1}}))
	expect("a checkpoint of an environment whose limits are known", 2, 2, true)
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
	list := must.Get(w.Snapshots())
	errtest.Equal(t, "snapshots without it, and the generation", fmt.Sprint(len(list), list[0].Generation), "1 1")
	errtest.Want(t, errtest.Of(w.History()), w.Dir, "train with --keep-genotypes")
}

// testSkills returns three skills of a made-up network.
func testSkills(count int, hidden ...int) *Skills {
	s := &Skills{Observations: 4, Actions: 2, Count: count, Hidden: hidden}
	random := rand.New(rand.NewPCG(1, uint64(count)))
	for range Row(s.Sizes()) {
		s.Policy = append(s.Policy, float32(random.NormFloat64())/2)
	}
	return s
}

// evaluated adds an evaluation and the parameters of a discriminator.
func evaluated(s *Skills) *Skills {
	s.Which = []int{0, 2}
	s.Fitnesses = []float32{1.5, -2}
	s.Descriptors = []float32{1, 2, 3, 4, 5, 6}
	s.Trajectories = []float32{1, 2, 3, 4, 5, 6, 7, 8}
	s.Extra = map[string]npz.Array{"discriminator": npz.Of([]float32{1, 2, 3, 4}, 1, 4), "count": npz.Scalar(int32(7))}
	return s
}

// forward computes a ReLU network with flat parameters in float64.
func forward(row []float32, sizes []int, input []float64) []float64 {
	at := 0
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		next := make([]float64, out)
		for j := range next {
			next[j] = float64(row[at+j])
			for i, x := range input {
				next[j] += x * float64(row[at+out+i*out+j])
			}
			if layer < len(sizes)-2 {
				next[j] = max(0, next[j])
			}
		}
		at, input = at+out+in*out, next
	}
	return input
}

// A skill as a separate policy equals the network conditioned on it.
func TestSkillsAreGenotypes(t *testing.T) {
	observation := []float64{0.3, -1.2, 0.7, 2}
	for _, c := range []struct {
		count  int
		hidden []int
	}{{5, []int{6, 3}}, {3, []int{7}}, {2, nil}, {1, []int{4}}, {0, []int{5, 5}}, {0, nil}} {
		s := testSkills(c.count, c.hidden...)
		must.Do(s.Check())
		actions := map[float64]bool{}
		for k := range s.Skills() {
			input := append(slices.Clone(observation), make([]float64, c.count)...)
			if c.count > 0 {
				input[4+k] = 1
			}
			want := forward(s.Policy, s.Sizes(), input)
			genotype := s.Genotype(k)
			if len(genotype) != s.Params() {
				t.Fatalf("%d skills, hidden layers %v: %d parameters, not %d", c.count, c.hidden, len(genotype), s.Params())
			}
			got := forward(genotype, slices.Concat([]int{4}, c.hidden, []int{2}), observation)
			actions[got[0]] = true
			gaussian := forward(s.Gaussian(k), slices.Concat([]int{4}, c.hidden, []int{4}), observation)
			got = append(got, gaussian...)
			for i, want := range append(want[:2:2], want...) {
				if math.Abs(got[i]-want) > 1e-6 {
					t.Errorf("%d skills, hidden layers %v: skill %d gives %v, not %v", c.count, c.hidden, k, got, want)
				}
			}
		}
		errtest.Equal(t, fmt.Sprintf("%+v: distinct actions", c), len(actions), s.Skills())
	}
}

func TestSkillsRoundTrip(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	for _, want := range []*Skills{evaluated(testSkills(3, 8, 8)), testSkills(0, 5), testSkills(2)} {
		must.Do(w.SaveSkills(want))
		run := must.Get(Open(w.Dir))
		got, err := run.Skills()
		if want.Hidden == nil {
			want.Hidden = []int{}
		}
		if err != nil || !reflect.DeepEqual(got, want) || !run.HasSkills() || run.HasRepertoire() {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if s := evaluated(testSkills(3)); s.Dims() != 3 || s.Steps() != 2 || testSkills(3).Dims() != 0 ||
		testSkills(3).Steps() != 0 {
		t.Errorf("%d dimensions and %d steps", s.Dims(), s.Steps())
	}
	must.Do(os.Remove(filepath.Join(w.Dir, skillsFile)))
	errtest.Want(t, errtest.Of(w.Skills()), "has no skills.npz")
}

func TestWrongSkillsAreNeitherWrittenNorRead(t *testing.T) {
	w := create(t, t.TempDir())
	path := filepath.Join(w.Dir, skillsFile)
	for want, change := range map[string]func(*Skills){
		"the policy has 0 parameters":                              func(s *Skills) { s.Policy = []float32{} },
		"observations must be between":                             func(s *Skills) { s.Observations = 0 },
		"actions must be between 1 and 16384, not ":                func(s *Skills) { s.Actions = 1 << 30 },
		"skills must be between 0":                                 func(s *Skills) { s.Count = -1 },
		"number of hidden layers must be between 0 and 16, not 17": func(s *Skills) { s.Hidden = slices.Repeat([]int{1}, 17) },
		"hidden layers must have between 1 and 16384":              func(s *Skills) { s.Hidden = []int{0} },
		"evaluation 1 is of skill 3":                               func(s *Skills) { s.Which[1] = 3 },
		"evaluation 0 is of skill -1":                              func(s *Skills) { s.Which[0] = -1 },
	} {
		s := evaluated(testSkills(3, 8))
		change(s)
		errtest.Want(t, w.SaveSkills(s), want)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: written", want)
		}
		must.Do(npz.Write(path, s.arrays()))
		errtest.Want(t, errtest.Of(npz.ReadFile(path, readSkills)), want, path)
		must.Do(os.Remove(path))
	}
	for want, change := range map[string]func(*Skills){
		"fitnesses: shape [2]":            func(s *Skills) { s.Fitnesses = s.Fitnesses[:1] },
		"descriptors: shape [2 2]":        func(s *Skills) { s.Descriptors = s.Descriptors[:5] },
		"trajectories: shape [2 1 2]":     func(s *Skills) { s.Trajectories = s.Trajectories[:6] },
		"descriptors: shape [0 0]":        func(s *Skills) { s.Which, s.Fitnesses = nil, nil },
		`"policy" is the name of another`: func(s *Skills) { s.Extra["policy"] = npz.Scalar(1.5) },
		"odd":                             func(s *Skills) { s.Extra["odd"] = npz.Array{Shape: []int{3}, Data: []float32{1}} },
	} {
		s := evaluated(testSkills(3, 8))
		change(s)
		errtest.Want(t, w.SaveSkills(s), want)
	}
}

func TestSkillsOfAnotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skills.npz")
	arrays := testSkills(3, 8).arrays()
	wide := make([]float64, len(testSkills(3, 8).Policy))
	// any numeric type is accepted
	arrays[policyKey], arrays[hiddenKey], arrays[countKey] = npz.Of(wide), npz.Of([]uint8{8}), npz.Of([]float32{3})
	must.Do(npz.Write(path, arrays))
	if s, err := npz.ReadFile(path, readSkills); err != nil || s.Count != 3 || s.Which != nil {
		t.Errorf("%+v, %v", s, err)
	}
	for want, changed := range map[string]map[string]npz.Array{
		`no array "hidden"`:              {hiddenKey: {}},
		`no array "skills"`:              {countKey: {}},
		`no array "fitnesses"`:           {fitnessesKey: {}},
		"policy has shape [1 ":           {policyKey: npz.Of(wide, 1, len(wide))},
		"skills has shape [2]":           {countKey: npz.Of([]int64{1, 2})},
		"observations: ":                 {observationsKey: npz.Scalar(1.5)},
		"actions must be ":               {actionsKey: npz.Scalar(int64(1) << 40)},
		"descriptors has shape [3 2]":    {descriptorsKey: npz.Of(make([]float32, 6), 3, 2)},
		"trajectories has shape [2 1 4]": {trajectoriesKey: npz.Of(make([]float32, 8), 2, 1, 4)},
		"trajectories has shape [4 2], ": {trajectoriesKey: npz.Of(make([]float32, 8), 4, 2)},
	} {
		writeChanged(path, evaluated(testSkills(3, 8)).arrays(), changed)
		errtest.Want(t, errtest.Of(npz.ReadFile(path, readSkills)), want, path)
	}
	whole := must.Get(os.ReadFile(path))
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		must.Do(os.WriteFile(path, whole[:n], 0o666))
		errtest.Want(t, errtest.Of(npz.ReadFile(path, readSkills)))
	}
}

// A failed import leaves no folder, a killed one is completed, and a finished run is never changed.
func TestImport(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "a", "runs")
	config := must.Get(NewConfig("dads", "nothing", 0, map[string]string{"imported": "1234"}))
	save := func(w *Writer) error {
		return errors.Join(w.Begin(-1, "generation"), w.SaveSkills(testSkills(3)), w.SaveStatus(Status{Finished: true}))
	}

	broken := errors.New("broken")
	for _, fail := range []func(*Writer) error{
		func(*Writer) error { return broken },
		func(w *Writer) error { return errors.Join(save(w), broken) },
	} {
		if _, err := Import(root, config, fail); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		errtest.Equal(t, "what a failed import left", must.Get(os.ReadDir(root)), nil)
	}

	run, err := Import(root, config, save)
	if err != nil || run.Dir != filepath.Join(root, config.Name()) || !run.Status.Finished || !run.HasSkills() {
		t.Fatalf("%+v, %v", run, err)
	}
	again, err := Import(root, config, func(*Writer) error { return broken })
	must.Do(err)
	errtest.Equal(t, "again", again, run)
	errtest.Equal(t, "runs", len(must.Get(os.ReadDir(root))), 1)
	w := must.Get(Create(root, config)) // nobody holds the lock
	must.Do(w.SaveStatus(Status{}))
	must.Do(w.Close())
	errtest.Equal(t, "a killed import is finished", must.Get(Import(root, config, save)).Status.Finished, true)
	file := filepath.Join(parent, "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	errtest.Want(t, errtest.Of(Import(filepath.Join(file, "runs"), config, save)), "is not a folder")
	if os.Getuid() != 0 { // root may write anywhere
		must.Do(os.Chmod(parent, 0o555))
		defer os.Chmod(parent, 0o755)
		errtest.Want(t, errtest.Of(Import(filepath.Join(parent, "other"), config, save)), "cannot write")
	}
}

func TestMeansOfSkills(t *testing.T) {
	s := &Skills{Count: 2, Which: []int{1, 0, 1}, Fitnesses: []float32{1, 5, 3}, Descriptors: []float32{0, 2, 9, 9, 1, 4}}
	if f, d := s.Mean(1); f != 2 || !slices.Equal(d, []float64{0.5, 3}) {
		t.Errorf("skill 1: %v, %v", f, d)
	}
	if f, d := (&Skills{Count: 2}).Mean(0); !math.IsNaN(f) || d != nil {
		t.Errorf("without an evaluation: %v, %v", f, d)
	}
}
