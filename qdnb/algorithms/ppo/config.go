package ppo

import (
	"cmp"
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

// PPO are the hyperparameters of a policy that learns in an environment. A zero value is not useful;
// see [Default].
type PPO struct {
	// LearningRate is Adam's learning rate for the policy and the value function; paper: 1e-4.
	LearningRate float64 `json:"learning_rate" limits:">0,1"`
	// AdamEpsilon is added to the root in Adam, for searches that walk; 0: 1e-8, as in the paper.
	AdamEpsilon float64 `json:"-" limits:"0,1"`
	Discount    float64 `json:"discount" limits:"0,1"` // discount factor per decision; paper: 0.99
	// GAELambda is the decay of later errors in the advantage, per decision; paper: 0.95.
	GAELambda float64 `json:"gae_lambda" limits:"0,1"`
	// ClipEpsilon is the bound of the probability ratio in the loss: 1 ± clip_epsilon; paper: 0.3.
	ClipEpsilon   float64 `json:"clip_epsilon" limits:">0,1"`
	EntropyCost   float64 `json:"entropy_cost" limits:"0,1e6"`      // weight of the entropy in the loss; paper: 1e-3
	RewardScaling float64 `json:"reward_scaling" limits:"-1e6,1e6"` // factor of rewards; paper: 1
	// NormalizeAdvantages gives the advantages of a minibatch the mean 0 and the standard deviation 1, so that rewards
	// of any size outweigh the entropy alike; paper: false.
	NormalizeAdvantages bool `json:"normalize_advantages,omitzero"`
	// InitialScale is the standard deviation of continuous actions before the tanh when training begins, with means
	// near 0, so that a robot begins near its default pose; 0: what random networks give, near 0.7, as in the paper.
	InitialScale float64 `json:"initial_scale,omitzero" limits:"0,10"`

	UnrollLength int `json:"unroll_length" limits:"1,4096"` // decisions per sequence; paper: 20
	BatchSize    int `json:"batch_size" limits:"1,131072"`  // sequences per minibatch; paper: 512
	// NumMinibatches is the number of Adam steps per epoch; paper: 32. Together they use each sequence once.
	NumMinibatches int `json:"num_minibatches" limits:"1,131072"`
	UpdateEpochs   int `json:"update_epochs" limits:"1,1024"` // epochs per iteration; paper: 8

	PolicyHidden []int `json:"policy_hidden" limits:"0"` // units of the hidden layers of the policy; paper: 32, 32, 32, 32
	ValueHidden  []int `json:"value_hidden" limits:"0"`  // units of the hidden layers of the value function; paper: 256, 256, 256, 256, 256
	// NormalizeObservations normalises observations by their running mean and standard deviation; paper:
	// false.
	NormalizeObservations bool `json:"normalize_observations"`

	NumEnvs       int `json:"num_envs" limits:"1,131072"`        // environments that collect data; paper: 2048
	EpisodeLength int `json:"episode_length" limits:"1,1048576"` // control steps per episode; paper: 250

	EvaluationEnvs int `json:"evaluation_envs" limits:"1,131072"` // episodes per evaluation; paper: 256
	// EvaluationInterval is the number of iterations between evaluations; paper: not given. The first
	// evaluation precedes all iterations.
	EvaluationInterval int `json:"evaluation_interval" limits:"1"`
	// Slice is the number of environments stepped together; 0: chosen for the backend.
	Slice int `json:"slice" limits:"0,131072"`

	repertoire.CVT // of the repertoire of all evaluated policies
}

// Default returns the paper's hyperparameters in an environment, with an evaluation after every
// iteration.
func Default(env envs.Spec) *PPO {
	return &PPO{
		LearningRate: 1e-4, Discount: 0.99, GAELambda: 0.95, ClipEpsilon: 0.3, EntropyCost: 1e-3,
		RewardScaling: 1,
		UnrollLength:  20, BatchSize: 512, NumMinibatches: 32, UpdateEpochs: 8,
		PolicyHidden: []int{32, 32, 32, 32}, ValueHidden: []int{256, 256, 256, 256, 256},
		NumEnvs: 2048, EpisodeLength: env.Length * env.ControlSteps(), EvaluationEnvs: 256, EvaluationInterval: 1,
		CVT: repertoire.DefaultCVT(),
	}
}

// maxSequences is the largest number of sequences; a larger one is probably a typo. On the Go backend,
// the permutation of an epoch compares all pairs of sequences.
const maxSequences = 1 << 17

// NeedsObservations reports that the algorithm learns from observations.
func (PPO) NeedsObservations() bool { return true }

// sequences is the number of sequences per iteration.
func (p PPO) sequences() int { return p.BatchSize * p.NumMinibatches }

// unrolls is the number of consecutive sequences per environment and iteration.
func (p PPO) unrolls() int { return p.sequences() / p.NumEnvs }

// Check implements [algorithms.Algorithm].
func (p PPO) Check() error {
	if err := cmp.Or(limits.Of(p), p.CVT.Check()); err != nil {
		return err
	}
	switch n := p.sequences(); {
	case n > maxSequences:
		return fmt.Errorf("batch_size times num_minibatches must be at most %d, not %d", maxSequences, n)
	case n%p.NumEnvs != 0:
		return fmt.Errorf("batch_size times num_minibatches must be a multiple of num_envs, but %d "+
			"is not a multiple of %d", n, p.NumEnvs)
	}
	return nil
}
