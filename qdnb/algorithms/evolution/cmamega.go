package evolution

import (
	"cmp"
	"encoding/json"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// CMAMEGA are the hyperparameters of CMA-MEGA (Fontaine and Nikolaidis 2021): gradient arborescence on
// the grid of MAP-Elites, for tasks that are an [envs.BlackBox].
type CMAMEGA struct {
	Batch int `json:"batch"` // solutions per generation, of all emitters together
	ArborescenceSettings
	repertoire.CVT
	// Slice is the number of solutions evaluated together; 0: chosen for the backend.
	Slice int `json:"slice"`
	Parts `json:"-"`
}

// defaultCMAMEGA returns published hyperparameters (icaros-usc/cma_mae, experiments/lin_proj/lin_proj.py and
// experiments/arm/arm.py, whose sigma_g is 0.05 rad), with pyribs' restart_rule. Cells are those of
// MAP-Elites.
func defaultCMAMEGA(env envs.Spec) *CMAMEGA {
	c := &CMAMEGA{Batch: 540, ArborescenceSettings: ArborescenceSettings{Emitters: 15, Sigma0: 10,
		GradOpt: gradientAscent, LearningRate: 1, RestartRule: "no_improvement"},
		CVT: repertoire.DefaultCVT()}
	if env.Name == armName {
		c.Sigma0 = 0.008
	}
	return c
}

// Base returns the hyperparameters that all algorithms of this package share.
func (c *CMAMEGA) Base() MapElites {
	return MapElites{Batch: c.Batch, CVT: c.CVT, EpisodeLength: 1, Slice: c.Slice, Parts: c.Parts}
}

// Check implements [algorithms.Algorithm].
func (c *CMAMEGA) Check() error {
	base := c.Base()
	return cmp.Or(limits.Of(c), base.Check(), c.ArborescenceSettings.check(c.Batch))
}

// New implements [algorithms.Algorithm].
func (c *CMAMEGA) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(c, platform, env, seed)
}

func (c *CMAMEGA) own() Parts {
	return Parts{Mix: Mix{{c.ArborescenceSettings.Emitter(), 1}}, Archive: repertoire.Grid{}}
}

// CMAMAEGA are the hyperparameters of CMA-MAEGA (Fontaine and Nikolaidis 2023): CMA-MEGA with the
// annealed thresholds of CMA-MAE.
type CMAMAEGA struct {
	CMAMEGA
	// ArchiveLearningRate is that of [CMAMAE].
	ArchiveLearningRate float64 `json:"archive_learning_rate" limits:"0,1"`
	ThresholdSettings
}

// defaultCMAMAEGA returns the publication's hyperparameters for sphere.
func defaultCMAMAEGA(env envs.Spec) *CMAMAEGA {
	c := &CMAMAEGA{*defaultCMAMEGA(env), 0.01, defaultThreshold(env)}
	c.RestartRule = "basic"
	return c
}

// MarshalJSON writes the threshold of empty cells as a number, also by default.
func (c CMAMAEGA) MarshalJSON() ([]byte, error) {
	type plain CMAMAEGA
	c.ThresholdSettings = c.in(1)
	return json.Marshal(plain(c))
}

// Check implements [algorithms.Algorithm].
func (c *CMAMAEGA) Check() error { return cmp.Or(c.CMAMEGA.Check(), c.ThresholdSettings.check(1)) }

// New implements [algorithms.Algorithm].
func (c *CMAMAEGA) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(c, platform, env, seed)
}

func (c *CMAMAEGA) own() Parts {
	parts := c.CMAMEGA.own()
	parts.Archive = repertoire.Annealed{LearningRate: c.ArchiveLearningRate, ThresholdMin: c.in(1).ThresholdMin}
	return parts
}
