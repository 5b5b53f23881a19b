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
// (QDax, baselines/dads.py), the running statistics cover what [Model.Observe] receives, with
// changes that end an episode counted as 0, and rewards are not masked.
type DADS struct {
	LearningRate float64
	Hidden       []int // sizes of the hidden layers, one or more
	Components   int   // of the mixture; paper: 4
	// Sees is how many features of now, the last ones, the dynamics receive in addition to the skill.
	// The paper uses none, which is cheap: the networks are evaluated once per skill rather than per
	// transition. In QDax it is d - omit_input_dynamics_dim.
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

// skillDynamics is the model of [DADS]. It is a pytree.
type skillDynamics struct {
	Learned    learned[dynamics]
	Normaliser nn.Statistics
	Adam       nn.Adam
	Sees       int
}

func (m skillDynamics) Observe(fresh Batch) Model {
	m.Normaliser = m.Normaliser.Update(Mul(Sub(fresh.Next, fresh.Now),
		InsertAxes(OneMinus(fresh.Done), 1)))
	return m
}

func (m skillDynamics) Reward(b Batch) *Node {
	// Terms common to all skills cancel.
	return distinction(m.all(b, m.change(b)), b.Skill)
}

func (m skillDynamics) Learn(b Batch) (Model, *Node) {
	loss := m.loss(b)
	m.Learned = m.Learned.step(m.Adam, loss)
	return m, loss
}

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

// seen is the part of now that the dynamics receive, [B, Sees].
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
	repeated := func(x *Node) *Node { // one row per skill, [B * skills, ...]
		width := x.Shape().Dimensions[1]
		return Reshape(BroadcastToDims(InsertAxes(x, 1), batch, skills, width), -1, width)
	}
	each := Reshape(BroadcastToDims(InsertAxes(every, 0), batch, skills, skills), -1, skills)
	return Reshape(m.Learned.Net.ofEach(repeated(change), repeated(m.seen(b)), each), batch, skills)
}

// own is log q(x|z) - common(x) for the skill of each transition, [B].
func (m skillDynamics) own(b Batch, change *Node) *Node {
	if m.Sees == 0 {
		return ofSkill(m.all(b, change), b.Skill) // the reward needs it too
	}
	return m.Learned.Net.ofEach(change, m.seen(b), b.Skill)
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

// dynamicsForm is the architecture of skill dynamics. A row is laid out as in the source: logits,
// means, hidden layers, each as in [nn.MLP.Layout]; the means are ordered by component.
type dynamicsForm struct{ logits, means, hidden nn.MLP }

func (d DADS) form(skills, changes int) dynamicsForm {
	if d.Sees < 0 || d.Sees > changes || d.Components < 1 || len(d.Hidden) == 0 {
		panic(errors.Errorf("skill dynamics of %d components and %d hidden layers cannot see %d of %d "+
			"features", d.Components, len(d.Hidden), d.Sees, changes))
	}
	last := d.Hidden[len(d.Hidden)-1]
	return dynamicsForm{
		logits: nn.MLP{Sizes: []int{last, d.Components}},
		means:  nn.MLP{Sizes: []int{last, d.Components * changes}},
		hidden: nn.MLP{Sizes: slices.Concat([]int{d.Sees + skills}, d.Hidden), Hidden: nn.ReLU,
			Output: nn.ReLU},
	}
}

// init returns a random row [1, N].
func (f dynamicsForm) init(key xla.Key) *Node {
	var parts []*Node
	for i, form := range []nn.MLP{f.logits, f.means, f.hidden} {
		parts = append(parts, form.Init(oneOf(key.FoldIn(i))))
	}
	return Concatenate(parts, 1)
}

// dynamics are the networks of a row. They are a pytree.
type dynamics struct{ Logits, Means, Hidden nn.Network }

// cut splits a row [1, N] into networks.
func (f dynamicsForm) cut(row *Node) dynamics {
	forms := []nn.MLP{f.logits, f.means, f.hidden}
	nets, start := make([]nn.Network, len(forms)), 0
	for i, form := range forms {
		nets[i] = form.Network(Slice(row, AxisRange(), AxisRange(start, start+form.Params())), 0)
		start += form.Params()
	}
	if width := row.Shape().Dimensions[1]; width != start {
		panic(errors.Errorf("skill dynamics have %d parameters, but the row has %d", start, width))
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

// mixtures are the log weights [R, k] and the means [R, k, d] of the mixture for inputs with R
// rows; d is the number of predicted features.
func (n dynamics) mixtures(d int, inputs ...*Node) (weights, means *Node) {
	hidden := n.Hidden.Apply(inputs...)
	logits := n.Logits.Apply(hidden)
	return Sub(logits, InsertAxes(logSumExp(logits), 1)),
		Reshape(n.Means.Apply(hidden), logits.Shape().Dimensions[0], -1, d)
}

// For a component, log N(x; mean, I) is x . mean - |mean|^2 / 2 + common(x).

// ofAll is log q(x|z) - common(x) for every pair of changes [B, d] and skills [S, skills], [B, S].
// It takes a single matrix product.
func (n dynamics) ofAll(skills, x *Node) *Node {
	batch, d := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	weights, means := n.mixtures(d, skills)
	offset := Sub(weights, MulScalar(ReduceSum(Square(means), 2), 0.5))
	products := Dot(x, Transpose(Reshape(means, -1, d), 0, 1)).Product()
	count := skills.Shape().Dimensions[0]
	return logSumExp(Add(Reshape(products, batch, count, -1), InsertAxes(offset, 0)))
}

// ofEach is log q(x|inputs) - common(x) for changes [B, d] and B rows of inputs, [B].
func (n dynamics) ofEach(x *Node, inputs ...*Node) *Node {
	weights, means := n.mixtures(x.Shape().Dimensions[1], inputs...)
	near := ReduceSum(Mul(means, Sub(InsertAxes(x, 1), MulScalar(means, 0.5))), 2)
	return logSumExp(Add(weights, near))
}
