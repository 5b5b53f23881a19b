package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// ForUnfused is [For] for a body of large operations, matrix products above all. XLA:CPU compiles a
// loop over little memory into one function (see loopBytes), on one core and with simple products:
// right for the steps of a rollout, ruinous for those of a learner. How much memory a loop goes
// through depends on sizes that users choose; ForUnfused always makes a list of kernels, each on
// all cores.
func ForUnfused[T any](g *Graph, count int, state T, body func(step *Node, state T) T) T {
	return RepeatUnfused(Const(g, int32(count)), state, body)
}

// RepeatUnfused is [ForUnfused] with a count (int32 scalar) that the graph computes.
func RepeatUnfused[T any](count *Node, state T, body func(step *Node, state T) T) T {
	return repeat(count, state, dispatched, body)
}

// dispatched is step, an int32 scalar, found by sorting two numbers. XLA:CPU has no code for a sort
// (nor for a custom call, a Fourier transform or a collective operation) in a function of its own,
// and so leaves a loop with one, and all around it, alone.
func dispatched(step *Node) *Node {
	g := step.Graph()
	if KindOf(g) != CPU {
		return step
	}
	pair := Concatenate([]*Node{Reshape(step, 1), Const(g, []int32{math.MaxInt32})}, 0)
	less := newClosure(g, func(g *Graph) []*Node {
		scalar := shapes.Make(dtypes.Int32)
		return []*Node{LessThan(Parameter(g, g.UniqueName("left"), scalar),
			Parameter(g, g.UniqueName("right"), scalar))}
	})
	return Reshape(Slice(SortFunc(less, 0, false, pair)[0], AxisElem(0)))
}
