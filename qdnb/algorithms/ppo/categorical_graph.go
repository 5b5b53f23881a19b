package ppo

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Categorical is a categorical distribution over choices: a pytree.
type Categorical struct {
	LogProbs *Node // [..., choices], log-probabilities
}

// NewCategorical returns the distribution with the given logits [..., choices].
func NewCategorical(logits *Node) Categorical { return Categorical{LogSoftmax(logits, -1)} }

// LogProb returns the log-probability of each choice, int32 [...].
func (c Categorical) LogProb(choice *Node) *Node {
	numbers := Iota(choice.Graph(), shapes.Make(dtypes.Int32, c.LogProbs.Shape().Dimensions...), -1)
	hit := Equal(numbers, InsertAxes(choice, -1))
	return ReduceSum(Where(hit, c.LogProbs, ZerosLike(c.LogProbs)), -1)
}

// Entropy returns -sum p log p, [...].
func (c Categorical) Entropy() *Node { return Neg(ReduceSum(Mul(Exp(c.LogProbs), c.LogProbs), -1)) }

// Sample draws a choice for each of B keys, int32 [B], from a distribution [B, choices] by the
// Gumbel-max trick: the argmax of log-probabilities plus Gumbel noise.
func (c Categorical) Sample(keys random.Key) *Node {
	// The maximum keeps the uniform numbers above 0. Their grid of 2^23 points is finer than any
	// probability that matters.
	uniform := MaxScalar(keys.Uniform(0, 1, c.LogProbs.Shape().Dimensions...), math.Pow(2, -24))
	noisy := Sub(c.LogProbs, Log(Neg(Log(uniform))))
	return xla.FirstTrue(Equal(noisy, InsertAxes(ReduceMax(noisy, -1), -1)), -1)
}
