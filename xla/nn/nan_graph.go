package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// XLA:CPU's minimum and maximum are fast ones, which of NaN may make the other number. What a run
// has to notice goes through these two.

// Bounded is x between two limits, and NaN where x is: as [ReLU] it chooses.
func Bounded(x *Node, low, high float64) *Node {
	bottom, top := ConstAs(x, low), ConstAs(x, high)
	x = Where(LessThan(x, bottom), bottom, x)
	return Where(GreaterThan(x, top), top, x)
}

// PropagateNaN is a loss, a scalar, or NaN if any of the arrays that were learnt under it holds
// one. A loss need not be NaN by itself then: it is that of the networks before an update, and a
// minimum on the way may lose what is not a number.
func PropagateNaN(loss *Node, learnt ...*Node) *Node {
	for _, array := range learnt {
		bad := ReduceAllSum(ConvertDType(NotEqual(array, array), dtypes.Int32))
		loss = Where(GreaterThan(bad, ZerosLike(bad)), ConstAs(loss, math.NaN()), loss)
	}
	return loss
}
