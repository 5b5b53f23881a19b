package skills

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// DADS rewards transitions that their skill predicts better than other skills do (Sharma et al.,
// ICLR 2020). Skill dynamics q predict the change x = next - now, normalised by its running mean
// and deviation and clamped to +-5:
//
//	q(x|z) = sum over k of w_k(z) N(x; mean_k(z), I)
//	reward = log(skills) - log(sum over j of exp(clamp(log q(x|z_j) - log q(x|z), -50, 50)))
//	loss = -mean(log q(x|z) (1 - done))
//
// j runs over all skills, including z. The network has ReLU layers, including the last hidden one,
// followed by two parallel layers for the logits of w and the means. As in the published code
// (QDax, baselines/dads.py), the running statistics cover what [DADS.Observe] receives, with
// changes that end an episode counted as 0, and rewards are not masked.
type DADS struct {
	LearningRate float64
	Hidden       []int // sizes of the hidden layers, one or more
	Components   int   // of the mixture; paper: 4
	// Sees is how many features of now, the last ones, the dynamics receive in addition to the skill.
	// The paper uses none, which is cheap: the networks are evaluated once per skill rather than per
	// transition. In QDax it is d - omit_input_dynamics_dim.
	Sees int

	Dynamics nn.Trainable[skillDynamics] // q
	Changes  nn.Statistics               // of the changes so far
}

// dadsLimit bounds normalised changes.
const dadsLimit = 5

// Loss implements [Diversity].
func (DADS) Loss() string { return "dynamics_loss" }

// Init implements [Diversity].
func (d DADS) Init(t Task, key random.Key) Diversity {
	skills, changes := t.Skills.Size(), t.Width()
	if d.Sees < 0 || d.Sees > changes || d.Components < 1 || len(d.Hidden) == 0 {
		panic(fmt.Errorf("skill dynamics of %d components and %d hidden layers cannot see %d of %d "+
			"features", d.Components, len(d.Hidden), d.Sees, changes))
	}
	logits, means, hidden := d.forms(skills, changes)
	d.Dynamics = nn.NewTrainable(skillDynamics{logits.New(key.FoldIn(0)), means.New(key.FoldIn(1)),
		hidden.New(key.FoldIn(2))}, d.LearningRate)
	d.Changes = nn.NewStatistics(key.Hi.Graph(), changes)
	return d
}

// forms are the architectures of [skillDynamics]; the means are ordered by component.
func (d DADS) forms(skills, changes int) (logits, means, hidden nn.MLP) {
	last := d.Hidden[len(d.Hidden)-1]
	return nn.MLP{Sizes: []int{last, d.Components}}, nn.MLP{Sizes: []int{last, d.Components * changes}},
		nn.MLP{Sizes: slices.Concat([]int{d.Sees + skills}, d.Hidden), Hidden: nn.ReLU, Output: nn.ReLU}
}

// Observe implements [Observer].
func (d DADS) Observe(fresh Batch) Diversity {
	d.Changes = d.Changes.Update(Mul(Sub(fresh.Next, fresh.Now), InsertAxes(OneMinus(fresh.Done), 1)))
	return d
}

// Reward implements [Diversity]. Terms common to all skills cancel.
func (d DADS) Reward(b Batch) *Node { return distinction(d.all(b, d.change(b)), b.Skill) }

// Learn implements [Diversity].
func (d DADS) Learn(b Batch) (Diversity, *Node) {
	loss := d.loss(b)
	d.Dynamics = d.Dynamics.Step(loss)
	return d, loss
}

func (d DADS) loss(b Batch) *Node {
	change := d.change(b)
	return Neg(ReduceAllMean(Mul(Add(d.own(b, change), common(change)), OneMinus(b.Done))))
}

// change is the normalised change, [B, d].
func (d DADS) change(b Batch) *Node {
	return d.Changes.Normalise(Sub(b.Next, b.Now), dadsLimit)
}

// seen is the part of now that the dynamics receive, [B, Sees].
func (d DADS) seen(b Batch) *Node {
	return Slice(b.Now, AxisRange(), AxisRange(b.Now.Shape().Dimensions[1]-d.Sees))
}

