package evolution

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// Learner is the part of an emitter that learns: from every step of every evaluation, which a
// replay buffer holds. What it knows is a list of tensors on the first device; what it proposes all
// workers make. Its methods build graphs, except where they return no node.
type Learner interface {
	// Proposals is how many of a batch's offspring are the learner's: the first ones. The others
	// are the [Emitter]'s.
	Proposals(batch int) int
	// Capacity is how many transitions the replay buffer holds.
	Capacity() int
	// Fields names what the learner knows, for checkpoints.
	Fields() []string
	// Start is what it knows before the first generation, given the first individual of the initial
	// population [1, N].
	Start(task Task, first *Node, key xla.Key) []*Node
	// Learn is called after each generation, the initial population included, when its transitions
	// are in the buffer. It returns what the learner knows then, and its losses, scalars in the
	// order of Losses.
	Learn(task Task, known []*Node, buffer replay.Buffer, key xla.Key) (after, losses []*Node)
	// Losses names the losses, for metrics.csv. A loss that is not a number ends the search.
	Losses() []string
	// Prepare is what proposals need of what is known and of the buffer: float32 tensors, which
	// every worker gets.
	Prepare(task Task, known []*Node, buffer replay.Buffer, key xla.Key) []*Node
	// Propose gives offspring [k, N] of the next generation on one of the workers, by their numbers
	// which, int32 [k], of 0 to Proposals(batch) - 1. An offspring depends on its own number alone,
	// not on the others: see [xla.ForSlices] for loops over them.
	Propose(task Task, studied []*Node, parents Parents, which *Node, batch int, key xla.Key) *Node
}
