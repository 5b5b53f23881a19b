package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Batch is what a diversity reward sees of B transitions: a tree.
type Batch struct {
	Skill *graph.Node // [B, skills], one-hot
	// Now and Next are what skills are told apart by, before and after the step, [B, d]: the task's
	// state descriptors, or whole observations without the skill. Where an episode ended, Next is
	// of the beginning of the next one (see envs.AutoReset).
	Now, Next *graph.Node
	Done      *graph.Node // [B], 1 where the episode ended with this step
}

// Diversity rewards skills for being told apart. What it knows is a list of tensors on the first
// device, for checkpoints; networks are rows [1, N]. Its methods build graphs, except where they
// return no node.
type Diversity interface {
	// Fields names what it knows, for checkpoints and for the files of a finished run.
	Fields() []string
	// Start is what it knows at first, for so many skills that are told apart by vectors of d
	// numbers.
	Start(skills, d int, key xla.Key) []*graph.Node
	// Model is what it knows, ready for many updates.
	Model(known []*graph.Node, skills, d int) Model
	// Loss names the loss of the model, for metrics.csv. A loss that is not a number ends the
	// search.
	Loss() string
}

// Model tells skills apart: a tree, of a type whose exported fields hold its tensors.
type Model interface {
	// Observe sees the transitions of one step of all environments, once, before any of them is
	// learnt from.
	Observe(fresh Batch) Model
	// Reward is how clearly each transition is its skill's, [B].
	Reward(b Batch) *graph.Node
	// Learn takes one gradient step, and gives the loss before it, a scalar.
	Learn(b Batch) (Model, *graph.Node)
	// Params is what the model knows: the inverse of [Diversity.Model].
	Params() []*graph.Node
}

// Objective is what a transition is worth, of what the task gives for it and how clearly it is its
// skill's. All are [B]. Its numbers are constants of the search's program, unless it is an
// [xla.Parametric] of Objective as [PlusReward] is: then searches that differ in them are compiled
// once. What such a one is tuned to is a [Gate] if it is one.
type Objective interface {
	// Reward combines the task's reward and the diversity reward. returns is the return of the
	// transition's episode so far (see replay.Returns); nil unless NeedsReturns.
	Reward(task, diversity, returns *graph.Node) *graph.Node
	// NeedsReturns tells whether Reward looks at returns.
	NeedsReturns() bool
}

// Gate is an [Objective] that asks for diversity in some episodes only. The share of transitions
// that pass is logged.
type Gate interface {
	Objective
	// Accepts tells which transitions pass, booleans [B], by the returns of their episodes.
	Accepts(returns *graph.Node) *graph.Node
}
