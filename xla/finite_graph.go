package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Finite reports which numbers are neither NaN nor infinite, bool.
func Finite(x *Node) *Node { return LessOrEqual(Abs(x), ConstAs(x, math.MaxFloat32)) }

// FiniteRows reports which rows of x, [n, ...], have only finite numbers, bool [n].
func FiniteRows(x *Node) *Node {
	return LogicalAll(Finite(Reshape(x, x.Shape().Dimensions[0], -1)), 1)
}

// KeepFinite replaces each row of x [n, width] that is not finite by a finite row, which it takes in
// turn from the others, and returns the number of replaced rows, an int32 scalar. Finite rows stay
// as they are, bit for bit. If there is none, all rows are fallback, [1, width].
func KeepFinite(x, fallback *Node) (kept, replaced *Node) {
	g, n := x.Graph(), x.Shape().Dimensions[0]
	finite := FiniteRows(x)
	number := Iota(g, shapes.Make(dtypes.Int32, n), 0)
	flags := ConvertDType(finite, dtypes.Int32)
	count := ReduceSum(flags)
	// the finite rows in order; slot n takes the others
	place := Where(finite, AddScalar(CumSum(flags, 0), int32(-1)), ConstAs(number, int32(n)))
	list := Scatter(InsertAxes(place, -1), number, shapes.Make(dtypes.Int32, n+1), false, false)
	turn := Mod(number, MaxScalar(count, int32(1)))
	source := Where(finite, number, Gather(list, InsertAxes(turn, -1)))
	none := Equal(count, ZerosLike(count))
	kept = Where(BroadcastToDims(none, x.Shape().Dimensions...),
		BroadcastToDims(fallback, x.Shape().Dimensions...), Gather(x, InsertAxes(source, -1)))
	return kept, Sub(ConstAs(count, int32(n)), count)
}
