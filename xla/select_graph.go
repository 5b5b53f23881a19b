package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// FirstTrue returns the first index along an axis at which flags are true, or the last index if
// none is. The result is int32 in the shape of flags without that axis. FirstTrue(Equal(x,
// minimum), axis) is the argmin of x. It is a plain reduction, which XLA:CPU vectorizes; its own
// ArgMin and ArgMax are scalar.
func FirstTrue(flags *Node, axis int) *Node {
	order := Iota(flags.Graph(), shapes.Make(dtypes.Int32, flags.Shape().Dimensions...), axis)
	last := flags.Shape().Dim(axis) - 1
	return ReduceMin(Where(flags, order, ConstAs(order, int32(last))), axis)
}

// NthTrue returns the indices of the n-th true flags, int32 [m], or the last index where there are
// too few. n, int32 [m], counts from 0. upTo, int32 [flags], is the number of true flags up to and
// including each flag.
func NthTrue(upTo, n *Node) *Node {
	before := LessOrEqual(InsertAxes(upTo, 0), InsertAxes(n, 1)) // [m, flags]
	return MinScalar(ReduceSum(ConvertDType(before, dtypes.Int32), 1),
		int32(upTo.Shape().Dimensions[0]-1))
}
