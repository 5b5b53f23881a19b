package mujoco

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// Agreement says how well a stage of the engine agrees with MuJoCo: by the norm of the differences over
// that of MuJoCo's numbers, for each of some states or rollouts.
type Agreement struct {
	Stage  string
	Errors []float64 // sorted
	// Typical are the errors of which the median is taken, sorted: what rounding changes in MuJoCo divides them so that
	// [rounding] times it is the allowed median, in Errors the allowed worst. If it is nil, that of Errors is taken.
	Typical       []float64
	Median, Worst float64 // that are allowed
	// Chaotic is the number of rollouts that are compared only until rounding of their states changes them in MuJoCo,
	// and Share the part of the time of all rollouts that is compared. Those that change at once have no error.
	Chaotic int
	Share   float64
}

// OK reports whether the median and the worst error are as small as they must be.
func (a Agreement) OK() bool {
	return a.Middle() <= a.Median && a.Largest() <= a.Worst
}

// Middle is the median of the errors, or 0 if there are none.
func (a Agreement) Middle() float64 {
	of := a.Typical
	if of == nil {
		of = a.Errors
	}
	if len(of) == 0 {
		return 0
	}
	return of[len(of)/2]
}

// Largest is the worst error, or 0 if there are none.
func (a Agreement) Largest() float64 {
	if len(a.Errors) == 0 {
		return 0
	}
	return a.Errors[len(a.Errors)-1]
}

// String is such as "accelerations: 2e-07, at worst 3e-06 in 50".
func (a Agreement) String() string {
	text := fmt.Sprintf("%s: %.1e, at worst %.1e in %d", a.Stage, a.Middle(), a.Largest(), len(a.Errors))
	if a.Chaotic > 0 {
		text += fmt.Sprintf(", %d chaotic: %.0f %% of their time", a.Chaotic, 100*a.Share)
	}
	return text
}

// Agree compares the engine with MuJoCo. The reference holds what MuJoCo computed for the system's model and
// pairs (package compiler, Reference): in random states without contacts, in states on the way of rollouts, and
// in rollouts of a second. Forces must agree to 1e-6 in the median and 1e-5 at worst, what follows from
// accelerations to 1e-5 and 1e-4, or twenty times what rounding the state or the distances of geoms changes in MuJoCo;
// rollouts to 1e-3 of their farthest pose, as long as rounding of their states changes them by at most 1e-5 of it in
// MuJoCo. compiles, if not nil, is called with the name of each program, poses, forces, step or acceleration, before XLA
// compiles it, which takes most of the time.
func (s *System) Agree(ctx context.Context, p *xla.Platform, reference map[string]npz.Array,
	compiles func(program string)) (all []Agreement, err error) {
	if s.Large() {
		if s, err = NewSystem(s.model, s.options); err != nil {
			return nil, err
		}
		s.parted, s.finely = true, true
	}
	c := comparison{System: s, context: ctx, platform: p, reference: reference, compiles: compiles}
	defer func() {
		for _, program := range c.programs {
			program.Free()
		}
	}()
	err = xla.Catch(func() {
		for _, kind := range []string{"free_", "touch_"} {
			if len(c.rows(kind+"qpos")) > 0 {
				c.title = map[string]string{"touch_": " in rollouts"}[kind]
				c.poses(kind)
				c.forces(kind)
				c.steps(kind)
			}
		}
		c.title = ""
		c.rollouts()
	})
	return c.found, err
}

// large is the number of dof columns plus contact sets above which Agree compiles programs in parts, since compiling
// such a program takes longer than running it. Gymnasium's ant has 12, its humanoid 27, the OP3 32.
const large = 20

// Large reports whether XLA takes long to compile programs of the system, tens of seconds.
func (s *System) Large() bool { return len(s.dofs)+len(s.contacts) > large }

