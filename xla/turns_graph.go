package xla

import . "github.com/gomlx/gomlx/core/graph"

// ForSlices is [For] for what the workers of a parallel program share: each takes count turns, and
// the more workers there are the fewer these are. worker is the index of the worker, or another
// int32 scalar from 0 on that XLA cannot know. The body is compiled to the same code whatever the
// count, and so computes the same to the bit with any number of workers: a loop of one turn XLA
// would dissolve into what stands around it, and round otherwise.
func ForSlices[T any](count int, worker *Node, state T, body func(turn *Node, state T) T) T {
	return Repeat(hiddenCount(count, worker), state, body)
}

// ForSlicesUnfused is [ForSlices] for a body of large operations, as [ForUnfused] is for [For].
func ForSlicesUnfused[T any](count int, worker *Node, state T, body func(turn *Node, state T) T) T {
	return RepeatUnfused(hiddenCount(count, worker), state, body)
}

// hiddenCount is a number that XLA:CPU cannot know. Other backends know it: what becomes of loops
// of one turn there was not looked at.
func hiddenCount(count int, worker *Node) *Node {
	turns := Const(worker.Graph(), int32(count))
	if KindOf(worker.Graph()) != CPU {
		return turns
	}
	one := Min(BitwiseOr(worker, ConstAs(worker, int32(1))), ConstAs(worker, int32(1)))
	return Mul(turns, one)
}
