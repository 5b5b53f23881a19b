package envs_test

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// A golden file holds states and steps that the published code computed. Its name is
// <kind>_<environment>.npz:
//
//	onestep   single steps from stored states, and the contact impulses in them
//	perturb   the same in a perturbed environment, perturb_<environment>_<what>_<value>.npz
//	traj      trajectories under stored actions: starts from joint angles, and steps
//	system    single steps of a robot that is read from config_<environment>.txt in the same folder
//
// The tolerance for steps of rigid bodies is ten times the rounding error of the published code in each
// sample, err64. If rounding decides about a contact, a sample may be outside of the tolerance, so a
// small fraction of samples may be outside. Trajectories run freely until rounding makes them diverge.
// Those of the halfcheetahs diverge at once, so each of their steps starts from the stored state before
// it. The arrays reward, done, desc, rot, vel and ang of rigid-body trajectories follow from the compared
// arrays and are only compared in single steps. The array wall_contact, whether contact_vel of the walls
// is 0, is not compared either.
//
// A reset puts the lowest foot exactly on the ground, so rounding decides whether the first observation
// has its contact. If a start that is a micrometre higher or lower has the stored contact, the start
// counts as equal, and the comparison counts it.
var kinds = map[string]func(subject) comparison{
	"onestep": oneStep, "perturb": oneStep, "traj": trajectories, "system": systemSteps,
}

// quick names the golden files that XLA, which compiles a program for each, gets in short tests: a file for
// each kind of task and of dynamics.
var quick = strings.Fields("onestep_pointmaze onestep_arm onestep_rastrigin onestep_walker-uni " +
	"onestep_halfcheetah-hurdles onestep_ant-uni onestep_ant-maze traj_pointmaze traj_walker-uni " +
	"system_ant-pbd system_acrobot-spring")

// All golden files of environments pass on all backends: on XLA in the long tests, or if they come from
// another folder.
func TestGoldenSteps(t *testing.T) {
	root := cmp.Or(os.Getenv(golden.FolderEnv), "testdata")
	var paths []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		paths = append(paths, must.Get(filepath.Glob(filepath.Join(root, kind+"_*.npz")))...)
	}
	if len(paths) == 0 {
		t.Skipf("SKIPPED: folder %s (from $%s) has no golden file of an environment", root, golden.FolderEnv)
	}
	long := os.Getenv("QDNB_LONG") != "" || os.Getenv(golden.FolderEnv) != ""
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				if p.Kind != backend.Go && !slices.Contains(quick, strings.TrimSuffix(filepath.Base(path), ".npz")) && !long {
					t.Skip("SKIPPED: to compile all takes a minute; `make test-long`, or QDNB_LONG=1, runs it")
				}
				t.Parallel() // nearly all of the time is compilation, which uses one core
				found := compareFile(t, p, path, must.Get(npz.Read(path)))
				if t.Log("\n" + found.String()); !found.pass() {
					t.Fail()
				}
			})
		}
	})
}

// subject is the environment of a golden file, the file, and the backend that computes it again.
type subject struct {
	format
	stored   *goldenFile
	platform *xla.Platform
}

// compareFile recomputes the arrays of a golden file and compares.
func compareFile(t testing.TB, p *xla.Platform, path string, arrays map[string]npz.Array) comparison {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".npz"), "_")
	s := subject{stored: &goldenFile{t, path, arrays, map[axis]int{}}, platform: p}
	if parts[0] == "system" {
		s.format = formatOfSystem(filepath.Dir(path), parts[1])
	} else {
		s.format = formatOf(must.Get(envs.Make(parts[1])))
	}
	if parts[0] == "perturb" {
		s.perturb(parts[2], s.stored)
	}
	return kinds[parts[0]](s)
}

// run runs a program on stored arrays.
func (s subject) run(inputs []column, build func(in []*Node) []*Node) (outputs [][]float32) {
	var values []*tensors.Tensor
	for _, c := range inputs {
		flat, shape := s.stored.get(c)
		values = append(values, xlatest.Tensor(flat, shape...))
	}
	for _, out := range xlatest.Run(s.stored, s.platform, build, values...) {
		outputs = append(outputs, xlatest.Flat[float32](s.stored, out))
	}
	return outputs
}

