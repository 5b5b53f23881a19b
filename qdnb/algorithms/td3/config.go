package td3

import (
	"cmp"

	"example.com/qdnb/internal/limits"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	// Adam of the critics; paper: 3e-4
	CriticLearningRate float64 `json:"critic_learning_rate"`
	// Adam of the greedy actor; paper: 3e-4
	GreedyLearningRate float64 `json:"greedy_learning_rate"`
	// Adam of the variation; paper: 1e-3
	PolicyLearningRate float64 `json:"policy_learning_rate"`
	// limit of the target's noise; paper: 0.5
	NoiseClip float64 `json:"noise_clip"`
	// standard deviation of the target's noise; paper: 0.2
	PolicyNoise float64 `json:"policy_noise"`
	// of later rewards, per step; paper: 0.99
	Discount      float64 `json:"discount"`
	RewardScaling float64 `json:"reward_scaling"` // factor of rewards; paper: 1
	// share of the new in a target, per step; paper: 0.005
	SoftTauUpdate float64 `json:"soft_tau_update"`
	// steps of the critics for one of the actor; paper: 2
	PolicyDelay int `json:"policy_delay"`
	// transitions drawn for a step; paper: 256
	TransitionsBatchSize int `json:"transitions_batch_size"`
	// units of the critics' hidden layers; paper: 256, 256
	CriticHidden []int `json:"critic_hidden"`
	// transitions that are kept; paper: 1 000 000
	ReplayBufferSize       int `json:"replay_buffer_size"`
	NumCriticTrainingSteps int `json:"num_critic_training_steps"` // per generation; paper: 300
	NumPGTrainingSteps     int `json:"num_pg_training_steps"`     // per variation; paper: 100
}

// Default are the paper's hyperparameters.
func Default() Config {
	return Config{
		CriticLearningRate: 3e-4, GreedyLearningRate: 3e-4, PolicyLearningRate: 1e-3,
		NoiseClip: 0.5, PolicyNoise: 0.2, Discount: 0.99, RewardScaling: 1, SoftTauUpdate: 0.005,
		PolicyDelay:          2,
		TransitionsBatchSize: 256, CriticHidden: []int{256, 256}, ReplayBufferSize: 1_000_000,
		NumCriticTrainingSteps: 300, NumPGTrainingSteps: 100,
	}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment.
const (
	maxBatch = 1 << 20
	maxRows  = 1 << 30
	maxSteps = 1 << 24
)

// Check finds values that cannot work, before anything is compiled.
func (c Config) Check() error {
	return cmp.Or(
		limits.Numbers(
			limits.Number{Name: "critic_learning_rate", Value: c.CriticLearningRate, Max: 1, Positive: true},
			limits.Number{Name: "greedy_learning_rate", Value: c.GreedyLearningRate, Max: 1, Positive: true},
			limits.Number{Name: "policy_learning_rate", Value: c.PolicyLearningRate, Max: 1, Positive: true},
			limits.Number{Name: "noise_clip", Value: c.NoiseClip, Max: 1e6},
			limits.Number{Name: "policy_noise", Value: c.PolicyNoise, Max: 1e6},
			limits.Number{Name: "discount", Value: c.Discount, Max: 1},
			limits.Number{Name: "soft_tau_update", Value: c.SoftTauUpdate, Max: 1, Positive: true},
		),
		limits.Factor("reward_scaling", c.RewardScaling),
		limits.Counts(
			limits.Count{Name: "policy_delay", Value: int64(c.PolicyDelay), Min: 1, Max: maxSteps},
			limits.Count{Name: "transitions_batch_size", Value: int64(c.TransitionsBatchSize), Min: 1,
				Max: maxBatch},
			limits.Count{Name: "replay_buffer_size", Value: int64(c.ReplayBufferSize), Min: 1, Max: maxRows},
			limits.Count{Name: "num_critic_training_steps", Value: int64(c.NumCriticTrainingSteps), Min: 0,
				Max: maxSteps},
			limits.Count{Name: "num_pg_training_steps", Value: int64(c.NumPGTrainingSteps), Min: 0,
				Max: maxSteps},
		),
		limits.Layers("critic_hidden", c.CriticHidden, 0),
	)
}
