package nn

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// TanhGaussian is a distribution over actions in (-1, 1): the hyperbolic tangent of independent
// normal variables (Haarnoja et al., ICML 2018), as Brax v0.0.12 has it (training/distribution.py).
type TanhGaussian struct{ Mean, Scale *Node } // [..., actions], of the variables before the tangent

// minScale is the least standard deviation.
const minScale = 1e-3

// NewTanhGaussian reads a network's outputs [..., 2 actions]: means, and then what becomes standard
// deviations, softplus(x) + 0.001.
func NewTanhGaussian(outputs *Node) TanhGaussian {
	last := outputs.Rank() - 1
	actions := outputs.Shape().Dimensions[last] / 2
	part := func(from, to int) *Node {
		ranges := make([]SliceAxisSpec, last+1)
		for i := range ranges {
			ranges[i] = AxisRange()
		}
		ranges[last] = AxisRange(from, to)
		return Slice(outputs, ranges...)
	}
	return TanhGaussian{part(0, actions), AddScalar(softplus(part(actions, 2*actions)), minScale)}
}

// Mode is the action without noise, tanh(mean).
func (d TanhGaussian) Mode() *Node { return Tanh(d.Mean) }

// Sample is the action that standard normal noise [..., actions] leads to, tanh(u), and log pi of
// it [...], with u = mean + scale noise:
//
//	log pi = sum over i of log N(u_i; mean_i, scale_i) - 2 (log 2 - u_i - softplus(-2 u_i))
func (d TanhGaussian) Sample(noise *Node) (action, logProb *Node) {
	u := Add(d.Mean, Mul(d.Scale, noise))
	normal := Neg(Add(MulScalar(Square(noise), 0.5), AddScalar(Log(d.Scale), 0.5*math.Log(2*math.Pi))))
	slope := MulScalar(Sub(AddScalar(Neg(u), math.Ln2), softplus(MulScalar(u, -2))), 2)
	return Tanh(u), ReduceSum(Sub(normal, slope), -1)
}

// softplus is log(1 + exp(x)), also for large x.
func softplus(x *Node) *Node {
	positive := GreaterThan(x, ZerosLike(x))
	size := Where(positive, x, Neg(x))
	return Add(Where(positive, x, ZerosLike(x)), Log1P(Exp(Neg(size))))
}
