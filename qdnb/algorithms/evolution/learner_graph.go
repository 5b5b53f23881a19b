package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Learner is an emitter that learns from every step of every evaluation, stored in a replay buffer.
// Its state is a list of tensors on the first device; its proposals are computed by all workers.
// Its methods build graphs, except those that return no node.
type Learner interface {
	// Proposals is the number of a batch's offspring that the learner proposes: the first ones. The
	// [Emitter] makes the others.
	Proposals(batch int) int
	// Capacity is the number of transitions that the replay buffer holds.
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
