package evolution

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// CMAMAE are the hyperparameters of CMA-MAE (Fontaine and Nikolaidis 2023): evolution strategies
// whose samples are ranked by how far they exceed the annealed thresholds of an archive.
type CMAMAE struct {
	Batch int `json:"batch"` // policies per generation, of all strategies together
	StrategySettings
	// ArchiveLearningRate is alpha, the share by which the accepted solutions of a batch move the
	// threshold of their cell towards their mean fitness.
	ArchiveLearningRate float64 `json:"archive_learning_rate" limits:"0,1"`
	ThresholdSettings
	repertoire.CVT
	Hidden        []int `json:"hidden"`         // units of the policy's hidden layers
	EpisodeLength int   `json:"episode_length"` // control steps
	// Slice is the number of policies rolled out together; 0: chosen for the backend.
	Slice int `json:"slice"`
	// Weights is the number format of the policies' weights in rollouts.
	Weights scoring.Weights `json:"weights,omitzero"`
	Starts  Starts          `json:"starts,omitzero"` // initial states of the evaluations
	Parts   `json:"-"`
}

// ThresholdSettings is the threshold of empty cells.
type ThresholdSettings struct {
	// ThresholdMin is in units of fitness; NaN: minus the QD offset of an episode.
	ThresholdMin float64 `json:"threshold_min"`

	offset float64 // of the environment, per step
}

// defaultThreshold returns a threshold that follows the episode length.
func defaultThreshold(env envs.Spec) ThresholdSettings {
	return ThresholdSettings{math.NaN(), env.Offset}
}

// in returns the threshold of episodes of a number of control steps, without -0 and the rounding of
// products.
func (t ThresholdSettings) in(steps int) ThresholdSettings {
	if math.IsNaN(t.ThresholdMin) {
		t.ThresholdMin = 0 - math.Round(1e6*t.offset*float64(steps))/1e6
	}
	return t
}

func (t ThresholdSettings) check(steps int) error {
	if low := t.in(steps).ThresholdMin; !(math.Abs(low) < 1e30) {
		return fmt.Errorf("threshold_min must be a number from -1e30 to 1e30, not %g", low)
	}
	return nil
}

// defaultCMAMAE returns the hyperparameters of the publication for tasks without observations
// (icaros-usc/cma_mae, experiments/{lin_proj/lin_proj,arm/arm}.py), and those of Tjanaka et al. 2023 for
// policies. On arm, whose angles are shares of a turn here, sigma0 is the published 0.1 rad. A task with
// more parameters than the published 100 may have too many for a full covariance matrix. Cells, policies and episodes are those of MAP-Elites.
// The lowest threshold, NaN here, is the lowest fitness that the environment's offset allows for in
// an episode of EpisodeLength.
func defaultCMAMAE(env envs.Spec) *CMAMAE {
	base := DefaultMapElites(env)
	c := &CMAMAE{Batch: 200, StrategySettings: StrategySettings{Strategy: sepCMAESName, Emitters: 5,
		Sigma0: 0.02, RestartRule: "basic", AdamLearningRate: adamLearningRate,
		AdamL2Coeff: adamL2Coeff}, ArchiveLearningRate: 0.001, ThresholdSettings: defaultThreshold(env),
		CVT: base.CVT, Hidden: base.Hidden, EpisodeLength: base.EpisodeLength, Weights: base.Weights}
	if env.Observations == 0 {
		c.Batch, c.Emitters, c.Sigma0, c.ArchiveLearningRate = 540, 15, 0.5, 0.01
		if env.Actions <= 128 {
			c.Strategy = cmaESName
		}
		if env.Name == armName {
			c.Sigma0 = 0.016
		}
	}
	return c
}

// armName is the task whose parameters are shares of a turn.
const armName = "arm"

// Defaults of OpenAI-ES.
const (
	adamLearningRate = 0.01
	adamL2Coeff      = 0.005
)

// MarshalJSON writes the threshold of empty cells as a number, also by default.
func (c CMAMAE) MarshalJSON() ([]byte, error) {
	type plain CMAMAE
	c.ThresholdSettings = c.in(c.EpisodeLength)
	return json.Marshal(plain(c))
}

// Base returns the hyperparameters that all algorithms of this package share.
func (c *CMAMAE) Base() MapElites {
	return MapElites{Batch: c.Batch, CVT: c.CVT, Hidden: c.Hidden, EpisodeLength: c.EpisodeLength,
		Slice: c.Slice, Weights: c.Weights, Starts: c.Starts, Parts: c.Parts}
}

// Check implements [algorithms.Algorithm].
func (c *CMAMAE) Check() error {
	base := c.Base()
	if err := cmp.Or(limits.Of(c), base.Check(), c.StrategySettings.check(c.Batch),
		c.ThresholdSettings.check(c.EpisodeLength)); err != nil {
		return err
	}
	switch {
	case c.Strategy != lmMAESName && c.Vectors != 0:
		return fmt.Errorf("vectors is a setting of %s: set strategy=%[1]s", lmMAESName)
	case c.Strategy != openAIESName &&
		(c.AdamLearningRate != adamLearningRate || c.AdamL2Coeff != adamL2Coeff):
		return fmt.Errorf("adam_learning_rate and adam_l2_coeff are settings of %s: set "+
			"strategy=%[1]s", openAIESName)
	}
	return nil
}

// New implements [algorithms.Algorithm].
func (c *CMAMAE) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(c, platform, env, seed)
}

func (c *CMAMAE) own() Parts {
	return Parts{Mix: Mix{{c.StrategySettings.Emitter(), 1}},
		Archive: repertoire.Annealed{LearningRate: c.ArchiveLearningRate,
			ThresholdMin: c.in(c.EpisodeLength).ThresholdMin}}
}
