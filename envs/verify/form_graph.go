package verify

import (
	"fmt"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
)

// form specifies how golden files store an environment, with the tolerance of each array. Column
// names lack the affixes for the time: a file has pos_before, init_pos, pos.
type form struct {
	env   envs.Env
	state []column                       // the arrays of a state
	start func(state []*Node) envs.State // builds B states from arrays [B, ...]
	read  func(s envs.State) []*Node     // the inverse of start

	stepped []column // outputs of a single step, without the state after it
	step    func(s envs.State, action *Node) (after envs.State, shown []*Node)
	percent int // percentage of steps that may be outside of the tolerance

	started []column // observation and descriptor of the start of a trajectory
	traced  []column // outputs of each step of a trajectory
	trace   func(s envs.State) []*Node
	restart bool // steps of trajectories start from the stored states, not from the computed ones
	bounded bool // rounding grows along trajectories: the horizon arrays limit the compared steps

	rigid *rigidForm // nil unless the environment is a system of rigid bodies
}

func formOf(env envs.Env) (form, error) {
	switch env := env.(type) {
	case envs.Pointmaze:
		return pointForm(env), nil
	case *envs.Rigid:
		return formOfRigid(env), nil
	case *envs.BlackBox:
		return solutionForm(env), nil
	}
	return form{}, fmt.Errorf("%s cannot be verified: golden files exist for pointmaze, tasks of "+
		"rigid bodies and tasks without physics only", env.Spec().Name)
}

// solutionForm is the form of a task without physics: its state is the last solution.
func solutionForm(env *envs.BlackBox) form {
	spec, near := env.Spec(), tolerance{base: 1e-6, value: 3e-6}
	return form{
		env:   env,
		state: []column{{name: "solution", dims: []int{spec.Actions}}},
		start: func(state []*Node) envs.State {
			return envs.State{PhysicsState: []*Node{Transpose(state[0], 0, 1)}}
		},
		read:    func(s envs.State) []*Node { return []*Node{Transpose(s.PhysicsState[0], 0, 1)} },
		stepped: outcome(spec, near, near),
		step: func(s envs.State, action *Node) (envs.State, []*Node) {
			s = env.Step(s, action)
			return s, outcomes(s)
		},
	}
}

// pointForm is the form of pointmaze. All arrays are exact up to rounding.
func pointForm(env envs.Pointmaze) form {
	spec, near := env.Spec(), tolerance{base: 1e-6}
	xy := column{name: "xy", dims: []int{2}, tolerance: near}
	read := func(s envs.State) []*Node { return []*Node{Stack(s.PhysicsState, -1)} }
	shown := append([]column{observation(spec, near)}, outcome(spec, near, near)...)
	show := func(s envs.State) []*Node { return append([]*Node{s.Observation}, outcomes(s)...) }
	return form{
		env:   env,
		state: []column{xy},
		start: func(state []*Node) envs.State {
			component := func(k int) *Node { return Reshape(Slice(state[0], AxisRange(), AxisElem(k)), -1) }
			return env.At(component(0), component(1))
		},
		read:    read,
		stepped: shown,
		step: func(s envs.State, action *Node) (envs.State, []*Node) {
			s = env.Step(s, action)
			return s, show(s)
		},
		started: append([]column{observation(spec, near)}, descriptor(spec, near)...),
		traced:  append(shown[:len(shown):len(shown)], xy),
		trace:   func(s envs.State) []*Node { return append(show(s), read(s)...) },
	}
}

func observation(spec envs.Spec, t tolerance) column {
	return column{name: "obs", dims: []int{spec.Observations}, tolerance: t}
}

// descriptor returns the column of the descriptor, or none if the task has no descriptor.
func descriptor(spec envs.Spec, t tolerance) []column {
	if spec.Descriptor.Kind == envs.None {
		return nil
	}
	return []column{{name: "desc", dims: []int{len(spec.Descriptor.Lower)}, tolerance: t}}
}

// outcome returns the columns of a step's reward, done and descriptor.
func outcome(spec envs.Spec, reward, desc tolerance) []column {
	return append([]column{{name: "reward", tolerance: reward}, {name: "done"}},
		descriptor(spec, desc)...)
}

// outcomes returns the values of [outcome].
func outcomes(s envs.State) []*Node {
	return append([]*Node{s.Reward, s.Done}, present(s.Descriptor)...)
}

// present returns node as a list, empty if it is nil.
func present(node *Node) []*Node {
	if node == nil {
		return nil
	}
	return []*Node{node}
}
