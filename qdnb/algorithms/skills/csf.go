package skills

import (
	"cmp"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// CSF are contrastive successor features (Zheng, Tuyls, Peng and Eysenbach, ICLR 2025). Skills z are
// unit vectors. An encoder phi, a ReLU network, tells by the direction in which a transition moves
// which skill it belongs to; random skills z_k are what it tells it from. Two networks psi predict the
// discounted sum of movements, and the actor moves along its skill. With the actor's actions b at s and
// b' at s', and the target networks psi':
//
//	step = phi(next) - phi(now)
//	reward = step . z
//	loss of phi = -mean(reward - Weight log sum_k exp(step . z_k))
//	loss of psi = sum_j mean over the batch and components of
//		((psi_j(s, b, z) - step - (1 - done) discount psi'(s', b', z)) (1 - truncation))^2
//	objective of the actor = min_j psi_j(s, b, z) . z
//
// psi' is the network of both with the smaller psi' . z, and step uses phi after its update. A
// transition that ends an episode has no step, because its next state is the start of another episode.
// The losses are those of the published code (jens321/csf, iod/metra_sf.py).
type CSF struct {
	// LearningRate, Discount and Tau are the learner's where they are 0.
	LearningRate float64 `limits:"0,1e3"`
	Discount     float64 `limits:"0,1"`
	Tau          float64 `limits:"0,1"`
	Hidden       []int   `json:"diversity_hidden" limits:"0"` // units of the hidden layers of the diversity model
	// Components is the number of components of skills that are unit vectors; its publication: 2, and 4 or
	// 8 for images.
	Components int     `json:"continuous_skills" limits:"1,64"`
	Negatives  int     `json:"negative_skills" limits:"1,1073741824"` // random skills z_k; its publication: 256
	Weight     float64 `json:"negative_weight" limits:"0,1e6"`        // weight of the random skills, xi; its publication: 5

	Encoder  nn.Trainable[nn.Network]  // phi
	Features nn.Targeted[[]nn.Network] // psi and psi'
}

var _ SelfCritic = CSF{}

func (CSF) vectors() bool { return true }

// SelfCritic implements [SelfCritic].
func (CSF) SelfCritic() {}

// Loss implements [Diversity]: the loss of phi.
func (CSF) Loss() string { return "encoder_loss" }

// Condition implements [Conditioner]. Features are those of [METRA].
func (c CSF) Condition(p Problem) Problem { return METRA{Components: c.Components}.Condition(p) }

// Init implements [Diversity].
func (c CSF) Init(p Problem, key random.Key) Diversity {
	spec, size := p.Env.Spec(), p.Skills.Size()
	c.LearningRate, c.Discount, c.Tau = cmp.Or(c.LearningRate, p.Learner.LearningRate),
		cmp.Or(c.Discount, p.Learner.Discount), cmp.Or(c.Tau, p.Learner.Tau)
	c.Encoder = nn.NewTrainable(nn.NewMLP(p.Width(), c.Hidden, size).New(key.FoldIn(0)), c.LearningRate)
	psi := nn.NewMLP(spec.Observations+size+spec.Actions, c.Hidden, size)
	nets := psi.Networks(psi.Init(key.FoldInEach(Const(key.Hi.Graph(), []int32{1, 2}))))
	c.Features = nn.NewTargeted(nets, c.LearningRate, c.Tau)
	return c
}

// Reward implements [Diversity].
func (c CSF) Reward(b Batch) *Node { return dot(c.step(b), b.Skill) }

// Learn implements [Diversity].
func (c CSF) Learn(b Batch) (Diversity, *Node) {
	return c.learn(b, unitVectors(1, c.Components).drawn(b.Key, c.Negatives))
}

// learn is Learn with given negatives [k, components].
func (c CSF) learn(b Batch, negatives *Node) (CSF, *Node) {
	loss, next := c.encoderLoss(b, negatives), c
	next.Encoder = c.Encoder.Step(loss)
	next.Features = c.Features.Step(c.featuresLoss(b, StopGradient(next.step(b))))
	return next, loss
}

// ActorObjective implements [ActorObjective].
func (c CSF) ActorObjective(b Batch, action, _, _ *Node) *Node {
	along := func(psi nn.Network) *Node {
		return dot(psi.WithFixedInputs(b.Obs).Apply(InsertAxes(action, 0)), b.Skill)
	}
	return Min(along(c.Features.Params[0]), along(c.Features.Params[1]))
}

// step is the movement of each transition in the learned space, [B, components]; 0 where an episode
// ends.
func (c CSF) step(b Batch) *Node {
	phi := c.Encoder.Params
	return Mul(Sub(phi.Apply(b.Next), phi.Apply(b.Now)), InsertAxes(OneMinus(b.Done), -1))
}

// encoderLoss is the loss of phi, a scalar. Transitions that end an episode do not count.
func (c CSF) encoderLoss(b Batch, negatives *Node) *Node {
	step, running := c.step(b), OneMinus(b.Done)
	others := logSumExp(Dot(step, Transpose(negatives, 0, 1)).Product())
	gain := Sub(dot(step, b.Skill), MulScalar(others, c.Weight))
	return Neg(Div(ReduceAllSum(Mul(gain, running)), MaxScalar(ReduceAllSum(running), 1)))
}

// featuresLoss is the loss of psi for steps [B, components], a scalar.
func (c CSF) featuresLoss(b Batch, step *Node) *Node {
	first, second := c.Features.Target[0].Apply(b.NextObs, b.NextActorAction),
		c.Features.Target[1].Apply(b.NextObs, b.NextActorAction)
	lower := InsertAxes(LessOrEqual(dot(first, b.Skill), dot(second, b.Skill)), -1)
	next := Where(BroadcastToShape(lower, first.Shape()), first, second)
	return successorLoss(b, c.Features.Params, step, next, c.Discount)
}

// dot returns the inner products [B] of vectors [B, components].
func dot(x, y *Node) *Node { return ReduceSum(Mul(x, y), 1) }

var _ = preset("csf", defaultCSF, wide)

// defaultCSF returns the publication's hyperparameters. Sizes of networks, batches and buffers are those
// of DIAYN, all others those of METRA.
func defaultCSF(env envs.Spec) *Discovery {
	d := defaultMetra(env)
	d.Diversity = CSF{Hidden: []int{256, 256}, Components: 2, Negatives: 256, Weight: 5}
	return d
}
