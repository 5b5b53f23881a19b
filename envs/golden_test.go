package envs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Components of the ants' observations that are said to be 0 are so in Brax, in 256 random states,
// and at most one other component is.
func TestZeroObservations(t *testing.T) {
	for name, want := range map[string]int{"ant-uni": 30, "ant-omni": 30, "ant-trap": 30,
		"ant-maze": 36, "walker-uni": 0, "humanoid-uni": 60, "humanoid-omni": 60} {
		env := must.Get(envs.Make(name))
		spec := env.Spec()
		arrays := must.Get(npz.Read(filepath.Join("testdata", "onestep_"+name+".npz")))
		observations := must.Get(arrays["obs"].Float32s())
		varying := make([]bool, spec.Observations)
		for i, x := range observations {
			varying[i%len(varying)] = varying[i%len(varying)] || x != 0
		}
		others := 0
		for i, varies := range varying {
			switch zero := slices.Contains(spec.Zero, i); {
			case zero && varies:
				t.Errorf("%s: component %d is not always 0", name, i)
			case !zero && !varies:
				others++
			}
		}
		if len(spec.Zero) != want || want > 0 && others > 1 {
			t.Errorf("%s: %d components are said to be 0, want %d; %d others are", name, len(spec.Zero), want, others)
		}
	}
}

// model_pointmaze.json holds the constants of the environment in the published code.
func TestGoldenModelPointmaze(t *testing.T) {
	data := must.Get(os.ReadFile(golden.Path(t, "model_pointmaze.json")))
	type limits struct{ Min, Max []float32 }
	type wall struct{ Y float64 }
	var model struct {
		Env            string     `json:"env"`
		Actions        int        `json:"action_size"`
		Observations   int        `json:"observation_size"`
		Length         int        `json:"episode_length"`
		XLimits        [2]float64 `json:"x_limits"`
		YLimits        [2]float64 `json:"y_limits"`
		ZoneWidth      float64    `json:"zone_width"`
		ZoneCenter     [2]float64 `json:"zone_center"`
		WallHeight     float64    `json:"wall_height"`
		WallWidth      float64    `json:"wall_width"`
		LowerWall      wall       `json:"lower_wall"`
		UpperWall      wall       `json:"upper_wall"`
		DescriptorSize int        `json:"descriptor_size"`
		Limits         limits     `json:"descriptor_limits"`
		Offset         float64    `json:"reward_offset"`
	}
	must.Do(json.Unmarshal(data, &model))
	maze := must.Get(envs.Make(model.Env)).(envs.Pointmaze)
	spec := maze.Spec()
	want := envs.Spec{Name: model.Env, Actions: model.Actions, Observations: model.Observations,
		Length: model.Length, Offset: model.Offset,
		Descriptor: envs.Descriptor{Kind: envs.Final, Lower: model.Limits.Min, Upper: model.Limits.Max,
			Components: []string{"final x", "final y"}, Stays: true},
		ObservationComponents: spec.ObservationComponents, ActionComponents: spec.ActionComponents}
	errtest.Equal(t, "specification and size of the descriptor", fmt.Sprint(spec, model.DescriptorSize), fmt.Sprint(want, 2))
	x0, x1 := model.XLimits[0], model.XLimits[1]
	above := func(x0, y, x1 float64) envs.Wall { return envs.Wall{X0: x0, Y0: y, X1: x1, Y1: y + model.WallHeight} }
	half := model.ZoneWidth / 2
	walls := []envs.Wall{above(x1-model.WallWidth, model.LowerWall.Y, x1),
		above(x0, model.UpperWall.Y, x0+model.WallWidth),
		{X0: model.ZoneCenter[0] - half, Y0: model.ZoneCenter[1] - half, X1: model.ZoneCenter[0] + half,
			Y1: model.ZoneCenter[1] + half}}
	for i, got := range append(maze.Walls(), maze.Goal()) {
		w := walls[i]
		if math.Abs(got.X0-w.X0)+math.Abs(got.Y0-w.Y0)+math.Abs(got.X1-w.X1)+math.Abs(got.Y1-w.Y1) > 1e-12 {
			t.Errorf("wall or goal %d is %v, want %v", i, got, w)
		}
	}
}

