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

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// golden is a model with numbers that MuJoCo computed for it.
type golden struct {
	name   string
	model  Model
	arrays map[string]npz.Array
}

// forGolden runs a test for each model with numbers in a folder: testdata/accepted, or QDNB_GOLDEN_MUJOCO.
func forGolden(t *testing.T, test func(t *testing.T, g golden)) {
	folder := cmp.Or(os.Getenv("QDNB_GOLDEN_MUJOCO"), "testdata/accepted")
	files := must.Get(filepath.Glob(filepath.Join(folder, "*.npz")))
	if len(files) == 0 {
		t.Fatalf("no models in %s", folder)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".npz")
		t.Run(name, func(t *testing.T) {
			file := must.Get(os.Open(filepath.Join(folder, name+"_model.json")))
			defer file.Close()
			test(t, golden{name, must.Get(ReadModel(file)), must.Get(npz.Read(path))})
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
	flat := must.Get(npz.Values[float64](array))
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

// kinds are the prefixes of the states of a golden file.
var kinds = []string{"free_", "touch_"}

// inputs returns the states of a kind as inputs of a program: qpos, qvel, ctrl and others, or nil if
// there are none.
func (g golden) inputs(t *testing.T, kind string, others ...string) (inputs []*tensors.Tensor) {
	if len(g.numbers(t, kind+"qpos")) == 0 {
		return nil
	}
	for _, name := range append([]string{"qpos", "qvel", "ctrl"}, others...) {
		if states := g.numbers(t, kind+name); len(states[0]) > 0 {
			inputs = append(inputs, batchLast(states))
		} else {
			inputs = append(inputs, batchLast([][]float64{{0}})) // no controls
		}
	}
	return inputs
}

// system prepares a golden model.
func (g golden) system(t *testing.T) *System {
	t.Helper()
	return must.Get(NewSystem(g.model, Options{IgnorePairs: true}))
}

// Smooth dynamics: the mass matrix, its inverse, and forces.
func TestGoldenSmoothDynamics(t *testing.T) {
	forGolden(t, func(t *testing.T, g golden) {
		s := g.system(t)
		for _, kind := range kinds {
			if g.arrays[kind+"vector"].Data == nil || len(g.numbers(t, kind+"qpos")) == 0 {
				continue
			}
			inputs := g.inputs(t, kind, "vector")
			names := []string{"M_vector", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "qacc_smooth"}
			out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
				q, v, w := split(in[0], s.places), split(in[1], s.dofs), split(in[3], s.dofs)
				k := s.kinematics(q)
				v, w = s.toWorld(k, v), s.toWorld(k, w)
				velocity, bias := s.inverseDynamics(k, v, nil)
				product := s.multiply(k, w, s.forward(k, w))
				passive, lift := s.passive(k, q, v, velocity)
				actuator, _ := s.actuation(k, q, v, s.splitControl(in[2]), lift)
				smooth := s.noForce()
				for c := range smooth {
					smooth[c] = passive[c].Plus(actuator[c]).Minus(bias[c])
				}
				acceleration := s.solve(k, s.factorize(k, s.links(k), s.armatures()), smooth)
				var out []*graph.Node
				for _, x := range [][]algebra.Num{product, bias, passive, actuator, acceleration} {
					out = append(out, join(in[0].Graph(), s.model.Sizes.NV, in[0].Shape().Dimensions[1], s.toBody(k, x), s.dofs))
				}
				return out
			}, inputs...)
			for i, name := range names {
				want := g.numbers(t, kind+name)
				median, worst := 1e-6, 1e-5
				if name == "qacc_smooth" {
					median, worst = 1e-5, 1e-4
				}
				compare(t, kind+name, batchFirst(t, out[i]), want, func(i int) float64 { return norm(want[i]) }, median, worst)
			}
		}
	})
}

// Contacts: their number, distances, positions and frames.
func TestGoldenContacts(t *testing.T) {
	tested := 0
	forGolden(t, func(t *testing.T, g golden) {
		s := g.system(t)
		if g.arrays["touch_contact_geom"].Data == nil || len(g.numbers(t, "touch_qpos")) == 0 {
			return // a model without contacts
		}
		tested++
		inputs := g.inputs(t, "touch_")
		out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) (out []*graph.Node) {
			k := s.kinematics(split(in[0], s.places))
			batch := in[0].Shape().Dimensions[1]
			for _, set := range s.contacts {
				c := s.collide(k, set)
				moving := set.sides[1]
				if moving.group == static {
					moving = set.sides[0]
				}
				moving.link = slices.Repeat(moving.link, set.points)
				at := c.Point.Plus(s.linksOf(moving, func(group int) algebra.Vector { return k.Origin[group] }))
				numbers := []algebra.Num{c.Distance, at.X, at.Y, at.Z}
				for _, axis := range c.Frame {
					numbers = append(numbers, axis.X, axis.Y, axis.Z)
				}
				for _, x := range numbers {
					out = append(out, graph.Reshape(x.Spread(in[0].Graph(), batch), x.Rows, batch))
				}
			}
			return out
		}, inputs[0])
		geoms, dims := g.numbers(t, "touch_contact_geom"), g.numbers(t, "touch_contact_dim")
		distances, points := g.numbers(t, "touch_contact_dist"), g.numbers(t, "touch_contact_pos")
		frames := g.numbers(t, "touch_contact_frame")
		var states [][][]float64
		for _, x := range out {
			states = append(states, batchFirst(t, x))
		}
		worst := 0.0
		for i := range geoms {
			sure, possible, want := 0, 0, 0 // rounding decides whether there is a contact at its margin
			var off []float64
			for c, dim := range dims[i] {
				if dim == 0 {
					continue
				}
				want++
				nearest := math.Inf(1)
				for at, set := range s.contacts {
					for row := range set.margin.Rows {
						pair := set.geoms[row%len(set.geoms)]
						if float64(pair[0]) != geoms[i][2*c] || float64(pair[1]) != geoms[i][2*c+1] {
							continue
						}
						ours := make([]float64, 13)
						for n := range ours {
							ours[n] = states[13*at+n][i][row]
						}
						theirs := append(append([]float64{distances[i][c]}, points[i][3*c:3*c+3]...), frames[i][9*c:9*c+9]...)
						nearest = min(nearest, distance(ours, theirs))
					}
				}
				off = append(off, nearest)
			}
			for at, set := range s.contacts {
				for row := range set.margin.Rows {
					if states[13*at][i][row] < set.margin.Known[row]-1e-6 {
						sure++
					}
					if states[13*at][i][row] < set.margin.Known[row]+1e-6 {
						possible++
					}
				}
			}
			if want < sure || want > possible {
				t.Errorf("state %d has %d to %d contacts, want %d", i, sure, possible, want)
			}
			worst = max(worst, slices.Max(append(off, 0)))
		}
		if worst > 1e-4 {
			t.Errorf("a contact is off by %.1e", worst)
		} else {
			t.Logf("contacts are off by at most %.1e", worst)
		}
	})
	if tested == 0 {
		t.Error("no model has contacts")
	}
}

