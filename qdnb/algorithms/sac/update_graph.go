package sac

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
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

// For returns the algorithm for the given numbers of inputs (observations, plus the skill if there
// is one) and action components.
func (config Config) For(inputs, actions int) SAC {
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

// Noise is standard normal noise, [B, actions] each, for the actions sampled in an update: a
// pytree.
type Noise struct {
	Critic *Node // at the next observations
	Actor  *Node // at the observations
	Alpha  *Node // at the observations, drawn separately; nil if the entropy coefficient is fixed
}

// NewNoise draws the noise for an update.
func (s SAC) NewNoise(key random.Key) Noise {
	draw := func(stream int) *Node { return key.FoldIn(stream).Normal(s.BatchSize, s.Actions()) }
	noise := Noise{Critic: draw(0), Actor: draw(1)}
	if !s.FixAlpha {
		noise.Alpha = draw(2)
	}
	return noise
}

// The loss of the critics is a quarter of [td3.Twin.Loss] relative to the target values, [B]:
//
//	a', log pi' = a sample from the actor at s', and its log-probability
//	y = reward_scaling r + (1 - done) discount (min(Q1', Q2')(s', a') - alpha log pi')
//	loss = 1/2 mean over the batch and j of ((Qj(s, a) - y) (1 - truncation))^2
//
// Q' are the target networks (QDax, losses/sac_loss.py).
func (s SAC) target(targets td3.Twin, actor nn.Network, logAlpha *Node, batch replay.Transitions, noise *Node) *Node {
	action, logProb := nn.NewTanhGaussian(actor.Apply(batch.NextObs)).Sample(noise)
	next := targets.Min(batch.NextObs, action)
	next = Sub(next, Mul(Exp(logAlpha), logProb))
	return Add(MulScalar(batch.Reward, s.RewardScaling), Mul(MulScalar(OneMinus(batch.Done), s.Discount), next))
}

// actorLoss is mean(alpha log pi - min(Q1, Q2)(s, a)) for an action a sampled from the actor, a
// scalar. [SAC.ActorObjective] replaces the minimum.
func (s SAC) actorLoss(actor nn.Network, nets []nn.Network, logAlpha, obs, noise *Node) *Node {
	action, logProb := nn.NewTanhGaussian(actor.Apply(obs)).Sample(noise)
	value := func(critic nn.Network) *Node {
		return Reshape(critic.WithFixedInputs(obs).Apply(InsertAxes(action, 0)), -1)
	}
	first, second := value(nets[0]), value(nets[1])
	objective := Where(LessOrEqual(first, second), first, second)
	if s.ActorObjective != nil {
		objective = s.ActorObjective(action, first, second)
	}
	return ReduceAllMean(Sub(Mul(Exp(logAlpha), logProb), objective))
}

// alphaLoss is mean(alpha (-log pi - H)) for an action sampled from the actor, a scalar, with the
// target entropy H = -actions / 2.
func (s SAC) alphaLoss(logAlpha *Node, actor nn.Network, obs, noise *Node) *Node {
	_, logProb := nn.NewTanhGaussian(actor.Apply(obs)).Sample(noise)
	entropy := -0.5 * float64(s.Actions())
	return ReduceAllMean(Mul(Exp(logAlpha), StopGradient(AddScalar(Neg(logProb), -entropy))))
}

// Update is one step of the algorithm. The losses are scalars, computed with the networks before the
// step. Critics and actor take one Adam step, the target critics follow with factor tau, and the
// entropy coefficient takes an Adam step, each unless it is fixed.
func (s SAC) Update(ts TrainingState, batch replay.Transitions, noise Noise) (next TrainingState, critic, actor,
	alpha *Node) {
	next, pi, logAlpha := ts, ts.Actor.Params, ts.LogAlpha.Params
	critic, alpha = ZerosLike(logAlpha), ZerosLike(logAlpha)
	if !s.FixCritics {
		target := StopGradient(s.target(ts.Critic.Target, pi, logAlpha, batch, noise.Critic))
		critic = MulScalar(ts.Critic.Params.Loss(target, batch), 0.25)
		next.Critic = ts.Critic.Step(critic)
	}

	actor = s.actorLoss(pi, ts.Critic.Params, logAlpha, batch.Obs, noise.Actor)
	next.Actor = ts.Actor.Step(actor)

	if !s.FixAlpha {
		alpha = s.alphaLoss(logAlpha, pi, batch.Obs, noise.Alpha)
		next.LogAlpha = ts.LogAlpha.Step(alpha)
	}
	return next, critic, actor, alpha
}