// comparison compares a system with a reference. Its methods panic with what goes wrong.
type comparison struct {
	*System
	context   context.Context
	platform  *xla.Platform
	reference map[string]npz.Array
	compiles  func(program string)
	title     string
	programs  map[string]*program
	found     []Agreement
}

type program = xla.Program[xla.State[[]*Node], xla.State[[]*Node]]

// rows returns a stored array [n, m] as n states of m numbers; none if it lacks.
func (c *comparison) rows(name string) (rows [][]float64) {
	array, ok := c.reference[name]
	if !ok || len(array.Shape) == 0 {
		return nil
	}
	flat, err := npz.Values[float64](array)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	n := array.Shape[0]
	for i := range n {
		rows = append(rows, flat[i*len(flat)/n:(i+1)*len(flat)/n])
	}
	return rows
}

// run runs a program of some inputs, n states each, which is compiled at its first call.
func (c *comparison) run(name string, inputs [][][]float64, build func(in []*Node) []*Node) (outputs [][][]float64) {
	pack := func(nodes []*Node) []*Node { return nodes }
	var in []xla.Array
	n := c.copies()
	var declared []xla.Array
	for _, states := range inputs {
		if len(states) == 0 { // older references have no activations
			states = [][]float64{{}}
		}
		m := max(1, len(states[0])) // a model without actuators has no controls
		flat := make([]float32, m*n)
		for i := range n {
			for j, x := range states[min(i, len(states)-1)] {
				flat[j*n+i] = float32(x)
			}
		}
		in, declared = append(in, xla.FromFloats(flat, m, n)), append(declared, xla.Declare(dtypes.Float32, m, n))
	}
	if c.programs[name] == nil {
		if c.compiles != nil {
			c.compiles(name)
		}
		compiled, err := xla.Compile(c.platform, "MuJoCo "+name, xla.Pack(pack, declared...),
			func(in xla.State[[]*Node]) xla.State[[]*Node] { return xla.Out(build(in.Tree)) })
		if err != nil {
			panic(err)
		}
		if c.programs == nil {
			c.programs = map[string]*program{}
		}
		c.programs[name] = compiled
	}
	if err := c.context.Err(); err != nil {
		panic(err)
	}
	packed := xla.Pack(pack, in...)
	out, err := c.programs[name].Run(packed)
	if err != nil {
		panic(err)
	}
	defer packed.Free()
	defer out.Free()
	lists, err := out.Lists()
	if err != nil {
		panic(err)
	}
	for _, flat := range lists {
		states := make([][]float64, n)
		for i := range flat {
			states[i%n] = append(states[i%n], float64(flat[i]))
		}
		outputs = append(outputs, states[:len(inputs[0])])
	}
	return outputs
}

// copies is the number of states that programs take, so that each is compiled once.
func (c *comparison) copies() int {
	return max(len(c.rows("free_qpos")), len(c.rows("touch_qpos")), 10)
}

func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func distance(a, b []float64) float64 {
	d := make([]float64, len(b))
	for i := range b {
		d[i] = a[i] - b[i]
	}
	return norm(d)
}

// relative is the distance of two vectors relative to a scale; the largest number if it is not finite.
func relative(a, b []float64, scale float64) float64 {
	if e := distance(a, b) / (scale + 1e-9); e < math.MaxFloat64 {
		return e
	}
	return math.MaxFloat64
}

// compare adds the agreement of a stage, relative to the size of each state's numbers. An error is also small enough if it
// is at most [rounding] times the noise, which is what rounding changes in MuJoCo; nil means that it is not known.
func (c *comparison) compare(stage string, got, want [][]float64, size, noise func(i int) float64, median, worst float64) {
	a := Agreement{Stage: stage + c.title, Median: median, Worst: worst}
	for i := range want {
		scale := func(allowed float64) float64 {
			if noise == nil {
				return size(i)
			}
			return max(size(i), rounding/allowed*noise(i))
		}
		a.Errors = append(a.Errors, relative(got[i], want[i], scale(worst)))
		a.Typical = append(a.Typical, relative(got[i], want[i], scale(median)))
	}
	slices.Sort(a.Errors)
	slices.Sort(a.Typical)
	c.found = append(c.found, a)
}

