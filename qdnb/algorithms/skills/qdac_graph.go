package skills

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/critics"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// QDAC conditions the policy on a desired descriptor (Grillotti, Faldor, González León and Cully,
// ICML 2024). Skills z and the features phi of steps are those of [Task.Desired]. Two critics psi
// predict the discounted sum of features, and a network l decides from observation and skill
// whether the actor improves the task's reward or approaches the skill. With the actor's actions b
// at s and b' at s', and the target networks psi':
//
//	loss of psi = 1/2 mean over the batch, j and components of
//		((psi_j(s, a, z) - phi - (1 - done) discount mean_k psi'_k(s', b', z)) (1 - truncation))^2
//	offset(s, b, z) = (1 - discount) mean_j psi_j(s, b, z) - z
//	lambda(s, z) = sigmoid(l(s, z))
//	loss of l = -mean(log lambda where |offset| >= Distance, and log(1 - lambda) elsewhere)
//	aim of the actor = (1 - lambda) mean_j Q_j - lambda (sqrt(|offset|^2 + Smooth^2) - Smooth)
//
// The reward, which is only logged unless an objective uses it, is -|offset| at the actor's action.
// The losses are those of the published code (adaptive-intelligent-robotics/QDAC,
// losses/scopa_loss.py).
type QDAC struct {
	LearningRate, Discount, Tau float64
	Hidden                      []int   // sizes of the hidden layers of psi and l
	Distance                    float64 // tolerated length of the offset
	Smooth                      float64 // length below which the distance is smooth
	Observations, Actions       int     // of the environment
}

// Fields implements [Diversity].
func (QDAC) Fields() []string {
	return append(append(learnedFields("features"), "target_features"), learnedFields("multiplier")...)
}

// Loss implements [Diversity].
func (QDAC) Loss() string { return "features_loss" }

// forms are the architectures of psi and l.
func (q QDAC) forms(components int) (features, multiplier nn.MLP) {
	inputs := q.Observations + components
	return nn.NewMLP(inputs+q.Actions, q.Hidden, components), nn.NewMLP(inputs, q.Hidden, 1)
}

// Start implements [Diversity].
func (q QDAC) Start(skills, _ int, key xla.Key) []*Node {
	features, multiplier := q.forms(skills)
	psi := features.Init(key.FoldInEach(Const(key.Hi.Graph(), []int32{1, 2})))
	return append(append(startLearned(psi), psi), startLearned(multiplier.Init(oneOf(key)))...)
}

// Model implements [Diversity].
func (q QDAC) Model(known []*Node, skills, _ int) Model {
	features, multiplier := q.forms(skills)
	return successor{cutLearned(known[:5], features.Networks), features.Networks(known[5]),
		cutLearned(known[6:], multiplier.Networks), q}
}

// successor is the model of [QDAC]. It is a pytree.
type successor struct {
	Features   learned[[]nn.Network] // psi, twice
	Targets    []nn.Network          // psi'
	Multiplier learned[[]nn.Network] // l, once
	Numbers    QDAC
}

var _ Guide = successor{}

func (m successor) Observe(Batch) Model { return m }

func (m successor) Reward(b Batch) *Node {
	return Neg(Sqrt(squaredLength(m.offset(b, b.Acts.Here))))
}

func (m successor) Learn(b Batch) (Model, *Node) {
	adam, next := nn.NewAdam(m.Numbers.LearningRate), m
	features := m.featuresLoss(b)
	next.Features.Net, next.Targets, next.Features.Moments = critics.Update(adam, m.Features.Net,
		m.Targets, m.Features.Moments, features, m.Numbers.Tau)
	next.Multiplier = m.Multiplier.step(adam, m.multiplierLoss(b))
	return next, features
}

func (m successor) Params() []*Node {
	return append(append(m.Features.known(nn.JoinNetworks), nn.JoinNetworks(m.Targets)),
		m.Multiplier.known(nn.JoinNetworks)...)
}

// Aim implements [Guide].
func (m successor) Aim(b Batch, action, first, second *Node) *Node {
	smooth := m.Numbers.Smooth
	distance := AddScalar(Sqrt(AddScalar(squaredLength(m.offset(b, action)), smooth*smooth)), -smooth)
	lambda := Sigmoid(m.logit(b))
	return Sub(Mul(OneMinus(lambda), MulScalar(Add(first, second), 0.5)), Mul(lambda, distance))
}

// featuresLoss is the loss of psi, a scalar.
func (m successor) featuresLoss(b Batch) *Node {
	next := mean(m.Targets[0].Apply(b.Acts.NextObs, b.Acts.Then),
		m.Targets[1].Apply(b.Acts.NextObs, b.Acts.Then))
	running := MulScalar(OneMinus(b.Done), m.Numbers.Discount)
	target := StopGradient(Add(b.Now, Mul(InsertAxes(running, -1), next)))
	counts := InsertAxes(OneMinus(b.Acts.Truncation), -1)
	loss := func(psi nn.Network) *Node {
		return ReduceAllMean(Square(Mul(Sub(psi.Apply(b.Acts.Obs, b.Acts.Action), target), counts)))
	}
	return MulScalar(Add(loss(m.Features.Net[0]), loss(m.Features.Net[1])), 0.25)
}

// multiplierLoss is the loss of l, a scalar.
func (m successor) multiplierLoss(b Batch) *Node {
	limit, logit := m.Numbers.Distance*m.Numbers.Distance, m.logit(b)
	squares := StopGradient(squaredLength(m.offset(b, b.Acts.Here)))
	far := GreaterOrEqual(squares, ConstAs(squares, limit))
	return ReduceAllMean(Softplus(Where(far, Neg(logit), logit)))
}

// offset is how far the behaviour that follows actions [B, actions] is from the skill, [B,
// components].
func (m successor) offset(b Batch, action *Node) *Node {
	at := func(psi nn.Network) *Node {
		return psi.WithFixedInputs(b.Acts.Obs).Apply(InsertAxes(action, 0))
	}
	psi := mean(at(m.Features.Net[0]), at(m.Features.Net[1]))
	return Sub(MulScalar(psi, 1-m.Numbers.Discount), b.Skill)
}

// logit is l, [B].
func (m successor) logit(b Batch) *Node {
	return Reshape(m.Multiplier.Net[0].Apply(b.Acts.Obs), -1)
}

func mean(first, second *Node) *Node { return MulScalar(Add(first, second), 0.5) }

// squaredLength returns the squared lengths [B] of vectors [B, components].
func squaredLength(x *Node) *Node { return ReduceSum(Square(x), 1) }
