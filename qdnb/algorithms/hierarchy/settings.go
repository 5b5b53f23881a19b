package hierarchy

import (
	"cmp"
	"math"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/ppo"
)

// Settings are the hyperparameters. A zero value is not useful; see [Default].
type Settings struct {
	ppo.Config
	NumEnvs int `json:"num_envs"` // environments that data are collected in; paper: 2048
	// environment steps for which a chosen skill acts; paper: 10
	DecisionLength int `json:"decision_length"`
	EpisodeLength  int `json:"episode_length"` // environment steps; paper: 250
	// SampleSkills lets skills that are distributions over actions, those of the
	// reinforcement-learning family, draw their actions while data are collected; in evaluations
	// they never do. Paper: true.
	SampleSkills bool `json:"sample_skills"`
	// PublishedCredit gives decisions the rewards that they have in the published code; see
	// [Credit]. Default: false.
	PublishedCredit bool `json:"published_credit"`

	EvaluationEnvs int `json:"evaluation_envs"` // episodes of an evaluation; paper: 256
	// iterations from one evaluation to the next, the first being before all; the paper does not
	// say
	EvaluationInterval int `json:"evaluation_interval"`
	// Slice is how many environments are stepped together; 0: as many as suit the backend. It does
	// not change what is learnt, up to rounding.
	Slice int `json:"slice"`
}

// Default are the paper's hyperparameters, with clean credit and an evaluation after every
// iteration.
func Default() Settings {
	return Settings{
		Config: ppo.Default(), NumEnvs: 2048, DecisionLength: 10, EpisodeLength: 250, SampleSkills: true,
		EvaluationEnvs: 256, EvaluationInterval: 1,
	}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment.
const (
	maxEnvironments = 1 << 17
	maxLength       = 1 << 20
)

// Check finds values that cannot work, before anything is compiled.
func (s Settings) Check() error {
	if err := cmp.Or(s.Config.Check(), limits.Counts(
		limits.Count{Name: "num_envs", Value: int64(s.NumEnvs), Min: 1, Max: maxEnvironments},
		limits.Count{Name: "decision_length", Value: int64(s.DecisionLength), Min: 1, Max: maxLength},
		limits.Count{Name: "episode_length", Value: int64(s.EpisodeLength), Min: 1, Max: maxLength},
		limits.Count{Name: "evaluation_envs", Value: int64(s.EvaluationEnvs), Min: 1,
			Max: maxEnvironments},
		limits.Count{Name: "evaluation_interval", Value: int64(s.EvaluationInterval), Min: 1,
			Max: math.MaxInt64},
		limits.Count{Name: "slice", Value: int64(s.Slice), Min: 0, Max: maxEnvironments},
	)); err != nil {
		return err
	}
	if s.Sequences()%s.NumEnvs != 0 {
		return errors.Errorf("batch_size times num_minibatches must be a multiple of num_envs, %d is "+
			"not of %d", s.Sequences(), s.NumEnvs)
	}
	return nil
}

// Unrolls is how many sequences an environment plays in an iteration, one after the other.
func (s Settings) Unrolls() int { return s.Sequences() / s.NumEnvs }

// EnvSteps is the number of environment steps of an iteration.
func (s Settings) EnvSteps() int64 {
	return int64(s.Sequences()) * int64(s.UnrollLength) * int64(s.DecisionLength)
}
