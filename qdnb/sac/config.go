package sac

import (
	"math"

	"github.com/pkg/errors"
)

// Config are the hyperparameters. A zero value is not useful; see [Default].
type Config struct {
	LearningRate  float64 `json:"learning_rate"`  // Adam of actor, critics and entropy coefficient; paper: 3e-4
	Discount      float64 `json:"discount"`       // of later rewards, per step; paper: 0.99
	Tau           float64 `json:"tau"`            // share of the new in a target, per update; paper: 0.005
	RewardScaling float64 `json:"reward_scaling"` // factor of rewards; paper: 1, 5 or 10 by environment
	AlphaInit     float64 `json:"alpha_init"`     // entropy coefficient at first; paper: 0.1
	FixAlpha      bool    `json:"fix_alpha"`      // leave it there; paper: true
	BatchSize     int     `json:"batch_size"`     // transitions drawn for an update; paper: 256
	Hidden        []int   `json:"hidden"`         // units of the hidden layers of actor and critics; paper: 256, 256
}

// Default are the paper's hyperparameters.
func Default() Config {
	return Config{
		LearningRate: 3e-4, Discount: 0.99, Tau: 0.005, RewardScaling: 1, AlphaInit: 0.1, FixAlpha: true, BatchSize: 256, Hidden: []int{256, 256},
	}
}

// Limits of the sizes: beyond them it is a slip of the pen rather than an experiment.
const (
	maxBatch = 1 << 20
	maxUnits = 1 << 14
)

// Check finds values that cannot work, before anything is compiled.
func (c Config) Check() error {
	for _, r := range []struct {
		name       string
		value, max float64
		positive   bool // 0 is not allowed
	}{
		{"learning_rate", c.LearningRate, 1, true},
		{"discount", c.Discount, 1, false},
		{"tau", c.Tau, 1, true},
		{"alpha_init", c.AlphaInit, 1e6, true},
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
	if c.BatchSize < 1 || c.BatchSize > maxBatch {
		return errors.Errorf("batch_size must be between 1 and %d, not %d", maxBatch, c.BatchSize)
	}
	if len(c.Hidden) > 16 {
		return errors.Errorf("number of hidden layers must be between 0 and 16, not %d", len(c.Hidden))
	}
	for _, units := range c.Hidden {
		if units < 1 || units > maxUnits {
			return errors.Errorf("hidden layers must have between 1 and %d units, not %d", maxUnits, units)
		}
	}
	return nil
}