// sizes are those of vectors.
func sizes(of [][]float64) func(i int) float64 { return func(i int) float64 { return norm(of[i]) } }

// poses compares where the bodies are, and their centre of mass, in the states for which the reference has them.
func (c *comparison) poses(kind string) {
	places, turns := c.rows(kind+"xpos"), c.rows(kind+"xquat")
	if places == nil {
		return
	}
	out := c.run("poses", [][][]float64{c.rows(kind + "qpos"), c.rows(kind + "qvel")}, func(in []*Node) []*Node {
		state := algebra.State{Parts: in}
		position, rotation, _, _ := c.Export(state)
		flat := func(x *Node) *Node { return Transpose(Reshape(x, state.Batch(), -1), 0, 1) }
		center := c.CenterOfMass(state)
		return []*Node{flat(position), flat(rotation), Stack(center[:], 0)}
	})
	for i, turn := range turns {
		for k := 0; k < len(turn); k += 4 {
			ours, dot := out[1][i][k:k+4], 0.0
			for j := range ours {
				dot += ours[j] * turn[k+j]
			}
			for j := range ours { // both signs are the same rotation
				ours[j] *= math.Copysign(1, dot)
			}
		}
	}
	c.compare("positions of bodies", out[0], places, sizes(places), nil, 1e-6, 1e-5)
	c.compare("rotations of bodies", out[1], turns, sizes(turns), nil, 1e-6, 1e-5)
	centers := c.rows(kind + "subtree_com")
	for i := range centers {
		centers[i] = centers[i][:3] // of everything
	}
	if !c.fixedMass() {
		c.compare("centre of mass", out[2], centers, sizes(centers), nil, 1e-6, 1e-5)
	}
}

// fixedMass reports whether bodies that cannot move have mass, which MuJoCo counts.
func (c *comparison) fixedMass() bool {
	for i, mass := range c.model.BodyMass {
		if c.model.link(i) == 0 && mass > 0 {
			return true
		}
	}
	return false
}

// forces compares smooth dynamics: the mass matrix, forces, and accelerations without constraints.
func (c *comparison) forces(kind string) {
	if c.reference[kind+"vector"].Data == nil {
		return
	}
	given := [][][]float64{c.rows(kind + "qpos"), c.rows(kind + "qvel"), c.rows(kind + "ctrl"), c.rows(kind + "act"),
		c.rows(kind + "vector")}
	type state struct {
		Kinematics kinematics
		Q, V, W    []algebra.Num
		Inputs     inputs
	}
	type applied struct{ Bias, Passive, Actuator, Smooth []algebra.Num }
	out := c.run("forces", given, func(in []*Node) (out []*Node) {
		q, v, w := split(in[0], c.places), split(in[1], c.dofs), split(in[4], c.dofs)
		k := outlined(c.System, q, func(q []algebra.Num) kinematics { return c.kinematics(q, conditions{}) })
		of := state{k, q, c.toWorld(k, v), c.toWorld(k, w),
			c.inputs(c.ifAny(in[2], c.model.Sizes.NU), c.ifAny(in[3], c.model.Sizes.NA))}
		product := outlined(c.System, of, func(of state) []algebra.Num {
			return c.multiply(of.Kinematics, of.W, c.forward(of.Kinematics, of.W))
		})
		forces := outlined(c.System, of, func(of state) (a applied) {
			motions, bias := c.inverseDynamics(of.Kinematics, of.V, nil)
			passive, lift := c.passive(of.Kinematics, of.Q, of.V, motions.Drifting)
			actuator, _ := c.actuation(of.Kinematics, of.Q, of.V, of.Inputs, lift)
			a = applied{bias, passive, actuator, c.noForce()}
			for i := range a.Smooth {
				a.Smooth[i] = passive[i].Plus(actuator[i]).Minus(bias[i])
			}
			return a
		})
		of.W = forces.Smooth
		acceleration := outlined(c.System, of, func(of state) []algebra.Num {
			k := of.Kinematics
			return c.solve(k, c.factorize(k, c.links(k), c.armatures(k)), of.W)
		})
		for _, x := range [][]algebra.Num{product, forces.Bias, forces.Passive, forces.Actuator, acceleration} {
			out = append(out, join(in[0].Graph(), c.model.Sizes.NV, in[0].Shape().Dimensions[1], c.toBody(k, x), c.dofs))
		}
		return out
	})
	for i, stage := range [][2]string{{"M_vector", "mass matrix"}, {"qfrc_bias", "bias forces"}, {"qfrc_passive",
		"passive forces"}, {"qfrc_actuator", "actuator forces"}, {"qacc_smooth", "accelerations without constraints"}} {
		want := c.rows(kind + stage[0])
		median, worst := 1e-6, 1e-5
		if stage[0] == "qacc_smooth" {
			median, worst = 1e-5, 1e-4
		}
		var changes func(i int) float64
		// Sums that may cancel are compared with what rounding of the state changes, which golden files lack.
		at := map[string]int{"qfrc_bias": 4, "qfrc_passive": 5, "qacc_smooth": 6, "qfrc_actuator": 7}[stage[0]]
		if noise := c.rows(kind + "noise"); at > 0 && len(noise) > 0 && at < len(noise[0]) {
			changes = func(i int) float64 { return noise[i][at] }
		}
		c.compare(stage[1], out[i], want, sizes(want), changes, median, worst)
	}
}

