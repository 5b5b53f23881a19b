package exchange

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// writeFile writes an array to an .npy file.
func writeFile(t *testing.T, path string, array npz.Array) string {
	t.Helper()
	nb.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(npz.WriteNPY(path, array))
	return path
}

// numbers returns n made-up parameters.
func numbers(n int) []float32 {
	random, row := rand.New(rand.NewPCG(3, 4)), make([]float32, n)
	for i := range row {
		row[i] = float32(random.NormFloat64())
	}
	return row
}

// mazePolicy is the number of parameters of a policy for pointmaze with five skills and two hidden
// layers of 8 units.
const mazePolicy = (2+5+1)*8 + 9*8 + 9*4

// mazeGenotype is the number of parameters of a policy without skills.
const mazeGenotype = 3*8 + 9*8 + 9*2

func importPolicy(t *testing.T, file string) ImportSpec {
	return ImportSpec{Algorithm: "dads-reward", Env: "pointmaze", Policy: file,
		Set:  []string{"hidden=[8,8]", "episode_length=30"},
		Runs: filepath.Join(t.TempDir(), "runs")}
}

func TestImportPolicy(t *testing.T) {
	row := numbers(mazePolicy)
	spec := importPolicy(t, writeFile(t, filepath.Join(t.TempDir(), "policy.npy"), npz.Of(row)))
	run := nb.Must(Import(spec))
	skills := nb.Must(run.Skills())
	want := &runs.Skills{Observations: 2, Actions: 2, Count: 5, Hidden: []int{8, 8}, Policy: row}
	if !reflect.DeepEqual(skills,
		want) || !run.Status.Finished || run.Config.Algorithm != "dads-reward" || !math.IsInf(
		run.Status.MaxFitness, -1) {
		t.Errorf("%+v of %+v", skills, run)
	}

	// The same values give the same run, whatever their file. Other values give another run.
	wide := make([]float64, len(row))
	for i, x := range row {
		wide[i] = float64(x)
	}
	same := spec
	same.Policy = writeFile(t, filepath.Join(t.TempDir(), "other.npy"), npz.Of(wide))
	errtest.Equal(t, "again", nb.Must(Import(same)), run)
	row[17]++
	other := spec
	other.Policy = writeFile(t, filepath.Join(t.TempDir(), "other.npy"), npz.Of(row))
	if nb.Must(Import(other)).Dir == run.Dir {
		t.Error("other values are in the same folder")
	}

	found := nb.Must(watch.Play(t.Context(), run, watch.Spec{Episodes: 3, Backend: "go"}))
	if len(found.Results) != 5 || found.Steps != 30 || found.Results[0].Mean() == found.Results[1].Mean() {
		t.Errorf("%+v", found)
	}

	spec.Algorithm, spec.Policy = "sac", writeFile(t, filepath.Join(t.TempDir(), "sac.npy"),
		npz.Of(numbers(3*8+9*8+9*4)))
	sac := nb.Must(Import(spec))
	if skills := nb.Must(sac.Skills()); skills.Count != 0 || skills.Skills() != 1 {
		t.Errorf("SAC has %d skills", skills.Count)
	}
}

