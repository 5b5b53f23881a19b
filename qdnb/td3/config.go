package td3

import (
	"math"

	"github.com/pkg/errors"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	CriticLearningRate     float64 `json:"critic_learning_rate"`      // Adam of the critics; paper: 3e-4
	GreedyLearningRate     float64 `json:"greedy_learning_rate"`      // Adam of the greedy actor; paper: 3e-4
	PolicyLearningRate     float64 `json:"policy_learning_rate"`      // Adam of the variation; paper: 1e-3
	NoiseClip              float64 `json:"noise_clip"`                // limit of the target's noise; paper: 0.5
	PolicyNoise            float64 `json:"policy_noise"`              // standard deviation of the target's noise; paper: 0.2
	Discount               float64 `json:"discount"`                  // of later rewards, per step; paper: 0.99
	RewardScaling          float64 `json:"reward_scaling"`            // factor of rewards; paper: 1
	SoftTauUpdate          float64 `json:"soft_tau_update"`           // share of the new in a target, per step; paper: 0.005
	PolicyDelay            int     `json:"policy_delay"`              // steps of the critics for one of the actor; paper: 2
	TransitionsBatchSize   int     `json:"transitions_batch_size"`    // transitions drawn for a step; paper: 256
	CriticHidden           []int   `json:"critic_hidden"`             // units of the critics' hidden layers; paper: 256, 256
	ReplayBufferSize       int     `json:"replay_buffer_size"`        // transitions that are kept; paper: 1 000 000
	NumCriticTrainingSteps int     `json:"num_critic_training_steps"` // per generation; paper: 300
	NumPGTrainingSteps     int     `json:"num_pg_training_steps"`     // per variation; paper: 100
}

// Default are the paper's hyperparameters.
func Default() Config {
	return Config{
		CriticLearningRate: 3e-4, GreedyLearningRate: 3e-4, PolicyLearningRate: 1e-3,
		NoiseClip: 0.5, PolicyNoise: 0.2, Discount: 0.99, RewardScaling: 1, SoftTauUpdate: 0.005, PolicyDelay: 2,
		TransitionsBatchSize: 256, CriticHidden: []int{256, 256}, ReplayBufferSize: 1_000_000,
		NumCriticTrainingSteps: 300, NumPGTrainingSteps: 100,
	}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment.
const (
	maxBatch = 1 << 20
	maxRows  = 1 << 30
	maxUnits = 1 << 14
	maxSteps = 1 << 24
)

// Check finds values that cannot work, before anything is compiled.
func (c Config) Check() error {
	for _, r := range []struct {
		name       string
		value, max float64
		positive   bool // 0 is not allowed
	}{
		{"critic_learning_rate", c.CriticLearningRate, 1, true},
		{"greedy_learning_rate", c.GreedyLearningRate, 1, true},
		{"policy_learning_rate", c.PolicyLearningRate, 1, true},
		{"noise_clip", c.NoiseClip, 1e6, false},
		{"policy_noise", c.PolicyNoise, 1e6, false},
		{"discount", c.Discount, 1, false},
		{"soft_tau_update", c.SoftTauUpdate, 1, true},
	} {
		if above := "from 0"; !(r.value >= 0 && r.value <= r.max) || r.positive && r.value == 0 { // NaN is none of these
			if r.positive {
				above = "above 0"
			}
			return errors.Errorf("%s must be a number %s to %g, not %g", r.name, above, r.max, r.value)
		}
	}
	if math.IsNaN(c.RewardScaling) || math.Abs(c.RewardScaling) > 1e6 {
		return errors.Errorf("reward_scaling must be a number from -1e6 to 1e6, not %g", c.RewardScaling)
	}
	for _, r := range []struct {
		name            string
		value, min, max int
	}{
		{"policy_delay", c.PolicyDelay, 1, maxSteps},
		{"transitions_batch_size", c.TransitionsBatchSize, 1, maxBatch},
		{"replay_buffer_size", c.ReplayBufferSize, 1, maxRows},
		{"num_critic_training_steps", c.NumCriticTrainingSteps, 0, maxSteps},
		{"num_pg_training_steps", c.NumPGTrainingSteps, 0, maxSteps},
		{"number of critic_hidden layers", len(c.CriticHidden), 0, 16},
	} {
		if r.value < r.min || r.value > r.max {
			return errors.Errorf("%s must be between %d and %d, not %d", r.name, r.min, r.max, r.value)
		}
	}
	for _, units := range c.CriticHidden {
		if units < 1 || units > maxUnits {
			return errors.Errorf("critic_hidden layers must have between 1 and %d units, not %d", maxUnits, units)
		}
	}
	return nil
}
