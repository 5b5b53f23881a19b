package exchange

import (
	"encoding/binary"
	"encoding/json"
	"math"
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
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/protobuf/protobuftest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// evaluated returns the action of an ONNX file for one observation, a skill and a policy, and the names
// and shapes of its inputs and outputs. It knows the operators that Export writes, for a batch of one.
func evaluated(t *testing.T, file string, observation, skill []float64, policy int) (action []float64, ports []string) {
	t.Helper()
	model := protobuftest.Fields(t, must.Get(os.ReadFile(file)))
	if model[1][0] != "7" || protobuftest.Fields(t, model[8][0])[2][0] != "13" {
		t.Errorf("IR version %v, opset %v", model[1], model[8])
	}
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
		{grid, ExportSpec{Repertoire: true}, cells.Genotype(3),
			"observation 1 batch 2;policy 7 batch;action 1 batch 2"},
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
		if strings.Join(ports, ";") != c.ports || len(shapes) != 6 {
			t.Errorf("%v, not %s; %v", ports, c.ports, shapes)
		}
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
	model.Actuators[0].Servo = &physics.Servo{Stiffness: 30, Damping: 2, Target: true, MinTorque: -5, MaxTorque: 5}
	own.System, own.Drive, own.Settings.ActionComponents = must.Get(physics.NewSystem(model)), swapped, nil
	must.Do(about.actuation(&own))
	want := []ServoContract{{Joint: "bthigh", Target: true, Strength: model.Actuators[0].Strength, Stiffness: 30,
		Damping: 2, Torques: &[2]float64{-5, 5}}}
	if !reflect.DeepEqual(about.Servos, want) || about.Drive.Inputs[0].Unit != "deg" {
		t.Errorf("%+v and %+v, want %+v", about.Servos, about.Drive.Inputs, want)
	}
}