// moving is a state of several copies, with their last accelerations.
type moving struct{ q, v, act, a [][]float64 }

// step runs a physics step.
func (c *comparison) step(from moving, u [][]float64) moving {
	out := c.run("step", [][][]float64{from.q, from.v, u, from.a, from.act}, func(in []*Node) []*Node {
		act := c.ifAny(in[4], c.model.Sizes.NA)
		next := c.Step(State{QPos: in[0], QVel: in[1], QAcc: in[3], Act: act}, c.ifAny(in[2], c.model.Sizes.NU), 1)
		if act == nil {
			next.Act = in[4]
		}
		return []*Node{next.QPos, next.QVel, next.QAcc, next.Act}
	})
	return moving{q: out[0], v: out[1], a: out[2], act: out[3]}
}

// rounding is the largest error that is allowed, relative to what the rounding of a state's numbers, or of the distances
// of geoms, changes.
const rounding = 20

// ifAny returns an input of a program, or nil if the model has none of it.
func (c *comparison) ifAny(x *Node, n int) *Node {
	if n == 0 {
		return nil
	}
	return x
}

// held is the number of physics steps of a control step.
func (c *comparison) held() int {
	held, err := npz.Values[int](c.reference["frame_skip"])
	if err != nil {
		panic(err)
	}
	return held[0]
}

