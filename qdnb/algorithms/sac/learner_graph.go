package sac

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// SAC is the algorithm for given network architectures. Its methods build graphs.
type SAC struct {
	Config
	Actor  nn.MLP // input to means and raw scales of the actions, see nn.NewTanhGaussian
	Critic nn.MLP // input and action to one value; each of the two

	// ActorObjective returns what the actor maximises, [B], at actions that it samples for the observations of a
	// batch, given the values of both critics, [B]; nil: the smaller value.
	ActorObjective func(action, first, second *Node) *Node
	FixCritics     bool // ActorObjective does not read the critics, which keep their parameters
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

// TrainingState is the state of the algorithm: a pytree.
type TrainingState struct {
	Actor    nn.Trainable[nn.Network]
	Critic   nn.Targeted[td3.Twin]
	LogAlpha nn.Trainable[*Node] // scalar, log of the entropy coefficient; it may be fixed
}

// Start returns the state before the first update.
func (s SAC) Start(key random.Key) TrainingState {
	g := key.Hi.Graph()
	critic := s.Critic.Init(key.FoldInEach(Const(g, []int32{1, 2})))
	return s.StateOf(s.Actor.Init(key.FoldInEach(Const(g, []int32{0}))), critic, critic,
		Const(g, float32(math.Log(s.AlphaInit))))
}

// StateOf returns the state before the first update of networks given as rows, see
// [nn.MLP.Layout]: an actor [1, N], and critics and target critics [2, C].
func (s SAC) StateOf(actor, critic, target, logAlpha *Node) TrainingState {
	ts := TrainingState{nn.NewTrainable(s.Actor.Network(actor, 0), s.LearningRate),
		nn.NewTargeted[td3.Twin](s.Critic.Networks(critic), s.LearningRate, s.Tau),
		nn.NewTrainable(logAlpha, s.LearningRate)}
	ts.Critic.Target = s.Critic.Networks(target)
	return ts
}
