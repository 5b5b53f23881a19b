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
	"example.com/qdnb/xla"
)

// Archive is the factor of a search that keeps: it tells behaviours apart and decides which
// offspring enter. Beside the genotypes, which the search moves, its contents are a list of
// tensors, its fields, of which the first two are always the fitness [cells], -Inf where a cell is
// empty, and the descriptors [cells, d].
//
// Its methods build graphs, except where they return no node.
type Archive interface {
	// Fields names the tensors; the first two are "fitnesses" and "descriptors".
	Fields() []string
	// Empty gives the tensors of an archive in which nothing is. What is random in them is drawn
	// with the key.
	Empty(task Task, key xla.Key) []*Node
	// Sequence says what of an episode's steps is to be recorded for the descriptor; false:
	// nothing, for it is the task's own. Episodes that are recorded restart by themselves, see
	// [envs.AutoReset].
	Sequence(task Task) (envs.Recorder, bool)
	// SameStart is true where all evaluations of a run begin in the same initial state.
	SameStart() bool
	// Insert decides which of the evaluated offspring enter. index is int32 [cells], the individual
	// that enters each cell where accepted, bool [cells], is true. valid, bool [P], is false for
	// individuals that can never enter.
	Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted, valid *Node)
	// Maintenance names what is to be done beside, after a generation; "" for nothing. Each name is
	// one program.
	Maintenance(generation int64) string
	// Maintain does it: it gives the fields after the upkeep of that name and generation (int32
	// scalar).
	Maintain(upkeep string, fields []*Node, generation *Node, key xla.Key) []*Node
	// PassiveEvery is 0 where the archive's descriptors are the task's, so that it can be measured
	// itself. Else the search keeps a grid of cells beside it, into which every so many generations
	// all that the archive holds is evaluated: the passive repertoire.
	PassiveEvery() int
}

// Evaluated is what is known of P evaluated individuals: a tree.
type Evaluated struct {
	Fitness     *Node // [P], -Inf where the episode had something that is not a number
	Descriptors *Node // [P, d], of the task
	Sequences   *Node // [P, L, F], what the archive's Sequence recorded, or nil
	Transitions *Node // [P * T, width], what a learner learns from, or nil: see [replay.Layout]
}

// Grid is the archive of MAP-Elites: cells around given centroids, and in each the fittest
// individual found.
type Grid struct {
	Centroids npz.Array // float32 [cells, d]
}

var _ Archive = Grid{}

// Fields implements [Archive].
func (Grid) Fields() []string { return []string{"fitnesses", "descriptors", "centroids"} }

// Empty implements [Archive].
func (a Grid) Empty(task Task, key xla.Key) []*Node {
	g := key.Hi.Graph()
	cells, d := a.Centroids.Shape[0], a.Centroids.Shape[1]
	flat, err := a.Centroids.Float32s()
	if err != nil {
		panic(err)
	}
	return []*Node{
		BroadcastToDims(Const(g, float32(math.Inf(-1))), cells),
		Zeros(g, shapes.Make(dtypes.Float32, cells, d)),
		Reshape(Const(g, flat), cells, d),
	}
}

// Sequence implements [Archive]: nothing.
func (Grid) Sequence(Task) (envs.Recorder, bool) { return envs.Recorder{}, false }

// SameStart implements [Archive]: every evaluation begins in a state of its own.
func (Grid) SameStart() bool { return false }

// Insert implements [Archive] by [repertoire.Winners].
func (a Grid) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	cells := cellsOf(a, fields)
	batch := repertoire.Batch{Fitness: found.Fitness, Descriptors: found.Descriptors}
	index, accepted = repertoire.Winners(cells, batch)
	cells = cells.Update(batch, index, accepted)
	return xla.Flatten(cells), index, accepted, batch.Valid()
}

// Maintenance implements [Archive]: there is none.
func (Grid) Maintenance(int64) string { return "" }

// Maintain implements [Archive].
func (Grid) Maintain(_ string, fields []*Node, _ *Node, _ xla.Key) []*Node { return fields }

// PassiveEvery implements [Archive]: it is measured itself.
func (Grid) PassiveEvery() int { return 0 }

// checkFields panics with a [xla.Misfit] if a method of an archive does not return its fields in
// the shapes that they had.
func checkFields(archive Archive, method string, after, before []*Node) {
	names := archive.Fields()
	xla.CheckCount(archive, method, fmt.Sprintf("the fields %v", names), after, len(names))
	for i, x := range before {
		xla.CheckShape(archive, method, names[i], after[i], x.DType(), x.Shape().Dimensions...)
	}
}

// cellsOf reads the fields that all archives have, and the centroids, if it has any.
func cellsOf(archive Archive, fields []*Node) repertoire.Cells {
	cells := repertoire.Cells{Fitness: fields[0], Descriptors: fields[1]}
	if i := slices.Index(archive.Fields(), "centroids"); i >= 0 && i < len(fields) {
		cells.Centroids = fields[i]
	}
	return cells
}
