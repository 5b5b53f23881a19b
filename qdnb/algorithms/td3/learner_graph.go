package td3

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// TD3 is the algorithm for given network architectures. Its methods build graphs.
type TD3 struct {
	Config
	Actor  nn.MLP // observation to action in [-1, 1]
	Critic nn.MLP // observation and action to one value; each of the two
	// Read splits rows of the replay buffer into the transitions to learn from; nil: as in Layout.
	Read func(rows *Node) replay.Transitions
}

// For returns the algorithm for policies of one architecture, with ReLU critics of the configured
// sizes. For other critics, set the field Critic.
func (config Config) For(actor nn.MLP) TD3 {
	inputs := actor.Sizes[0] + actor.Sizes[len(actor.Sizes)-1]
	return TD3{Config: config, Actor: actor, Critic: nn.NewMLP(inputs, config.CriticHidden, 1)}
}

// Observations is the number of observation components.
func (t TD3) Observations() int { return t.Actor.Sizes[0] }

// Actions is the number of action components.
func (t TD3) Actions() int { return t.Actor.Sizes[len(t.Actor.Sizes)-1] }

// Layout returns the layout of the transitions that the algorithm learns from.
func (t TD3) Layout() replay.Layout {
	return replay.Layout{Obs: t.Observations(), Actions: t.Actions()}
}

// TrainingState is the state of the algorithm: a pytree.
type TrainingState struct {
	Critic nn.Targeted[Twin]
	Actor  nn.Targeted[nn.Network]
	Step   *Node // int32: critic updates so far
}

// Start returns the state before the first update with the given actor [1, N] (in PGA-MAP-Elites
// the first individual of the initial population). The critics are initialised randomly; the
// targets are copies.
func (t TD3) Start(actor *Node, key random.Key) TrainingState {
	g := actor.Graph()
	critic := t.Critic.Init(key.FoldInEach(Const(g, []int32{0, 1})))
	return TrainingState{nn.NewTargeted[Twin](t.Critic.Networks(critic), t.CriticLearningRate, t.SoftTauUpdate),
		nn.NewTargeted(t.Actor.Network(actor, 0), t.GreedyLearningRate, t.SoftTauUpdate), Const(g, int32(0))}
}