// 11_scoring.npz holds the steps of episodes that end early, late or never, with their fitness and descriptors.
func TestGoldenScoring(t *testing.T) {
	data := golden.Read(t, "11_scoring.npz")
	shape := data.Shape("rewards")
	batch, steps := shape[0], shape[1]
	input := func(name string) []float32 { return data.Float32s(name) }
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for kind, names := range map[envs.DescriptorKind][]string{
			envs.Final: {"xy", "descriptor_final_xy", "sd.descriptor_last"},
			envs.Mean:  {"contacts", "descriptor_feet_contact", "sd.descriptor_mean"},
		} {
			d := data.Shape(names[0])[2]
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				type state struct {
					Rewards, Dones, Descriptors *Node // [T, B, ...]
					Score                       envs.Score
				}
				g := in[0].Graph()
				byStep := func(x *Node) *Node { return Transpose(x, 0, 1) }
				s := state{byStep(in[0]), byStep(in[1]), byStep(in[2]), envs.NewScore(g, batch, kind, d)}
				s, valid := xla.Scan(g, steps, s, func(step *Node, s state) (state, *Node) {
					row, valid := func(x *Node) *Node { return xla.Row(x, step) }, s.Score.Alive
					s.Score = s.Score.AddStep(envs.State{Descriptor: row(s.Descriptors)},
						envs.State{Reward: row(s.Rewards), Done: row(s.Dones)})
					return s, valid
				})
				fitness, descriptor := s.Score.Result()
				return []*Node{fitness, descriptor, s.Score.Length, byStep(valid)}
			}, xlatest.Tensor(input("rewards"), batch, steps), xlatest.Tensor(input("dones"), batch, steps),
				xlatest.Tensor(input(names[0]), batch, steps, d))
			fitness, descriptor := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
			for _, name := range []string{"fitnesses", "sd.returns"} {
				xlatest.Close(t, name, fitness, input(name), 1e-5)
			}
			for _, name := range names[1:] {
				xlatest.Close(t, name, descriptor, input(name), 1e-6)
			}
			lengths, valid := xlatest.Flat[float32](t, out[2]), xlatest.Flat[float32](t, out[3])
			want, masked := make([]float32, batch), input("sd.masked_rewards") // [T, B]
			for i, after := range input("mask") {
				want[i/steps] += 1 - after
				if valid[i] != 1-after {
					t.Errorf("step %d of individual %d is valid: %g, the mask is %g", i%steps, i/steps, valid[i], after)
				}
				if m := masked[i%steps*batch+i/steps]; (m == m) != (valid[i] == 1) {
					t.Errorf("step %d of individual %d is valid: %g, its masked reward %g", i%steps, i/steps, valid[i], m)
				}
			}
			xlatest.Close(t, "lengths", lengths, want, 0)
		}
	})
}

// After one and two steps from random states observations, rewards and ends agree with Gymnasium's, each part of an
// observation in relation to its norm: to 1e-5 in the median, 1e-4 in 99 of 100 states and 1e-3 at worst, or twenty
// times what rounding the state changes there. QDNB_GOLDEN names a folder with the 1000 states of each task that
// tools/golden_gymnasium.py writes; 12 of each are here.
func TestGymnasium(t *testing.T) {
	p := xlatest.Pure(t)
	if os.Getenv("QDNB_LONG") != "" || os.Getenv(golden.FolderEnv) != "" {
		p = xlatest.Best(t)
	}
	for _, name := range []string{"Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Swimmer-v5", "Walker2d-v5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareWithGymnasium(t, p, name)
		})
	}
}

