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
	numbers := Iota(choice.Graph(), shapes.Make(dtypes.Int32, c.LogProbs.Shape().Dimensions...), -1)
	hit := Equal(numbers, InsertAxes(choice, -1))
	return ReduceSum(Where(hit, c.LogProbs, ZerosLike(c.LogProbs)), -1)
}

// Entropy is -sum p log p, [...].
func (c Categorical) Entropy() *Node { return Neg(ReduceSum(Mul(Exp(c.LogProbs), c.LogProbs), -1)) }

// Sample draws a choice for each of B keys, int32 [B], from a distribution [B, choices]: the
// greatest of the logarithms after noise of Gumbel's distribution was added to them.
func (c Categorical) Sample(keys xla.Key) *Node {
	// No uniform number is 0 then; the grid of 2^23 points is finer than any probability that
	// matters.
	uniform := MaxScalar(keys.Uniform(0, 1, c.LogProbs.Shape().Dimensions...), math.Pow(2, -24))
	noisy := Sub(c.LogProbs, Log(Neg(Log(uniform))))
	return xla.FirstTrue(Equal(noisy, InsertAxes(ReduceMax(noisy, -1), -1)), -1)
}
