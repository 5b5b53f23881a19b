package evolution

import (
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

var _ = preset("dms", defaultDMS)

// defaultDMS returns Discount Model Search (Tjanaka, Chen, Fontaine and Nikolaidis 2026): CMA-MAE whose
// thresholds are a network of the descriptor, with the publication's hyperparameters of the archive and
// the range of its functions (icaros-usc/discount-models, config/algo/archive/discount.yaml and
// config/algo/emitters/sigma0.yaml). On arm sigma0 is the published 0.2 rad.
func defaultDMS(env envs.Spec) *MapElites {
	strategy, archive := defaultStrategy(env), repertoire.Discounted{
		DiscountHidden: []int{128, 128}, DiscountLearningRate: 0.001, DiscountEpochs: 5, DiscountBatch: 32,
		DiscountCutoff: 0.05, EmptyPoints: 100,
		Rate: 0.1, ThresholdMin: math.NaN()}
	if env.Name == armName {
		strategy.Sigma0, archive.Rate = 0.032, 0.001
	}
	if env.Name == "sphere" || env.Name == "rastrigin" {
		archive.DiscountRange = 100
	}
	return strategies(env, strategy, archive)
}