func compareWithGymnasium(t *testing.T, p *xla.Platform, name string) {
	file := golden.Read(t, "gymnasium_"+name+".npz")
	env := must.Get(envs.Make(name)).(*envs.Rigid)
	system := env.System.(*mujoco.System)
	input := func(name string) *tensors.Tensor { return xlatest.Stored(file, name) }
	out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
		velocity := Transpose(in[1], 0, 1)
		s := env.Begin(random.Key{}, system.Of(mujoco.State{QPos: Transpose(in[0], 0, 1), QVel: velocity,
			QAcc: ZerosLike(velocity)}))
		for step := range 2 {
			s = env.Step(s, Squeeze(Slice(in[2], AxisRange(), AxisElem(step)), 1))
			out = append(out, s.Observation, s.Reward, s.Done)
		}
		return out
	}, input("qpos"), input("qvel"), input("actions"))
	sizes, n := append(file.Int32s("parts"), 1), file.Shape("rewards")[0]
	row := func(flat []float32, i, rows int) []float32 { return flat[i*len(flat)/rows : (i+1)*len(flat)/rows] }
	wanted, rewards, ends, noise := file.Float32s("observations"), file.Float32s("rewards"), file.Float32s("terminated"),
		file.Float32s("noise")
	for step := range 2 {
		observed, reward, done := xlatest.Flat[float32](t, out[3*step]), xlatest.Flat[float32](t, out[3*step+1]),
			xlatest.Flat[float32](t, out[3*step+2])
		errors, beyond := make([][]float64, len(sizes)), make([]int, len(sizes))
		for i := range n {
			k := 2*i + step
			got := append(slices.Clone(row(observed, i, n)), reward[i])
			want := append(slices.Clone(row(wanted, k, 2*n)), rewards[k])
			at := 0
			for part, size := range sizes {
				e := relativeError(got[at:at+int(size)], want[at:at+int(size)])
				at += int(size)
				errors[part] = append(errors[part], e)
				rounding := 20 * float64(row(noise, k, 2*n)[part])
				if !(e <= max(1e-4, rounding)) {
					beyond[part]++
				}
				if !(e <= max(1e-3, rounding)) {
					t.Errorf("step %d of state %d: part %d is off by %.1e; twenty times rounding is %.1e", step+1, i, part, e, rounding)
				}
			}
			if done[i] != ends[k] {
				t.Errorf("step %d of state %d: done is %g", step+1, i, done[i])
			}
		}
		line := fmt.Sprintf("step %d of %d states, each part's median, 99 %%, worst:", step+1, n)
		for part, list := range errors {
			slices.Sort(list)
			line += fmt.Sprintf("  %.1e %.1e %.1e", list[n/2], list[n*99/100], list[n-1])
			if beyond[part] > (n+99)/100 {
				t.Errorf("part %d is off by more than 1e-4 after step %d of %d states", part, step+1, beyond[part])
			}
			if list[n/2] > 1e-5 {
				t.Errorf("the median error of part %d after step %d is %.1e", part, step+1, list[n/2])
			}
		}
		t.Log(line)
	}
}

// relativeError is the norm of a difference over that of what is wanted, or over 1.
func relativeError(got, want []float32) float64 {
	difference, norm := 0.0, 0.0
	for i, w := range want {
		difference += math.Pow(float64(got[i])-float64(w), 2)
		norm += float64(w) * float64(w)
	}
	return math.Sqrt(difference) / max(1, math.Sqrt(norm))
}

