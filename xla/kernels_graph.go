package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// ForUnfused is [For] for a body of large operations, mainly matrix products. XLA:CPU compiles a
// loop over little memory (see loopBytes) into one function, which runs on one core with simple
// matrix products: good for the steps of a rollout, ruinous for the updates of a learner. How much
// memory a loop uses depends on sizes that users choose. ForUnfused always compiles to a list of
// kernels, each of which runs on all cores.
func ForUnfused[T any](g *Graph, count int, state T, body func(step *Node, state T) T) T {
	return RepeatUnfused(Const(g, int32(count)), state, body)
}

// RepeatUnfused is [ForUnfused] with a count (int32 scalar) computed by the graph.
func RepeatUnfused[T any](count *Node, state T, body func(step *Node, state T) T) T {
	return repeat(count, state, dispatched, body)
}

// dispatched returns step, an int32 scalar, computed by sorting two numbers. XLA:CPU cannot emit a
// sort (nor a custom call, a Fourier transform or a collective operation) inside a single function,
// so it does not fuse a loop that contains one, nor the loops around it.
func dispatched(step *Node) *Node {
	g := step.Graph()
	if KindOf(g) != backend.CPU {
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