// oneStep compares single steps from stored states, of a nominal or perturbed environment.
func oneStep(s subject) comparison {
	inputs := append(at(s.state, "", "_before", samples),
		column{name: "action", axes: []axis{samples}, dims: []int{s.env.Spec().Actions}})
	computed := s.run(inputs, func(in []*Node) []*Node {
		last := len(in) - 1
		v := s.step(s.start(in[:last]), in[last])
		return append(v.show(s.stepped), v.arrays...)
	})
	all := every(s.stored.sizes[samples])
	g := newGroup("samples", all, s.percent)
	g.compare(s.stored, append(at(s.stepped, "", "", samples), at(s.state, "", "_after", samples)...), computed, all)
	return comparison{g}
}

// systemSteps compares single steps of a system, and poses of joint angles.
func systemSteps(s subject) comparison {
	found, computed := oneStep(s), s.run(s.joints(starts), s.pose)
	all := every(s.stored.sizes[starts])
	poses := newGroup("poses", all, 0)
	poses.compare(s.stored, at(s.posed, "init_", "", starts), computed, all)
	return append(found, poses)
}

// joints returns the arrays of joint angles and velocities of starts.
func (s subject) joints(starts axis) []column {
	return at([]column{{name: "qpos", dims: []int{len(s.rigid.System.DefaultAngles())}},
		{name: "qvel", dims: []int{len(s.rigid.System.DefaultAngles())}}}, "init_", "", starts)
}

// pose returns the arrays of the state at joint angles and velocities, [B, angles].
func (s subject) pose(in []*Node) []*Node {
	return export(s.rigid.System, s.rigid.System.Pose(swap(in[0]), swap(in[1])))
}

// trajectories compares the starts and the steps of trajectories, which neither stop nor reset at
// the end of an episode. They run freely from their starts up to a horizon where rounding makes
// them diverge. In chaotic environments each step starts from the stored state before it.
func trajectories(s subject) comparison {
	inputs := append(at(s.state, "init_", "", samples),
		column{name: "actions", axes: []axis{samples, steps}, dims: []int{s.env.Spec().Actions}})
	if s.rigid != nil {
		inputs = append(inputs, s.joints(samples)...)
	}
	if s.restart {
		inputs = append(inputs, at(s.state, "", "", samples, steps)...)
	}
	computed := s.run(inputs, func(in []*Node) (nodes []*Node) {
		n := len(s.state)
		init, actions, more := in[:n], in[n], in[n+1:]
		if s.rigid != nil {
			nodes, more = s.pose(more), more[2:]
		}
		start := s.start(init)
		nodes = append(nodes, s.view(start).show(s.started)...)
		if s.restart {
			return append(nodes, s.restarted(init, more, actions)...)
		}
		return append(nodes, s.follow(start, actions)...)
	})
	all, percent := every(s.stored.sizes[samples]), 0
	if s.restart {
		percent = s.percent
	}
	fromReset, within := s.parts()
	begun, moves := newGroup("starts", all, 0), newGroup("steps", within, percent)
	posed, started := at(s.posed, "init_", "", samples), at(s.started, "init_", "", samples)
	begun.compare(s.stored, posed, computed, fromReset)
	computed = computed[len(posed):]
	if s.rigid != nil {
		begun.edges = s.settleEdges(started, inputs[:len(s.state)], computed)
	}
	begun.compare(s.stored, started, computed, all)
	moves.compare(s.stored, at(s.traced, "", "", samples, steps), computed[len(started):], within)
	return comparison{begun, moves}
}

// parts returns which starts come directly from joint angles, and which steps are compared: in each
// row the first half of the horizon up to which the published code agrees with itself in float64
// and after a change of the start by 1e-6.
func (s subject) parts() (fromReset, within []bool) {
	rows, length := s.stored.sizes[samples], s.stored.sizes[steps]
	fromReset, within = every(rows), every(rows*length)
	row := func(name string) []float32 {
		flat, _ := s.stored.get(column{name: name, axes: []axis{samples}})
		return flat
	}
	if s.rigid != nil {
		for row, kind := range row("kind") {
			fromReset[row] = kind <= 1 // the others were moved next to a wall
		}
	}
	if s.bounded {
		nudged, float64s := row("horizon_1e6"), row("horizon_f64")
		for i := range within {
			within[i] = float32(2*(i%length+1)) <= min(nudged[i/length], float64s[i/length])
		}
	}
	return fromReset, within
}