// all is log q(x|z) - common(x) for every skill, [B, skills].
func (d DADS) all(b Batch, change *Node) *Node {
	g, batch, skills := change.Graph(), change.Shape().Dimensions[0], b.Skill.Shape().Dimensions[1]
	every := oneHots(g, skills)
	if d.Sees == 0 {
		return d.Dynamics.Params.ofAll(every, change)
	}
	repeated := func(x *Node) *Node { // one row per skill, [B * skills, ...]
		width := x.Shape().Dimensions[1]
		return Reshape(BroadcastToDims(InsertAxes(x, 1), batch, skills, width), -1, width)
	}
	each := Reshape(BroadcastToDims(InsertAxes(every, 0), batch, skills, skills), -1, skills)
	return Reshape(d.Dynamics.Params.ofEach(repeated(change), repeated(d.seen(b)), each), batch, skills)
}

// own is log q(x|z) - common(x) for the skill of each transition, [B].
func (d DADS) own(b Batch, change *Node) *Node {
	if d.Sees == 0 {
		return ofSkill(d.all(b, change), b.Skill) // the reward needs it too
	}
	return d.Dynamics.Params.ofEach(change, d.seen(b), b.Skill)
}

// common is the part of log q(x|z) that depends on neither the skill nor the networks, [B]:
//
//	-|x|^2 / 2 - d log(2 pi) / 2
func common(x *Node) *Node {
	d := float64(x.Shape().Dimensions[1])
	return AddScalar(MulScalar(ReduceSum(Square(x), 1), -0.5), -0.5*d*math.Log(2*math.Pi))
}

// distinction is the reward, given log q(x|z_j) of all skills [B, skills] up to a constant per row.
func distinction(all, skill *Node) *Node {
	off := nn.Bounded(Sub(all, InsertAxes(ofSkill(all, skill), 1)), -50, 50)
	return Neg(AddScalar(Log(ReduceSum(Exp(off), 1)), -math.Log(float64(skill.Shape().Dimensions[1]))))
}

// oneHots are the one-hot vectors of all skills, [skills, skills].
func oneHots(g *Graph, skills int) *Node {
	return OneHot(Iota(g, shapes.Make(dtypes.Int32, skills), 0), skills, dtypes.Float32)
}

// skillDynamics are the networks of q. They are a pytree.
type skillDynamics struct{ Logits, Means, Hidden nn.Network }

// mixtures are the log weights [R, k] and the means [R, k, d] of the mixture for inputs with R
// rows; d is the number of predicted features.
func (n skillDynamics) mixtures(d int, inputs ...*Node) (weights, means *Node) {
	hidden := n.Hidden.Apply(inputs...)
	logits := n.Logits.Apply(hidden)
	return Sub(logits, InsertAxes(logSumExp(logits), 1)),
		Reshape(n.Means.Apply(hidden), logits.Shape().Dimensions[0], -1, d)
}

// For a component, log N(x; mean, I) is x . mean - |mean|^2 / 2 + common(x).

// ofAll is log q(x|z) - common(x) for every pair of changes [B, d] and skills [S, skills], [B, S].
// It takes a single matrix product.
func (n skillDynamics) ofAll(skills, x *Node) *Node {
	batch, d := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	weights, means := n.mixtures(d, skills)
	offset := Sub(weights, MulScalar(ReduceSum(Square(means), 2), 0.5))
	products := Dot(x, Transpose(Reshape(means, -1, d), 0, 1)).Product()
	count := skills.Shape().Dimensions[0]
	return logSumExp(Add(Reshape(products, batch, count, -1), InsertAxes(offset, 0)))
}

// ofEach is log q(x|inputs) - common(x) for changes [B, d] and B rows of inputs, [B].
func (n skillDynamics) ofEach(x *Node, inputs ...*Node) *Node {
	weights, means := n.mixtures(x.Shape().Dimensions[1], inputs...)
	near := ReduceSum(Mul(means, Sub(InsertAxes(x, 1), MulScalar(means, 0.5))), 2)
	return logSumExp(Add(weights, near))
}
