package ppo

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// distribution is the distribution of a policy's decisions at B observations.
type distribution interface {
	// sample draws a decision for each of B keys.
	sample(keys random.Key) *Node
	logProb(decision *Node) *Node // [B]
	entropy() *Node               // [B]
}

// categorical is a distribution over choices, which are int32 [B].
type categorical struct {
	logProbs *Node // [B, choices], log-probabilities
}

// newCategorical returns the distribution with the given logits [B, choices].
func newCategorical(logits *Node) categorical { return categorical{LogSoftmax(logits, -1)} }

func (c categorical) logProb(choice *Node) *Node {
	numbers := Iota(choice.Graph(), shapes.Make(dtypes.Int32, c.logProbs.Shape().Dimensions...), -1)
	hit := Equal(numbers, InsertAxes(choice, -1))
	return ReduceSum(Where(hit, c.logProbs, ZerosLike(c.logProbs)), -1)
}

// entropy returns -sum p log p.
func (c categorical) entropy() *Node { return Neg(ReduceSum(Mul(Exp(c.logProbs), c.logProbs), -1)) }

func (c categorical) sample(keys random.Key) *Node {
	return nn.Choose(c.logProbs, keys.Uniform(0, 1, c.logProbs.Shape().Dimensions...))
}

// gaussian is a distribution over actions. A decision is an action before the tanh, [B, actions].
type gaussian struct{ nn.TanhGaussian }

func (d gaussian) sample(keys random.Key) *Node {
	return Add(d.Mean, Mul(d.Scale, keys.Normal(d.Mean.Shape().Dimensions...)))
}

func (d gaussian) logProb(decision *Node) *Node {
	_, logProb := d.Sample(Div(Sub(decision, d.Mean), d.Scale))
	return logProb
}

// entropy returns the entropy of the normal variables, before the tanh.
func (d gaussian) entropy() *Node {
	return ReduceSum(AddScalar(Log(d.Scale), 0.5*math.Log(2*math.Pi*math.E)), -1)
}
