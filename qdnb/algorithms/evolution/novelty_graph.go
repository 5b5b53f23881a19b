package evolution

import (
	"cmp"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// NoveltySettings are the hyperparameters of [NoveltyArchive] (Bahlous-Boldi et al. 2025).
type NoveltySettings struct {
	Capacity int `json:"capacity"` // solutions of the population; its publication: 1024
	K        int `json:"k"`        // nearest fitter solutions that count; its publication: 3
}

// NoveltyArchive is the archive of Dominated Novelty Search: a population that keeps the solutions
// with the greatest dominated novelty, see [repertoire.DominatedNovelty]. It uses the task's
// descriptors but has no cells, so a passive repertoire measures it.
type NoveltyArchive struct {
	NoveltySettings
	plain
}

// Fields implements [Archive].
func (NoveltyArchive) Fields() []string { return []string{"fitnesses", "descriptors"} }

// Empty implements [Archive].
func (a NoveltyArchive) Empty(task scoring.Task, key xla.Key) []*Node {
	g, d := key.Hi.Graph(), len(task.Env.Spec().Descriptor.Lower)
	return []*Node{unfilled(g, a.Capacity), Zeros(g, shapes.Make(dtypes.Float32, a.Capacity, d))}
}

// Insert implements [Archive] by [repertoire.DominatedNovelty].
func (a NoveltyArchive) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	population := repertoire.DominatedNovelty{Fitness: fields[0], Descriptors: fields[1]}
	batch := repertoire.Batch{Fitness: found.Fitness, Descriptors: found.Descriptors}
	index, accepted = population.Winners(a.K, batch)
	return xla.Flatten(population.Update(batch, index, accepted)), index, accepted, batch.Valid()
}

// PassiveEvery implements [Archive]: the passive repertoire is filled as often as AURORA's.
func (NoveltyArchive) PassiveEvery() int { return 10 }

// DominatedNovelty are the hyperparameters of Dominated Novelty Search: MAP-Elites with another
// archive.
type DominatedNovelty struct {
	MapElites
	NoveltySettings
}

// DefaultDominatedNovelty returns the publication's hyperparameters of the archive, and those of
// MAP-Elites for everything else.
func DefaultDominatedNovelty(env envs.Spec) *DominatedNovelty {
	return &DominatedNovelty{*DefaultMapElites(env), NoveltySettings{Capacity: 1024, K: 3}}
}

// Check implements [Hyperparameters].
func (d *DominatedNovelty) Check() error {
	return cmp.Or(d.MapElites.Check(), limits.Int("capacity", d.Capacity, 2, maxSlots),
		limits.Int("k", d.K, 1, maxNeighbours))
}

// Method implements [Hyperparameters].
func (d *DominatedNovelty) Method(centroids npz.Array) Method {
	method := d.MapElites.Method(centroids)
	method.Archive = NoveltyArchive{NoveltySettings: d.NoveltySettings}
	return method
}

// Limits of the population: it compares all pairs of solutions, k times.
const (
	maxSlots      = 1 << 14
	maxNeighbours = 1 << 6
)
