package skills

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// DIAYN rewards a transition if its skill can be inferred from its next state (Eysenbach et al.,
// ICLR 2019). A discriminator q(z|x), a ReLU network, learns skills from the states before
// transitions:
//
//	reward = log q(z|next) + log(skills)
//	loss = -mean log q(z|now)
//
// As in the published code (QDax, losses/diayn_loss.py), transitions that end an episode count like
// others.
type DIAYN struct {
	LearningRate float64
	Hidden       []int // sizes of the hidden layers
}

// Fields implements [Diversity].
func (DIAYN) Fields() []string { return learnedFields("discriminator") }

// Loss implements [Diversity].
func (DIAYN) Loss() string { return "discriminator_loss" }

// form is the architecture of the discriminator: x to the logits of the skills.
func (d DIAYN) form(skills, inputs int) nn.MLP {
	return nn.NewMLP(inputs, d.Hidden, skills)
}

// Start implements [Diversity].
func (d DIAYN) Start(skills, inputs int, key xla.Key) []*Node {
	return startLearned(d.form(skills, inputs).Init(oneOf(key)))
}

// Model implements [Diversity].
func (d DIAYN) Model(known []*Node, skills, inputs int) Model {
	form := d.form(skills, inputs)
	cut := func(row *Node) nn.Network { return form.Network(row, 0) }
	return discriminator{cutLearned(known, cut), nn.NewAdam(d.LearningRate)}
}

// discriminator is the model of [DIAYN]. It is a pytree.
type discriminator struct {
	Learned learned[nn.Network]
	Adam    nn.Adam
}

func (m discriminator) Observe(Batch) Model { return m }

func (m discriminator) Reward(b Batch) *Node {
	return AddScalar(m.logProbability(b.Next, b.Skill),
		math.Log(float64(b.Skill.Shape().Dimensions[1])))
}

func (m discriminator) Learn(b Batch) (Model, *Node) {
	loss := m.loss(b)
	m.Learned = m.Learned.step(m.Adam, loss)
	return m, loss
}

func (m discriminator) Params() []*Node {
	return m.Learned.known(func(net nn.Network) *Node { return nn.JoinNetworks([]nn.Network{net}) })
}

func (m discriminator) loss(b Batch) *Node {
	return Neg(ReduceAllMean(m.logProbability(b.Now, b.Skill)))
}

// logProbability is log q(z|x), [B].
func (m discriminator) logProbability(x, skill *Node) *Node {
	logits := m.Learned.Net.Apply(x)
	return Sub(ofSkill(logits, skill), logSumExp(logits))
}

// ofSkill selects each row's value for its skill, [B], from values of all skills [B, skills].
func ofSkill(all, skill *Node) *Node { return ReduceSum(Mul(all, skill), 1) }

// logSumExp is log(sum(exp(x))) over the last axis.
func logSumExp(x *Node) *Node {
	top := StopGradient(ReduceMax(x, -1))
	return Add(Log(ReduceSum(Exp(Sub(x, InsertAxes(top, -1))), -1)), top)
}

// learned holds networks, a pytree T, and their [nn.Adam] moments. It is a pytree.
type learned[T any] struct {
	Net     T
	Moments nn.MomentsOf[T]
}

// learnedFields names the tensors that [learned.known] lists.
func learnedFields(name string) []string {
	return []string{name, name + "_first", name + "_second", name + "_weight1", name + "_weight2"}
}

// startLearned returns the initial tensors of networks with the parameters of a row [1, N].
func startLearned(row *Node) []*Node {
	none := Zeros(row.Graph(), shapes.Make(dtypes.Float32))
	return []*Node{row, ZerosLike(row), ZerosLike(row), none, none}
}

// cutLearned is the inverse of [learned.known]; cut splits a row into networks.
func cutLearned[T any](known []*Node, cut func(row *Node) T) learned[T] {
	moments := nn.Moments{First: known[1], Second: known[2], Weight1: known[3], Weight2: known[4]}
	return learned[T]{cut(known[0]), nn.MapMoments(moments, cut)}
}

func (l learned[T]) known(join func(T) *Node) []*Node {
	moments := nn.MapMoments(l.Moments, join)
	return []*Node{join(l.Net), moments.First, moments.Second, moments.Weight1, moments.Weight2}
}

// step takes a gradient step that decreases a loss.
func (l learned[T]) step(adam nn.Adam, loss *Node) learned[T] {
	net, moments := nn.UpdateTree(adam, l.Net, Gradient(loss, xla.Flatten(l.Net)...), l.Moments)
	return learned[T]{net, moments}
}

// oneOf turns a key into the keys of a population of one.
func oneOf(key xla.Key) xla.Key { return key.FoldInEach(Const(key.Hi.Graph(), []int32{0})) }
