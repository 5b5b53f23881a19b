package sac

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// SAC is the algorithm for given network architectures. Its methods build graphs.
type SAC struct {
	Config
	Actor  nn.MLP // input to means and raw scales of the actions, see nn.NewTanhGaussian
	Critic nn.MLP // input and action to one value; each of the two

	// ActorObjective returns what the actor maximises, [B], at actions that it samples for the observations of a
	// batch, given the values of both critics, [B]; nil: the smaller value.
	ActorObjective func(action, first, second *Node) *Node
}

// New returns the algorithm for the given numbers of inputs (observations, plus the skill if there
// is one) and action components.
func New(config Config, inputs, actions int) SAC {
	return SAC{
		Config: config,
		Actor:  nn.NewMLP(inputs, config.Hidden, 2*actions),
		Critic: nn.NewMLP(inputs+actions, config.Hidden, 1),
	}
}

// Actions is the number of action components.
func (s SAC) Actions() int { return s.Actor.Sizes[len(s.Actor.Sizes)-1] / 2 }

// LearnerOf is the state of the algorithm for networks in a representation T: a pytree.
type LearnerOf[T any] struct {
	Actor                       T     // one network
	Critic, TargetCritic        T     // two networks
	LogAlpha                    *Node // scalar, log of the entropy coefficient
	ActorMoments, CriticMoments nn.MomentsOf[T]
	AlphaMoments                nn.Moments // unused while the coefficient is fixed
}

// Learner is the state of the algorithm. Rows follow [nn.MLP.Layout]: [2, C] with C parameters per
// critic, and [1, N] with N per actor.
type Learner = LearnerOf[*Node]

// Learning is a learner with its networks cut into arrays, for many updates.
type Learning = LearnerOf[[]nn.Network]

// Start returns a learner before its first update.
func (s SAC) Start(key xla.Key) Learner {
	g := key.Hi.Graph()
	actor := s.Actor.Init(key.FoldInEach(Const(g, []int32{0})))
	critic := s.Critic.Init(key.FoldInEach(Const(g, []int32{1, 2})))
	alpha := Const(g, float32(math.Log(s.AlphaInit)))
	adam := s.adam()
	return Learner{actor, critic, critic, alpha, adam.Start(actor), adam.Start(critic),
		adam.Start(alpha)}
}

func (s SAC) adam() nn.Adam { return nn.NewAdam(s.LearningRate) }

// convert converts the networks of a learner to another representation.
func convert[A, B any](l LearnerOf[A], actor, critics func(A) B) LearnerOf[B] {
	return LearnerOf[B]{
		Actor: actor(l.Actor), Critic: critics(l.Critic), TargetCritic: critics(l.TargetCritic),
		LogAlpha:      l.LogAlpha,
		ActorMoments:  nn.MapMoments(l.ActorMoments, actor),
		CriticMoments: nn.MapMoments(l.CriticMoments, critics), AlphaMoments: l.AlphaMoments,
	}
}

// Cut cuts the networks of a learner into arrays for updates.
func (s SAC) Cut(l Learner) Learning { return convert(l, s.Actor.Networks, s.Critic.Networks) }

// Join is the inverse of [SAC.Cut].
func Join(l Learning) Learner { return convert(l, nn.JoinNetworks, nn.JoinNetworks) }
