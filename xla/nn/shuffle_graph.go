package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Shuffle draws a uniform random permutation, int32 [n]: the ranks of random words, found by
// comparing all pairs. A sort would be less work, but XLA:CPU does not compile a loop that contains
// one, nor the loops around it, into a function.
func Shuffle(key random.Key, n int) *Node {
	g := key.Hi.Graph()
	words := Bitcast(BitwiseShiftRightLogicalScalar(key.Bits(n), uint32(1)), dtypes.Int32)
	// Of equal words the first comes first: it is smaller than the other plus 1.
	first := LessThan(Iota(g, shapes.Make(dtypes.Int32, 1, n), 1), Iota(g, shapes.Make(dtypes.Int32, n, 1), 0))
	before := LessThan(Sub(InsertAxes(words, 0), ConvertDType(first, dtypes.Int32)), InsertAxes(words, 1))
	return ReduceSum(ConvertDType(before, dtypes.Int32), 1)
}

// Permutation returns a random permutation of n numbers, int32 [n]: the sort order of n random words,
// with ties in index order. In loops that XLA:CPU is to compile into a function, use [Shuffle].
func Permutation(key random.Key, n int) *Node {
	g := key.Hi.Graph()
	word, order := key.Bits(n), Iota(g, shapes.Make(dtypes.Int32, n), 0)
	if xla.KindOf(g) != backend.Go { // the Go backend cannot sort
		number := ConvertDType(order, dtypes.Uint64)
		sorted := Sort(BitwiseOr(BitwiseShiftLeftScalar(ConvertDType(word, dtypes.Uint64), uint64(32)), number), 0, true)
		return ConvertDType(BitwiseAnd(sorted, ConstAs(sorted, uint64(math.MaxUint32))), dtypes.Int32)
	}
	// The rank of each word, from comparisons of all pairs.
	row, column := func(x *Node) *Node { return InsertAxes(x, 0) },
		func(x *Node) *Node { return InsertAxes(x, 1) }
	before := Or(LessThan(column(word), row(word)), And(Equal(column(word), row(word)), LessThan(column(order), row(order))))
	rank := ReduceSum(ConvertDType(before, dtypes.Int32), 0)
	return Scatter(InsertAxes(rank, -1), order, shapes.Make(dtypes.Int32, n), false, true)
}
