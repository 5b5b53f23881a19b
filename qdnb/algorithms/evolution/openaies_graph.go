package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
)

// openAIES are evolution strategies of constant step size whose mean follows an estimate of the
// gradient of the rank (pyribs, opt/_openai_es.py and opt/_adam_opt.py): three rows of a genotype
// each.
type openAIES struct {
	strategy
	Mean    *Node      // [E, N]
	Moments nn.Moments // averages [E, N] and weights [E, 1]
}

func (d openAIES) start(mean *Node) distributions {
	average := ZerosLike(mean)
	weight := perRow(ReduceSum(average, 1))
	return openAIES{d.strategy, mean, nn.Moments{First: average, Second: average, Weight1: weight, Weight2: weight}}
}

func (d openAIES) mean() *Node { return d.Mean }

// weights estimates the gradient from ranks between -1/2 and 1/2. Noise of antithetic pairs counts
// once.
func (d openAIES) weights() []float32 {
	n := d.size
	weights := make([]float32, n)
	for i := range weights {
		rank := 0.5 - float64(i)/float64(n-1)
		weights[i] = float32(rank / (float64(n/2) * d.Sigma0))
	}
	return weights
}

func (d openAIES) steps(_, noise *Node) *Node { return MulScalar(noise, d.Sigma0) }

// minUpdate is the relative length of a step of the mean below which a strategy has converged
// (pyribs).
const minUpdate = 1e-9

func (d openAIES) update(gradient, _ *Node) (after distributions, continues *Node) {
	before := d.Mean
	loss := Sub(MulScalar(d.Mean, d.AdamL2Coeff), gradient)
	d.Mean, d.Moments = nn.NewAdam(d.AdamLearningRate).Update(d.Mean, loss, d.Moments)
	d.Mean = d.within(d.Mean)
	length := func(x *Node) *Node { return Sqrt(ReduceSum(Square(x), 1)) }
	return d, atLeast(Div(length(Sub(d.Mean, before)), length(d.Mean)), minUpdate)
}
