package skills

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// DADS rewards a transition that its skill foretells better than the others do (Sharma et al., ICLR
// 2020). Skill dynamics q foretell the change x = next - now, less its running mean and over its
// running deviation, clamped to +-5:
//
//	q(x|z) = sum over k of w_k(z) N(x; mean_k(z), I)
//	reward = log(skills) - log(sum over j of exp(clamp(log q(x|z_j) - log q(x|z), -50, 50)))
//	loss = -mean(log q(x|z) (1 - done))
//
// j counts all skills, z's own too. The networks are one of ReLU units, also at its end, and two
// layers side by side that make of its output the logits of w and the means. As in the published
// code (QDax, baselines/dads.py) the running statistics are of what [Model.Observe] sees, changes
// that end an episode counted as 0, and rewards are not masked.
type DADS struct {
	LearningRate float64
	Hidden       []int // sizes of the hidden layers, one or more
	Components   int   // of the mixture; 4 in the paper
	// Sees is how many numbers of now, its last ones, the dynamics are told beside the skill. The
	// paper tells them none, and none is cheap: the networks are evaluated for each skill, not for
	// each transition. In QDax's words it is d - omit_input_dynamics_dim.
	Sees int
}

// dadsLimit bounds normalised changes.
const dadsLimit = 5

// Fields implements [Diversity].
func (DADS) Fields() []string {
	return append(learnedFields("dynamics"), "normaliser_mean", "normaliser_squares",
		"normaliser_count")
}

// Loss implements [Diversity].
func (DADS) Loss() string { return "dynamics_loss" }

// Start implements [Diversity].
func (d DADS) Start(skills, changes int, key xla.Key) []*Node {
	row := d.form(skills, changes).init(key)
	return append(startLearned(row), xla.Flatten(nn.NewStatistics(row.Graph(), changes))...)
}

// Model implements [Diversity].
func (d DADS) Model(known []*Node, skills, changes int) Model {
	weights := len(known) - 3
	normaliser := nn.Statistics{Mean: known[weights], Squares: known[weights+1],
		Count: known[weights+2]}
	return skillDynamics{cutLearned(known, d.form(skills, changes).cut), normaliser,
		nn.NewAdam(d.LearningRate), d.Sees}
}

// skillDynamics is the model of [DADS]: a tree.
type skillDynamics struct {
	Learned    learned[dynamics]
	Normaliser nn.Statistics
	Adam       nn.Adam
	Sees       int
}

// Observe implements [Model].
func (m skillDynamics) Observe(fresh Batch) Model {
	m.Normaliser = m.Normaliser.Update(Mul(Sub(fresh.Next, fresh.Now),
		InsertAxes(OneMinus(fresh.Done), 1)))
	return m
}

// Reward implements [Model].
func (m skillDynamics) Reward(b Batch) *Node {
	// What all skills have in common does not count.
	return distinction(m.all(b, m.change(b)), b.Skill)
}

// Learn implements [Model].
func (m skillDynamics) Learn(b Batch) (Model, *Node) {
	loss := m.loss(b)
	m.Learned = m.Learned.step(m.Adam, loss)
	return m, loss
}

// Params implements [Model].
func (m skillDynamics) Params() []*Node {
	return append(m.Learned.known(dynamics.join), xla.Flatten(m.Normaliser)...)
}

func (m skillDynamics) loss(b Batch) *Node {
	change := m.change(b)
	return Neg(ReduceAllMean(Mul(Add(m.own(b, change), common(change)), OneMinus(b.Done))))
}

// change is the normalised change, [B, d].
func (m skillDynamics) change(b Batch) *Node {
	return m.Normaliser.Normalise(Sub(b.Next, b.Now), dadsLimit)
}

// seen is what of now the dynamics are told, [B, Sees].
func (m skillDynamics) seen(b Batch) *Node {
	return Slice(b.Now, AxisRange(), AxisRange(b.Now.Shape().Dimensions[1]-m.Sees))
}

// all is log q(x|z) - common(x) for every skill, [B, skills].
func (m skillDynamics) all(b Batch, change *Node) *Node {
	g, batch, skills := change.Graph(), change.Shape().Dimensions[0], b.Skill.Shape().Dimensions[1]
	every := oneHots(g, skills)
	if m.Sees == 0 {
		return m.Learned.Net.ofAll(every, change)
	}
	repeated := func(x *Node) *Node { // a row for each skill, [B * skills, ...]
		width := x.Shape().Dimensions[1]
		return Reshape(BroadcastToDims(InsertAxes(x, 1), batch, skills, width), -1, width)
	}
	each := Reshape(BroadcastToDims(InsertAxes(every, 0), batch, skills, skills), -1, skills)
	return Reshape(m.Learned.Net.ofEach(repeated(change), repeated(m.seen(b)), each), batch, skills)
}

// own is log q(x|z) - common(x) for the skill of each transition, [B].
func (m skillDynamics) own(b Batch, change *Node) *Node {
	if m.Sees == 0 {
		return ofSkill(m.all(b, change), b.Skill) // which the reward needs too
	}
	return m.Learned.Net.ofEach(change, m.seen(b), b.Skill)
}

