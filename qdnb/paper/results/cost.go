package results

import (
	"math"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
)

// Seconds of work on two cores of a Xeon with AVX-512, with the paper's networks, from the
// measurements in docs/performance.md and ARCHITECTURE.md.
const (
	td3Update        = 2.84e-3
	sacUpdate        = 4.29e-3
	gradientEmission = 5.0 // variation by policy gradient of a generation
	// The share of a generation's time beyond its rollouts: variation and insertion, and with
	// AURORA the auto-encoder and the passive repertoire.
	mapElitesShare, auroraShare = 0.08, 0.18
)

// rolloutStep are the seconds of an environment step of a rollout.
var rolloutStep = map[string]float64{
	"pointmaze": 1.17e-6, "ant-uni": 1.65e-6, "ant-omni": 1.65e-6, "walker-uni": 1.20e-6,
	"halfcheetah-uni": 1.61e-6, "ant-maze": 2.46e-6, "ant-trap": 2.29e-6,
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
	"ant-uni": 760_000, "walker-uni": 660_000, "halfcheetah-uni": 1_060_000, "ant-maze": 250_000,
}

// EvaluationSeconds predicts the processor time of evaluating episodes of skills with 64 units; 0
// where it was not measured.
func EvaluationSeconds(env string, episodes int) float64 {
	if rate := evaluationSteps[env]; rate > 0 {
		return float64(episodes*protocol.EpisodeLength(env)) / rate
	}
	return 0
}
