package envs_test

import (
	"math"
	"path/filepath"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla/random"
)

// format specifies how golden files store an environment, with the tolerance of each array. Column
// names lack the affixes for the time: a file has pos_before, init_pos, pos.
type format struct {
	env   envs.Env
	rigid *envs.Rigid                    // nil unless the environment is a system of rigid bodies
	state []column                       // the arrays of a state
	posed []column                       // the same of a state made from joint angles
	start func(state []*Node) envs.State // builds B states from arrays [B, ...]
	read  func(s envs.State) []*Node     // the inverse of start

	stepped []column // of a single step, without the state after it
	started []column // of the start of a trajectory: observation and descriptor
	traced  []column // of each step of a trajectory
	percent int      // percentage of steps that may be outside of the tolerance
	restart bool     // steps of trajectories start from the stored states, not from the computed ones
	bounded bool     // rounding grows along trajectories: the horizon arrays limit the compared steps
}

// view is what a step or a start gives.
type view struct {
	envs.State
	arrays  []*Node // of the state
	contact algebra.Contact
}

func (v view) show(columns []column) (nodes []*Node) {
	for _, c := range columns {
		nodes = append(nodes, c.of(v))
	}
	return nodes
}

// view returns the view of a start.
func (f format) view(s envs.State) view { return view{State: s, arrays: f.read(s)} }

// step returns the view of a step, with its contacts.
func (f format) step(s envs.State, action *Node) view {
	if f.rigid == nil {
		return f.view(f.env.Step(s, action))
	}
	var contact algebra.Contact
	witness := *f.env.(*envs.Rigid)
	witness.Observe = func(m envs.StepView) *Node {
		contact = m.Contact
		return f.rigid.Observe(m)
	}
	v := f.view(witness.Step(s, action))
	v.contact = contact
	return v
}

func formatOf(env envs.Env) format {
	spec := env.Spec()
	switch env := env.(type) {
	case envs.Pointmaze: // exact up to rounding
		near := tolerance{base: 1e-6}
		xy := column{name: "xy", dims: []int{2}, tolerance: near}
		stepped := append([]column{observation(spec, near)}, outcome(spec, near, near)...)
		return format{env: env, state: []column{xy},
			start: func(state []*Node) envs.State {
				component := func(k int) *Node { return Reshape(Slice(state[0], AxisRange(), AxisElem(k)), -1) }
				return env.At(component(0), component(1))
			},
			read:    func(s envs.State) []*Node { return []*Node{Stack(s.PhysicsState, -1)} },
			stepped: stepped,
			started: append([]column{observation(spec, near)}, descriptor(spec, near)...),
			traced:  append(stepped[:len(stepped):len(stepped)], stateArray(xy, 0)),
		}
	case *envs.BlackBox: // the state is the last solution
		near := tolerance{base: 1e-6, value: 3e-6}
		return format{env: env, state: []column{{name: "solution", dims: []int{spec.Actions}}},
			start: func(state []*Node) envs.State {
				return envs.State{PhysicsState: []*Node{swap(state[0])}}
			},
			read:    func(s envs.State) []*Node { return []*Node{swap(s.PhysicsState[0])} },
			stepped: outcome(spec, near, near),
		}
	}
	return formatOfRigid(env.(*envs.Rigid))
}

// chaotic lists the environments in which a step loses a digit or more of precision, with the
// tolerance of trajectory steps.
var chaotic = map[string]float64{"halfcheetah-uni": 1e-2, "halfcheetah-hurdles": 5e-2}

// formatOfRigid returns the format of a rigid-body task. Steps must be as exact as the published code's
// float32 is compared with its float64.
func formatOfRigid(env *envs.Rigid) format {
	spec, bodies := env.Spec(), len(env.System.BodyNames())
	pose, speed := tolerance{base: 1e-5, err64: "err64_posrot"}, tolerance{base: 1e-3, err64: "err64_velang"}
	touch, desc := tolerance{base: 1e-3, err64: "err64_velang", value: 1e-5}, pose
	startDesc := tolerance{base: 1e-5}
	if spec.Descriptor.Kind == envs.Mean {
		desc, startDesc = tolerance{}, tolerance{} // contact bits must be equal
	}
	f := format{env: env, rigid: env, state: coordinates(bodies, pose, speed),
		stepped: slices.Concat([]column{observation(spec, tolerance{base: 1e-3, err64: "err64_obs"})},
			outcome(spec, tolerance{base: 1e-4, err64: "err64_reward"}, desc), impulses(bodies, touch)),
		started: append([]column{observation(spec, tolerance{base: 1e-3})}, descriptor(spec, startDesc)...),
		percent: 1,
		bounded: true,
	}
	apart := tolerance{base: 1e-2}
	if base, ok := chaotic[spec.Name]; ok {
		apart.base, f.percent, f.restart, f.bounded = base, 3, true, false
	}
	obs := observation(spec, apart)
	obs.ignore = env.Contacts // a contact one substep later changes them by its whole impulse
	f.traced = []column{obs, stateArray(bodyArray("pos", bodies, 3, apart), 0)}
	return f.withSystem()
}

// withSystem completes the format of a system of rigid bodies.
func (f format) withSystem() format {
	env := f.rigid
	f.posed = coordinates(len(env.System.BodyNames()), tolerance{base: 1e-5}, tolerance{base: 1e-4})
	f.start = func(state []*Node) envs.State {
		return env.Begin(random.Key{}, env.System.(*physics.System).Import(state[0], state[1], state[2], state[3]))
	}
	f.read = func(s envs.State) []*Node { return export(env.System, algebra.State{Parts: s.PhysicsState}) }
	return f
}

