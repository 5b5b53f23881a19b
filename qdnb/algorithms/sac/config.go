package sac

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	// LearningRate is Adam's learning rate for actor, critics and entropy coefficient; paper: 3e-4.
	LearningRate float64 `json:"learning_rate" limits:">0,1"`
	Discount     float64 `json:"discount" limits:"0,1"` // discount factor per step; paper: 0.99
	// Tau is the update rate of the target networks, per update; paper: 0.005.
	Tau float64 `json:"tau" limits:">0,1"`
	// RewardScaling is the factor of rewards; paper: 1, 5 or 10, depending on the environment.
	RewardScaling float64 `json:"reward_scaling" limits:"-1e6,1e6"`
	AlphaInit     float64 `json:"alpha_init" limits:">0,1e6"`    // initial entropy coefficient; paper: 0.1
	FixAlpha      bool    `json:"fix_alpha"`                     // keeps the entropy coefficient constant; paper: true
	BatchSize     int     `json:"batch_size" limits:"1,1048576"` // transitions sampled per update; paper: 256
	// Hidden are the units of the hidden layers of actor and critics; paper: 256, 256.
	Hidden []int `json:"hidden" limits:"0"`
}

// Default returns the paper's hyperparameters.
func Default() Config {
	return Config{
		LearningRate: 3e-4, Discount: 0.99, Tau: 0.005, RewardScaling: 1, AlphaInit: 0.1, FixAlpha: true,
		BatchSize: 256, Hidden: []int{256, 256},
	}
}
