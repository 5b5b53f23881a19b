package evolution

import (
	"cmp"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// MOME are the hyperparameters of Multi-Objective MAP-Elites (Pierrot et al. 2022): MAP-Elites
// whose cells hold Pareto fronts. If a task has one objective, it keeps the fittest solutions of
// each cell.
type MOME struct {
	MapElites
	repertoire.FrontSettings
}

// DefaultMOME returns the hyperparameters of the publications: cells, fronts, batch and policies of
// Janmohamed et al. 2023, who also give those of MOME, and a batch of 100 and 64 cells for tasks
// without observations. The variation is that of MAP-Elites.
func DefaultMOME(env envs.Spec) *MOME {
	m := &MOME{*DefaultMapElites(env), repertoire.FrontSettings{FrontSize: 50}}
	m.Batch, m.Cells = 256, 128
	if env.Observations == 0 {
		m.Batch, m.Cells = 100, 64
	} else {
		m.Hidden = []int{64, 64}
	}
	return m
}

// Check implements [Hyperparameters].
func (m *MOME) Check() error {
	return cmp.Or(m.MapElites.Check(), limits.Int("front_size", m.FrontSize, 1, maxFront))
}

// New implements [algorithms.Algorithm].
func (m *MOME) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(m, platform, env, seed)
}

// Method implements [Hyperparameters].
func (m *MOME) Method() Method {
	method := m.MapElites.Method()
	method.Archive = repertoire.Fronts{FrontSettings: m.FrontSettings}
	return method
}

// maxFront limits front_size.
const maxFront = 1 << 12
