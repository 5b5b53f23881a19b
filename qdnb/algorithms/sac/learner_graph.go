package sac

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// SAC is the algorithm for given network architectures. Its methods build graphs.
type SAC struct {
	Config
	Actor  nn.MLP // input to means and raw scales of the actions, see nn.NewTanhGaussian
	Critic nn.MLP // input and action to one value; each of the two

	tuned []*Node // traced parameters, if bound
}

var _ xla.Parametric[SAC] = SAC{}

// New returns the algorithm for the given numbers of inputs (observations, plus the skill if there
// is one) and action components.
func New(config Config, inputs, actions int) SAC {
	return SAC{
		Config: config,
		Actor: nn.MLP{Sizes: slices.Concat([]int{inputs}, config.Hidden, []int{2 * actions}),
			Hidden: nn.ReLU},
		Critic: nn.MLP{Sizes: slices.Concat([]int{inputs + actions}, config.Hidden, []int{1}),
			Hidden: nn.ReLU},
	}
}

// Actions is the number of action components.
func (s SAC) Actions() int { return s.Actor.Sizes[len(s.Actor.Sizes)-1] / 2 }

// Params implements [xla.Parametric]: the reward scaling and the logarithm of the initial entropy
// coefficient.
func (s SAC) Params() []float64 { return []float64{s.RewardScaling, math.Log(s.AlphaInit)} }

// Bind implements [xla.Parametric].
func (s SAC) Bind(numbers []*Node) SAC {
	s.tuned = numbers
	return s
}

// number returns one of Params as a scalar.
func (s SAC) number(g *Graph, i int) *Node {
	if s.tuned != nil {
		return s.tuned[i]
	}
	return Const(g, float32(s.Params()[i]))
}

// Learner is the state of the algorithm: a pytree. Rows follow [nn.MLP.Layout], with C parameters
// per critic and N per actor.
type Learner struct {
	Actor                *Node // [1, N]
	Critic, TargetCritic *Node // [2, C]
	LogAlpha             *Node // scalar, log of the entropy coefficient
	ActorMoments         nn.Moments
	CriticMoments        nn.Moments
	AlphaMoments         nn.Moments // unused while the coefficient is fixed
}

// Start returns a learner before its first update.
func (s SAC) Start(key xla.Key) Learner {
	g := key.Hi.Graph()
	actor := s.Actor.Init(key.FoldInEach(Const(g, []int32{0})))
	critic := s.Critic.Init(key.FoldInEach(Const(g, []int32{1, 2})))
	alpha := s.number(g, 1)
	adam := s.adam()
	return Learner{actor, critic, critic, alpha, adam.Start(actor), adam.Start(critic),
		adam.Start(alpha)}
}

func (s SAC) adam() nn.Adam { return nn.NewAdam(s.LearningRate) }

// Learning is a learner with its networks cut into arrays, for many updates: a pytree.
type Learning struct {
	Actor, Critic, TargetCritic []nn.Network // one actor, two critics
	LogAlpha                    *Node
	ActorMoments, CriticMoments nn.MomentsOf[[]nn.Network]
	AlphaMoments                nn.Moments
}

// Cut cuts the networks of a learner into arrays for updates.
func (s SAC) Cut(l Learner) Learning {
	actor, critics := s.Actor.Networks, s.Critic.Networks
	return Learning{
		Actor: actor(l.Actor), Critic: critics(l.Critic), TargetCritic: critics(l.TargetCritic),
		LogAlpha:      l.LogAlpha,
		ActorMoments:  nn.CutMoments(l.ActorMoments, actor),
		CriticMoments: nn.CutMoments(l.CriticMoments, critics), AlphaMoments: l.AlphaMoments,
	}
}

// Join is the inverse of [SAC.Cut].
func (l Learning) Join() Learner {
	join := nn.JoinNetworks
	return Learner{
		Actor: join(l.Actor), Critic: join(l.Critic), TargetCritic: join(l.TargetCritic),
		LogAlpha:      l.LogAlpha,
		ActorMoments:  nn.JoinMoments(l.ActorMoments, join),
		CriticMoments: nn.JoinMoments(l.CriticMoments, join), AlphaMoments: l.AlphaMoments,
	}
}
