package hierarchy

import (
	"cmp"
	"fmt"
	"math"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/ppo"
)

// Settings are the hyperparameters. A zero value is not useful; see [Default].
type Settings struct {
	ppo.Config
	NumEnvs int `json:"num_envs"` // environments for data collection; paper: 2048
	// DecisionLength is the number of environment steps for which a chosen skill acts; paper: 10.
	DecisionLength int `json:"decision_length"`
	EpisodeLength  int `json:"episode_length"` // environment steps per episode; paper: 250
	// SampleSkills lets stochastic skills, those of the reinforcement-learning family, sample their
	// actions during data collection. In evaluations they never do. Paper: true.
	SampleSkills bool `json:"sample_skills"`
	// PublishedCredit assigns rewards to decisions as the published code does; see [Credit]. Default:
	// false.
	PublishedCredit bool `json:"published_credit"`

	EvaluationEnvs int `json:"evaluation_envs"` // episodes per evaluation; paper: 256
	// EvaluationInterval is the number of iterations between evaluations. The first evaluation
	// precedes all iterations. The paper does not give a value.
	EvaluationInterval int `json:"evaluation_interval"`
	// Slice is the number of environments stepped together; 0: chosen for the backend. It does not
	// change what is learned, except for rounding.
	Slice int `json:"slice"`
}

// Default returns the paper's hyperparameters, with correct credit assignment and an evaluation
// after every iteration.
func Default() Settings {
	return Settings{
		Config: ppo.Default(), NumEnvs: 2048, DecisionLength: 10, EpisodeLength: 250, SampleSkills: true,
		EvaluationEnvs: 256, EvaluationInterval: 1,
	}
}

// Limits of the sizes; a larger value is probably a typo.
const (
	maxEnvironments = 1 << 17
	maxLength       = 1 << 20
)

// Check rejects values that cannot work, before anything is compiled.
func (s Settings) Check() error {
	if err := cmp.Or(s.Config.Check(),
		limits.Int("num_envs", s.NumEnvs, 1, maxEnvironments),
		limits.Int("decision_length", s.DecisionLength, 1, maxLength),
		limits.Int("episode_length", s.EpisodeLength, 1, maxLength),
		limits.Int("evaluation_envs", s.EvaluationEnvs, 1, maxEnvironments),
		limits.Int("evaluation_interval", s.EvaluationInterval, 1, math.MaxInt64),
		limits.Int("slice", s.Slice, 0, maxEnvironments),
	); err != nil {
		return err
	}
	if s.Sequences()%s.NumEnvs != 0 {
		return fmt.Errorf("batch_size times num_minibatches must be a multiple of num_envs, but %d "+
			"is not a multiple of %d", s.Sequences(), s.NumEnvs)
	}
	return nil
}

// Unrolls is the number of consecutive sequences per environment and iteration.
func (s Settings) Unrolls() int { return s.Sequences() / s.NumEnvs }

// EnvSteps is the number of environment steps per iteration.
func (s Settings) EnvSteps() int64 {
	return int64(s.Sequences()) * int64(s.UnrollLength) * int64(s.DecisionLength)
}