// steps compares accelerations under constraints, a physics step and a control step.
func (c *comparison) steps(kind string) {
	if c.reference["frame_skip"].Data == nil {
		return
	}
	q, v, u := c.rows(kind+"qpos"), c.rows(kind+"qvel"), c.rows(kind+"ctrl")
	qacc, smooth, noise := c.rows(kind+"qacc"), c.rows(kind+"qacc_smooth"), c.rows(kind+"noise")
	const median, worst = 1e-5, 1e-4
	changes := func(k int) func(i int) float64 { return func(i int) float64 { return noise[i][k] } }
	acceleration := func(i int) float64 { return max(norm(qacc[i]), norm(smooth[i])) }
	zero := make([][]float64, len(v))
	for i := range zero {
		zero[i] = make([]float64, len(v[i]))
	}
	at := c.step(moving{q, v, c.rows(kind + "act"), zero}, u)
	now := at.a
	if c.model.Opt.Integrator == RK4 { // whose last acceleration is not that of the state
		now = c.run("acceleration", [][][]float64{q, v, u, c.rows(kind + "act")}, func(in []*Node) []*Node {
			d := c.accelerate(running{Q: split(in[0], c.places), V: split(in[1], c.dofs), A: c.noForce(),
				Inputs: c.inputs(c.ifAny(in[2], c.model.Sizes.NU), c.ifAny(in[3], c.model.Sizes.NA))})
			return []*Node{join(in[0].Graph(), c.model.Sizes.NV, in[0].Shape().Dimensions[1], c.toBody(d.Kinematics,
				d.Acceleration), c.dofs)}
		})[0]
	}
	c.compare("accelerations", now, qacc, acceleration, changes(0), median, worst)
	for _, stage := range []struct {
		title, name string
		more, noise int // physics steps, index
	}{{"physics step", "step_", 0, 1}, {"control step", "control_", c.held() - 1, 3}} {
		for range stage.more {
			at = c.step(at, u)
		}
		position, velocity := c.rows(kind+stage.name+"qpos"), c.rows(kind+stage.name+"qvel")
		c.compare("positions after a "+stage.title, at.q, position, sizes(position), changes(2), median, worst)
		c.compare("velocities after a "+stage.title, at.v, velocity, sizes(velocity), changes(stage.noise), median, worst)
	}
}

// rollouts compares where rollouts of a second end, together.
func (c *comparison) rollouts() {
	type rollout struct {
		q, v, u, act, twin [][]float64
		stable             int // control steps in MuJoCo
		steps              int // of these, those that rounding does not change
		scale, err         float64
	}
	var all []rollout
	for {
		name := fmt.Sprintf("traj%d_", len(all))
		r := rollout{q: c.rows(name + "qpos"), v: c.rows(name + "qvel"), u: c.rows(name + "ctrl"),
			act: c.rows(name + "act"), twin: c.rows(name + "qpos_twin")}
		if r.q == nil {
			break
		}
		stable, err := npz.Values[int](c.reference[name+"supported_steps"])
		if err != nil {
			panic(err)
		}
		r.stable = min(stable[0], len(r.q)-1)
		for _, q := range r.q { // some start near 0, where any difference is large relative to the pose
			r.scale = max(r.scale, norm(q))
		}
		for r.steps < r.stable && relative(r.twin[r.steps+1], r.q[r.steps+1], r.scale) <= 1e-5 {
			r.steps++
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return
	}
	column := func(f func(r rollout) []float64) (rows [][]float64) {
		for _, r := range all {
			rows = append(rows, f(r))
		}
		return rows
	}
	state := moving{
		q: column(func(r rollout) []float64 { return r.q[0] }),
		v: column(func(r rollout) []float64 { return r.v[0] }),
		a: column(func(r rollout) []float64 { return make([]float64, len(r.v[0])) }),
		act: column(func(r rollout) []float64 {
			if len(r.act) == 0 {
				return nil
			}
			return r.act[0]
		}),
	}
	for at := range slices.MaxFunc(all, func(a, b rollout) int { return a.steps - b.steps }).steps {
		u := column(func(r rollout) []float64 {
			if len(r.u) == 0 {
				return []float64{0}
			}
			return r.u[min(at, len(r.u)-1)]
		})
		for range c.held() {
			state = c.step(state, u)
		}
		for i, r := range all {
			if at < r.steps {
				all[i].err = relative(state.q[i], r.q[at+1], r.scale)
			}
		}
	}
	found := Agreement{Stage: "rollouts of a second", Median: 1e-3, Worst: 1e-3}
	compared, stable := 0, 0
	for _, r := range all {
		if r.steps > 0 {
			found.Errors = append(found.Errors, r.err)
		}
		if r.steps < r.stable {
			found.Chaotic++
		}
		compared, stable = compared+r.steps, stable+r.stable
	}
	found.Share = float64(compared) / max(1, float64(stable))
	slices.Sort(found.Errors)
	c.found = append(c.found, found)
}
