package results

import (
	"math"
	"slices"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
)

// PaperSteps returns the environment steps of the paper's runs of an algorithm on an environment in
// two hours on a Quadro RTX 4000; 0 for others. The paper prints the mean over its seven
// environments, from which the values of each follow:
//
//   - A generation of PGA-MAP-Elites or PGA-AURORA is mostly learning, which takes as long on all
//     environments, while an episode of ant-maze has twice the steps. So all environments get the
//     same number of generations: ant-maze gets 7/4 of the mean steps, the others 7/8.
//   - A generation of MAP-Elites or AURORA is mostly rollouts, and an iteration of the
//     reinforcement-learning methods is a step of 200 environments and 200 updates. Both take time
//     in proportion to their steps, so all environments get the mean. Differences in speed between
//     the robots on that GPU are unknown.
//
// The published scripts stop MAP-Elites on pointmaze after 100 generations and PGA-MAP-Elites after
// 1000. MAP-Elites cannot reach the paper's scores that way (QDax has a QD score of 2.5e5 then, the
// paper 4.2e5), so these limits are not the paper's protocol.
func PaperSteps(algorithm, env string) int64 {
	record, _ := records.Find(algorithm)
	steps, environments := record.Steps, protocol.Environments()
	if !slices.Contains(environments, env) {
		return 0
	}
	if !mostlyLearns(record) {
		return steps
	}
	total := 0
	for _, other := range environments {
		total += protocol.EpisodeLength(other)
	}
	return steps * int64(len(environments)*protocol.EpisodeLength(env)) / int64(total)
}

// PaperSteps returns the paper's environment steps for the run's algorithm and environment; 0 if
// unknown.
func (r Trained) PaperSteps() int64 { return PaperSteps(r.Algorithm, r.Env) }

// StepsRatio returns the run's environment steps divided by the paper's; NaN if those are unknown.
func (r Trained) StepsRatio() float64 { return StepsRatio(r.Algorithm, r.Env, r.EnvSteps) }

// StepsRatio returns environment steps divided by the paper's; NaN if those are unknown.
func StepsRatio(algorithm, env string, steps int64) float64 {
	if paper := PaperSteps(algorithm, env); paper > 0 {
		return float64(steps) / float64(paper)
	}
	return math.NaN()
}

// mostlyLearns reports whether a generation of neuroevolution mostly trains critics.
func mostlyLearns(r records.Record) bool {
	return r.Evolves() && slices.Contains(r.Columns, "critic_loss")
}