// substep_*.npz holds the smallest step of the published code's dynamics, from states in contact: a
// substep with springs, two with position based dynamics.
func TestGoldenSubsteps(t *testing.T) {
	for name, model := range map[string]physics.Model{
		"ant-uni": robots.Ant(physics.Spring), "ant-trap": robots.Trap(robots.Ant(physics.PositionBased)),
		"walker-uni": robots.Walker2d(), "halfcheetah-uni": robots.HalfCheetah(),
		"halfcheetah-hurdles": robots.Hurdles(robots.HalfCheetah()), "hopper-uni": robots.Hopper(),
		"humanoid-uni": robots.Humanoid(),
	} {
		data := golden.Read(t, "substep_"+name+".npz")
		substeps := 1 + int(model.Dynamics)
		model.TimeStep, model.Substeps = model.TimeStep*float64(substeps)/float64(model.Substeps), substeps
		s := must.Get(physics.NewSystem(model))
		arrays := []string{"pos", "rot", "vel", "ang"}
		var inputs []*tensors.Tensor
		for _, name := range append(slices.Clone(arrays), "act") {
			if name != "act" {
				name += "_before"
			}
			inputs = append(inputs, xlatest.Stored(data, name))
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			after, _ := s.Step(s.Import(in[0], in[1], in[2], in[3]), Transpose(in[4], 0, 1))
			position, rotation, velocity, angular := s.Export(after)
			return []*Node{position, rotation, velocity, angular}
		}, inputs...)
		for i, array := range arrays {
			want := data.Float32s("after_" + array)
			largest := math.Max(1, float64(max(slices.Max(want), -slices.Min(want))))
			for k, got := range xlatest.Flat[float32](t, out[i]) {
				if off := math.Abs(float64(got - want[k])); !(off <= 1e-4*largest) {
					t.Fatalf("%s: element %d of after_%s is %g, not %g", name, k, array, got, want[k])
				}
			}
		}
	}
}

// A golden file holds states and steps that the published code computed. Its name is <kind>_<environment>.npz:
//
//	onestep   single steps from stored states, and the contact impulses in them
//	perturb   the same in a perturbed environment, perturb_<environment>_<what>_<value>.npz
//	traj      trajectories under stored actions: starts from joint angles, and steps
//	system    single steps of a robot that is read from config_<environment>.txt in the same folder
//
// The tolerance for steps of rigid bodies is ten times the rounding error of the published code in each sample, err64.
// If rounding decides about a contact, a sample may be outside of the tolerance, so a small fraction of samples may be
// outside. Trajectories run freely until rounding makes them diverge. Those of the halfcheetahs diverge at once, so
// each of their steps starts from the stored state before it. The arrays reward, done, desc, rot, vel and ang of
// rigid-body trajectories follow from the compared arrays and are only compared in single steps. The array
// wall_contact, whether contact_vel of the walls is 0, is not compared either.
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

// All golden files of environments pass on all backends: on XLA in the long tests, or if they come from another folder.
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

// parts returns which starts come directly from joint angles, and which steps are compared: in each row the first half
// of the horizon up to which the published code agrees with itself in float64 and after a change of the start by 1e-6.
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

// restarted steps from all stored states, the starts [B, ...] and the states after each step but the last [B, T, ...],
// under actions [B, T, ...]. It returns the outputs of the steps, [B * T, ...] each.
func (s subject) restarted(init, after []*Node, actions *Node) []*Node {
	flat := func(x *Node) *Node {
		dims := x.Shape().Dimensions
		return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
	}
	before := make([]*Node, len(init))
	for i := range init {
		last := after[i].Shape().Dimensions[1] - 1
		before[i] = flat(Concatenate([]*Node{InsertAxes(init[i], 1), Slice(after[i], AxisRange(), AxisRange(0, last))}, 1))
	}
	return s.view(s.env.Step(s.start(before), flat(actions))).show(s.traced)
}

// follow runs B states under actions [B, T, ...] and returns the outputs of each step, [B, T, ...] each.
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

// settleEdges finds the starts that differ from the stored ones only by a marginal contact: the penetration of the
// ground is 0 up to rounding, so one float32 program has the contact and another one does not. In these starts it
// replaces the differing elements by their values a micrometre higher or lower. It returns the number of such starts.
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
