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
	DecisionLength int `json:"decision_length"`
	// SampleSkills lets stochastic skills, those of the reinforcement-learning family, sample their
	// actions during data collection. In evaluations they never do. Paper: true.
	SampleSkills bool `json:"sample_skills"`
	// PublishedCredit assigns rewards to decisions as the published code does; see [Options.Credit].
	// Default: false.
	PublishedCredit bool `json:"published_credit"`
}

// maxDecision is the longest decision; a larger value is probably a typo.
const maxDecision = 1 << 20

// Check rejects values that cannot work, before anything is compiled.
func (s Settings) Check() error {
	return cmp.Or(s.PPO.Check(), limits.Int("decision_length", s.DecisionLength, 1, maxDecision))
}
