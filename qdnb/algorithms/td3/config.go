package td3

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	// CriticLearningRate is Adam's learning rate for the critics; paper: 3e-4.
	CriticLearningRate float64 `json:"critic_learning_rate" limits:">0,1"`
	// GreedyLearningRate is Adam's learning rate for the greedy actor; paper: 3e-4.
	GreedyLearningRate float64 `json:"greedy_learning_rate" limits:">0,1"`
	// PolicyLearningRate is Adam's learning rate for the variation; paper: 1e-3.
	PolicyLearningRate float64 `json:"policy_learning_rate" limits:">0,1"`
	// NoiseClip is the limit of the target policy's noise; paper: 0.5.
	NoiseClip float64 `json:"noise_clip" limits:"0,1e6"`
	// PolicyNoise is the standard deviation of the target policy's noise; paper: 0.2.
	PolicyNoise float64 `json:"policy_noise" limits:"0,1e6"`
	// Discount is the discount factor per step; paper: 0.99.
	Discount      float64 `json:"discount" limits:"0,1"`
	RewardScaling float64 `json:"reward_scaling" limits:"-1e6,1e6"` // factor of rewards; paper: 1
	// SoftTauUpdate is the update rate of the target networks, per step; paper: 0.005.
	SoftTauUpdate float64 `json:"soft_tau_update" limits:">0,1"`
	// PolicyDelay is the number of critic steps per actor step; paper: 2.
	PolicyDelay int `json:"policy_delay" limits:"1,16777216"`
	// TransitionsBatchSize is the number of transitions sampled per step; paper: 256.
	TransitionsBatchSize int `json:"transitions_batch_size" limits:"1,1048576"`
	// CriticHidden are the units of the hidden layers of each critic; paper: 256, 256.
	CriticHidden []int `json:"critic_hidden" limits:"0"`
	// ReplayBufferSize is the capacity of the replay buffer in transitions; paper: 1 000 000.
	ReplayBufferSize       int `json:"replay_buffer_size" limits:"1,1073741824"`
	NumCriticTrainingSteps int `json:"num_critic_training_steps" limits:"0,16777216"` // critic steps per generation; paper: 300
	NumPGTrainingSteps     int `json:"num_pg_training_steps" limits:"1,16777216"`     // policy-gradient steps of a parent; paper: 100
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
