package envtest

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// batch is the number of copies, a number that is unlikely to be another size of an environment.
const batch = 5

// playing is the loop state of an episode.
type playing struct {
	State   envs.State
	Score   envs.Score
	Actions *Node // [T, B, actions]
}

// seen returns the parts of a state that are recorded after each step.
func seen(s envs.State) []*Node {
	return slices.DeleteFunc([]*Node{s.Observation, s.Reward, s.Done, s.Descriptor}, func(x *Node) bool { return x == nil })
}

// play runs an episode under actions [T, B, actions]. It panics if shapes are not as promised.
func play(env envs.Env, keys random.Key, actions *Node) (r recording) {
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
	p, trace := xla.Scan(g, steps, p, func(step *Node, p playing) (playing, []*Node) {
		next := envs.Step(env, p.State, xla.Row(p.Actions, step))
		p.Score = p.Score.AddStep(p.State, next)
		p.State = next
		return p, seen(next)
	})
	names := []string{observation, reward, done, descriptor}
	if spec.Observations == 0 {
		names = names[1:]
	}
	record := func(name string, width int, x *Node) { r = append(r, array{name: name, width: width, node: x}) }
	for i, first := range seen(start) {
		all := Concatenate([]*Node{InsertAxes(first, 0), trace[i]}, 0) // [T+1, B, ...]
		rows := Reshape(TransposeAllAxes(all, []int{1, 0, 2}[:all.Rank()]...), batch, -1)
		record(names[i], rows.Shape().Dimensions[1]/(steps+1), rows)
	}
	record(resetState, 0, flat(start.PhysicsState))
	record(endState, 0, flat(p.State.PhysicsState))
	if r, ok := envs.Inner(env).(*envs.Rigid); ok {
		for _, v := range r.Memory {
			at := func(s envs.State) *Node { return Transpose(r.View(s).Recall(v.Name), 0, 1) }
			record(variable+v.Name, v.Size, Concatenate([]*Node{at(start), at(p.State)}, 1))
		}
	}
	fitness, episode := p.Score.Result()
	record("the fitness", 0, Reshape(fitness, batch, 1))
	if episode != nil {
		record(outcome, 0, episode)
	}
	return r
}

// flat flattens a physics state, [B, numbers].
func flat(state []*Node) *Node {
	rows := make([]*Node, len(state))
	for i, part := range state {
		rows[i] = ConvertDType(Transpose(Reshape(part, -1, batch), 0, 1), dtypes.Float32)
	}
	return Concatenate(rows, 1)
}
