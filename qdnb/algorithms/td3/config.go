package td3

import (
	"cmp"

	"example.com/qdnb/internal/limits"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	// CriticLearningRate is Adam's learning rate for the critics; paper: 3e-4.
	CriticLearningRate float64 `json:"critic_learning_rate"`
	// GreedyLearningRate is Adam's learning rate for the greedy actor; paper: 3e-4.
	GreedyLearningRate float64 `json:"greedy_learning_rate"`
	// PolicyLearningRate is Adam's learning rate for the variation; paper: 1e-3.
	PolicyLearningRate float64 `json:"policy_learning_rate"`
	// NoiseClip bounds the target policy's noise; paper: 0.5.
	NoiseClip float64 `json:"noise_clip"`
	// PolicyNoise is the standard deviation of the target policy's noise; paper: 0.2.
	PolicyNoise float64 `json:"policy_noise"`
	// Discount is the discount factor per step; paper: 0.99.
	Discount      float64 `json:"discount"`
	RewardScaling float64 `json:"reward_scaling"` // factor on rewards; paper: 1
	// SoftTauUpdate is the Polyak factor of the target networks, per step; paper: 0.005.
	SoftTauUpdate float64 `json:"soft_tau_update"`
	// PolicyDelay is the number of critic steps per actor step; paper: 2.
	PolicyDelay int `json:"policy_delay"`
	// TransitionsBatchSize is the number of transitions per step; paper: 256.
	TransitionsBatchSize int `json:"transitions_batch_size"`
	// CriticHidden is the number of units per hidden layer of the critics; paper: 256, 256.
	CriticHidden []int `json:"critic_hidden"`
	// ReplayBufferSize is the capacity of the replay buffer in transitions; paper: 1 000 000.
	ReplayBufferSize       int `json:"replay_buffer_size"`
	NumCriticTrainingSteps int `json:"num_critic_training_steps"` // per generation; paper: 300
	NumPGTrainingSteps     int `json:"num_pg_training_steps"`     // per variation; paper: 100
}

// Default returns the paper's hyperparameters.
func Default() Config {
	return Config{
		CriticLearningRate: 3e-4, GreedyLearningRate: 3e-4, PolicyLearningRate: 1e-3,
		NoiseClip: 0.5, PolicyNoise: 0.2, Discount: 0.99, RewardScaling: 1, SoftTauUpdate: 0.005,
		PolicyDelay:          2,
		TransitionsBatchSize: 256, CriticHidden: []int{256, 256}, ReplayBufferSize: 1_000_000,
		NumCriticTrainingSteps: 300, NumPGTrainingSteps: 100,
	}
}

// Limits of the sizes; a larger value is probably a typo.
const (
	maxBatch = 1 << 20
	maxRows  = 1 << 30
	maxSteps = 1 << 24
)

// Check rejects values that cannot work, before anything is compiled.
func (c Config) Check() error {
	return cmp.Or(
		limits.Positive("critic_learning_rate", c.CriticLearningRate, 1),
		limits.Positive("greedy_learning_rate", c.GreedyLearningRate, 1),
		limits.Positive("policy_learning_rate", c.PolicyLearningRate, 1),
		limits.Number("noise_clip", c.NoiseClip, 1e6),
		limits.Number("policy_noise", c.PolicyNoise, 1e6),
		limits.Number("discount", c.Discount, 1),
		limits.Positive("soft_tau_update", c.SoftTauUpdate, 1),
		limits.Factor("reward_scaling", c.RewardScaling),
		limits.Int("policy_delay", c.PolicyDelay, 1, maxSteps),
		limits.Int("transitions_batch_size", c.TransitionsBatchSize, 1, maxBatch),
		limits.Int("replay_buffer_size", c.ReplayBufferSize, 1, maxRows),
		limits.Int("num_critic_training_steps", c.NumCriticTrainingSteps, 0, maxSteps),
		limits.Int("num_pg_training_steps", c.NumPGTrainingSteps, 1, maxSteps),
		limits.Layers("critic_hidden", c.CriticHidden, 0),
	)
}
