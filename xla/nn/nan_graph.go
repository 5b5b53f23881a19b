package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// XLA:CPU uses fast variants of minimum and maximum: of NaN and a number they may return the
// number. Values in which a run must notice NaN go through these two functions.

// Bounded clamps x between two limits, and is NaN where x is NaN: like [ReLU] it uses Where.
func Bounded(x *Node, low, high float64) *Node {
	bottom, top := ConstAs(x, low), ConstAs(x, high)
	x = Where(LessThan(x, bottom), bottom, x)
	return Where(GreaterThan(x, top), top, x)
}

// PropagateNaN returns a loss, a scalar, or NaN if any of the arrays trained with it holds a NaN.
// The loss itself need not be NaN then: it belongs to the networks before an update, and a minimum
// on the way may drop a NaN.
func PropagateNaN(loss *Node, learnt ...*Node) *Node {
	for _, array := range learnt {
		bad := ReduceAllSum(ConvertDType(NotEqual(array, array), dtypes.Int32))
		loss = Where(GreaterThan(bad, ZerosLike(bad)), ConstAs(loss, math.NaN()), loss)
	}
	return loss
}
