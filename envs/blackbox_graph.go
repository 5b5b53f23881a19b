package envs

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// BlackBox is a task without physics: an action is a solution, and a function computes its fitness
// and descriptor. There are no observations, so that a policy is the solution itself, and an
// episode has one step. The physics state is the solution of the last step, [n, B], at first 0.
type BlackBox struct {
	Facts Spec
	// Evaluate returns the fitness [B] and the descriptor [B, d] of solutions [B, n]. If Facts has
	// objectives, it returns the parts of the fitness, [B, objectives].
	Evaluate func(solutions *Node) (fitness, descriptor *Node)
}

// Spec implements [Env].
func (f *BlackBox) Spec() Spec { return f.Facts }

// Reset implements [Env]. It ignores the keys: nothing in these tasks is random.
func (f *BlackBox) Reset(keys random.Key) State {
	batch := keys.Hi.Shape().Dimensions[0]
	zeros := func(dims ...int) *Node {
		return Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, dims...))
	}
	return State{PhysicsState: []*Node{zeros(f.Facts.Actions, batch)}, Reward: zeros(batch),
		Done: zeros(batch), Descriptor: zeros(batch, len(f.Facts.Descriptor.Lower))}
}

// Step implements [Env]: the episode ends.
func (f *BlackBox) Step(s State, action *Node) State {
	fitness, descriptor := f.Evaluate(action)
	if len(f.Facts.Objectives) > 0 {
		if s.Objectives != nil {
			s.Objectives = fitness
		}
		fitness = ReduceSum(fitness, 1)
	}
	return State{PhysicsState: []*Node{Transpose(action, 0, 1)}, Reward: fitness,
		Done: OnesLike(fitness), Descriptor: descriptor, Objectives: s.Objectives}
}

// clipTo clips x and keeps NaN, which XLA:CPU's minimum and maximum may turn into a limit.
func clipTo(x *Node, lower, upper float64) *Node {
	return Where(NotEqual(x, x), x, ClipScalar(x, lower, upper))
}
