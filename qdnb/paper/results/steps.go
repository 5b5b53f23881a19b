package results

import (
	_ "embed"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
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
func (r Trained) PaperSteps() float64 { return float64(PaperSteps(r.Algorithm, r.Env)) }

// StepsRatio returns the run's environment steps divided by the paper's; NaN if those are unknown.
func (r Trained) StepsRatio() float64 { return StepsRatio(r.Algorithm, r.Env, int64(r.EnvSteps)) }

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

// MediumTime is the processor time that a training run at scale medium is worth.
const MediumTime = 6 * time.Minute

// medium has the environment steps that each method takes in [MediumTime] on the machine that its first line
// names, as `qdnb sweep measure` prints them.
//
//go:embed medium.csv
var medium string

// measured returns the steps in medium by algorithm and environment, and the machine.
var measured = sync.OnceValues(func() (map[[2]string]int64, string) {
	reader := csv.NewReader(strings.NewReader(medium))
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		panic(err)
	}
	steps := map[[2]string]int64{}
	for _, row := range rows[1:] {
		if steps[[2]string{row[0], row[1]}], err = strconv.ParseInt(row[2], 10, 64); err != nil {
			panic(err)
		}
	}
	machine, _, _ := strings.Cut(strings.TrimPrefix(medium, "# "), ";")
	return steps, machine
})

// MediumSteps returns the environment steps that a method takes in [MediumTime] on one core of the machine that
// they were measured on; 0 if they were not. Plans at scale medium have them as budgets: a run is the same on all
// machines, and equal time holds by measurement, whatever else a machine does while it trains. DIAYN and DADS have those
// of DIAYN+REWARD and DADS+REWARD, whose iterations differ from theirs by one sum.
func MediumSteps(algorithm, env string) int64 {
	steps, _ := measured()
	if known := steps[[2]string{algorithm, env}]; known > 0 {
		return known
	}
	return steps[[2]string{algorithm + "-reward", env}]
}

// measure sets the processor time and machine of a run whose budget was measured, with networks as at scale medium,
// instead of those of the machine that happened to train it.
func (r *Trained) measure(budget runs.Budget) {
	_, machine := measured()
	if !slices.Equal(r.Units, []int{64, 64}) {
		return
	}
	if budget.EnvSteps > 0 && budget.EnvSteps == MediumSteps(r.Algorithm, r.Env) {
		r.Processor, r.CPUSeconds, r.Machine = MediumTime.Seconds(), MediumTime.Seconds(), machine
	}
}

// Seconds of work on two cores of a Xeon with AVX-512, with the paper's networks, as docs/performance.csv has them.
const (
	td3Update = 3.75e-3
	sacUpdate = 5.50e-3
	// Variation by policy gradient of a generation, measured once.
	gradientEmission = 5.0
	// The share of a generation's time beyond its rollouts: variation and insertion, and with
	// AURORA the auto-encoder and the passive repertoire.
	mapElitesShare, auroraShare = 0.08, 0.18
)

// rolloutStep are the seconds of an environment step of a rollout; on pointmaze those of a generation of MAP-Elites,
// without its share.
var rolloutStep = map[string]float64{
	"pointmaze": 1.51e-6, "ant-uni": 2.18e-6, "ant-omni": 2.02e-6, "walker-uni": 1.31e-6,
	"halfcheetah-uni": 1.77e-6, "ant-maze": 2.78e-6, "ant-trap": 2.72e-6,
}

// TwoCoreSeconds predicts how long a training run with the paper's hyperparameters takes on two
// cores, without compilation; NaN for an unknown algorithm or environment. docs/experiments.md derives
// the formula.
func TwoCoreSeconds(algorithm, env string, steps int64) float64 {
	record, _ := records.Find(algorithm)
	step, n := rolloutStep[env], float64(steps)
	switch {
	case step == 0 || record.Steps == 0:
		return math.NaN()
	case mostlyLearns(record):
		generations := n / float64(100*protocol.EpisodeLength(env))
		return n*step + generations*(gradientEmission+300*td3Update)
	case record.Evolves() && record.Columns == nil:
		return n * step * (1 + mapElitesShare)
	case record.Evolves():
		return n * step * (1 + auroraShare)
	}
	return n * (step + sacUpdate) // all others with paper's steps learn with SAC
}

// evaluationSteps are environment steps per second and core when skills with two layers of 64 units
// are evaluated: medians of the adaptation runs in notebooks/results.
var evaluationSteps = map[string]float64{
	"ant-uni": 530_000, "walker-uni": 1_600_000, "halfcheetah-uni": 709_000, "ant-maze": 250_000,
}

// EvaluationSeconds predicts the processor time of evaluating episodes of skills with 64 units; 0
// where it was not measured.
func EvaluationSeconds(env string, episodes int) float64 {
	if rate := evaluationSteps[env]; rate > 0 {
		return float64(episodes*protocol.EpisodeLength(env)) / rate
	}
	return 0
}