func TestImportPolicyMistakes(t *testing.T) {
	dir := t.TempDir()
	row := numbers(mazePolicy)
	good := writeFile(t, filepath.Join(dir, "good.npy"), npz.Of(row))
	whole := nb.Must(os.ReadFile(good))
	nb.Check(os.WriteFile(filepath.Join(dir, "cut.npy"), whole[:len(whole)-5], 0o666))
	nb.Check(os.WriteFile(filepath.Join(dir, "text.npy"), []byte("some words"), 0o666))
	file := func(name string, array npz.Array) string {
		return writeFile(t, filepath.Join(dir, name), array)
	}
	nan := slices.Clone(row)
	nan[3] = float32(math.NaN())
	huge := make([]float64, mazePolicy)
	huge[4] = 1e300
	for want, change := range map[string]func(*ImportSpec){
		`did you mean "dads-reward"?`:        func(s *ImportSpec) { s.Algorithm = "dads-rewards" },
		`did you mean "pointmaze"?`:          func(s *ImportSpec) { s.Env = "pointmase" },
		`did you mean "hidden"?`:             func(s *ImportSpec) { s.Set = []string{"hiden=[8]"} },
		`unknown field "skills"`:             func(s *ImportSpec) { s.Algorithm, s.Set = "sac", []string{"skills=3"} },
		"episode_length must be between":     func(s *ImportSpec) { s.Set = append(s.Set, "episode_length=0") },
		"hidden layers must have between 1":  func(s *ImportSpec) { s.Set = append(s.Set, "hidden=[0]") },
		"skills must be between 1 and 16384": func(s *ImportSpec) { s.Set = append(s.Set, "skills=-1") },
		"give --repertoire":                  func(s *ImportSpec) { s.Algorithm = "map-elites" },
		"give one of --policy and":           func(s *ImportSpec) { s.Repertoire = dir },
		"give one of --policy":               func(s *ImportSpec) { s.Policy = "" },
		"there is no file":                   func(s *ImportSpec) { s.Policy = filepath.Join(dir, "none.npy") },
		"is a folder, not an .npy file":      func(s *ImportSpec) { s.Policy = dir },
		"cut.npy: cut off":                   func(s *ImportSpec) { s.Policy = filepath.Join(dir, "cut.npy") },
		"text.npy":                           func(s *ImportSpec) { s.Policy = filepath.Join(dir, "text.npy") },
		"has shape [1 172]":                  func(s *ImportSpec) { s.Policy = file("row.npy", npz.Of(row, 1, mazePolicy)) },
		"has type int32, not float32 or": func(s *ImportSpec) {
			s.Policy = file("int.npy", npz.Of(make([]int32, mazePolicy)))
		},
		"parameter 3 is NaN":  func(s *ImportSpec) { s.Policy = file("nan.npy", npz.Of(nan)) },
		"parameter 4 is +Inf": func(s *ImportSpec) { s.Policy = file("huge.npy", npz.Of(huge)) },
		"has 172 parameters, but sac on pointmaze needs 132 (2 -> 8 -> 8 -> 4)": func(s *ImportSpec) { s.Algorithm = "sac" },
		"is not a folder": func(s *ImportSpec) { s.Runs = filepath.Join(good, "runs") },
	} {
		spec := importPolicy(t, good)
		change(&spec)
		_, err := Import(spec)
		errtest.Want(t, err, want)
		if _, err := os.Stat(spec.Runs); err == nil {
			t.Errorf("%q left a folder of runs", want)
		}
	}
}

// foreign returns the arrays of a repertoire of four cells for pointmaze, one of which is empty and
// holds NaN.
func foreign() map[string]npz.Array {
	genotypes, nan := numbers(4*mazeGenotype), float32(math.NaN())
	for i := range mazeGenotype {
		genotypes[2*mazeGenotype+i] = nan
	}
	return map[string]npz.Array{
		"genotypes":   npz.Of(genotypes, 4, mazeGenotype),
		"fitnesses":   npz.Of([]float32{-60, -20, float32(math.Inf(-1)), -30}),
		"descriptors": npz.Of([]float32{-0.5, -0.5, 0.5, -0.5, nan, nan, 0.25, 0.75}, 4, 2),
		"centroids":   npz.Of([]float32{-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5}, 4, 2),
	}
}

// folderOf writes arrays as .npy files to a folder.
func folderOf(t *testing.T, arrays map[string]npz.Array) string {
	t.Helper()
	dir := t.TempDir()
	for name, array := range arrays {
		writeFile(t, filepath.Join(dir, name+".npy"), array)
	}
	return dir
}

