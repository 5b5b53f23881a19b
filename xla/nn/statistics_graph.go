package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Statistics are the running mean and variance of vectors of d numbers: a pytree.
type Statistics struct {
	Mean    *Node // [d]
	Squares *Node // [d], 1 + the sum of squared distances from the mean
	Count   *Node // float32: vectors so far
}

// NewStatistics returns the statistics of no vectors: mean 0 and, by the 1 in Squares, variance 1.
func NewStatistics(g *Graph, d int) Statistics {
	zeros := Zeros(g, shapes.Make(dtypes.Float32, d))
	return Statistics{Mean: zeros, Squares: OnesLike(zeros), Count: Zeros(g, shapes.Make(dtypes.Float32))}
}

// Update adds vectors x [B, d] by Welford's method for batches (Chan, Golub and LeVeque 1983; QDax,
// normalization_utils.py, has the same sums in another order). With mean and squares of the batch
//
//	mean' = mean + (mean_x - mean) B / count'
//	squares' = squares + squares_x + (mean_x - mean)^2 count B / count'
//
// Those of the batch are of distances from a point near its mean, so that float32 suffices where the
// mean is a million deviations.
func (s Statistics) Update(x *Node) Statistics {
	b := float64(x.Shape().Dimensions[0])
	average := func(x *Node) *Node { return DivScalar(ReduceSum(x, 0), b) }
	near := Reshape(Slice(x, AxisElem(0)), -1)
	near = Add(near, average(Sub(x, InsertAxes(near, 0))))
	off := Sub(x, InsertAxes(near, 0))
	rest := average(off) // what rounding left of it
	squares := ReduceSum(Square(Sub(off, InsertAxes(rest, 0))), 0)

	count := AddScalar(s.Count, b)
	step := Add(Sub(near, s.Mean), rest)
	share := Div(ConstAs(count, b), count)
	return Statistics{Mean: Add(s.Mean, Mul(step, share)), Count: count,
		Squares: Add(Add(s.Squares, squares), Mul(Square(step), Mul(s.Count, share)))}
}

// Deviation is the standard deviation, [d]:
//
//	sqrt(clamp(squares / (count + 1), 1e-6, 1e6))
func (s Statistics) Deviation() *Node {
	return Sqrt(Bounded(Div(s.Squares, AddScalar(s.Count, 1)), 1e-6, 1e6))
}

// Normalise normalises vectors x [B, d], see [Normalised].
func (s Statistics) Normalise(x *Node, limit float64) *Node {
	return Normalised(x, InsertAxes(s.Mean, 0), InsertAxes(s.Deviation(), 0), limit)
}

// NormalisedLimit bounds the absolute value of an input of a network that normalises, as in Brax.
const NormalisedLimit = 5

// Normalised returns clamp((x - mean) / deviation, -limit, limit).
func Normalised(x, mean, deviation *Node, limit float64) *Node {
	return Bounded(Div(Sub(x, mean), deviation), -limit, limit)
}
