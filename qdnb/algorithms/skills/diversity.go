package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// Batch is what a diversity reward sees of B transitions. It is a pytree.
type Batch struct {
	Skill *graph.Node // [B, skills], one-hot or a vector
	// Now and Next are the features that distinguish skills, before and after the step, [B, d]: the
	// task's state descriptors, or whole observations without the skill, or features of the step. If
	// an episode ended, Next is from the start of the next one (see envs.AutoReset); in an environment
	// that keeps its descriptor, from the end of the last, and the Now that follows as well.
	Now, Next *graph.Node
	Done      *graph.Node // [B], 1 if the episode ended with this step
	Acts      *Acts       // what a [Guide] also sees; nil for other models
}

// Acts is how the actor acts in transitions. It is a pytree.
type Acts struct {
	replay.Batch             // observations are network inputs, with the skill
	Here, Then   *graph.Node // actions that the actor samples at Obs and at NextObs, [B, actions]
}

// Diversity rewards skills for being distinguishable. Its parameters are a list of tensors on the
// first device, for checkpoints; networks are rows [1, N]. Its methods build graphs, except those
// that return no node.
type Diversity interface {
	// Fields names the parameters, for checkpoints and for the files of a finished run.
	Fields() []string
	// Start returns the initial parameters for a number of skills, distinguished by d features.
	Start(skills, d int, key xla.Key) []*graph.Node
	// Model returns a model with the given parameters, ready for many updates.
	Model(known []*graph.Node, skills, d int) Model
	// Loss names the model's loss in metrics.csv. A NaN or infinite loss ends the search.
	Loss() string
}

// Model distinguishes skills. It is a pytree whose type holds its tensors in exported fields.
type Model interface {
	// Observe receives the transitions of one step of all environments, once, before any of them is
	// learnt from.
	Observe(fresh Batch) Model
	// Reward returns how clearly each transition belongs to its skill, [B].
	Reward(b Batch) *graph.Node
	// Learn takes one gradient step and returns the loss before it, a scalar.
	Learn(b Batch) (Model, *graph.Node)
	// Params returns the model's parameters: the inverse of [Diversity.Model].
	Params() []*graph.Node
}

// Guide is a [Model] that takes part in what the actor maximises, such as [QDAC]'s.
type Guide interface {
	Model
	// Aim returns what the actor maximises, [B], at actions [B, actions] that it samples for the
	// observations of a batch, given the values of both critics, [B].
	Aim(b Batch, action, first, second *graph.Node) *graph.Node
}

// Objective combines the task reward of a transition with its diversity reward. All are [B].
type Objective interface {
	// Reward combines the task's reward and the diversity reward. returns is the return of the
	// transition's episode so far (see replay.Returns); nil unless NeedsReturns.
	Reward(task, diversity, returns *graph.Node) *graph.Node
	// NeedsReturns reports whether Reward uses returns.
	NeedsReturns() bool
}

// Gate is an [Objective] that rewards diversity only in some episodes. The share of accepted
// transitions is logged.
type Gate interface {
	Objective
	// Accepts returns which transitions are accepted, booleans [B], given the returns of their
	// episodes.
	Accepts(returns *graph.Node) *graph.Node
}
