package scoring

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Discrete is an environment whose actions are the rows of a matrix. Its policies return the logits of a
// distribution over the rows, from which an [Evaluator] draws.
type Discrete interface {
	envs.Env
	Choices() npz.Array // float32 [choices, Spec().Actions]
}

// chooser is a policy that returns actions, or, given choices, draws one with the random numbers behind
// the observation: a pytree.
type chooser struct {
	Net     nn.Net
	Choices *Node // [choices, actions]; nil: Net returns actions
}

// Apply implements [envs.Policy].
func (c chooser) Apply(obs *Node) *Node {
	if c.Choices == nil {
		return c.Net.Apply(obs)
	}
	n := c.Net.Form.Sizes[0]
	choice := nn.Choose(c.Net.Apply(Slice(obs, AxisRange(), AxisRange(0, n))),
		Slice(obs, AxisRange(), AxisRange(n)))
	return Gather(c.Choices, InsertAxes(choice, -1))
}

// drawing is an environment that also observes n random numbers, uniform in [0, 1).
type drawing struct {
	envs.Env
	n int
}

func (e drawing) Spec() envs.Spec {
	spec := e.Env.Spec()
	spec.Observations += e.n
	return spec
}

// streamDraws is the random stream of the numbers that drawing observes.
const streamDraws = 3

func (e drawing) Reset(keys random.Key) envs.State {
	s := envs.Reset(e.Env, keys)
	return e.draw(s, keys.FoldIn(streamDraws), ZerosLike(ConvertDType(s.Reward, dtypes.Int32)))
}

func (e drawing) draw(s envs.State, keys random.Key, number *Node) envs.State {
	uniform := keys.FoldInEach(number).Uniform(0, 1, number.Shape().Size(), e.n)
	s.Observation = Concatenate([]*Node{s.Observation, uniform}, 1)
	s.PhysicsState = append(slices.Clone(s.PhysicsState), keys.Hi, keys.Lo, number)
	return s
}

// inner returns the state of Env, and what draw added to its physics state.
func (e drawing) inner(s envs.State) (_ envs.State, own []*Node) {
	n := len(s.PhysicsState) - 3
	own, s.PhysicsState = s.PhysicsState[n:], s.PhysicsState[:n]
	s.Observation = Slice(s.Observation, AxisRange(), AxisRange(0, e.Env.Spec().Observations))
	return s, own
}

func (e drawing) Step(s envs.State, action *Node) envs.State {
	s, own := e.inner(s)
	return e.draw(envs.Step(e.Env, s, action), random.Key{Hi: own[0], Lo: own[1]},
		AddScalar(own[2], int32(1)))
}

// recorder records states of Env.
func (e drawing) recorder(r envs.Recorder) envs.Recorder {
	row := r.Row
	r.Row = func(before envs.State, action *Node, after envs.State) *Node {
		before, _ = e.inner(before)
		after, _ = e.inner(after)
		return row(before, action, after)
	}
	return r
}
