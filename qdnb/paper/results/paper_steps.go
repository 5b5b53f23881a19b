package results

import (
	"math"
	"slices"
	"strings"
)

// meanSteps are the environment steps of two hours that the paper's table 8 prints: means over its
// environments. Of those that the table lacks, DIAYN, DADS and SAC, it is the number of the method
// that does the same work.
var meanSteps = map[string]int64{
	"map-elites": 1_600_000_000, "pga-map-elites": 180_000_000, "aurora": 1_200_000_000,
	"pga-aurora": 110_000_000,
	"diayn":      10_000_000, "diayn-reward": 10_000_000, "smerl-diayn": 10_000_000, "sac": 10_000_000,
	"dads": 8_500_000, "dads-reward": 8_500_000, "smerl-dads": 8_500_000,
}

// PaperSteps are the environment steps that the paper's runs of an algorithm took on an environment
// in two hours of a Quadro RTX 4000; 0 where that is not known. The paper prints the mean over its
// seven environments, from which the values of each follow:
//
//   - A generation of PGA-MAP-Elites or PGA-AURORA is mostly learning, which takes as long on all
//     environments, while an episode of ant-maze has twice the steps. So all get as many
//     generations, and ant-maze 7/4 of the mean, the others 7/8 of it.
//   - A generation of MAP-Elites or AURORA is mostly rollouts, and an iteration of the
//     reinforcement-learning methods is a step of 200 environments and 200 updates. Both take a
//     time in proportion to their steps, so all environments get the mean. How much slower one
//     robot is than another on that GPU cannot be told.
//
// The published scripts stop MAP-Elites on pointmaze after 100 generations and PGA-MAP-Elites after
// 1000. The scores that the paper prints are out of reach of the former (QDax has a QD score of
// 2.5e5 then, the paper 4.2e5), so these counts are not its protocol.
func PaperSteps(algorithm, env string) int64 {
	steps := meanSteps[algorithm]
	if !slices.Contains(environments, env) {
		return 0
	}
	if !strings.HasPrefix(algorithm, "pga-") {
		return steps
	}
	if env == "ant-maze" {
		return steps * 7 / 4
	}
	return steps * 7 / 8
}

// PaperSteps are those of the run's algorithm on its environment; 0 where they are not known.
func (r Trained) PaperSteps() int64 { return PaperSteps(r.Algorithm, r.Env) }

// StepsRatio is the number of environment steps as a part of the paper's; NaN where these are not
// known.
func (r Trained) StepsRatio() float64 {
	if paper := r.PaperSteps(); paper > 0 {
		return float64(r.EnvSteps) / float64(paper)
	}
	return math.NaN()
}
