package verify

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
)

// form is how golden files write down an environment, and how far off each array may be. Columns
// have names without what says when: a file has pos_before, init_pos, pos.
type form struct {
	env   envs.Env
	state []column                       // the arrays that make up a state
	start func(state []*Node) envs.State // B states of their arrays, [B, ...] each
	read  func(s envs.State) []*Node     // the other way round

	stepped []column // what a single step shows beside the state after it
	step    func(s envs.State, action *Node) (after envs.State, shown []*Node)
	percent int // of the steps that may be outside of the tolerance; 0: none

	started []column // observation and descriptor of the start of a trajectory
	traced  []column // what each of its steps shows
	trace   func(s envs.State) []*Node
	restart bool // its steps start from the stored states, not from the ones before
	bounded bool // rounding grows in it: arrays say how many steps can be the same

	rigid *rigidForm // of systems of rigid bodies
}

func formOf(env envs.Env) (form, error) {
	switch env := env.(type) {
	case envs.Pointmaze:
		return pointForm(env), nil
	case *envs.Rigid:
		return formOfRigid(env), nil
	}
	return form{}, errors.Errorf("%s cannot be verified: golden files are about pointmaze and tasks "+
		"of rigid bodies", env.Spec().Name)
}

// pointForm is exact to rounding everywhere.
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

// descriptor is a column, or none.
func descriptor(spec envs.Spec, t tolerance) []column {
	if spec.Descriptor.Kind == envs.None {
		return nil
	}
	return []column{{name: "desc", dims: []int{len(spec.Descriptor.Lower)}, tolerance: t}}
}

// outcome is what a step leads to, beside observation and state.
func outcome(spec envs.Spec, reward, desc tolerance) []column {
	return append([]column{{name: "reward", tolerance: reward}, {name: "done"}},
		descriptor(spec, desc)...)
}

// outcomes are the values of [outcome].
func outcomes(s envs.State) []*Node {
	return append([]*Node{s.Reward, s.Done}, present(s.Descriptor)...)
}

// present leaves out what a task does not have.
func present(node *Node) []*Node {
	if node == nil {
		return nil
	}
	return []*Node{node}
}
