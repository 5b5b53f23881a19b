package xla

import . "github.com/gomlx/gomlx/core/graph"

// ForSlices is [For] over the slices that one worker of a parallel program computes: with more
// workers each takes a smaller count. worker is the worker's index, or another int32 scalar of at
// least 0 that XLA cannot know. The body compiles to the same code for any count, so results are
// bit-identical for any number of workers. XLA would inline a loop known to have one iteration, and
// round differently.
func ForSlices[T any](count int, worker *Node, state T, body func(slice *Node, state T) T) T {
	return Repeat(hiddenCount(count, worker), state, body)
}

// ForSlicesUnfused is [ForSlices] for a body of large operations, as [ForUnfused] is for [For].
func ForSlicesUnfused[T any](count int, worker *Node, state T, body func(slice *Node, state T) T) T {
	return RepeatUnfused(hiddenCount(count, worker), state, body)
}

// hiddenCount returns count as a number that XLA:CPU cannot know. On other backends it is a
// constant: how they compile loops of one iteration has not been studied.
func hiddenCount(count int, worker *Node) *Node {
	constant := Const(worker.Graph(), int32(count))
	if KindOf(worker.Graph()) != CPU {
		return constant
	}
	one := Min(BitwiseOr(worker, ConstAs(worker, int32(1))), ConstAs(worker, int32(1)))
	return Mul(constant, one)
}
