package xla

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Supports reports whether the backend of a graph has an operation. The pure Go backend lacks a
// few; the functions below fall back to ones that it has, with the same results.
func Supports(g *Graph, op compute.OpType) bool { return g.Backend().Capabilities().Operations[op] }

// Rows returns count consecutive rows of x, [n, ...], starting at start (an int32 scalar, clamped
// as in XLA).
func Rows(x, start *Node, count int) *Node {
	if Supports(x.Graph(), compute.OpTypeDynamicSlice) {
		starts, sizes := windows(x, start, count)
		return DynamicSlice(x, starts, sizes)
	}
	last := x.Shape().Dimensions[0] - count
	first := MaxScalar(MinScalar(start, int32(last)), int32(0))
	index := Add(Iota(x.Graph(), shapes.Make(dtypes.Int32, count, 1), 0), Reshape(first, 1, 1))
	return Gather(x, index)
}

// SetRows returns x, [n, ...], with the rows from start on replaced by rows, [count, ...]. In a
// loop it works in place.
func SetRows(x, start, rows *Node) *Node {
	count := rows.Shape().Dimensions[0]
	if Supports(x.Graph(), compute.OpTypeDynamicUpdateSlice) {
		starts, _ := windows(x, start, count)
		return DynamicUpdateSlice(x, rows, starts)
	}
	n := x.Shape().Dimensions[0]
	first := MaxScalar(MinScalar(start, int32(n-count)), int32(0))
	// offset is the row of rows that each row of x would take.
	offset := Sub(Iota(x.Graph(), shapes.Make(dtypes.Int32, n), 0), first)
	inside := And(GreaterOrEqual(offset, ConstAs(offset, int32(0))), LessThan(offset, ConstAs(offset, int32(count))))
	moved := Gather(rows, Reshape(MaxScalar(MinScalar(offset, int32(count-1)), int32(0)), n, 1))
	dims := append([]int{n}, slices.Repeat([]int{1}, x.Rank()-1)...)
	return Where(BroadcastToDims(Reshape(inside, dims...), x.Shape().Dimensions...), moved, x)
}

// SetRowsAt writes rows of a matrix [m, N] into a matrix x [n, N]: row from[i] into row to[i] for
// i < count. The latter must be distinct. A nil from means 0, 1, 2 and so on. On XLA:CPU only those
// rows are written, in place; other backends select every row of the result: the pure Go backend
// lacks the operation, and on GPUs the loop would wait for the host.
func SetRowsAt(x, rows, from, to, count *Node) *Node {
	g := x.Graph()
	if KindOf(g).Accelerator() || !Supports(g, compute.OpTypeDynamicUpdateSlice) {
		n, m := x.Shape().Dimensions[0], to.Shape().Dimensions[0]
		if from == nil {
			m = min(m, rows.Shape().Dimensions[0]) // count is at most that
		}
		meant := LessThan(Iota(g, shapes.Make(dtypes.Int32, n, m), 1), count)
		here := And(meant, Equal(InsertAxes(Slice(to, AxisRange(0, m)), 0), Iota(g, shapes.Make(dtypes.Int32, n, m), 0)))
		source := InsertAxes(ArgMax(ConvertDType(here, dtypes.Int32), 1), -1)
		if from != nil {
			source = InsertAxes(Gather(from, source), -1)
		}
		taken := BroadcastToDims(InsertAxes(LogicalAny(here, 1), -1), x.Shape().Dimensions...)
		return Where(taken, Gather(rows, source), x)
	}
	type state struct{ X, Rows, From, To *Node }
	return Repeat(count, state{x, rows, from, to}, func(i *Node, s state) state {
		row := i
		if s.From != nil {
			row = Row(s.From, i)
		}
		s.X = SetRows(s.X, Row(s.To, i), Rows(s.Rows, row, 1))
		return s
	}).X
}

// Row returns row i of x, [n, ...], without its first axis.
func Row(x, i *Node) *Node { return Reshape(Rows(x, i, 1), x.Shape().Dimensions[1:]...) }

// SetRow returns a pytree of arrays [n, ...] with row i of each replaced by row's, [...].
func SetRow[T any](all T, i *Node, row T) T {
	return Map2(all, row, func(x, row *Node) *Node { return SetRows(x, i, InsertAxes(row, 0)) })
}

