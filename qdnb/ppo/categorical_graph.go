package ppo

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Categorical is a distribution over choices: a tree.
type Categorical struct {
	LogProbs *Node // [..., choices], logarithms of the probabilities
}

// NewCategorical reads a network's outputs [..., choices].
func NewCategorical(logits *Node) Categorical { return Categorical{LogSoftmax(logits, -1)} }

// LogProb is the logarithm of the probability of each choice, int32 [...].
func (c Categorical) LogProb(choice *Node) *Node {
	hit := Equal(numbers(c.LogProbs), InsertAxes(choice, -1))
	return ReduceSum(Where(hit, c.LogProbs, ZerosLike(c.LogProbs)), -1)
}

// Entropy is -sum p log p, [...].
func (c Categorical) Entropy() *Node { return Neg(ReduceSum(Mul(Exp(c.LogProbs), c.LogProbs), -1)) }

// Sample draws a choice for each of B keys, int32 [B], from a distribution [B, choices]: the greatest of the logarithms after noise of
// Gumbel's distribution was added to them.
func (c Categorical) Sample(keys xla.Key) *Node {
	// No uniform number is 0 then; the grid of 2^23 points is finer than any probability that matters.
	uniform := MaxScalar(keys.Uniform(0, 1, c.LogProbs.Shape().Dimensions...), math.Pow(2, -24))
	return greatest(Sub(c.LogProbs, Log(Neg(Log(uniform)))))
}

// greatest is the first place of the greatest number of each row, int32, by two plain reductions: XLA:CPU's ArgMax goes number by number.
func greatest(x *Node) *Node {
	last := x.Rank() - 1
	n := x.Shape().Dimensions[last]
	order := numbers(x)
	hit := Equal(x, InsertAxes(ReduceMax(x, -1), -1))
	return MinScalar(ReduceMin(Where(hit, order, ConstAs(order, int32(n))), -1), int32(n-1))
}

// numbers are 0, 1, ... along the last axis, int32 in the shape of x.
func numbers(x *Node) *Node {
	return Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), -1)
}
