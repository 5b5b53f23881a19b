package evolution

import (
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

var _ = preset("cma-mega", defaultCMAMEGA)

// defaultCMAMEGA returns CMA-MEGA (Fontaine and Nikolaidis 2021): gradient arborescence on the grid of
// MAP-Elites, for tasks that are an [envs.BlackBox]. The hyperparameters are published ones
// (icaros-usc/cma_mae, experiments/lin_proj/lin_proj.py and experiments/arm/arm.py, whose sigma_g is
// 0.05 rad), with pyribs' restart_rule.
func defaultCMAMEGA(env envs.Spec) *MapElites {
	return arborescence(env, "no_improvement", repertoire.Grid{})
}

var _ = preset("cma-maega", defaultCMAMAEGA)

// defaultCMAMAEGA returns CMA-MAEGA (Fontaine and Nikolaidis 2023) with the publication's hyperparameters
// for sphere: CMA-MEGA with the annealed thresholds of CMA-MAE.
func defaultCMAMAEGA(env envs.Spec) *MapElites {
	return arborescence(env, "basic", repertoire.Annealed{LearningRate: 0.01, ThresholdMin: math.NaN()})
}

func arborescence(env envs.Spec, restartRule string, archive repertoire.Archive) *MapElites {
	s := ArborescenceSettings{Emitters: 15, Sigma0: 10, GradOpt: gradientAscent, LearningRate: 1,
		RestartRule: restartRule}
	if env.Name == armName {
		s.Sigma0 = 0.008
	}
	m := DefaultMapElites(env)
	m.Batch, m.Mix, m.Archive = 540, Mix{{s.Emitter(), 1}}, archive
	return m
}