func TestImportRepertoire(t *testing.T) {
	dir := folderOf(t, foreign())
	spec := ImportSpec{Algorithm: "map-elites", Env: "pointmaze", Repertoire: dir,
		Set: []string{"hidden=[8,8]", "episode_length=30"}, Runs: t.TempDir()}
	run := nb.Must(Import(spec))
	s := run.Status
	if want := -110 + 3*30*2.3431; !s.Finished || s.Evaluations != 0 || s.MaxFitness != -20 ||
		s.Coverage != 75 || math.Abs(s.QDScore-want) > 1e-9 {
		t.Errorf("%+v, want a QD score of %g", s, want)
	}
	repertoire := nb.Must(run.Repertoire())
	if !slices.Equal(repertoire.Filled(), []int{0, 1, 3}) || !slices.Equal(repertoire.Genotype(3),
		foreign()["genotypes"].Data.([]float32)[3*mazeGenotype:]) ||
		!slices.Equal(repertoire.Upper, []float32{1, 1}) || repertoire.Genotype(2) != nil {
		t.Errorf("%+v", repertoire)
	}
	played := nb.Must(watch.Play(t.Context(), run, watch.Spec{Seed: 1, Cells: []int{1, 3}})).Results
	if len(played) != 2 || len(played[0].Recorded[0].Path) != 30 {
		t.Errorf("%d episodes", len(played))
	}
	if found := nb.Must(watch.Play(t.Context(), run, watch.Spec{Episodes: 2,
		Backend: "go"})); found.Results[0].Number != 1 || found.Steps != 30 {
		t.Errorf("%+v", found)
	}

	// From an .npz file, or from the run's own folder, it is the same run.
	file := filepath.Join(t.TempDir(), "repertoire.npz")
	nb.Check(npz.Write(file, foreign()))
	for _, source := range []string{file, run.Dir} {
		spec.Repertoire = source
		errtest.Equal(t, source, nb.Must(Import(spec)), run)
	}
}

func TestImportRepertoireMistakes(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	set := func(name string, at int, x float32) func(map[string]npz.Array) {
		return func(a map[string]npz.Array) { a[name].Data.([]float32)[at] = x }
	}
	put := func(name string, array npz.Array) func(map[string]npz.Array) {
		return func(a map[string]npz.Array) { a[name] = array }
	}
	for want, change := range map[string]func(map[string]npz.Array){
		"has neither genotypes.npy nor":               func(a map[string]npz.Array) { delete(a, "genotypes") },
		"centroids.npy":                               func(a map[string]npz.Array) { delete(a, "centroids") },
		"the fitness of cell 1 is NaN":                set("fitnesses", 1, nan),
		"the fitness of cell 0 is +Inf":               set("fitnesses", 0, inf),
		"the centroid of cell 2":                      set("centroids", 4, nan),
		"the descriptor of cell 3":                    set("descriptors", 7, inf),
		"the genotype of cell 1":                      set("genotypes", mazeGenotype, nan),
		"has no cells":                                put("fitnesses", npz.Of([]float32{})),
		"fitnesses.npy has shape [2 2], not [cells]":  put("fitnesses", npz.Of(make([]float32, 4), 2, 2)),
		"centroids.npy has shape [8], not [cells, nu": put("centroids", npz.Of(make([]float32, 8))),
		"centroids has shape [4 3], not [4 2]":        put("centroids", npz.Of(make([]float32, 12), 4, 3)),
		"descriptors has shape [3 2], not [4 2]":      put("descriptors", npz.Of(make([]float32, 6), 3, 2)),
		"genotypes has shape [4 22], not [4 ":         put("genotypes", npz.Of(make([]float32, 4*22), 4, 22)),
		"has type uint8, not float32":                 put("genotypes", npz.Of(make([]uint8, 4), 4, 1)),
	} {
		arrays := foreign()
		change(arrays)
		spec := ImportSpec{Algorithm: "map-elites", Env: "pointmaze", Repertoire: folderOf(t, arrays),
			Set:  []string{"hidden=[8,8]"},
			Runs: filepath.Join(t.TempDir(), "runs")}
		_, err := Import(spec)
		errtest.Want(t, err, want)
		if _, err := os.Stat(spec.Runs); err == nil {
			t.Errorf("%q left a folder of runs", want)
		}
	}
	for want, change := range map[string]func(*ImportSpec){
		"there is no repertoire": func(s *ImportSpec) {
			s.Repertoire = filepath.Join(s.Repertoire, "none")
		},
		"not an .npz file": func(s *ImportSpec) {
			s.Repertoire = filepath.Join(s.Repertoire, "fitnesses.npy")
		},
		"dads trains one policy, not":           func(s *ImportSpec) { s.Algorithm = "dads" },
		"halfcheetah-hurdles has no descriptor": func(s *ImportSpec) { s.Env = "halfcheetah-hurdles" },
	} {
		spec := ImportSpec{Algorithm: "map-elites", Env: "pointmaze", Repertoire: folderOf(t, foreign()),
			Set: []string{"hidden=[8,8]"}, Runs: t.TempDir()}
		change(&spec)
		errtest.Want(t, errtest.Of(Import(spec)), want)
	}
}

