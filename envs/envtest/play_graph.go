package envtest

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
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
	return slices.DeleteFunc([]*Node{s.Observation, s.Reward, s.Done, s.Descriptor},
		func(x *Node) bool { return x == nil })
}

// play runs an episode under actions [T, B, actions]. It panics if shapes are not as promised.
func play(env envs.Env, keys random.Key, actions *Node) []column {
	g, spec, steps := actions.Graph(), env.Spec(), actions.Shape().Dimensions[0]
	if spec.Observations > 0 { // only then do learners act in it
		envs.AutoReset(env, 0).Reset(keys) // checks that the last axis of PhysicsState is the batch
	}
	start := envs.Reset(env, keys)
	if len(start.PhysicsState) == 0 {
		panic(xla.Misfit(env, "Reset", "it returns no PhysicsState: steps need one"))
	}
	if start.Descriptor != nil && len(spec.Descriptor.Lower) == 0 {
		panic(xla.Misfit(env, "Reset", "it returns a descriptor, but Spec has none"))
	}
	p := playing{State: start, Score: envs.NewScore(g, batch, spec.Descriptor.Kind,
		len(spec.Descriptor.Lower)), Actions: actions}
	first := Const(g, int32(0))
	for _, node := range seen(start) {
		empty := Zeros(g, shapes.Make(dtypes.Float32,
			append([]int{steps + 1}, node.Shape().Dimensions...)...))
		p.Trace = append(p.Trace, xla.SetRow(empty, first, node))
	}
	p = xla.For(g, steps, p, func(step *Node, p playing) playing {
		next := envs.Step(env, p.State, xla.Row(p.Actions, step))
		p.Score = p.Score.AddStep(p.State, next)
		p.State = next
		p.Trace = xla.SetRow(p.Trace, AddScalar(step, 1), seen(next))
		return p
	})
	var columns []column
	names := []string{"the observation", "the reward", "done", "the descriptor"}
	if spec.Observations == 0 {
		names = names[1:]
	}
	for i, name := range names[:len(p.Trace)] {
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
	return columns
}

// flat flattens a physics state, [B, numbers].
func flat(state []*Node) *Node {
	rows := make([]*Node, len(state))
	for i, part := range state {
		rows[i] = ConvertDType(Transpose(Reshape(part, -1, batch), 0, 1), dtypes.Float32)
	}
	return Concatenate(rows, 1)
}
