package td3

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// TD3 is the algorithm for given network architectures. Its methods build graphs.
type TD3 struct {
	Config
	Actor  nn.MLP // observation to action in [-1, 1]
	Critic nn.MLP // observation and action to one value; each of the two
}

// New returns the algorithm for policies of one architecture, with ReLU critics of the configured
// sizes. For other critics, set the field Critic.
func New(config Config, actor nn.MLP) TD3 {
	inputs := actor.Sizes[0] + actor.Sizes[len(actor.Sizes)-1]
	sizes := slices.Concat([]int{inputs}, config.CriticHidden, []int{1})
	return TD3{Config: config, Actor: actor, Critic: nn.MLP{Sizes: sizes, Hidden: nn.ReLU}}
}

// Observations is the number of observation components.
func (t TD3) Observations() int { return t.Actor.Sizes[0] }

// Actions is the number of action components.
func (t TD3) Actions() int { return t.Actor.Sizes[len(t.Actor.Sizes)-1] }

// Layout returns the layout of the transitions that the algorithm learns from.
func (t TD3) Layout() replay.Layout { return replay.Transitions(t.Observations(), t.Actions()) }

// Learner is the state of the algorithm: a pytree. Rows follow [nn.MLP.Layout], with C parameters
// per critic and N per policy.
type Learner struct {
	Critic, TargetCritic *Node // [2, C]
	Actor, TargetActor   *Node // [1, N]
	CriticMoments        nn.Moments
	ActorMoments         nn.Moments
	Step                 *Node // int32: critic updates so far
}

// Start returns a learner before its first update with the given actor [1, N] (in PGA-MAP-Elites
// the first individual of the initial population). The critics are initialised randomly; the
// targets are copies.
func (t TD3) Start(actor *Node, key xla.Key) Learner {
	critic := t.Critic.Init(key.FoldInEach(Const(actor.Graph(), []int32{0, 1})))
	return Learner{
		Critic: critic, TargetCritic: critic, Actor: actor, TargetActor: actor,
		CriticMoments: nn.NewAdam(t.CriticLearningRate).Start(critic),
		ActorMoments:  nn.NewAdam(t.GreedyLearningRate).Start(actor),
		Step:          Const(actor.Graph(), int32(0)),
	}
}

// learning is a learner with its networks cut into arrays: a pytree.
type learning struct {
	Critic, TargetCritic []nn.Network // two
	Actor, TargetActor   []nn.Network // one
	CriticMoments        nn.MomentsOf[[]nn.Network]
	ActorMoments         nn.MomentsOf[[]nn.Network]
	Step                 *Node
}

func (t TD3) cut(l Learner) learning {
	critics, actors := t.Critic.Networks, t.Actor.Networks
	return learning{
		Critic: critics(l.Critic), TargetCritic: critics(l.TargetCritic), Actor: actors(l.Actor),
		TargetActor:   actors(l.TargetActor),
		CriticMoments: nn.CutMoments(l.CriticMoments, critics),
		ActorMoments:  nn.CutMoments(l.ActorMoments, actors), Step: l.Step,
	}
}

func (l learning) join() Learner {
	return Learner{
		Critic: nn.JoinNetworks(l.Critic), TargetCritic: nn.JoinNetworks(l.TargetCritic),
		Actor: nn.JoinNetworks(l.Actor), TargetActor: nn.JoinNetworks(l.TargetActor),
		CriticMoments: nn.JoinMoments(l.CriticMoments, nn.JoinNetworks),
		ActorMoments:  nn.JoinMoments(l.ActorMoments, nn.JoinNetworks), Step: l.Step,
	}
}