// qacc is the acceleration of a state.
func (s *System) qacc(state State, control *graph.Node) *graph.Node {
	d := s.accelerate(running{Q: split(state.QPos, s.places), V: split(state.QVel, s.dofs), A: s.noForce(),
		Control: s.splitControl(control)})
	return join(state.QPos.Graph(), s.model.Sizes.NV, state.QPos.Shape().Dimensions[1],
		s.toBody(d.kinematics, d.acceleration), s.dofs)
}

// Accelerations under constraints, a physics step, a control step, and a second.
func TestGoldenSteps(t *testing.T) {
	tested := 0
	forGolden(t, func(t *testing.T, g golden) {
		if g.arrays["frame_skip"].Data == nil {
			return // the file has smooth dynamics only
		}
		tested++
		s := g.system(t)
		var shape []shapes.Shape
		kind := kinds[0]
		if g.inputs(t, kind) == nil {
			kind = kinds[1]
		}
		sample := append(g.inputs(t, kind), g.inputs(t, kind)[1])
		for _, input := range sample {
			shape = append(shape, input.Shape())
		}
		program, err := xlatest.Compile(xlatest.Best(t), "step", shape, func(in []*graph.Node) []*graph.Node {
			next := s.Step(State{in[0], in[1], in[3]}, in[2], 1)
			return []*graph.Node{next.QPos, next.QVel, next.QAcc}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		step := func(q, v, u, a *tensors.Tensor) []*tensors.Tensor {
			t.Helper()
			out, err := program.Run(xla.Sharded{q}, xla.Sharded{v}, xla.Sharded{u}, xla.Sharded{a})
			if err != nil {
				t.Fatal(err)
			}
			return []*tensors.Tensor{out[0][0], out[1][0], out[2][0]}
		}
		substeps := must.Get(npz.Values[int](g.arrays["frame_skip"]))[0]
		for _, kind := range kinds {
			in := g.inputs(t, kind)
			if in == nil {
				continue
			}
			qacc, smooth, noise := g.numbers(t, kind+"qacc"), g.numbers(t, kind+"qacc_smooth"), g.numbers(t, kind+"noise")
			// Twenty times what rounding of the state does is allowed, too.
			scale := func(want [][]float64, k int) func(i int) float64 {
				return func(i int) float64 { return max(norm(want[i]), 2e5*noise[i][k]) }
			}
			zero := batchLast(qacc)
			zero.MutableFlatData(func(flat any) { clear(flat.([]float32)) })
			now := step(in[0], in[1], in[2], zero)
			if g.model.Opt.Integrator != RK4 { // whose last acceleration is not that of the state
				compare(t, kind+"qacc", batchFirst(t, now[2]), qacc, func(i int) float64 {
					return max(norm(qacc[i]), norm(smooth[i]), 2e5*noise[i][0])
				}, 1e-5, 1e-4)
			} else if os.Getenv("QDNB_GOLDEN_MUJOCO") != "" {
				out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
					return []*graph.Node{s.qacc(State{in[0], in[1], in[1]}, in[2])}
				}, in...)
				compare(t, kind+"qacc", batchFirst(t, out[0]), qacc, func(i int) float64 {
					return max(norm(qacc[i]), norm(smooth[i]), 2e5*noise[i][0])
				}, 1e-5, 1e-4)
			}
			for _, c := range []struct {
				name  string
				steps int
				noise int
			}{{"step_", 1, 1}, {"control_", substeps, 3}} {
				for range c.steps - 1 {
					now = step(now[0], now[1], in[2], now[2])
				}
				position, velocity := g.numbers(t, kind+c.name+"qpos"), g.numbers(t, kind+c.name+"qvel")
				compare(t, kind+c.name+"qpos", batchFirst(t, now[0]), position, scale(position, 2), 1e-5, 1e-4)
				compare(t, kind+c.name+"qvel", batchFirst(t, now[1]), velocity, scale(velocity, c.noise), 1e-5, 1e-4)
			}
		}
		for traj := 0; ; traj++ {
			name := fmt.Sprintf("traj%d_", traj)
			way := g.numbers(t, name+"qpos")
			if way == nil {
				break
			}
			copies := shape[0].Dimensions[1]
			repeated := func(state []float64) *tensors.Tensor {
				if len(state) == 0 {
					return sample[2]
				}
				return batchLast(slices.Repeat([][]float64{state}, copies))
			}
			controls, velocities, twin := g.numbers(t, name+"ctrl"), g.numbers(t, name+"qvel"), g.numbers(t, name+"qpos_twin")
			now := []*tensors.Tensor{repeated(way[0]), repeated(velocities[0]), repeated(make([]float64, len(velocities[0])))}
			steps := must.Get(npz.Values[int](g.arrays[name+"supported_steps"]))[0]
			worst := 0.0
			for at := range min(steps, len(way)-1) {
				u := repeated(nil)
				if controls != nil && len(controls) > at {
					u = repeated(controls[at])
				}
				for range substeps {
					now = step(now[0], now[1], u, now[2])
				}
				if distance(twin[at+1], way[at+1]) > 1e-5*norm(way[at+1]) {
					steps = at
					break
				}
				worst = distance(batchFirst(t, now[0])[0], way[at+1]) / norm(way[at+1])
			}
			line := fmt.Sprintf("%sof %d of %d control steps ends off by %.1e", name, steps, len(way)-1, worst)
			if !(worst <= 1e-3) {
				t.Error(line)
			} else {
				t.Log(line)
			}
		}
	})
	if tested == 0 {
		t.Error("no model has steps")
	}
}
