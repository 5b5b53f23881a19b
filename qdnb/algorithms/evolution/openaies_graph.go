package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
)

// openAIES are evolution strategies of constant step size whose mean follows an estimate of the
// gradient of the rank (pyribs, opt/_openai_es.py and opt/_adam_opt.py): three rows of a genotype
// each.
type openAIES struct {
	es      EvolutionStrategies
	Mean    *Node      // [E, N]
	Moments nn.Moments // averages [E, N] and weights [E, 1]
}

func (openAIES) fields() []string {
	return []string{"mean", "first", "second", "weight1", "weight2"}
}

func (d openAIES) of(x []*Node) distributions {
	return openAIES{d.es, x[0], nn.Moments{First: x[1], Second: x[2], Weight1: x[3], Weight2: x[4]}}
}

func (d openAIES) start(mean *Node) []*Node {
	average := ZerosLike(mean)
	weight := perRow(ReduceSum(average, 1))
	return []*Node{mean, average, average, weight, weight}
}

// weights estimates the gradient from ranks between -1/2 and 1/2. Noise of antithetic pairs counts
// once.
func (d openAIES) weights() []float32 {
	n := d.es.size()
	weights := make([]float32, n)
	for i := range weights {
		rank := 0.5 - float64(i)/float64(n-1)
		weights[i] = float32(rank / (float64(n/2) * d.es.Sigma0))
	}
	return weights
}

func (d openAIES) steps(_, noise *Node) *Node { return MulScalar(noise, d.es.Sigma0) }

// minUpdate is the relative length of a step of the mean below which a strategy has converged
// (pyribs).
const minUpdate = 1e-9

func (d openAIES) update(gradient, _ *Node) (after distributions, continues *Node) {
	before := d.Mean
	loss := Sub(MulScalar(d.Mean, d.es.AdamL2Coeff), gradient)
	d.Mean, d.Moments = nn.NewAdam(d.es.AdamLearningRate).Update(d.Mean, loss, d.Moments)
	length := func(x *Node) *Node { return Sqrt(ReduceSum(Square(x), 1)) }
	return d, atLeast(Div(length(Sub(d.Mean, before)), length(d.Mean)), minUpdate)
}
