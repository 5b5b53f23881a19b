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
	return Statistics{Mean: zeros, Squares: OnesLike(zeros),
		Count: Zeros(g, shapes.Make(dtypes.Float32))}
}

// Update adds vectors x [B, d] by Welford's method for batches (QDax, normalization_utils.py):
//
//	mean' = mean + sum(x - mean) / count'
//	squares' = squares + sum((x - mean) (x - mean'))
func (s Statistics) Update(x *Node) Statistics {
	count := AddScalar(s.Count, float64(x.Shape().Dimensions[0]))
	off := Sub(x, InsertAxes(s.Mean, 0))
	mean := Add(s.Mean, Div(ReduceSum(off, 0), count))
	squares := Add(s.Squares, ReduceSum(Mul(off, Sub(x, InsertAxes(mean, 0))), 0))
	return Statistics{mean, squares, count}
}

// Normalise subtracts the mean from vectors x [B, d], divides by the deviation and clamps to
// +-limit:
//
//	clamp((x - mean) / sqrt(clamp(squares / (count + 1), 1e-6, 1e6)), -limit, limit)
func (s Statistics) Normalise(x *Node, limit float64) *Node {
	variance := Bounded(Div(s.Squares, AddScalar(s.Count, 1)), 1e-6, 1e6)
	return Bounded(Div(Sub(x, InsertAxes(s.Mean, 0)), InsertAxes(Sqrt(variance), 0)), -limit, limit)
}