// formatOfSystem returns the format of a system that is read from its description in a folder. Its task
// observes and rewards nothing.
func formatOfSystem(dir, name string) format {
	model, _, err := robots.ReadFile(filepath.Join(dir, "config_"+name+".txt"))
	must.Do(err)
	engine := must.Get(physics.NewSystem(model))
	nothing := func(m envs.StepView) *Node { return m.Frame(model.Bodies[0].Name).Position[0] }
	env := &envs.Rigid{System: engine, Settings: envs.Spec{Name: name, Actions: engine.Actions()}, Observe: nothing,
		Reward: func(before, _ envs.StepView, _ *Node) *Node { return nothing(before) }}
	speed := tolerance{base: 1e-4, err64: "err64_velang"}
	touch := speed
	touch.value = 1e-5 // an impulse is the sum of those of all substeps
	f := format{env: env, rigid: env, stepped: impulses(len(model.Bodies), touch),
		state: coordinates(len(model.Bodies), tolerance{base: 1e-6, err64: "err64_posrot"}, speed)}
	return f.withSystem()
}

// impulses returns the outputs of the velocity changes by contacts.
func impulses(bodies int, t tolerance) []column {
	linear, angular := bodyArray("contact_vel", bodies, 3, t), bodyArray("contact_ang", bodies, 3, t)
	linear.of = func(v view) *Node { return byBody(v.contact.Velocity) }
	angular.of = func(v view) *Node { return byBody(v.contact.AngularVelocity) }
	return []column{linear, angular}
}

func bodyArray(name string, bodies, components int, t tolerance) column {
	return column{name: name, dims: []int{bodies, components}, tolerance: t}
}

// coordinates returns the arrays of a state of rigid bodies.
func coordinates(bodies int, pose, speed tolerance) []column {
	return []column{bodyArray("pos", bodies, 3, pose), bodyArray("rot", bodies, 4, pose),
		bodyArray("vel", bodies, 3, speed), bodyArray("ang", bodies, 3, speed)}
}

// byBody stacks components [bodies, B] to an array [B, bodies, 3].
func byBody(components [3]*Node) *Node { return TransposeAllAxes(Stack(components[:], 0), 2, 1, 0) }

// export returns the arrays of a state of rigid bodies.
func export(system envs.System, s algebra.State) []*Node {
	position, rotation, velocity, angular := system.Export(s)
	return []*Node{position, rotation, velocity, angular}
}

func stateArray(c column, i int) column {
	c.of = func(v view) *Node { return v.arrays[i] }
	return c
}

func observation(spec envs.Spec, t tolerance) column {
	return column{name: "obs", dims: []int{spec.Observations}, tolerance: t,
		of: func(v view) *Node { return v.Observation }}
}

// descriptor returns the output of the descriptor, or none if the task has no descriptor.
func descriptor(spec envs.Spec, t tolerance) []column {
	if spec.Descriptor.Kind == envs.None {
		return nil
	}
	return []column{{name: "desc", dims: []int{len(spec.Descriptor.Lower)}, tolerance: t,
		of: func(v view) *Node { return v.Descriptor }}}
}

// outcome returns the outputs of a step's reward, done and descriptor.
func outcome(spec envs.Spec, reward, desc tolerance) []column {
	return append([]column{{name: "reward", tolerance: reward, of: func(v view) *Node { return v.Reward }},
		{name: "done", of: func(v view) *Node { return v.Done }}}, descriptor(spec, desc)...)
}

// perturb puts the environment of a format under the conditions of a file. what is their name in the
// file's name; the array parameter has the value.
func (f *format) perturb(what string, stored *goldenFile) {
	live := must.Get(envs.Adjust(f.env))
	parameter, _ := stored.get(column{name: "parameter", dims: []int{1}})
	conditions := envs.Conditions{}
	switch k := float64(parameter[0]); what {
	case "gravity":
		conditions[envs.GravityMultiplier] = []float64{k}
	case "actuator":
		conditions[envs.ActuatorsMultiplier] = []float64{k}
	case "target": // of the paper, by its number
		at := catalog.Targets()[int(k)]
		where, _ := stored.get(column{name: "target", dims: []int{3}})
		if x, y := float64(where[0]), float64(where[1]); math.Hypot(x-at[0], y-at[1]) > 1e-5 {
			stored.Fatalf("%s: target %g is at (%g, %g), not %v", stored.path, k, x, y, at)
		}
		conditions[envs.TargetPosition] = at[:]
		f.state[0].ignore = 3 // the target, the last body, stays at its nominal position
	default:
		stored.Fatalf("%s: unknown perturbation %s", stored.path, what)
	}
	values := must.Get(live.Values(conditions))
	start, read := f.start, f.read
	f.env = live
	f.start = func(state []*Node) envs.State {
		s := start(state)
		s.PhysicsState = append(s.PhysicsState, nil) // the conditions, which Under sets
		return live.Under(s, Const(state[0].Graph(), values))
	}
	f.read = func(s envs.State) []*Node {
		s.PhysicsState = s.PhysicsState[:len(s.PhysicsState)-1]
		return read(s)
	}
}