func windows(x, start *Node, count int) (starts []*Node, sizes []int) {
	for axis, dim := range x.Shape().Dimensions {
		if axis == 0 {
			starts, sizes = append(starts, start), append(sizes, count)
			continue
		}
		starts, sizes = append(starts, ScalarZero(x.Graph(), dtypes.Int32)), append(sizes, dim)
	}
	return starts, sizes
}

// AllGather joins the parts computed by the workers of a parallel program: x is [n, ...] on each,
// the result [workers, n, ...] on all. worker is the worker's index, an int32 scalar. x has a
// 32-bit type and is copied bit for bit: AllGather sums the workers' words, of which all but one
// are zero.
func AllGather(x, worker *Node, workers int) *Node {
	dims := append([]int{1}, x.Shape().Dimensions...)
	own := Reshape(x, dims...)
	if workers == 1 {
		return own
	}
	g := x.Graph()
	dims[0] = workers
	words := Zeros(g, shapes.Make(dtypes.Int32, dims...))
	words = SetRows(words, worker, Bitcast(own, dtypes.Int32))
	return Bitcast(g.Distributed().AllReduceOne(words, compute.ReduceOpSum), x.DType())
}

// Argmin returns the first index along an axis of the least number of x, int32 in the shape of x without that
// axis; with NaN, any index. XLA:CPU vectorizes a comparison with the minimum, but not its own ArgMin. That is
// for GPUs and TPUs, where x may be computed twice, once for the minimum and once to be compared, with other
// rounding, so that no number would equal the minimum.
func Argmin(x *Node, axis int) *Node { return ArgminOf(x, ReduceMin(x, axis), axis) }

// ArgminOf is [Argmin] of numbers whose minimum is known.
func ArgminOf(x, least *Node, axis int) *Node {
	if KindOf(x.Graph()).Accelerator() {
		return ArgMin(x, axis)
	}
	return FirstTrue(Equal(x, InsertAxes(least, axis)), axis)
}

// Argmax is [Argmin] of the greatest number.
func Argmax(x *Node, axis int) *Node {
	if KindOf(x.Graph()).Accelerator() {
		return ArgMax(x, axis)
	}
	return FirstTrue(Equal(x, InsertAxes(ReduceMax(x, axis), axis)), axis)
}

// FirstTrue returns the first index along an axis at which flags are true, or the last index if
// none is. The result is int32 in the shape of flags without that axis.
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
	return MinScalar(ReduceSum(ConvertDType(before, dtypes.Int32), 1), int32(upTo.Shape().Dimensions[0]-1))
}

// Nonzero lists the indices of true flags, bool [n], in ascending order: int32 [n]. Only the first
// count (int32 scalar) entries are valid; the others are 0.
func Nonzero(flags *Node) (index, count *Node) {
	g, n := flags.Graph(), flags.Shape().Dimensions[0]
	ones := ConvertDType(flags, dtypes.Int32)
	rank := Sub(CumSum(ones, 0), ones) // of each true flag among the true ones
	position := Where(flags, rank, Const(g, int32(n)))
	list := Scatter(InsertAxes(position, -1), Where(flags, Iota(g, shapes.Make(dtypes.Int32, n), 0), ZerosLike(position)),
		// the extra slot takes the others
		shapes.Make(dtypes.Int32, n+1), false, false)
	return Slice(list, AxisRange(0, n)), ReduceSum(ones)
}

// Ranks returns the rank of each number along the last axis in descending order, int32. Of equal ones
// the first comes first.
func Ranks(x *Node) *Node {
	index := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), -1)
	own, other := func(x *Node) *Node { return InsertAxes(x, -1) }, func(x *Node) *Node {
		return InsertAxes(x, -2)
	}
	ahead := Or(GreaterThan(other(x), own(x)), And(Equal(other(x), own(x)), LessThan(other(index), own(index))))
	return ReduceSum(ConvertDType(ahead, dtypes.Int32), -1)
}

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
	list, count := Nonzero(finite)
	turn := Mod(number, MaxScalar(count, int32(1)))
	source := Where(finite, number, Gather(list, InsertAxes(turn, -1)))
	none := Equal(count, ZerosLike(count))
	kept = Where(BroadcastToDims(none, x.Shape().Dimensions...),
		BroadcastToDims(fallback, x.Shape().Dimensions...), Gather(x, InsertAxes(source, -1)))
	return kept, Sub(ConstAs(count, int32(n)), count)
}
