package sac

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// SAC is the algorithm for networks of given forms. Its methods build graphs.
type SAC struct {
	Config
	Actor  nn.MLP // input to means and raw scales of the actions, see nn.NewTanhGaussian
	Critic nn.MLP // input beside action to one number; each of the two

	tuned []*Node // the numbers, if they are of the graph
}

var _ xla.Parametric[SAC] = SAC{}

// New is the algorithm for inputs of so many numbers (observations, beside a skill if there is one)
// and actions of so many.
func New(config Config, inputs, actions int) SAC {
	return SAC{
		Config: config,
		Actor: nn.MLP{Sizes: slices.Concat([]int{inputs}, config.Hidden, []int{2 * actions}),
			Hidden: nn.ReLU},
		Critic: nn.MLP{Sizes: slices.Concat([]int{inputs + actions}, config.Hidden, []int{1}),
			Hidden: nn.ReLU},
	}
}

// Actions is the number of an action's components.
func (s SAC) Actions() int { return s.Actor.Sizes[len(s.Actor.Sizes)-1] / 2 }

// Numbers implements [xla.Parametric]: the scaling of rewards, and the logarithm of the entropy
// coefficient at first.
func (s SAC) Params() []float64 { return []float64{s.RewardScaling, math.Log(s.AlphaInit)} }

// Bind implements [xla.Parametric].
func (s SAC) Bind(numbers []*Node) SAC {
	s.tuned = numbers
	return s
}

// number is one of Numbers, a scalar.
func (s SAC) number(g *Graph, i int) *Node {
	if s.tuned != nil {
		return s.tuned[i]
	}
	return Const(g, float32(s.Params()[i]))
}

// Learner is what the algorithm knows: a tree. Rows are as [nn.MLP.Layout] says, C parameters of a
// critic and N of an actor.
type Learner struct {
	Actor                *Node // [1, N]
	Critic, TargetCritic *Node // [2, C]
	LogAlpha             *Node // scalar, the logarithm of the entropy coefficient
	ActorMoments         nn.Moments
	CriticMoments        nn.Moments
	AlphaMoments         nn.Moments // of nothing while the coefficient is fixed
}

// Start is a learner before its first update.
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

// Learning is a learner whose networks are cut, for many updates: a tree.
type Learning struct {
	Actor, Critic, TargetCritic []nn.Network // one actor, two critics
	LogAlpha                    *Node
	ActorMoments, CriticMoments nn.MomentsOf[[]nn.Network]
	AlphaMoments                nn.Moments
}

// Cut makes a learner ready for updates.
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
