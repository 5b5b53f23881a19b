package mujoco

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/rows"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

// golden is a model with numbers that MuJoCo computed for it.
type golden struct {
	name   string
	model  Model
	arrays map[string]npz.Array
}

// forGolden runs a test for each model of a folder: testdata, or QDNB_GOLDEN_MUJOCO.
func forGolden(t *testing.T, test func(t *testing.T, g golden)) {
	folder := cmp.Or(os.Getenv("QDNB_GOLDEN_MUJOCO"), "testdata")
	files := must.Get(filepath.Glob(filepath.Join(folder, "*_model.json")))
	if len(files) == 0 {
		t.Fatalf("no models in %s", folder)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), "_model.json")
		t.Run(name, func(t *testing.T) {
			file := must.Get(os.Open(path))
			defer file.Close()
			test(t, golden{name, must.Get(ReadModel(file)), must.Get(npz.Read(filepath.Join(folder, name+".npz")))})
		})
	}
}

// numbers returns a stored array [n, m], n states of m numbers, or nil.
func (g golden) numbers(t *testing.T, name string) (rows [][]float64) {
	t.Helper()
	array, ok := g.arrays[name]
	if !ok {
		return nil
	}
	var flat []float64
	switch data := array.Data.(type) {
	case []float64:
		flat = data
	case []float32:
		for _, x := range data {
			flat = append(flat, float64(x))
		}
	default:
		t.Fatalf("%s: %T", name, array.Data)
	}
	n := array.Shape[0]
	for i := range n {
		rows = append(rows, flat[i*len(flat)/n:(i+1)*len(flat)/n])
	}
	return rows
}

// batchLast makes a tensor [m, n] of n states of m numbers.
func batchLast(states [][]float64) *tensors.Tensor {
	n, m := len(states), len(states[0])
	flat := make([]float32, n*m)
	for i, state := range states {
		for j, x := range state {
			flat[j*n+i] = float32(x)
		}
	}
	return xlatest.Tensor(flat, m, n)
}

// batchFirst is the inverse of batchLast.
func batchFirst(t *testing.T, x *tensors.Tensor) [][]float64 {
	flat := xlatest.Flat[float32](t, x)
	m, n := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	states := make([][]float64, n)
	for i := range states {
		states[i] = make([]float64, m)
		for j := range m {
			states[i][j] = float64(flat[j*n+i])
		}
	}
	return states
}

func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func distance(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return norm(d)
}

// compare reports the errors of states relative to a scale of each, and fails the test if their median or
// the worst of them is too large.
func compare(t *testing.T, what string, got, want [][]float64, scale func(i int) float64, median, worst float64) {
	t.Helper()
	var errors []float64
	at, largest := 0, 0.0
	for i := range want {
		e := distance(got[i], want[i]) / (scale(i) + 1e-9)
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		if e > largest {
			at, largest = i, e
		}
		errors = append(errors, e)
	}
	slices.Sort(errors)
	middle := errors[len(errors)/2]
	line := fmt.Sprintf("%s: median %.1e, worst %.1e (state %d)", what, middle, largest, at)
	if middle > median || largest > worst {
		t.Errorf("%s; allowed %.0e and %.0e", line, median, worst)
	} else {
		t.Log(line)
	}
}

func TestGoldenSmoothDynamics(t *testing.T) {
	forGolden(t, func(t *testing.T, g golden) {
		s, err := NewSystem(g.model, Options{IgnorePairs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"free_", "touch_"} {
			qpos := g.numbers(t, kind+"qpos")
			if len(qpos) == 0 {
				continue
			}
			inputs := []*tensors.Tensor{batchLast(qpos), batchLast(g.numbers(t, kind+"qvel")), batchLast(g.numbers(t, kind+"vector"))}
			if g.model.Sizes.NU > 0 {
				inputs = append(inputs, batchLast(g.numbers(t, kind+"ctrl")))
			}
			out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
				in = append(in, nil)
				q, v, w := split(in[0], s.places), split(in[1], s.dofs), split(in[2], s.dofs)
				k := s.kinematics(q)
				v, w = s.toWorld(k, v), s.toWorld(k, w)
				velocity, bias := s.inverseDynamics(k, v, nil)
				product := s.multiply(k, w, s.forward(k, w))
				passive, lift := s.passive(k, q, v, velocity)
				actuator, _ := s.actuation(k, q, v, s.splitControl(in[3]), lift)
				smooth := s.noForce()
				for c := range smooth {
					smooth[c] = passive[c].Plus(actuator[c]).Minus(bias[c])
				}
				acceleration := s.solve(k, s.factorize(k, s.links(k), s.armatures()), smooth)
				var out []*graph.Node
				for _, x := range [][]rows.Num{product, bias, passive, actuator, acceleration} {
					out = append(out, join(in[0].Graph(), s.model.Sizes.NV, len(qpos), s.toBody(k, x), s.dofs))
				}
				return out
			}, inputs...)
			names := []string{"M_vector", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "qacc_smooth"}
			for i, name := range names {
				want := g.numbers(t, kind+name)
				scale := func(i int) float64 { return norm(want[i]) }
				compare(t, kind+name, batchFirst(t, out[i]), want, scale, 1e-6, 1e-5)
			}
		}
	})
}

// qacc is the acceleration of a state.
func (s *System) qacc(state State, control *graph.Node) *graph.Node {
	d := s.accelerate(running{Q: split(state.QPos, s.places), V: split(state.QVel, s.dofs), A: s.noForce(), Control: s.splitControl(control)})
	return join(state.QPos.Graph(), s.model.Sizes.NV, state.QPos.Shape().Dimensions[1], s.toBody(d.kinematics, d.acceleration), s.dofs)
}

func TestGoldenSteps(t *testing.T) {
	forGolden(t, func(t *testing.T, g golden) {
		s, err := NewSystem(g.model, Options{IgnorePairs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"free_", "touch_"} {
			qpos := g.numbers(t, kind+"qpos")
			if len(qpos) == 0 {
				continue
			}
			inputs := []*tensors.Tensor{batchLast(qpos), batchLast(g.numbers(t, kind+"qvel"))}
			if g.model.Sizes.NU > 0 {
				inputs = append(inputs, batchLast(g.numbers(t, kind+"ctrl")))
			}
			out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
				in = append(in, nil)
				start := State{in[0], in[1], graph.ZerosLike(in[1])}
				next := s.Step(start, in[2], 1)
				if g.model.Opt.Integrator == RK4 { // whose last acceleration is that of its last stage
					next.QAcc = s.qacc(start, in[2])
				}
				return []*graph.Node{next.QAcc, next.QVel, next.QPos}
			}, inputs...)
			qacc, smooth := g.numbers(t, kind+"qacc"), g.numbers(t, kind+"qacc_smooth")
			noise := g.numbers(t, kind+"noise")
			scale := func(i int) float64 { return max(norm(qacc[i]), norm(smooth[i]), 2e5*noise[i][0]) }
			compare(t, kind+"qacc", batchFirst(t, out[0]), qacc, scale, 1e-5, 1e-4)
			step := g.numbers(t, kind+"step_qvel")
			compare(t, kind+"step_qvel", batchFirst(t, out[1]), step, func(i int) float64 { return max(norm(step[i]), 2e5*noise[i][1]) }, 1e-5, 1e-4)
			pos := g.numbers(t, kind+"step_qpos")
			compare(t, kind+"step_qpos", batchFirst(t, out[2]), pos, func(i int) float64 { return max(norm(pos[i]), 2e5*noise[i][2]) }, 1e-6, 1e-4)
		}
	})
}
