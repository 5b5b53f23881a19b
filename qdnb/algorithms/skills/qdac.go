package skills

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// QDAC conditions the policy on a desired descriptor (Grillotti, Faldor, González León and Cully,
// ICML 2024). Skills z and the features phi of steps are those of [QDAC.Condition]. Two critics
// psi predict the discounted sum of features, and a network l decides from observation and skill
// whether the actor improves the task's reward or approaches the skill. With the actor's actions b
// at s and b' at s', and the target networks psi':
//
//	loss of psi = 1/2 mean over the batch, j and components of
//		((psi_j(s, a, z) - phi - (1 - done) discount mean_k psi'_k(s', b', z)) (1 - truncation))^2
//	offset(s, b, z) = (1 - discount) mean_j psi_j(s, b, z) - z
//	lambda(s, z) = sigmoid(l(s, z))
//	loss of l = -mean(log lambda where |offset| >= Distance, and log(1 - lambda) elsewhere)
//	objective of the actor = (1 - lambda) mean_j Q_j - lambda (sqrt(|offset|^2 + Smooth^2) - Smooth)
//
// The reward, which is only logged unless an objective uses it, is -|offset| at the actor's action.
// The losses are those of the published code (adaptive-intelligent-robotics/QDAC,
// losses/scopa_loss.py).
type QDAC struct {
	// LearningRate, Discount and Tau are the learner's where they are 0.
	LearningRate float64 `limits:"0,1e3"`
	Discount     float64 `limits:"0,1"`
	Tau          float64 `limits:"0,1"`
	// Hidden are the units of the hidden layers of the diversity model; its publication: 256, 256.
	Hidden []int `json:"diversity_hidden" limits:"0"`
	// Distance is the tolerated distance from the skill, in descriptors scaled to [-1, 1]; its publication:
	// 0.01.
	Distance float64 `json:"skill_distance" limits:">0,1e6"`
	// Smooth is the distance below which the actor's objective is quadratic; its publication: 1e-3.
	Smooth float64 `json:"smooth_distance" limits:">0,1e6"`
	// Changes is whether features are changes of the state descriptor, for final positions that
	// observations lack; by environment.
	Changes bool `json:"descriptor_changes"`
	// Redraw is the share of the sampled transitions with a random skill; its publication: 0.5.
	Redraw float64 `json:"random_skills" limits:"0,1"`

	Features   nn.Targeted[[]nn.Network] // psi, twice, and psi'
	Multiplier nn.Trainable[nn.Network]  // l
}

func (QDAC) vectors() bool { return true }

// Loss implements [Diversity].
func (QDAC) Loss() string { return "features_loss" }

// Condition implements [Conditioner]. A skill is a desired descriptor. Features of a step are the
// state descriptor before it or, with Changes, the start of the episode plus the change in the step
// times the length of an episode; in both, the limits of the descriptor are scaled to -1 and 1. The
// mean of the former is a mean descriptor, and a final one if the skill stays where it ends; the
// mean of the latter is a final descriptor. A step that ends an episode changes nothing, because the
// state after it belongs to the next one.
func (q QDAC) Condition(p Problem) Problem {
	limits := p.Env.Spec().Descriptor
	d := len(limits.Lower)
	p.Skills = cube(p.Skills.Count(), d)
	p.Skills.Redraw = q.Redraw
	p.Features = Features{[]int{d}, func(before, after envs.State) []*Node {
		x := p.descriptor(before)
		if q.Changes {
			change := MulScalar(Sub(after.Descriptor, x), float64(p.Length))
			start := envs.AutoReset(p.Env, p.Length).Start(before)
			x = Add(start, Where(ended(after, x), ZerosLike(x), change))
		}
		lower, upper := InsertAxes(Const(x.Graph(), limits.Lower), 0),
			InsertAxes(Const(x.Graph(), limits.Upper), 0)
		return []*Node{AddScalar(MulScalar(Div(Sub(x, lower), Sub(upper, lower)), 2), -1)}
	}}
	return p
}

// observesPosition reports whether the horizontal position is among the observations.
func observesPosition(env envs.Spec) bool {
	return slices.ContainsFunc(env.ObservationComponents, func(c envs.Component) bool {
		return c.Name == "x" || strings.HasPrefix(c.Name, "(position of ")
	})
}

