package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// FirstTrue gives the first index along an axis of flags at which they are true, int32 in the shape
// of flags without that axis; the last index where none is. The first of the least of x is
// FirstTrue(Equal(x, least), axis). It is a plain reduction, which XLA:CPU runs over vectors; its
// own ArgMin and ArgMax go number by number.
func FirstTrue(flags *Node, axis int) *Node {
	order := Iota(flags.Graph(), shapes.Make(dtypes.Int32, flags.Shape().Dimensions...), axis)
	last := flags.Shape().Dim(axis) - 1
	return ReduceMin(Where(flags, order, ConstAs(order, int32(last))), axis)
}

// NthTrue gives the indices of given ones among true flags, int32 [m]: n, int32 [m], says which,
// from 0 on, and upTo, int32 [flags], how many are true up to and including each flag. It is the
// last index where there are not so many.
func NthTrue(upTo, n *Node) *Node {
	before := LessOrEqual(InsertAxes(upTo, 0), InsertAxes(n, 1)) // [m, flags]
	return MinScalar(ReduceSum(ConvertDType(before, dtypes.Int32), 1),
		int32(upTo.Shape().Dimensions[0]-1))
}
