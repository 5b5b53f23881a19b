package evolution

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Archive is the part of a method that keeps offspring: it distinguishes behaviours and decides
// which offspring enter. The search moves the genotypes. The rest of an archive's contents is a
// list of tensors, its fields. The first two fields are always the fitness [cells], -Inf where a
// cell is empty, and the descriptors [cells, d].
//
// Its methods build graphs, except those that return no node.
type Archive interface {
	// Fields names the tensors; the first two are "fitnesses" and "descriptors". If PassiveEvery is 0,
	// "centroids", float32 [centroids, d], is among them.
	Fields() []string
	// Empty returns the fields of an empty archive. Random initial values are drawn with the key.
	Empty(task scoring.Task, key xla.Key) []*Node
	// Sequence returns the recorder of the steps that the descriptor needs, or false if the archive
	// uses the task's own descriptor. Recorded episodes restart automatically, see [envs.AutoReset].
	Sequence(task scoring.Task) (envs.Recorder, bool)
	// SameStart reports whether all evaluations of a run start in the same initial state.
	SameStart() bool
	// Insert decides which of the evaluated offspring enter. index, int32 [cells], is the individual
	// that enters each cell where accepted, bool [cells], is true; an individual enters at most one
	// cell. valid, bool [P], is false for individuals that can never enter.
	Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted, valid *Node)
	// Maintenance returns the name of the maintenance that is due after a generation, or "". Each name
	// is a separate program.
	Maintenance(generation int64) string
	// Maintain returns the fields after the maintenance of the given name in a generation (int32
	// scalar).
	Maintain(name string, fields []*Node, generation *Node, key xla.Key) []*Node
	// PassiveEvery is 0 if the archive uses the task's descriptors, so that it can be measured itself.
	// Otherwise the search also keeps a grid of cells, the passive repertoire. All members of the
	// archive are evaluated into it every PassiveEvery generations.
	PassiveEvery() int
}

// Evaluated holds the results of P evaluated individuals: a pytree.
type Evaluated struct {
	Fitness     *Node // [P], -Inf where an episode produced NaN
	Descriptors *Node // [P, d], the task's descriptors
	Sequences   *Node // [P, L, F], recorded by the archive's Sequence, or nil
	Transitions *Node // [P * T, width], for the learner, or nil: see [replay.Layout]
	Objectives  *Node // [P, objectives], returns by objective, for a [MultiObjective] archive, or nil
}

// MultiObjective is an [Archive] that sees the returns of each objective, in [Evaluated], and adds
// metrics of its own. It may have several slots per centroid; then a repertoire shows the fittest
// solution of each cell.
type MultiObjective interface {
	Archive
	// Slots is the number of slots per centroid.
	Slots() int
	// Columns names the metrics.
	Columns() []string
	// Measure returns the metrics, given the fields on the host.
	Measure(task scoring.Task, fields map[string]npz.Array) ([]float64, error)
}

// Grid is the archive of MAP-Elites: one cell per centroid, which holds the fittest individual
// found there.
type Grid struct {
	Centroids npz.Array // float32 [cells, d]
	plain
}

// plain is the part that archives of the task's descriptors share: nothing is recorded, every
// evaluation draws its own initial state, and no maintenance is due.
type plain struct{}

func (plain) Sequence(scoring.Task) (envs.Recorder, bool) { return envs.Recorder{}, false }
func (plain) SameStart() bool                             { return false }
func (plain) Maintenance(int64) string                    { return "" }

func (plain) Maintain(_ string, fields []*Node, _ *Node, _ xla.Key) []*Node { return fields }

// Fields implements [Archive].
func (Grid) Fields() []string { return []string{"fitnesses", "descriptors", "centroids"} }

// Empty implements [Archive].
func (a Grid) Empty(task scoring.Task, key xla.Key) []*Node {
	g := key.Hi.Graph()
	cells, d := a.Centroids.Shape[0], a.Centroids.Shape[1]
	flat, err := a.Centroids.Float32s()
	if err != nil {
		panic(err)
	}
	return []*Node{
		unfilled(g, cells),
		Zeros(g, shapes.Make(dtypes.Float32, cells, d)),
		Reshape(Const(g, flat), cells, d),
	}
}

// unfilled returns the fitnesses or objectives of empty slots.
func unfilled(g *Graph, dims ...int) *Node {
	return BroadcastToDims(Const(g, float32(math.Inf(-1))), dims...)
}

// Insert implements [Archive] by [repertoire.Winners].
func (a Grid) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	cells := cellsOf(a, fields)
	batch := repertoire.Batch{Fitness: found.Fitness, Descriptors: found.Descriptors}
	index, accepted = repertoire.Winners(cells, batch)
	cells = cells.Update(batch, index, accepted)
	return xla.Flatten(cells), index, accepted, batch.Valid()
}

// PassiveEvery implements [Archive]: the grid is measured itself.
func (Grid) PassiveEvery() int { return 0 }

// checkFields panics with a [xla.Misfit] if a method of an archive changes the shapes of its
// fields.
func checkFields(archive Archive, method string, after, before []*Node) {
	names := archive.Fields()
	xla.CheckCount(archive, method, fmt.Sprintf("the fields %v", names), after, len(names))
	for i, x := range before {
		xla.CheckShape(archive, method, names[i], after[i], x.DType(), x.Shape().Dimensions...)
	}
}

// cellsOf reads the fields that all archives have, and the centroids if present.
func cellsOf(archive Archive, fields []*Node) repertoire.Cells {
	cells := repertoire.Cells{Fitness: fields[0], Descriptors: fields[1]}
	if i := slices.Index(archive.Fields(), "centroids"); i >= 0 && i < len(fields) {
		cells.Centroids = fields[i]
	}
	return cells
}