// Init implements [Diversity].
func (q QDAC) Init(p Problem, key random.Key) Diversity {
	spec := p.Env.Spec()
	if k := spec.Descriptor.Kind; k != envs.Mean && k != envs.Final {
		panic(fmt.Errorf("skills of %s cannot be descriptors, which must be means or final states of "+
			"episodes: use another algorithm, such as diayn-reward", spec.Name))
	}
	if q.Changes && spec.Descriptor.Kind == envs.Mean {
		panic(fmt.Errorf("descriptor_changes must be false for %s, whose descriptor is a mean", spec.Name))
	}
	q.LearningRate, q.Discount, q.Tau = cmp.Or(q.LearningRate, p.Learner.LearningRate),
		cmp.Or(q.Discount, p.Learner.Discount), cmp.Or(q.Tau, p.Learner.Tau)
	inputs := spec.Observations + p.Skills.Size()
	psi := nn.NewMLP(inputs+spec.Actions, q.Hidden, p.Skills.Size())
	nets := psi.Networks(psi.Init(key.FoldInEach(Const(key.Hi.Graph(), []int32{1, 2}))))
	q.Features = nn.NewTargeted(nets, q.LearningRate, q.Tau)
	q.Multiplier = nn.NewTrainable(nn.NewMLP(inputs, q.Hidden, 1).New(key), q.LearningRate)
	return q
}

// Reward implements [Diversity].
func (q QDAC) Reward(b Batch) *Node { return Neg(Sqrt(squaredLength(q.offset(b, b.ActorAction)))) }

// Learn implements [Diversity].
func (q QDAC) Learn(b Batch) (Diversity, *Node) {
	next, loss := q, q.featuresLoss(b)
	next.Features = q.Features.Step(loss)
	next.Multiplier = q.Multiplier.Step(q.multiplierLoss(b))
	return next, loss
}

// ActorObjective implements [ActorObjective].
func (q QDAC) ActorObjective(b Batch, action, first, second *Node) *Node {
	smooth := q.Smooth
	distance := AddScalar(Sqrt(AddScalar(squaredLength(q.offset(b, action)), smooth*smooth)), -smooth)
	lambda := Sigmoid(q.logit(b))
	return Sub(Mul(OneMinus(lambda), MulScalar(Add(first, second), 0.5)), Mul(lambda, distance))
}

// featuresLoss is the loss of psi, a scalar.
func (q QDAC) featuresLoss(b Batch) *Node {
	next := mean(q.Features.Target[0].Apply(b.NextObs, b.NextActorAction),
		q.Features.Target[1].Apply(b.NextObs, b.NextActorAction))
	return MulScalar(successorLoss(b, q.Features.Params, b.Now, next, q.Discount), 0.25)
}

// successorLoss is the squared error of successor features psi, summed over both networks, mean over the
// batch and the components. Their target is the features of a step plus next, both [B, components],
// discounted. Truncated steps count as 0.
func successorLoss(b Batch, psi []nn.Network, features, next *Node, discount float64) *Node {
	running := MulScalar(OneMinus(b.Done), discount)
	target := StopGradient(Add(features, Mul(InsertAxes(running, -1), next)))
	counts := InsertAxes(OneMinus(b.Truncation), -1)
	loss := func(psi nn.Network) *Node {
		return ReduceAllMean(Square(Mul(Sub(psi.Apply(b.Obs, b.Action), target), counts)))
	}
	return Add(loss(psi[0]), loss(psi[1]))
}

// multiplierLoss is the loss of l, a scalar.
func (q QDAC) multiplierLoss(b Batch) *Node {
	limit, logit := q.Distance*q.Distance, q.logit(b)
	squares := StopGradient(squaredLength(q.offset(b, b.ActorAction)))
	far := GreaterOrEqual(squares, ConstAs(squares, limit))
	return ReduceAllMean(Softplus(Where(far, Neg(logit), logit)))
}

// offset is how far the behaviour that follows actions [B, actions] is from the skill, [B,
// components].
func (q QDAC) offset(b Batch, action *Node) *Node {
	at := func(psi nn.Network) *Node {
		return psi.WithFixedInputs(b.Obs).Apply(InsertAxes(action, 0))
	}
	psi := mean(at(q.Features.Params[0]), at(q.Features.Params[1]))
	return Sub(MulScalar(psi, 1-q.Discount), b.Skill)
}

// logit is l, [B].
func (q QDAC) logit(b Batch) *Node {
	return Reshape(q.Multiplier.Params.Apply(b.Obs), -1)
}

func mean(first, second *Node) *Node { return MulScalar(Add(first, second), 0.5) }

// squaredLength returns the squared lengths [B] of vectors [B, components].
func squaredLength(x *Node) *Node { return ReduceSum(Square(x), 1) }

var _ = preset("qdac", defaultQdac, wide)

// defaultQdac returns the published hyperparameters; 256 skills are evaluated. The numbers of environments
// and of stored transitions are those of DIAYN.
func defaultQdac(env envs.Spec) *Discovery {
	d := discovery(env, QDAC{Hidden: []int{256, 256}, Distance: 0.01, Smooth: 1e-3, Redraw: 0.5,
		Changes: env.Positions() && env.Observations > 0 && !observesPosition(env)}, TaskOnly{})
	d.NumSkills, d.DescriptorFullState = 256, false
	d.RewardScaling, d.AlphaInit, d.FixAlpha, d.BatchSize, d.EvaluationStates = 1, 1, false, 512, 1
	return d
}
