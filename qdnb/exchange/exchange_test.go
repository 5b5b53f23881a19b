package exchange

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/protobuf/protobuftest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
	"example.com/qdnb/xla/nn"
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

// mazePolicy is the number of parameters of a policy for pointmaze with five skills and two hidden layers of 8 units.
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
	if !reflect.DeepEqual(skills, want) || !run.Status.Finished || run.Config.Algorithm != "dads-reward" || !math.IsInf(
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

	spec.Algorithm, spec.Policy = "sac", writeFile(t, filepath.Join(t.TempDir(), "sac.npy"), npz.Of(numbers(3*8+9*8+9*4)))
	sac := nb.Must(Import(spec))
	if skills := nb.Must(sac.Skills()); skills.Count != 0 || skills.Skills() != 1 {
		t.Errorf("SAC has %d skills", skills.Count)
	}
}

// foreign returns the arrays of a repertoire of four cells for pointmaze, one of which is empty and holds NaN.
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
	errtest.Equal(t, "episodes and steps", fmt.Sprint(len(played), len(played[0].Recorded[0].Path)), "2 30")
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

// A mistake in an import gives one line, and leaves no folder.
func TestImportMistakes(t *testing.T) {
	dir := t.TempDir()
	row := numbers(mazePolicy)
	good := writeFile(t, filepath.Join(dir, "good.npy"), npz.Of(row))
	whole := nb.Must(os.ReadFile(good))
	nb.Check(os.WriteFile(filepath.Join(dir, "cut.npy"), whole[:len(whole)-5], 0o666))
	nb.Check(os.WriteFile(filepath.Join(dir, "text.npy"), []byte("some words"), 0o666))
	file := func(name string, array npz.Array) func(*ImportSpec) {
		return func(s *ImportSpec) { s.Policy = writeFile(t, filepath.Join(dir, name), array) }
	}
	set := func(assignment string) func(*ImportSpec) {
		return func(s *ImportSpec) { s.Set = append(s.Set, assignment) }
	}
	// repertoire changes the arrays of a repertoire.
	repertoire := func(change func(map[string]npz.Array)) func(*ImportSpec) {
		return func(s *ImportSpec) {
			arrays := foreign()
			change(arrays)
			s.Algorithm, s.Policy, s.Repertoire = "map-elites", "", folderOf(t, arrays)
		}
	}
	without := func(name string) func(*ImportSpec) {
		return repertoire(func(a map[string]npz.Array) { delete(a, name) })
	}
	at := func(name string, at int, x float64) func(*ImportSpec) {
		return repertoire(func(a map[string]npz.Array) { a[name].Data.([]float32)[at] = float32(x) })
	}
	put := func(name string, array npz.Array) func(*ImportSpec) {
		return repertoire(func(a map[string]npz.Array) { a[name] = array })
	}
	of := func(change func(*ImportSpec)) func(*ImportSpec) { // an intact repertoire
		return func(s *ImportSpec) {
			repertoire(func(map[string]npz.Array) {})(s)
			change(s)
		}
	}
	nan, huge := slices.Clone(row), make([]float64, mazePolicy)
	nan[3], huge[4] = float32(math.NaN()), 1e300
	for want, change := range map[string]func(*ImportSpec){
		`did you mean "dads-reward"?`:        func(s *ImportSpec) { s.Algorithm = "dads-rewards" },
		`did you mean "pointmaze"?`:          func(s *ImportSpec) { s.Env = "pointmase" },
		`did you mean "hidden"?`:             func(s *ImportSpec) { s.Set = []string{"hiden=[8]"} },
		`unknown field "skills"`:             func(s *ImportSpec) { s.Algorithm, s.Set = "sac", []string{"skills=3"} },
		"episode_length must be between":     set("episode_length=0"),
		"hidden layers must have between 1":  set("hidden=[0]"),
		"skills must be between 1 and 16384": set("skills=-1"),
		"give --repertoire":                  func(s *ImportSpec) { s.Algorithm = "map-elites" },
		"give one of --policy and":           func(s *ImportSpec) { s.Repertoire = dir },
		"give one of --policy":               func(s *ImportSpec) { s.Policy = "" },
		"there is no such file":              func(s *ImportSpec) { s.Policy = filepath.Join(dir, "none.npy") },
		"it is a folder: give the path":      func(s *ImportSpec) { s.Policy = dir },
		"cut.npy: cut off":                   func(s *ImportSpec) { s.Policy = filepath.Join(dir, "cut.npy") },
		"text.npy":                           func(s *ImportSpec) { s.Policy = filepath.Join(dir, "text.npy") },
		"has shape [1 172]":                  file("row.npy", npz.Of(row, 1, mazePolicy)),
		"has type int32, not float32 or":     file("int.npy", npz.Of(make([]int32, mazePolicy))),
		"parameter 3 is NaN":                 file("nan.npy", npz.Of(nan)),
		"parameter 4 is +Inf":                file("huge.npy", npz.Of(huge)),
		"is not a folder":                    func(s *ImportSpec) { s.Runs = filepath.Join(good, "runs") },
		"has 172 parameters, but sac on pointmaze needs 132 (2 -> 8 -> 8 -> 4): set hidden and skills": func(s *ImportSpec) {
			s.Algorithm = "sac"
		},

		"has neither genotypes.npy nor":               without("genotypes"),
		"centroids.npy":                               without("centroids"),
		"the fitness of cell 1 is NaN":                at("fitnesses", 1, math.NaN()),
		"the fitness of cell 0 is +Inf":               at("fitnesses", 0, math.Inf(1)),
		"the centroid of cell 2":                      at("centroids", 4, math.NaN()),
		"the descriptor of cell 3":                    at("descriptors", 7, math.Inf(1)),
		"the genotype of cell 1":                      at("genotypes", mazeGenotype, math.NaN()),
		"has no cells":                                put("fitnesses", npz.Of([]float32{})),
		"fitnesses.npy has shape [2 2], not [cells]":  put("fitnesses", npz.Of(make([]float32, 4), 2, 2)),
		"centroids.npy has shape [8], not [cells, nu": put("centroids", npz.Of(make([]float32, 8))),
		"centroids has shape [4 3], not [4 2]":        put("centroids", npz.Of(make([]float32, 12), 4, 3)),
		"descriptors has shape [3 2], not [4 2]":      put("descriptors", npz.Of(make([]float32, 6), 3, 2)),
		"genotypes has shape [4 22], not [4 ":         put("genotypes", npz.Of(make([]float32, 4*22), 4, 22)),
		"has type uint8, not float32":                 put("genotypes", npz.Of(make([]uint8, 4), 4, 1)),
		"there is no repertoire":                      of(func(s *ImportSpec) { s.Repertoire += "/none" }),
		"not an .npz file":                            of(func(s *ImportSpec) { s.Repertoire += "/fitnesses.npy" }),
		"dads trains one policy, not":                 of(func(s *ImportSpec) { s.Algorithm = "dads" }),
		"halfcheetah-hurdles has no descriptor":       of(func(s *ImportSpec) { s.Env = "halfcheetah-hurdles" }),
	} {
		spec := importPolicy(t, good)
		change(&spec)
		errtest.Want(t, errtest.Of(Import(spec)), want)
		errtest.Want(t, errtest.Of(os.Stat(spec.Runs)))
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
		errtest.Equal(t, fmt.Sprintf("%+v: values", c.spec), fmt.Sprint(flat, len(arrays)), fmt.Sprint(c.row, len(c.want)))
	}
	all := filepath.Join(dir, "all.npz")
	nb.Must(Export(grid, ExportSpec{Repertoire: true, Out: all}))
	again := nb.Must(Import(ImportSpec{Algorithm: "aurora", Env: "pointmaze", Repertoire: all,
		Set: []string{"hidden=[8,8]"}, Runs: filepath.Dir(grid.Dir)}))
	errtest.Equal(t, "the run of an exported and reimported repertoire", again.Dir, grid.Dir)

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

// FuzzImport imports arbitrary values as a policy and as a repertoire. An imported run can be read.
func FuzzImport(f *testing.F) {
	f.Add("<f4 12, 0.5", "fitnesses <f4 2, 1 -inf\ngenotypes <f4 2,12 0.5\ndescriptors <f4 2,2 0.5\ncentroids <f4 2,2 0.5",
		"hidden=[2]", true)
	f.Add("<f8 17, 1e300", "fitnesses <f8 2,1 1\ngenotypes <f4 2,12 nan\ndescriptors <f4 2,2 inf\ncentroids <f4 2,2 0.5",
		"hidden=[2]", false)
	f.Add("<f4 4611686018427387904,0",
		"fitnesses <f4 0,\ngenotypes <f4 0,12\ndescriptors <f4 0,2\ncentroids <f4 0,2", "hidden=[]", true)
	f.Add("|u1 3,", "fitnesses <f4 2, 1\ngenotypes <f4 2,4611686018427387904", "skills=1e9", false)
	f.Add("<f4 \n", "fit\nnesses", "hidden=[16384,16384,16384]", true)
	f.Add("<f4 1,", "", "episode_length=99999999999999999", true)
	f.Fuzz(func(t *testing.T, policy, repertoire, set string, raw bool) {
		dir := t.TempDir()
		asPolicy, asRepertoire := hostile.Array(policy), hostile.Archive(repertoire)
		if raw {
			asRepertoire = []byte(repertoire)
		}
		npy, npz := filepath.Join(dir, "policy.npy"), filepath.Join(dir, "repertoire.npz")
		for path, data := range map[string][]byte{npy: asPolicy, npz: asRepertoire} {
			must.Do(os.WriteFile(path, data, 0o666))
		}
		for _, s := range []ImportSpec{{Algorithm: "diayn", Policy: npy},
			{Algorithm: "map-elites", Repertoire: npz}} {
			s.Env, s.Set, s.Runs = "pointmaze", []string{set}, filepath.Join(dir, "runs")
			hostile.Bounded(t, len(asPolicy)+len(asRepertoire), func() {
				run, err := Import(s)
				hostile.Error(t, err)
				if err != nil {
					return
				}
				if run.HasSkills() {
					_, err = run.Skills()
				} else {
					_, err = run.Repertoire()
				}
				if err != nil {
					t.Errorf("an imported run cannot be read: %v", err)
				}
			})
		}
	})
}

// evaluated returns the action of an ONNX file for one observation, a skill and a policy, and the names
// and shapes of its inputs and outputs. It knows the operators that Export writes, for a batch of one.
func evaluated(t *testing.T, file string, observation, skill []float64, policy int) (action []float64, ports []string) {
	t.Helper()
	model := protobuftest.Fields(t, must.Get(os.ReadFile(file)))
	errtest.Equal(t, "versions of IR and operators", fmt.Sprint(model[1][0], " ", protobuftest.Fields(t, model[8][0])[2][0]),
		"7 13")
	graph := protobuftest.Fields(t, model[7][0])
	for _, port := range slices.Concat(graph[11], graph[12]) {
		value := protobuftest.Fields(t, port)
		tensor := protobuftest.Fields(t, protobuftest.Fields(t, value[2][0])[1][0])
		text := value[1][0] + " " + tensor[1][0]
		for _, dim := range protobuftest.Fields(t, tensor[2][0])[1] {
			for _, size := range protobuftest.Fields(t, dim) {
				text += " " + size[0]
			}
		}
		ports = append(ports, text)
	}
	type array struct {
		dims []string
		data []float64
	}
	values := map[string]array{"observation": {data: observation}, "skill": {data: skill}}
	for _, initializer := range graph[5] {
		tensor := protobuftest.Fields(t, initializer)
		a := array{dims: tensor[1]}
		if raw := []byte(tensor[9][0]); tensor[2][0] == "1" {
			for ; len(raw) > 0; raw = raw[4:] {
				a.data = append(a.data, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			}
		}
		values[tensor[8][0]] = a
	}
	for _, text := range graph[1] {
		node := protobuftest.Fields(t, text)
		a, b, out := values[node[1][0]], array{}, array{}
		if len(node[1]) > 1 {
			b = values[node[1][1]]
		}
		switch op := node[4][0]; op {
		case "Concat":
			out.data = slices.Concat(a.data, b.data)
		case "Unsqueeze", "Squeeze":
			out = a
		case "Gather":
			size := len(a.data) / must.Get(strconv.Atoi(a.dims[0]))
			out.data = a.data[policy*size:][:size]
		case "Gemm", "MatMul":
			n := len(b.data) / len(a.data)
			out.data = make([]float64, n)
			for i, x := range a.data {
				for k := range n {
					out.data[k] += x * b.data[i*n+k]
				}
			}
			if op == "Gemm" {
				for k, x := range values[node[1][2]].data {
					out.data[k] += x
				}
			}
		case "Add":
			for k, x := range a.data {
				out.data = append(out.data, x+b.data[k])
			}
		case "Sub", "Div", "Clip":
			for k, x := range a.data {
				switch op {
				case "Sub":
					x -= b.data[k]
				case "Div":
					x /= b.data[k]
				default:
					x = max(b.data[0], min(values[node[1][2]].data[0], x))
				}
				out.data = append(out.data, x)
			}
		case "Relu", "Tanh":
			for _, x := range a.data {
				if op == "Tanh" {
					x = math.Tanh(x)
				}
				out.data = append(out.data, max(x, map[string]float64{"Relu": 0, "Tanh": -1}[op]))
			}
		default:
			t.Fatalf("unknown operator %s", op)
		}
		values[node[2][0]] = out
	}
	return values["action"].data, ports
}

// applied returns the action of a flat policy for an observation.
func applied(row []float32, sizes []int, x []float64) []float64 {
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		y := make([]float64, out)
		for k := range out {
			y[k] = float64(row[k])
			for i := range in {
				y[k] += x[i] * float64(row[out+i*out+k])
			}
			if layer < len(sizes)-2 {
				y[k] = max(0, y[k])
			} else {
				y[k] = math.Tanh(y[k])
			}
		}
		x, row = y, row[out+in*out:]
	}
	return x
}

// Policies that normalise their observations do so in exported files, too.
func TestExportNormalisation(t *testing.T) {
	sizes, x := []int{2, 8, 2}, []float64{101326, 3}
	plain := numbers(runs.Row(sizes))
	n := network{sizes: sizes, normalises: true, batched: true,
		rows: [][]float32{append(slices.Clone(plain), 9, 9, 2, 2), append(slices.Clone(plain), 101325, 0, 2, 0.5)}}
	want := applied(plain, sizes, []float64{0.5, 5})
	for range 2 {
		shapes, file := map[string][]int{}, filepath.Join(t.TempDir(), "policy.onnx")
		must.Do(os.WriteFile(file, must.Get(n.onnx("normalised", shapes)), 0o666))
		action, _ := evaluated(t, file, x, nil, len(n.rows)-1)
		for k := range want {
			if len(action) != 2 || math.Abs(action[k]-want[k]) > 1e-6 {
				t.Errorf("%d policies: action %v, want %v", len(n.rows), action, want)
			}
		}
		if got := shapes["input.mean"]; got[len(got)-1] != 2 {
			t.Errorf("%v", shapes)
		}
		n.batched, n.rows = false, n.rows[1:]
	}
}

// named is a custom environment, of the runs of which nothing but sizes is known without it.
type named struct{ envs.Pointmaze }

func (named) Spec() envs.Spec {
	spec := envs.Pointmaze{}.Spec()
	spec.Name = "named"
	spec.ObservationComponents = []envs.Component{{Name: "left", Unit: "m"}, {Name: "right"}}
	spec.ControlStep = 0.1
	return spec
}

// ONNX files compute the actions of the policies, and contracts describe them.
func TestExportONNX(t *testing.T) {
	row := numbers(mazePolicy)
	skills := nb.Must(Import(importPolicy(t, writeFile(t, filepath.Join(t.TempDir(), "policy.npy"), npz.Of(row)))))
	spec := ImportSpec{Algorithm: "map-elites", Env: "pointmaze", Repertoire: folderOf(t, foreign()),
		Set: []string{"hidden=[8,8]"}, Runs: t.TempDir()}
	grid := nb.Must(Import(spec))
	custom := *grid
	custom.Config.Env, custom.Status.Observations, custom.Status.Actions = "named", 2, 2
	custom.Config.Hyperparameters = []byte(`{"hidden":[8,8],"episode_length":30,"weights":"bfloat16"}`)
	own := &custom
	x, one, three := []float64{0.3, -0.7}, 1, 3
	rounded := nn.NewPolicy(2, []int{8, 8}, 2).RoundBFloat16(nb.Must(grid.Repertoire()).Genotype(1))
	cells, kept := nb.Must(grid.Repertoire()), nb.Must(skills.Skills())
	for _, c := range []struct {
		run   *runs.Run
		spec  ExportSpec
		row   []float32
		ports string
	}{
		{skills, ExportSpec{}, kept.Genotype(1), "observation 1 batch 2;skill 1 batch 5;action 1 batch 2"},
		{skills, ExportSpec{Skill: &one}, kept.Genotype(1), "observation 1 batch 2;action 1 batch 2"},
		{grid, ExportSpec{Cell: &three}, cells.Genotype(3), "observation 1 batch 2;action 1 batch 2"},
		{grid, ExportSpec{Repertoire: true}, cells.Genotype(3), "observation 1 batch 2;policy 7 batch;action 1 batch 2"},
		{own, ExportSpec{}, rounded, "observation 1 batch 2;action 1 batch 2"},
		{own, ExportSpec{Environment: named{}}, rounded, "observation 1 batch 2;action 1 batch 2"},
	} {
		c.spec.Out = filepath.Join(t.TempDir(), "policy.onnx")
		shapes := nb.Must(Export(c.run, c.spec))
		action, ports := evaluated(t, c.spec.Out, x, []float64{0, 1, 0, 0, 0}, 2) // the third filled cell is 3
		for k, want := range applied(c.row, []int{2, 8, 8, 2}, x) {
			if len(action) != 2 || math.Abs(action[k]-want) > 1e-6 {
				t.Errorf("%+v: action %v, want %g", c.spec, action, want)
			}
		}
		errtest.Equal(t, "ports and shapes", fmt.Sprint(strings.Join(ports, ";"), len(shapes)), fmt.Sprint(c.ports, 6))
		var about Contract
		must.Do(json.Unmarshal(must.Get(os.ReadFile(strings.TrimSuffix(c.spec.Out, ".onnx")+".json")), &about))
		if len(about.Inputs)+1 != len(ports) || about.Environment != c.run.Config.Env || about.Run != c.run.Name() ||
			about.Normalisation != "none" || about.EpisodeLength == 0 {
			t.Errorf("%+v", about)
		}
		wide := envs.Pointmaze{}.Spec()
		want := map[bool][]envs.Component{true: wide.ObservationComponents}[c.run != own]
		if c.spec.Environment != nil {
			want = named{}.Spec().ObservationComponents
		}
		if !reflect.DeepEqual(about.Inputs[0].Components, want) || (about.ControlStep > 0) != (c.spec.Environment != nil) {
			t.Errorf("%+v: %+v", c.spec, about.Inputs)
		}
		last := about.Policies[len(about.Policies)-1]
		if c.run == grid && (*last.Cell != 3 || *last.Fitness != -30 || !slices.Equal(last.Descriptor, []float32{0.25, 0.75})) {
			t.Errorf("%+v", last)
		}
	}
	out := filepath.Join(t.TempDir(), "policy.onnx")
	_, err := Export(grid, ExportSpec{Out: out, Environment: named{}})
	errtest.Want(t, err, "named with 2 observations and 2 actions is not the environment of map-elites-pointmaze")
	arm := ImportSpec{Algorithm: "map-elites", Env: "arm", Runs: t.TempDir(), Repertoire: folderOf(t, map[string]npz.Array{
		"genotypes": npz.Of(numbers(100), 1, 100), "fitnesses": npz.Of([]float32{-0.1}),
		"descriptors": npz.Of([]float32{0.5, 0.5}, 1, 2), "centroids": npz.Of([]float32{0.5, 0.5}, 1, 2)})}
	solution := nb.Must(Import(arm))
	_, err = Export(solution, ExportSpec{Out: out})
	errtest.Want(t, err, "arm has no observations, so its solutions are no networks: export to an .npz file")
	if left := must.Get(os.ReadDir(filepath.Dir(out))); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
	file := filepath.Join(filepath.Dir(out), "solution.npz")
	nb.Must(Export(solution, ExportSpec{Out: file}))
	errtest.Equal(t, "without observations a policy is a solution", nb.Must(npz.Read(file)),
		map[string]npz.Array{"solution": npz.Of(numbers(100), 100)})
}

// The contract of a robot with a Drive describes the inputs of its actuators, the Drive if it is affine, and
// the servos.
func TestContractOfADrive(t *testing.T) {
	own := *must.Get(envs.Make("halfcheetah-uni")).(*envs.Rigid)
	own.Settings.ActionComponents = nil
	swapped := func(action *Node) *Node { return AddScalar(MulScalar(Reverse(action, 0), 2), 0.5) }
	for name, c := range map[string]struct {
		drive  func(*Node) *Node
		affine bool
	}{
		"affine": {swapped, true}, "clipped": {func(a *Node) *Node { return ClipScalar(MulScalar(a, 2), -1, 1) }, false},
		"tanh": {Tanh, false},
	} {
		own.Drive = c.drive
		var about Contract
		must.Do(about.actuation(&own))
		d := about.Drive
		if d == nil || len(d.Inputs) != 6 || d.Inputs[0].Name != "torque of bthigh" || (d.Matrix != nil) != c.affine ||
			strings.Contains(d.Meaning, "write it down") == c.affine {
			t.Fatalf("%s: %+v", name, d)
		}
		if c.affine && (d.Offset[1] != 0.5 || !slices.Equal(d.Matrix[1], []float32{0, 0, 0, 0, 2, 0})) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	own.Drive = func(a *Node) *Node { return Add(a, Const(a.Graph(), []float32{1, 2})) }
	errtest.Want(t, new(Contract).actuation(&own), "Drive of ")
	own.Drive, own.Settings.ActionComponents = swapped, make([]envs.Component, 6)
	var about Contract
	if must.Do(about.actuation(&own)); about.Drive != nil {
		t.Errorf("%+v, although the actions are described", about.Drive)
	}

	model := own.System.(*physics.System).Model()
	model.Actuators = slices.Clone(model.Actuators)
	model.Actuators[0].Angle = true
	own.System, own.Drive, own.Settings.ActionComponents = must.Get(physics.NewSystem(model)), swapped, nil
	must.Do(about.actuation(&own))
	want := []ServoContract{{"bthigh", model.Actuators[0].Strength}}
	errtest.Equal(t, "servos", about.Servos, want)
	errtest.Equal(t, "the unit of an action", about.Drive.Inputs[0].Unit, "deg")
}
