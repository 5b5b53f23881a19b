package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Archive keeps solutions: it decides which of the evaluated individuals enter. A value holds the
// settings and, after Empty, the contents: a pytree, see [xla.Flatten]. The search moves the
// genotypes. Its methods build graphs.
type Archive interface {
	// Empty returns the archive without solutions. Random initial values are drawn with the key.
	Empty(task scoring.Task, key random.Key) Archive
	// Add decides which individuals enter.
	Add(found Evaluated) (Archive, Insertion)
	// Cells returns what the search reads of the contents. Without centroids the archive cannot be
	// measured itself: the search fills a grid of cells, the passive repertoire, with its population.
	Cells() Cells
}

// SequenceRecorder is an [Archive] that records steps of the episodes, for descriptors of its own.
// Recorded episodes restart automatically, see [envs.AutoReset].
type SequenceRecorder interface {
	Archive
	Record(task scoring.Task) envs.Recorder
}

// OneStart is an [Archive] for evaluations that differ only in their policies: all of a run start in the
// same initial state.
type OneStart interface {
	Archive
	OneStart()
}

// Sampled is an [Archive] without centroids that says how often it is measured. Others are measured every
// ten generations.
type Sampled interface {
	Archive
	// MeasureEvery is the number of generations between measurements.
	MeasureEvery() int64
}

// Maintainer is an [Archive] that changes between generations.
type Maintainer interface {
	Archive
	// Due names the maintenance after a generation; "" if none is due. Each name is a program.
	Due(generation int64) string
	// Maintain returns the archive after the maintenance of that name. generation is an int32 scalar.
	Maintain(due string, generation *Node, key random.Key) Archive
}

// Measurer is an [Archive] of several objectives. It sees the return of each in [Evaluated], adds
// metrics of its own, and may have several slots per centroid; then a repertoire shows the fittest
// solution of each cell.
type Measurer interface {
	Archive
	// Slots is the number of slots per centroid.
	Slots() int
	// Columns names the metrics.
	Columns() []string
	// Measure returns the metrics, given the objectives of the slots, [slots, objectives].
	Measure(task scoring.Task, objectives npz.Array) ([]float64, error)
}

// Evaluated are the results of P individuals: a pytree.
type Evaluated struct {
	Batch
	Sequences   *Node // [P, L, F], recorded for a [SequenceRecorder], or nil
	Transitions *Node // [P * T, width], for emitters that learn from steps, or nil
	Objectives  *Node // [P, objectives], returns by objective, for a [Measurer], or nil
}

// Insertion is the decision of [Archive.Add]: a pytree.
type Insertion struct {
	// Index is the individual that enters each cell where Accepted is true, int32 [cells]. An
	// individual enters at most one cell.
	Index    *Node
	Accepted *Node // bool [cells]
	Valid    *Node // bool [P], false for individuals that can never enter
	// Improvement, [P], ranks individuals for emitters that adapt, such as evolution strategies: above 0
	// for those that improve the archive, -Inf for those that are not valid. It may be above 0 for an
	// individual that does not enter.
	Improvement *Node
}

// Check panics with a [xla.Misfit] unless the archive after the decision has the type of the archive
// before, and both have the shapes that belong to it, for P individuals.
func (i Insertion) Check(before, after Archive, individuals int) {
	cells := before.Cells().Fitness.Shape().Dimensions[0]
	xla.CheckSame(before, "Add", after)
	xla.CheckLike(before, "Add", "the archive", xla.Flatten(after), xla.Flatten(before))
	xla.CheckShape(before, "Add", "indices", i.Index, dtypes.Int32, cells)
	xla.CheckShape(before, "Add", "accepted cells", i.Accepted, dtypes.Bool, cells)
	xla.CheckShape(before, "Add", "valid individuals", i.Valid, dtypes.Bool, individuals)
	xla.CheckShape(before, "Add", "improvements", i.Improvement, dtypes.Float32, individuals)
}

// Entered reports which of P individuals entered, bool [P].
func (i Insertion) Entered() *Node {
	dims := []int{i.Index.Shape().Dimensions[0], i.Valid.Shape().Dimensions[0]}
	individual := Iota(i.Index.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
	enters := And(Equal(BroadcastToDims(InsertAxes(i.Index, -1), dims...), individual),
		BroadcastToDims(InsertAxes(i.Accepted, -1), dims...))
	return ReduceLogicalOr(enters, 0)
}

// unfilled returns the fitnesses or objectives of empty slots.
func unfilled(g *Graph, dims ...int) *Node {
	return BroadcastToDims(Const(g, float32(math.Inf(-1))), dims...)
}