// restarted steps from all stored states, the starts [B, ...] and the states after each step but
// the last [B, T, ...], under actions [B, T, ...]. It returns the outputs of the steps, [B * T,
// ...] each.
func (s subject) restarted(init, after []*Node, actions *Node) []*Node {
	flat := func(x *Node) *Node {
		dims := x.Shape().Dimensions
		return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
	}
	before := make([]*Node, len(init))
	for i := range init {
		last := after[i].Shape().Dimensions[1] - 1
		before[i] = flat(Concatenate([]*Node{InsertAxes(init[i], 1),
			Slice(after[i], AxisRange(), AxisRange(0, last))}, 1))
	}
	return s.view(s.env.Step(s.start(before), flat(actions))).show(s.traced)
}

// follow runs B states under actions [B, T, ...] and returns the outputs of each step, [B, T, ...]
// each.
func (s subject) follow(start envs.State, actions *Node) []*Node {
	type running struct {
		State   envs.State
		Actions *Node // [T, B, ...]
	}
	_, shown := xla.Scan(actions.Graph(), actions.Shape().Dimensions[1], running{start, swap(actions)},
		func(step *Node, r running) (running, []*Node) {
			r.State = s.env.Step(r.State, xla.Row(r.Actions, step))
			return r, s.view(r.State).show(s.traced)
		})
	return xla.Map(shown, swap)
}

// swap exchanges the first two axes.
func swap(x *Node) *Node { return Transpose(x, 0, 1) }

// edge is the distance in m that a start is moved up and down to find marginal contacts. It is much
// larger than the rounding error of the height of a foot that a reset puts on the ground, and too
// small to change a contact impulse by its tolerance.
const edge = 1e-6

// settleEdges finds the starts that differ from the stored ones only by a marginal contact: the
// penetration of the ground is 0 up to rounding, so one float32 program has the contact and another
// one does not. In these starts it replaces the differing elements by their values a micrometre
// higher or lower. It returns the number of such starts.
func (s subject) settleEdges(started, state []column, computed [][]float32) (edges int) {
	type element struct{ of, i int }
	var want [][]float32
	off := func(e element, from [][]float32) bool {
		difference := float64(from[e.of][e.i]) - float64(want[e.of][e.i])
		return !(math.Abs(difference) <= started[e.of].tolerance.base)
	}
	doubtful := map[int][]element{} // by row
	for of, c := range started {
		flat, _ := s.stored.get(c)
		want = append(want, flat)
		size, first := c.dims[0], 0
		if of == 0 { // contacts are the last components of the observation
			first = size - s.rigid.Contacts
		}
		for i := range flat {
			if e := (element{of, i}); i%size >= first && off(e, computed) {
				doubtful[i/size] = append(doubtful[i/size], e)
			}
		}
	}
	if len(doubtful) == 0 {
		return 0
	}
	moved := s.run(state, func(in []*Node) (shown []*Node) {
		for _, by := range []float32{edge, -edge} {
			up := Const(in[0].Graph(), [][][]float32{{{0, 0, by}}})
			start := s.start(append([]*Node{Add(in[0], up)}, in[1:]...))
			shown = append(shown, s.view(start).show(s.started)...)
		}
		return shown
	})
	higher, lower := moved[:len(started)], moved[len(started):]
	for _, elements := range doubtful {
		if slices.ContainsFunc(elements, func(e element) bool { return off(e, higher) && off(e, lower) }) {
			continue
		}
		edges++
		for _, e := range elements {
			computed[e.of][e.i] = higher[e.of][e.i]
			if off(e, higher) {
				computed[e.of][e.i] = lower[e.of][e.i]
			}
		}
	}
	return edges
}
