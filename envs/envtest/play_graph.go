package envtest

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// batch is the number of copies, a number that is unlikely to be another size of an environment.
const batch = 5

// resetState is the name of the physics state after the reset in a recording.
const resetState = "the physics state after the reset"

// column is an array of a recording in the graph, [B, numbers].
type column struct {
	name  string
	width int // numbers per step, starting at the reset; 0 if recorded once
	node  *Node
}

// playing is the loop state of an episode.
type playing struct {
	State   envs.State
	Score   envs.Score
	Actions *Node   // [T, B, actions]
	Trace   []*Node // [T+1, B, ...] each
}

// seen returns the parts of a state that are recorded after each step.
func seen(s envs.State) []*Node {
	nodes := []*Node{s.Observation, s.Reward, s.Done}
	if s.Descriptor != nil {
		nodes = append(nodes, s.Descriptor)
	}
	return nodes
}

// play runs an episode under actions [T, B, actions]. It returns an error if shapes are not as
// promised.
func play(env envs.Env, keys xla.Key, actions *Node) ([]column, error) {
	g, spec, steps := actions.Graph(), env.Spec(), actions.Shape().Dimensions[0]
	start := env.Reset(keys)
	if err := shaped("Reset", spec, start); err != nil {
		return nil, err
	}
	p := playing{State: start, Score: envs.NewScore(g, batch, spec.Descriptor.Kind,
		len(spec.Descriptor.Lower)), Actions: actions}
	first := Const(g, int32(0))
	var wrong error
	for _, node := range seen(start) {
		empty := Zeros(g, shapes.Make(dtypes.Float32,
			append([]int{steps + 1}, node.Shape().Dimensions...)...))
		p.Trace = append(p.Trace, xla.SetRows(empty, first, InsertAxes(node, 0)))
	}
	p = xla.For(g, steps, p, func(step *Node, p playing) playing {
		next := env.Step(p.State, row(p.Actions, step))
		if wrong = unchanged(p.State, next); wrong != nil {
			return p
		}
		p.Score = p.Score.Add(p.State.Descriptor, next.Reward, next.Done)
		p.State = next
		for i, node := range seen(next) {
			p.Trace[i] = xla.SetRows(p.Trace[i], AddScalar(step, 1), InsertAxes(node, 0))
		}
		return p
	})
	if wrong != nil {
		return nil, wrong
	}
	var columns []column
	for i, name := range []string{"the observation", "the reward", "done",
		"the descriptor"}[:len(p.Trace)] {
		trace := p.Trace[i]
		order := []int{1, 0, 2}[:trace.Rank()]
		rows := Reshape(TransposeAllAxes(trace, order...), batch, -1)
		columns = append(columns, column{name, rows.Shape().Dimensions[1] / (steps + 1), rows})
	}
	columns = append(columns, column{resetState, 0, flat(start.PhysicsState)},
		column{"the physics state at the end", 0, flat(p.State.PhysicsState)})
	fitness, descriptor := p.Score.Result()
	columns = append(columns, column{"the fitness", 0, Reshape(fitness, batch, 1)})
	if descriptor != nil {
		columns = append(columns, column{"the episode's descriptor", 0, descriptor})
	}
	return columns, nil
}

// row returns the actions [B, actions] of a step.
func row(actions, step *Node) *Node { return Squeeze(xla.Rows(actions, step, 1), 0) }

// flat flattens a physics state, [B, numbers].
func flat(state []*Node) *Node {
	rows := make([]*Node, len(state))
	for i, part := range state {
		rows[i] = ConvertDType(Transpose(Reshape(part, -1, batch), 0, 1), dtypes.Float32)
	}
	return Concatenate(rows, 1)
}

// shaped compares the shapes of a state with Spec.
func shaped(method string, spec envs.Spec, s envs.State) error {
	descriptor := len(spec.Descriptor.Lower)
	for _, part := range []struct {
		name string
		node *Node
		dims []int
	}{
		{"Observation", s.Observation, []int{batch, spec.Observations}},
		{"Reward", s.Reward, []int{batch}},
		{"Done", s.Done, []int{batch}}, {"Descriptor", s.Descriptor, []int{batch, descriptor}},
	} {
		if part.name == "Descriptor" && descriptor == 0 {
			if s.Descriptor != nil {
				return errors.Errorf("shapes: %s returns a descriptor, but Spec has none", method)
			}
			continue
		}
		want := shapes.Make(dtypes.Float32, part.dims...)
		if part.node == nil {
			return errors.Errorf("shapes: %s returns no %s", method, part.name)
		}
		if !part.node.Shape().Equal(want) {
			return errors.Errorf("shapes: %s returns %s of shape %s for %d copies; Spec says %s", method,
				part.name, part.node.Shape(), batch, want)
		}
	}
	if len(s.PhysicsState) == 0 {
		return errors.Errorf("shapes: %s returns no PhysicsState: steps need one", method)
	}
	for i, part := range s.PhysicsState {
		if part == nil {
			return errors.Errorf("shapes: %s returns nil as PhysicsState[%d]", method, i)
		}
		if dims := part.Shape().Dimensions; len(dims) == 0 || dims[len(dims)-1] != batch {
			return errors.Errorf("shapes: %s returns PhysicsState[%d] of shape %s for %d copies: the last "+
				"axis must be the batch", method, i, part.Shape(), batch)
		}
	}
	return nil
}

// unchanged compares the shapes of a state with the state before it: loops need constant shapes.
func unchanged(before, after envs.State) error {
	if len(before.PhysicsState) != len(after.PhysicsState) {
		return errors.Errorf("shapes: Step changes PhysicsState from %d tensors to %d",
			len(before.PhysicsState), len(after.PhysicsState))
	}
	type pair struct {
		name     string
		old, now *Node
	}
	pairs := []pair{
		{"Observation", before.Observation, after.Observation}, {"Reward", before.Reward, after.Reward},
		{"Done", before.Done, after.Done}, {"Descriptor", before.Descriptor, after.Descriptor},
	}
	for i, part := range before.PhysicsState {
		pairs = append(pairs, pair{fmt.Sprintf("PhysicsState[%d]", i), part, after.PhysicsState[i]})
	}
	for _, p := range pairs {
		switch {
		case p.old == nil && p.now == nil:
		case p.old == nil || p.now == nil:
			return errors.Errorf("shapes: only one of Reset and Step returns %s", p.name)
		case !p.old.Shape().Equal(p.now.Shape()):
			return errors.Errorf("shapes: Step changes %s from %s to %s: loops need constant shapes",
				p.name, p.old.Shape(), p.now.Shape())
		}
	}
	return nil
}

// steady is a policy with constant actions [B, actions].
type steady struct{ Action *Node }

// Apply implements [envs.Policy].
func (s steady) Apply(*Node) *Node { return s.Action }
