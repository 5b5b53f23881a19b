package skills

import (
	"cmp"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
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
	LearningRate float64 `limits:"0,1e3"`                     // 0: the learner's
	Hidden       []int   `json:"diversity_hidden" limits:"0"` // units of the hidden layers of the diversity model

	Discriminator nn.Trainable[nn.Network] // x to the logits of the skills
}

var _ = presets("diayn", DIAYN{Hidden: []int{256, 256}})

// Loss implements [Diversity].
func (DIAYN) Loss() string { return "discriminator_loss" }

// Init implements [Diversity].
func (d DIAYN) Init(p Problem, key random.Key) Diversity {
	mlp := nn.NewMLP(p.Width(), d.Hidden, p.Skills.Size())
	d.Discriminator = nn.NewTrainable(mlp.New(key), cmp.Or(d.LearningRate, p.Learner.LearningRate))
	return d
}

// Reward implements [Diversity].
func (d DIAYN) Reward(b Batch) *Node {
	return AddScalar(d.logProbability(b.Next, b.Skill), math.Log(float64(b.Skill.Shape().Dimensions[1])))
}

// Learn implements [Diversity].
func (d DIAYN) Learn(b Batch) (Diversity, *Node) {
	loss := d.loss(b)
	d.Discriminator = d.Discriminator.Step(loss)
	return d, loss
}

func (d DIAYN) loss(b Batch) *Node { return Neg(ReduceAllMean(d.logProbability(b.Now, b.Skill))) }

// logProbability is log q(z|x), [B].
func (d DIAYN) logProbability(x, skill *Node) *Node {
	logits := d.Discriminator.Params.Apply(x)
	return Sub(dot(logits, skill), logSumExp(logits))
}

// logSumExp is log(sum(exp(x))) over the last axis.
func logSumExp(x *Node) *Node {
	top := StopGradient(ReduceMax(x, -1))
	return Add(Log(ReduceSum(Exp(Sub(x, InsertAxes(top, -1))), -1)), top)
}
