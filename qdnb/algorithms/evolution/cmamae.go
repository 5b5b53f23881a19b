package evolution

import (
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

var _ = preset("cma-mae", defaultCMAMAE)

// defaultCMAMAE returns CMA-MAE (Fontaine and Nikolaidis 2023): evolution strategies whose samples are
// ranked by how far they exceed the annealed thresholds of an archive. The hyperparameters are those of
// the publication for tasks without observations (icaros-usc/cma_mae,
// experiments/{lin_proj/lin_proj,arm/arm}.py), and those of Tjanaka et al. 2023 for policies.
func defaultCMAMAE(env envs.Spec) *MapElites {
	archive := repertoire.Annealed{LearningRate: 0.001, ThresholdMin: math.NaN()}
	if env.Observations == 0 {
		archive.LearningRate = 0.01
	}
	return strategies(env, defaultStrategy(env), archive)
}

// strategies returns an algorithm of evolution strategies. Cells, policies and episodes are those of
// MAP-Elites.
func strategies(env envs.Spec, strategy StrategySettings, archive repertoire.Archive) *MapElites {
	m := DefaultMapElites(env)
	m.Batch, m.Mix, m.Archive = 200, Mix{{strategy.Emitter(), 1}}, archive
	if env.Observations == 0 {
		m.Batch = 540
	}
	return m
}

// defaultStrategy returns the strategies of CMA-MAE. On arm, whose angles are shares of a turn here, sigma0
// is the published 0.1 rad. A task with more parameters than the published 100 may have too many for a
// full covariance matrix.
func defaultStrategy(env envs.Spec) StrategySettings {
	s := StrategySettings{Strategy: sepCMAESName, Emitters: 5, Sigma0: 0.02, RestartRule: "basic",
		AdamLearningRate: adamLearningRate, AdamL2Coeff: adamL2Coeff}
	if env.Observations == 0 {
		s.Emitters, s.Sigma0 = 15, 0.5
		if env.Actions <= 128 {
			s.Strategy = cmaESName
		}
		if env.Name == armName {
			s.Sigma0 = 0.016
		}
	}
	return s
}

// armName is the task whose parameters are shares of a turn.
const armName = "arm"

// Defaults of OpenAI-ES.
const (
	adamLearningRate = 0.01
	adamL2Coeff      = 0.005
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
