package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// AnnealingSettings are the hyperparameters of [AnnealedGrid] (Fontaine and Nikolaidis 2023).
type AnnealingSettings struct {
	// ArchiveLearningRate is alpha, the share by which the accepted solutions of a batch move the
	// threshold of their cell towards their mean fitness: 1 sets it to that mean, 0 keeps it.
	ArchiveLearningRate float64 `json:"archive_learning_rate"`
	// ThresholdMin is the threshold of empty cells, in units of fitness. NaN in [CMAMAE]: minus the QD
	// offset of an episode.
	ThresholdMin float64 `json:"threshold_min"`
}

// AnnealedGrid is a [Grid] with the acceptance thresholds of CMA-MAE: see [repertoire.Annealed].
// They decide how solutions are ranked. The cells keep the fittest solutions, as MAP-Elites' do.
type AnnealedGrid struct {
	Grid
	AnnealingSettings
}

var _ Improver = AnnealedGrid{}

// Fields implements [Archive].
func (a AnnealedGrid) Fields() []string { return append(a.Grid.Fields(), "thresholds") }

// Empty implements [Archive].
func (a AnnealedGrid) Empty(task scoring.Task, key xla.Key) []*Node {
	fields := a.Grid.Empty(task, key)
	return append(fields, BroadcastToShape(ConstAs(fields[0], a.ThresholdMin), fields[0].Shape()))
}

// Insert implements [Archive].
func (a AnnealedGrid) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	annealed, batch := a.annealed(fields, found)
	after, index, accepted, valid = a.Grid.Insert(fields[:len(fields)-1], found)
	return append(after, annealed.Update(batch, a.ArchiveLearningRate)), index, accepted, valid
}

// Improvement implements [Improver].
func (a AnnealedGrid) Improvement(fields []*Node, found Evaluated) *Node {
	annealed, batch := a.annealed(fields, found)
	return annealed.Improvement(batch)
}

func (a AnnealedGrid) annealed(fields []*Node, found Evaluated) (repertoire.Annealed,
	repertoire.Batch) {
	thresholds := repertoire.Annealed{Centroids: cellsOf(a, fields).Centroids,
		Thresholds: fields[len(fields)-1]}
	return thresholds, repertoire.Batch{Fitness: found.Fitness, Descriptors: found.Descriptors}
}