func TestExport(t *testing.T) {
	row := numbers(mazePolicy)
	run := nb.Must(Import(importPolicy(t, writeFile(t, filepath.Join(t.TempDir(), "policy.npy"), npz.Of(row)))))
	grid := nb.Must(Import(ImportSpec{Algorithm: "aurora", Env: "pointmaze",
		Repertoire: folderOf(t, foreign()), Set: []string{"hidden=[8,8]"}, Runs: t.TempDir()}))
	dir := t.TempDir()
	one, two, five := 1, 2, 5
	layers := func(sizes ...int) map[string][]int {
		shapes := map[string][]int{"sizes": {len(sizes)}}
		for i, name := range []string{"layer_0.", "layer_1.", "layer_2."} {
			shapes[name+"bias"], shapes[name+"kernel"] = []int{sizes[i+1]}, []int{sizes[i], sizes[i+1]}
		}
		return shapes
	}
	whole := layers(7, 8, 8, 4)
	whole["skills"] = []int{}
	for _, c := range []struct {
		run  *runs.Run
		spec ExportSpec
		row  []float32
		want map[string][]int
	}{
		{run, ExportSpec{}, row, whole},
		{run, ExportSpec{Skill: &one}, nb.Must(run.Skills()).Genotype(1), layers(2, 8, 8, 2)},
		{grid, ExportSpec{}, nb.Must(grid.Repertoire()).Genotype(1), layers(2, 8, 8, 2)},
		{grid, ExportSpec{Cell: &one}, nb.Must(grid.Repertoire()).Genotype(1), layers(2, 8, 8, 2)},
	} {
		c.spec.Out, c.spec.Force = filepath.Join(dir, "policy.npz"), true
		shapes, err := Export(c.run, c.spec)
		if err != nil || !reflect.DeepEqual(shapes, c.want) {
			t.Errorf("%v, %v; want %v", shapes, err, c.want)
		}
		arrays := nb.Must(npz.Read(c.spec.Out))
		var flat []float32
		for _, name := range []string{"layer_0.", "layer_1.", "layer_2."} {
			flat = append(flat, arrays[name+"bias"].Data.([]float32)...)
			flat = append(flat, arrays[name+"kernel"].Data.([]float32)...)
		}
		if !slices.Equal(flat, c.row) || len(arrays) != len(c.want) {
			t.Errorf("%+v: other values", c.spec)
		}
	}
	all := filepath.Join(dir, "all.npz")
	nb.Must(Export(grid, ExportSpec{Repertoire: true, Out: all}))
	again := nb.Must(Import(ImportSpec{Algorithm: "aurora", Env: "pointmaze", Repertoire: all,
		Set: []string{"hidden=[8,8]"}, Runs: filepath.Dir(grid.Dir)}))
	if again.Dir != grid.Dir {
		t.Error("an exported and reimported repertoire is another run")
	}

	b := filepath.Join(dir, "b.npz")
	for want, err := range map[string]error{
		"already exists; --force replaces it": errtest.Of(Export(run, ExportSpec{Out: all})),
		"ends in neither .npz nor .onnx":      errtest.Of(Export(run, ExportSpec{Out: "policy.pt"})),
		"there is no folder":                  errtest.Of(Export(run, ExportSpec{Out: filepath.Join(dir, "a", "b.npz")})),
		"are mutually exclusive":              errtest.Of(Export(run, ExportSpec{Skill: &one, Repertoire: true, Out: b})),
		"there is no skill 5":                 errtest.Of(Export(run, ExportSpec{Skill: &five, Out: b})),
		"cell 2 is empty":                     errtest.Of(Export(grid, ExportSpec{Cell: &two, Out: b})),
		"has skills and no repertoire":        errtest.Of(Export(run, ExportSpec{Repertoire: true, Out: b})),
	} {
		errtest.Want(t, err, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("there are %v", left)
	}
}
