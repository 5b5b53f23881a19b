package verify

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
)

// rigidForm is the part of a form that only systems of rigid bodies have.
type rigidForm struct {
	system   *physics.System
	bodies   int
	contacts int      // number of contact components at the end of an observation
	posed    []column // the arrays of a state made from joint angles
}

// chaotic lists the environments in which a step loses a digit or more of precision, with the
// tolerance of trajectory steps.
var chaotic = map[string]float64{"halfcheetah-uni": 1e-2, "halfcheetah-hurdles": 5e-2}

// formOfRigid returns the form of a rigid-body task. Steps must be as exact as the published code's
// float32 is compared with its float64.
func formOfRigid(env *envs.Rigid) form {
	r := &rigidForm{system: env.System, bodies: len(env.System.Model().Bodies), contacts: env.Contacts}
	spec := env.Spec()
	place, speed := tolerance{base: 1e-5, err64: "err64_posrot"},
		tolerance{base: 1e-3, err64: "err64_velang"}
	touch, desc := tolerance{base: 1e-3, err64: "err64_velang", value: 1e-5}, place
	startDesc := tolerance{base: 1e-5}
	if spec.Descriptor.Kind == envs.Mean {
		desc, startDesc = tolerance{}, tolerance{} // contact bits must be equal
	}
	r.posed = r.coordinates(tolerance{base: 1e-5}, tolerance{base: 1e-4})

	f := form{
		env:   env,
		rigid: r,
		state: r.coordinates(place, speed),
		start: func(state []*Node) envs.State { return env.At(r.read(state)) },
		read:  func(s envs.State) []*Node { return r.write(physics.State{Parts: s.PhysicsState}) },
		stepped: append(append([]column{observation(spec, tolerance{base: 1e-3, err64: "err64_obs"})},
			outcome(spec, tolerance{base: 1e-4, err64: "err64_reward"}, desc)...),
			r.column("contact_vel", 3, touch), r.column("contact_ang", 3, touch)),
		step:    r.step(env, func(r *envs.Rigid) envs.Env { return r }),
		percent: 1,
		started: append([]column{observation(spec, tolerance{base: 1e-3})},
			descriptor(spec, startDesc)...),
		trace: func(s envs.State) []*Node {
			return []*Node{s.Observation, r.write(physics.State{Parts: s.PhysicsState})[0]}
		},
		bounded: true,
	}
	apart := tolerance{base: 1e-2}
	if base, ok := chaotic[spec.Name]; ok {
		apart.base, f.percent, f.restart, f.bounded = base, 3, true, false
	}
	obs := observation(spec, apart)
	obs.ignore = env.Contacts // a contact one substep later changes them by its whole impulse
	f.traced = []column{obs, r.column("pos", 3, apart)}
	return f
}

func (r *rigidForm) column(name string, components int, t tolerance) column {
	return column{name: name, dims: []int{r.bodies, components}, tolerance: t}
}

// coordinates returns the columns of a state.
func (r *rigidForm) coordinates(place, speed tolerance) []column {
	return []column{r.column("pos", 3, place), r.column("rot", 4, place), r.column("vel", 3, speed),
		r.column("ang", 3, speed)}
}

func (r *rigidForm) read(state []*Node) physics.State {
	return r.system.Import(state[0], state[1], state[2], state[3])
}

func (r *rigidForm) write(s physics.State) []*Node {
	position, rotation, velocity, angular := r.system.Export(s)
	return []*Node{position, rotation, velocity, angular}
}

// step returns the step of a task, which also returns its contacts.
func (r *rigidForm) step(env *envs.Rigid, task func(*envs.Rigid) envs.Env) func(s envs.State,
	action *Node) (envs.State, []*Node) {
	return func(s envs.State, action *Node) (envs.State, []*Node) {
		witness := *env
		var contact physics.Contact
		witness.Observe = func(m envs.StepView) *Node {
			contact = m.Contact
			return env.Observe(m)
		}
		s = task(&witness).Step(s, action)
		return s, append(append([]*Node{s.Observation}, outcomes(s)...), byBody(contact.Velocity),
			byBody(contact.AngularVelocity))
	}
}

// byBody stacks components [bodies, B] to an array [B, bodies, 3].
func byBody(components [3]*Node) *Node { return TransposeAllAxes(Stack(components[:], 0), 2, 1, 0) }