// common is the part of log q(x|z) that does not depend on the skill nor on the networks, [B]:
//
//	-|x|^2 / 2 - d log(2 pi) / 2
func common(x *Node) *Node {
	d := float64(x.Shape().Dimensions[1])
	return AddScalar(MulScalar(ReduceSum(Square(x), 1), -0.5), -0.5*d*math.Log(2*math.Pi))
}

// distinction is the reward for log q(x|z_j) of all skills [B, skills], up to a number for each
// row.
func distinction(all, skill *Node) *Node {
	off := nn.Bounded(Sub(all, InsertAxes(ofSkill(all, skill), 1)), -50, 50)
	return Neg(AddScalar(Log(ReduceSum(Exp(off), 1)), -math.Log(float64(skill.Shape().Dimensions[1]))))
}

// oneHots are all skills, [skills, skills].
func oneHots(g *Graph, skills int) *Node {
	return OneHot(Iota(g, shapes.Make(dtypes.Int32, skills), 0), skills, dtypes.Float32)
}

// dynamicsForm is the form of skill dynamics. A row is laid out as the source's: logits, means,
// hidden layers, each as [nn.MLP.Layout] says; the means are in the order of the components.
type dynamicsForm struct{ logits, means, hidden nn.MLP }

func (d DADS) form(skills, changes int) dynamicsForm {
	if d.Sees < 0 || d.Sees > changes || d.Components < 1 || len(d.Hidden) == 0 {
		panic(errors.Errorf("skill dynamics of %d components and %d hidden layers cannot see %d of %d "+
			"numbers",
			d.Components, len(d.Hidden), d.Sees, changes))
	}
	last := d.Hidden[len(d.Hidden)-1]
	return dynamicsForm{
		logits: nn.MLP{Sizes: []int{last, d.Components}},
		means:  nn.MLP{Sizes: []int{last, d.Components * changes}},
		hidden: nn.MLP{Sizes: slices.Concat([]int{d.Sees + skills}, d.Hidden), Hidden: nn.ReLU,
			Output: nn.ReLU},
	}
}

// init draws a row [1, N].
func (f dynamicsForm) init(key xla.Key) *Node {
	var parts []*Node
	for i, form := range []nn.MLP{f.logits, f.means, f.hidden} {
		parts = append(parts, form.Init(oneOf(key.FoldIn(i))))
	}
	return Concatenate(parts, 1)
}

// dynamics are the networks of a row: a tree.
type dynamics struct{ Logits, Means, Hidden nn.Network }

// cut cuts a row [1, N] into networks.
func (f dynamicsForm) cut(row *Node) dynamics {
	forms := []nn.MLP{f.logits, f.means, f.hidden}
	nets, start := make([]nn.Network, len(forms)), 0
	for i, form := range forms {
		nets[i] = form.Network(Slice(row, AxisRange(), AxisRange(start, start+form.Params())), 0)
		start += form.Params()
	}
	if width := row.Shape().Dimensions[1]; width != start {
		panic(errors.Errorf("skill dynamics have %d parameters, a row of %d does not fit", start, width))
	}
	return dynamics{nets[0], nets[1], nets[2]}
}

// join is the inverse of [dynamicsForm.cut].
func (n dynamics) join() *Node {
	var parts []*Node
	for _, net := range []nn.Network{n.Logits, n.Means, n.Hidden} {
		parts = append(parts, nn.JoinNetworks([]nn.Network{net}))
	}
	return Concatenate(parts, 1)
}

// mixtures are the logarithms of the weights [R, k] and the means [R, k, d] for inputs of R rows, d
// numbers foretold.
func (n dynamics) mixtures(d int, inputs ...*Node) (weights, means *Node) {
	hidden := n.Hidden.Apply(inputs...)
	logits := n.Logits.Apply(hidden)
	return Sub(logits, InsertAxes(logSumExp(logits), 1)),
		Reshape(n.Means.Apply(hidden), logits.Shape().Dimensions[0], -1, d)
}

// Of a component, log N(x; mean, I) is x . mean - |mean|^2 / 2 and what all have in common.

// ofAll is log q(x|z) - common(x) for changes [B, d] and skills [S, skills], each with each, [B,
// S]. All products are one matrix product.
func (n dynamics) ofAll(skills, x *Node) *Node {
	batch, d := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	weights, means := n.mixtures(d, skills)
	offset := Sub(weights, MulScalar(ReduceSum(Square(means), 2), 0.5))
	products := Dot(x, Transpose(Reshape(means, -1, d), 0, 1)).Product()
	count := skills.Shape().Dimensions[0]
	return logSumExp(Add(Reshape(products, batch, count, -1), InsertAxes(offset, 0)))
}

// ofEach is log q(x|inputs) - common(x) for changes [B, d] and as many rows of inputs, [B].
func (n dynamics) ofEach(x *Node, inputs ...*Node) *Node {
	weights, means := n.mixtures(x.Shape().Dimensions[1], inputs...)
	near := ReduceSum(Mul(means, Sub(InsertAxes(x, 1), MulScalar(means, 0.5))), 2)
	return logSumExp(Add(weights, near))
}
