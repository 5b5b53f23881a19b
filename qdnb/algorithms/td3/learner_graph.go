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
	Read func(rows *Node) replay.Batch
}

// New returns the algorithm for policies of one architecture, with ReLU critics of the configured
// sizes. For other critics, set the field Critic.
func New(config Config, actor nn.MLP) TD3 {
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

// learnerOf is the state of the algorithm for networks in a representation T: a pytree.
type learnerOf[T any] struct {
	Critic, TargetCritic        T // two networks
	Actor, TargetActor          T // one network
	CriticMoments, ActorMoments nn.MomentsOf[T]
	Step                        *Node // int32: critic updates so far
}

// Learner is the state of the algorithm. Rows follow [nn.MLP.Layout]: [2, C] with C parameters per
// critic, and [1, N] with N per policy.
type Learner = learnerOf[*Node]

// learning is a learner with its networks cut into arrays, for many updates.
type learning = learnerOf[[]nn.Network]

// Start returns a learner before its first update with the given actor [1, N] (in PGA-MAP-Elites
// the first individual of the initial population). The critics are initialised randomly; the
// targets are copies.
func (t TD3) Start(actor *Node, key random.Key) Learner {
	critic := t.Critic.Init(key.FoldInEach(Const(actor.Graph(), []int32{0, 1})))
	return Learner{
		Critic: critic, TargetCritic: critic, Actor: actor, TargetActor: actor,
		CriticMoments: nn.NewAdam(t.CriticLearningRate).Start(critic),
		ActorMoments:  nn.NewAdam(t.GreedyLearningRate).Start(actor),
		Step:          Const(actor.Graph(), int32(0)),
	}
}

// convert converts the networks of a learner to another representation.
func convert[A, B any](l learnerOf[A], critics, actors func(A) B) learnerOf[B] {
	return learnerOf[B]{
		Critic: critics(l.Critic), TargetCritic: critics(l.TargetCritic), Actor: actors(l.Actor),
		TargetActor:   actors(l.TargetActor),
		CriticMoments: nn.MapMoments(l.CriticMoments, critics),
		ActorMoments:  nn.MapMoments(l.ActorMoments, actors), Step: l.Step,
	}
}

func (t TD3) cut(l Learner) learning { return convert(l, t.Critic.Networks, t.Actor.Networks) }

// join is the inverse of [TD3.cut].
func join(l learning) Learner { return convert(l, nn.JoinNetworks, nn.JoinNetworks) }
