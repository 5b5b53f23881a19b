package nn

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// TanhGaussian is a distribution over actions in (-1, 1): the hyperbolic tangent of independent
// normal variables (Haarnoja et al., ICML 2018), as in Brax v0.0.12 (training/distribution.py).
type TanhGaussian struct{ Mean, Scale *Node } // [..., actions], before the tanh

// minScale is the smallest standard deviation.
const minScale = 1e-3

// NewTanhGaussian returns the distribution of a network's outputs [..., 2 actions]: the means, then
// x of the standard deviations softplus(x) + 0.001.
func NewTanhGaussian(outputs *Node) TanhGaussian {
	last := outputs.Rank() - 1
	actions := outputs.Shape().Dimensions[last] / 2
	part := func(from, to int) *Node {
		ranges := slices.Repeat([]SliceAxisSpec{AxisRange()}, last+1)
		ranges[last] = AxisRange(from, to)
		return Slice(outputs, ranges...)
	}
	return TanhGaussian{part(0, actions), AddScalar(softplus(part(actions, 2*actions)), minScale)}
}

// Mode returns the deterministic action, tanh(mean).
func (d TanhGaussian) Mode() *Node { return Tanh(d.Mean) }

// Sample returns the action tanh(u) [..., actions] for standard normal noise [..., actions] and its
// log pi [...], with u = mean + scale noise:
//
//	log pi = sum over i of log N(u_i; mean_i, scale_i) - 2 (log 2 - u_i - softplus(-2 u_i))
func (d TanhGaussian) Sample(noise *Node) (action, logProb *Node) {
	u := Add(d.Mean, Mul(d.Scale, noise))
	normal := Neg(Add(MulScalar(Square(noise), 0.5), AddScalar(Log(d.Scale), 0.5*math.Log(2*math.Pi))))
	slope := MulScalar(Sub(AddScalar(Neg(u), math.Ln2), softplus(MulScalar(u, -2))), 2)
	return Tanh(u), ReduceSum(Sub(normal, slope), -1)
}

// Choose draws from the distributions with logits [B, choices], with uniform random numbers [B, choices]
// and the Gumbel-max trick: the argmax of log-probabilities plus Gumbel noise. It returns int32 [B].
func Choose(logits, uniform *Node) *Node {
	// The maximum keeps the uniform numbers above 0. Their grid of 2^23 points is finer than any
	// probability that matters.
	uniform = MaxScalar(uniform, math.Pow(2, -24))
	noisy := Sub(LogSoftmax(logits, -1), Log(Neg(Log(uniform))))
	return xla.Argmax(noisy, -1)
}

// softplus returns log(1 + exp(x)) without overflow for large x.
func softplus(x *Node) *Node {
	positive := GreaterThan(x, ZerosLike(x))
	size := Where(positive, x, Neg(x))
	return Add(Where(positive, x, ZerosLike(x)), Log1P(Exp(Neg(size))))
}
