package evolution

import (
	"cmp"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// DominatedNovelty are the hyperparameters of Dominated Novelty Search: MAP-Elites with another
// archive.
type DominatedNovelty struct {
	MapElites
	repertoire.NoveltySettings
}

// DefaultDominatedNovelty returns the publication's hyperparameters of the archive, and those of
// MAP-Elites for everything else.
func DefaultDominatedNovelty(env envs.Spec) *DominatedNovelty {
	return &DominatedNovelty{*DefaultMapElites(env), repertoire.NoveltySettings{Capacity: 1024, K: 3}}
}

// Check implements [Hyperparameters].
func (d *DominatedNovelty) Check() error {
	return cmp.Or(d.MapElites.Check(), limits.Int("capacity", d.Capacity, 2, maxSlots),
		limits.Int("k", d.K, 1, maxNeighbours))
}

// New implements [algorithms.Algorithm].
func (d *DominatedNovelty) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(d, platform, env, seed)
}

// Method implements [Hyperparameters].
func (d *DominatedNovelty) Method() Method {
	method := d.MapElites.Method()
	method.Archive = repertoire.DominatedNovelty{NoveltySettings: d.NoveltySettings}
	return method
}

// Limits of the population: it compares all pairs of solutions, k times.
const (
	maxSlots      = 1 << 14
	maxNeighbours = 1 << 6
)
