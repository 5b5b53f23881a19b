package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Learner is an emitter that learns from every step of every evaluation, stored in a replay buffer.
// One that also learns from whole evaluations is an [Observer].
// Its state is a list of tensors on the first device; its proposals are computed by all workers.
// Its methods build graphs, except those that return no node.
type Learner interface {
	// Proposals is the number of a batch's offspring that the learner proposes: the first ones. The
	// [Emitter] makes the others.
	Proposals(batch int) int
	// Capacity is the number of transitions that the replay buffer holds; 0 if no transitions are
	// needed.
	Capacity() int
	// Fields names the tensors of the learner's state, for checkpoints.
	Fields() []string
	// Start returns the state before the first generation, given the first individual of the initial
	// population, [1, N].
	Start(task scoring.Task, first *Node, key xla.Key) []*Node
	// Learn is called after each generation, including the initial population, when its transitions
	// are in the buffer. It returns the new state and the losses, scalars in the order of Losses.
	Learn(task scoring.Task, known []*Node, buffer replay.Buffer, key xla.Key) (after, losses []*Node)
	// Losses names the losses, for metrics.csv. A NaN or infinite loss ends the search.
	Losses() []string
	// Prepare returns the parts of the state and of the buffer that proposals need: float32 tensors,
	// which every worker receives.
	Prepare(task scoring.Task, known []*Node, buffer replay.Buffer, key xla.Key) []*Node
	// Propose returns offspring [k, N] of the next generation on one worker. which, int32 [k], holds
	// their numbers, from 0 to Proposals(batch) - 1. Each offspring depends only on its own number,
	// not on the others: see [xla.ForSlices] for loops over them.
	Propose(task scoring.Task, prepared []*Node, parents Parents, which *Node, batch int,
		key xla.Key) *Node
}

// Observer is a [Learner] that sees the evaluated generations, and may add columns to transitions.
type Observer interface {
	Learner
	// Columns are the widths of the learner's own columns of a transition, see [replay.Layout].
	Columns(task scoring.Task) []int
	// Observe is called with each evaluated generation before Learn. It returns the new state and the
	// learner's own columns, [P * T, width] each, of the generation's transitions. key is the key with
	// which Propose made the learner's offspring.
	//
	// If a dropped replay buffer is refilled, it is called with evaluations of members of the archive,
	// as in an initial population that enters nothing. Then only the columns are used.
	Observe(task scoring.Task, known []*Node, seen Evaluation, key xla.Key) (after, more []*Node)
}

// Evaluation is a generation of P offspring as an [Observer] sees it: a pytree.
type Evaluation struct {
	Evaluated
	// Number is the number of the generation, an int32 scalar. In generation 0, the initial
	// population, all offspring are random policies.
	Number *Node
	// Proposed holds the learner's offspring, which are the first ones, [n, N]; in generation 0 zeros.
	Proposed *Node
	Before   []*Node // the fields of the archive before the insertion
	// Index and Accepted say which offspring enter which cells, see Insert of [Archive].
	Index, Accepted *Node
}

// Entered reports which offspring entered the archive, bool [P].
func (e Evaluation) Entered() *Node {
	dims := []int{e.Index.Shape().Dimensions[0], e.Fitness.Shape().Dimensions[0]}
	offspring := Iota(e.Index.Graph(), shapes.Make(dtypes.Int32, dims...), 1)
	enters := And(Equal(BroadcastToDims(InsertAxes(e.Index, -1), dims...), offspring),
		BroadcastToDims(InsertAxes(e.Accepted, -1), dims...))
	return ReduceLogicalOr(enters, 0)
}

// visible is the part of an evaluation that the learner uses.
func visible(learner Learner, seen Evaluation) Evaluation {
	if _, ok := learner.(Observer); ok {
		return seen
	}
	if learner == nil {
		return Evaluation{}
	}
	return Evaluation{Evaluated: Evaluated{Transitions: seen.Transitions}}
}

// records reports whether transitions are recorded for a learner.
func records(learner Learner) bool { return learner != nil && learner.Capacity() > 0 }

// rowLayout is the layout of the transitions in a learner's replay buffer.
func rowLayout(learner Learner, task scoring.Task) replay.Layout {
	layout := layoutOf(task)
	if observer, ok := learner.(Observer); ok {
		layout.More = observer.Columns(task)
	}
	return layout
}

// observe shows a generation to a learner. It returns the new state and the rows for the replay
// buffer.
func observe(learner Learner, task scoring.Task, known []*Node, seen Evaluation,
	key xla.Key) (after []*Node, rows *Node) {
	observer, ok := learner.(Observer)
	if !ok {
		return known, seen.Transitions
	}
	after, more := observer.Observe(task, known, seen, key)
	xla.CheckLike(learner, "Observe", "the state", after, known)
	widths := observer.Columns(task)
	xla.CheckCount(learner, "Observe", "the columns", more, len(widths))
	rows = seen.Transitions
	for i, column := range more {
		xla.CheckShape(learner, "Observe", "a column", column, dtypes.Float32,
			rows.Shape().Dimensions[0], widths[i])
	}
	if len(more) > 0 {
		rows = Concatenate(append([]*Node{rows}, more...), 1)
	}
	return after, rows
}
