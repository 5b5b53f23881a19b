package ppo

import (
	"cmp"
	"fmt"

	"example.com/qdnb/internal/limits"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	// LearningRate is Adam's learning rate for the policy and the value function; paper: 1e-4.
	LearningRate float64 `json:"learning_rate"`
	Discount     float64 `json:"discount"` // discount factor per decision; paper: 0.99
	// GAELambda is the decay of later TD errors in the advantage, per decision; paper: 0.95.
	GAELambda float64 `json:"gae_lambda"`
	// ClipEpsilon bounds the probability ratio in the loss to 1 +- ClipEpsilon; paper: 0.3.
	ClipEpsilon   float64 `json:"clip_epsilon"`
	EntropyCost   float64 `json:"entropy_cost"`   // weight of the entropy in the loss; paper: 1e-3
	RewardScaling float64 `json:"reward_scaling"` // factor on rewards; paper: 1

	UnrollLength int `json:"unroll_length"` // decisions per sequence; paper: 20
	BatchSize    int `json:"batch_size"`    // sequences per minibatch; paper: 512
	// NumMinibatches is the number of Adam steps per epoch, which together use each sequence once;
	// paper: 32.
	NumMinibatches int `json:"num_minibatches"`
	UpdateEpochs   int `json:"update_epochs"` // epochs per iteration; paper: 8

	PolicyHidden []int `json:"policy_hidden"` // units of the hidden layers; paper: 32, 32, 32, 32
	ValueHidden  []int `json:"value_hidden"`  // likewise; paper: 256, 256, 256, 256, 256
	// NormalizeObservations subtracts the running mean from the observations and divides by the
	// standard deviation. Paper: false.
	NormalizeObservations bool `json:"normalize_observations"`
}

// Default returns the paper's hyperparameters.
func Default() Config {
	return Config{
		LearningRate: 1e-4, Discount: 0.99, GAELambda: 0.95, ClipEpsilon: 0.3, EntropyCost: 1e-3,
		RewardScaling: 1,
		UnrollLength:  20, BatchSize: 512, NumMinibatches: 32, UpdateEpochs: 8,
		PolicyHidden: []int{32, 32, 32, 32}, ValueHidden: []int{256, 256, 256, 256, 256},
	}
}

// Limits of the sizes; a larger value is probably a typo. On the Go backend, the permutation of an
// epoch compares all pairs of sequences.
const (
	maxUnroll    = 1 << 12
	maxSequences = 1 << 17
	maxEpochs    = 1 << 10
)

// Sequences is the number of sequences per iteration.
func (c Config) Sequences() int { return c.BatchSize * c.NumMinibatches }

// Check rejects values that cannot work, before anything is compiled.
func (c Config) Check() error {
	if err := cmp.Or(
		limits.Positive("learning_rate", c.LearningRate, 1),
		limits.Number("discount", c.Discount, 1),
		limits.Number("gae_lambda", c.GAELambda, 1),
		limits.Positive("clip_epsilon", c.ClipEpsilon, 1),
		limits.Number("entropy_cost", c.EntropyCost, 1e6),
		limits.Factor("reward_scaling", c.RewardScaling),
		limits.Int("unroll_length", c.UnrollLength, 1, maxUnroll),
		limits.Int("batch_size", c.BatchSize, 1, maxSequences),
		limits.Int("num_minibatches", c.NumMinibatches, 1, maxSequences),
		limits.Int("update_epochs", c.UpdateEpochs, 1, maxEpochs),
		limits.Layers("policy_hidden", c.PolicyHidden, 0),
		limits.Layers("value_hidden", c.ValueHidden, 0),
	); err != nil {
		return err
	}
	if n := c.Sequences(); n > maxSequences {
		return fmt.Errorf("batch_size times num_minibatches must be at most %d, not %d", maxSequences,
			n)
	}
	return nil
}
