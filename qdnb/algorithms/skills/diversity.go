package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/random"
)

// Batch is what a diversity reward sees of B transitions: a pytree. Observations are network inputs:
// the skill follows.
type Batch struct {
	replay.Transitions
	Skill *graph.Node // [B, size], one-hot or a vector; nil without skills
	// Now and Next are the [Features] of the task before and after the step, [B, d]. If an episode
	// ended, Next is from the start of the next one (see envs.AutoReset); in an environment that keeps
	// its descriptor, from the end of the last, and the Now that follows as well.
	Now, Next *graph.Node
	// ActorAction and NextActorAction are actions that the actor samples at Obs and at NextObs, [B,
	// actions]; nil unless the diversity reward is an [ActorObjective].
	ActorAction, NextActorAction *graph.Node
	Key                          random.Key // of the update, for random numbers of its own
}

// Diversity rewards skills for being distinguishable. It is a pytree: its settings, and after Init
// its state, in exported fields. Trained networks are best kept as [nn.Trainable], which cuts them
// into arrays once. Reward and Learn may also need one of the optional interfaces [Conditioner],
// [Observer] and [ActorObjective].
type Diversity interface {
	// Init returns the state before the first iteration.
	Init(p Problem, key random.Key) Diversity
	// Reward returns how clearly each transition belongs to its skill, [B].
	Reward(b Batch) *graph.Node
	// Learn takes one gradient step and returns the loss before it, a scalar.
	Learn(b Batch) (Diversity, *graph.Node)
	// Loss names the loss in metrics.csv. A NaN or infinite loss ends the search.
	Loss() string
}

// Conditioner is a [Diversity] that chooses the skills, or the features that distinguish them.
type Conditioner interface {
	// Condition returns the task with other Skills or Features. It may read their number: those of
	// the algorithm.
	Condition(p Problem) Problem
}

// Observer is a [Diversity] that sees the transitions of one step of all environments, once, before
// any of them is learnt from.
type Observer interface {
	Observe(fresh Batch) Diversity
}

// ActorObjective is a [Diversity] that takes part in what the actor maximises, such as [QDAC].
type ActorObjective interface {
	// ActorObjective returns what the actor maximises, [B], at actions [B, actions] that it samples
	// for the observations of a batch, given the values of both critics, [B].
	ActorObjective(b Batch, action, first, second *graph.Node) *graph.Node
}

// SelfCritic is an [ActorObjective] that does not read the values of the critics, which then do not
// learn, such as [CSF].
type SelfCritic interface {
	ActorObjective
	SelfCritic()
}

// Objective combines the task reward of a transition with its diversity reward. All are [B]. One that
// also has the method Accepts of [SMERL] logs the share of accepted transitions.
type Objective interface {
	// Reward combines the task's reward and the diversity reward. returns is the return of the
	// transition's episode so far (see ringReturns); nil unless NeedsReturns.
	Reward(task, diversity, returns *graph.Node) *graph.Node
	// NeedsReturns reports whether Reward uses returns.
	NeedsReturns() bool
}

// gate is an [Objective] that rewards diversity only in some episodes. The share of accepted
// transitions is logged.
type gate interface {
	Objective
	// Accepts returns which transitions are accepted, booleans [B], given the returns of their
	// episodes.
	Accepts(returns *graph.Node) *graph.Node
}
