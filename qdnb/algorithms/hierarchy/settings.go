package hierarchy

import (
	"cmp"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/ppo"
)

// Settings are the hyperparameters of a meta-controller.
type Settings struct {
	ppo.PPO
	// DecisionLength is the number of control steps for which a chosen skill acts; paper: 10.
	DecisionLength int `json:"decision_length" limits:"1,1048576"`
	// SampleSkills lets stochastic skills, those of the reinforcement-learning family, sample their
	// actions during data collection. In evaluations they never do. Paper: true.
	SampleSkills bool `json:"sample_skills"`
	// PublishedCredit assigns rewards to decisions as the published code does; see [Options.Credit].
	// Default: false.
	PublishedCredit bool `json:"published_credit"`
}

// Check rejects values that cannot work, before anything is compiled.
func (s Settings) Check() error {
	return cmp.Or(limits.Of(s), s.PPO.Check())
}
