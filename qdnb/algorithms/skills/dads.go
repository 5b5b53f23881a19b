package skills

import (
	"cmp"
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
	LearningRate float64 `limits:"0,1e3"`                     // 0: the learner's
	Hidden       []int   `json:"diversity_hidden" limits:"1"` // units of the hidden layers of the diversity model
	Components   int     `limits:"1,1024"`                    // of the mixture; paper: 4

	Dynamics nn.Trainable[skillDynamics] // q
	Changes  nn.Statistics               // of the changes so far
}

// dadsLimit bounds normalised changes.
const dadsLimit = 5

var _ = presets("dads", DADS{Hidden: []int{256, 256}, Components: 4}, wide)

// Loss implements [Diversity].
func (DADS) Loss() string { return "dynamics_loss" }

// Init implements [Diversity].
func (d DADS) Init(p Problem, key random.Key) Diversity {
	skills, changes := p.Skills.Size(), p.Width()
	if d.Components < 1 || len(d.Hidden) == 0 {
		panic(fmt.Errorf("skill dynamics need a component and a hidden layer, not %d and %d", d.Components, len(d.Hidden)))
	}
	logits, means, hidden := d.architectures(skills, changes)
	d.Dynamics = nn.NewTrainable(skillDynamics{logits.New(key.FoldIn(0)), means.New(key.FoldIn(1)),
		hidden.New(key.FoldIn(2))}, cmp.Or(d.LearningRate, p.Learner.LearningRate))
	d.Changes = nn.NewStatistics(key.Hi.Graph(), changes)
	return d
}

// architectures are those of [skillDynamics]; the means are ordered by component.
func (d DADS) architectures(skills, changes int) (logits, means, hidden nn.MLP) {
	last := d.Hidden[len(d.Hidden)-1]
	return nn.MLP{Sizes: []int{last, d.Components}}, nn.MLP{Sizes: []int{last, d.Components * changes}},
		nn.MLP{Sizes: slices.Concat([]int{skills}, d.Hidden), Hidden: nn.ReLU, Output: nn.ReLU}
}

// Observe implements [Observer].
func (d DADS) Observe(fresh Batch) Diversity {
	d.Changes = d.Changes.Update(Mul(Sub(fresh.Next, fresh.Now), InsertAxes(OneMinus(fresh.Done), 1)))
	return d
}

// Reward implements [Diversity]. Terms common to all skills cancel.
func (d DADS) Reward(b Batch) *Node { return distinction(d.all(d.change(b), b.Skill), b.Skill) }

// Learn implements [Diversity].
func (d DADS) Learn(b Batch) (Diversity, *Node) {
	loss := d.loss(b)
	d.Dynamics = d.Dynamics.Step(loss)
	return d, loss
}

func (d DADS) loss(b Batch) *Node {
	change := d.change(b)
	own := dot(d.all(change, b.Skill), b.Skill) // the reward needs all of them, too
	return Neg(ReduceAllMean(Mul(Add(own, common(change)), OneMinus(b.Done))))
}

// change is the normalised change, [B, d].
func (d DADS) change(b Batch) *Node {
	return d.Changes.Normalise(Sub(b.Next, b.Now), dadsLimit)
}

// all is log q(x|z) - common(x) of changes [B, d] for every skill, [B, skills]. The networks are
// evaluated once per skill. For a component, log N(x; mean, I) is x . mean - |mean|^2 / 2 + common(x).
func (d DADS) all(x, skill *Node) *Node {
	batch, skills := x.Shape().Dimensions[0], skill.Shape().Dimensions[1]
	n := d.Dynamics.Params
	hidden := n.Hidden.Apply(oneHots(x.Graph(), skills))
	logits := n.Logits.Apply(hidden)
	weights := Sub(logits, InsertAxes(logSumExp(logits), 1)) // [skills, k]
	means := Reshape(n.Means.Apply(hidden), skills, -1, x.Shape().Dimensions[1])
	offset := Sub(weights, MulScalar(ReduceSum(Square(means), 2), 0.5))
	products := Dot(x, Transpose(Reshape(means, -1, x.Shape().Dimensions[1]), 0, 1)).Product()
	return logSumExp(Add(Reshape(products, batch, skills, -1), InsertAxes(offset, 0)))
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
	off := nn.Bounded(Sub(all, InsertAxes(dot(all, skill), 1)), -50, 50)
	return Neg(AddScalar(Log(ReduceSum(Exp(off), 1)), -math.Log(float64(skill.Shape().Dimensions[1]))))
}

// oneHots are the one-hot vectors of all skills, [skills, skills].
func oneHots(g *Graph, skills int) *Node {
	return OneHot(Iota(g, shapes.Make(dtypes.Int32, skills), 0), skills, dtypes.Float32)
}

// skillDynamics are the networks of q. They are a pytree.
type skillDynamics struct{ Logits, Means, Hidden nn.Network }
