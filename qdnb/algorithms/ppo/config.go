package ppo

import (
	"cmp"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/limits"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	LearningRate float64 `json:"learning_rate"` // Adam of policy and value function; paper: 1e-4
	Discount     float64 `json:"discount"`      // of later rewards, per decision; paper: 0.99
	// decay of later errors in the advantage, per decision; paper: 0.95
	GAELambda float64 `json:"gae_lambda"`
	// how far a probability may move before the loss stops caring; paper: 0.3
	ClipEpsilon   float64 `json:"clip_epsilon"`
	EntropyCost   float64 `json:"entropy_cost"`   // weight of the entropy in the loss; paper: 1e-3
	RewardScaling float64 `json:"reward_scaling"` // factor of rewards; paper: 1

	UnrollLength int `json:"unroll_length"` // decisions of a sequence; paper: 20
	BatchSize    int `json:"batch_size"`    // sequences of a minibatch; paper: 512
	// steps of Adam in which all sequences are used once; paper: 32
	NumMinibatches int `json:"num_minibatches"`
	UpdateEpochs   int `json:"update_epochs"` // how often they are; paper: 8

	PolicyHidden []int `json:"policy_hidden"` // units of the hidden layers; paper: 32, 32, 32, 32
	ValueHidden  []int `json:"value_hidden"`  // paper: 256, 256, 256, 256, 256
	// NormalizeObservations takes the running mean from what the networks see, and divides by the
	// deviation. Paper: false.
	NormalizeObservations bool `json:"normalize_observations"`
}

// Default are the paper's hyperparameters.
func Default() Config {
	return Config{
		LearningRate: 1e-4, Discount: 0.99, GAELambda: 0.95, ClipEpsilon: 0.3, EntropyCost: 1e-3,
		RewardScaling: 1,
		UnrollLength:  20, BatchSize: 512, NumMinibatches: 32, UpdateEpochs: 8,
		PolicyHidden: []int{32, 32, 32, 32}, ValueHidden: []int{256, 256, 256, 256, 256},
	}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment. The
// permutation of an epoch compares all sequences with each other.
const (
	maxUnroll    = 1 << 12
	maxSequences = 1 << 17
	maxEpochs    = 1 << 10
)

// Sequences is the number of sequences that an iteration learns from.
func (c Config) Sequences() int { return c.BatchSize * c.NumMinibatches }

// Check finds values that cannot work, before anything is compiled.
func (c Config) Check() error {
	if err := cmp.Or(
		limits.Numbers(
			limits.Number{Name: "learning_rate", Value: c.LearningRate, Max: 1, Positive: true},
			limits.Number{Name: "discount", Value: c.Discount, Max: 1},
			limits.Number{Name: "gae_lambda", Value: c.GAELambda, Max: 1},
			limits.Number{Name: "clip_epsilon", Value: c.ClipEpsilon, Max: 1, Positive: true},
			limits.Number{Name: "entropy_cost", Value: c.EntropyCost, Max: 1e6},
		),
		limits.Factor("reward_scaling", c.RewardScaling),
		limits.Counts(
			limits.Count{Name: "unroll_length", Value: int64(c.UnrollLength), Min: 1, Max: maxUnroll},
			limits.Count{Name: "batch_size", Value: int64(c.BatchSize), Min: 1, Max: maxSequences},
			limits.Count{Name: "num_minibatches", Value: int64(c.NumMinibatches), Min: 1, Max: maxSequences},
			limits.Count{Name: "update_epochs", Value: int64(c.UpdateEpochs), Min: 1, Max: maxEpochs},
		),
		limits.Layers("policy_hidden", c.PolicyHidden, 0),
		limits.Layers("value_hidden", c.ValueHidden, 0),
	); err != nil {
		return err
	}
	if n := c.Sequences(); n > maxSequences {
		return errors.Errorf("batch_size times num_minibatches must be at most %d, not %d", maxSequences,
			n)
	}
	return nil
}
