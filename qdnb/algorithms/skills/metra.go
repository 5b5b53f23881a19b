package skills

import (
	"cmp"
	"math"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// METRA rewards transitions that move in their skill's direction of a learned space in which a step
// of the environment has at most length 1 (Park, Rybkin and Levine, ICLR 2024). An encoder phi, a
// ReLU network, has one output per skill; u(z) is the skill, one-hot, minus its mean, times
// skills / (skills - 1):
//
//	step = phi(next) - phi(now)
//	reward = step . u(z)
//	constraint = min(slack, 1 - mean(step^2))
//	loss = -mean(reward + lambda constraint), for phi
//
// If skills are unit vectors, phi has one output per component, and u(z) is z.
//
// Dual descent adapts lambda, whose logarithm decreases with the mean constraint. As in the
// published code (seohongpark/METRA, iod/metra.py), the mean of step^2 is over the outputs of phi. A transition
// that ends an episode has no reward and does not train phi, because its next state is the start of
// another episode.
type METRA struct {
	LearningRate float64 `limits:"0,1e3"`                     // 0: the learner's
	Hidden       []int   `json:"diversity_hidden" limits:"0"` // units of the hidden layers of the diversity model
	// Multiplier is the initial lambda, the weight of the constraint; its publication: 30.
	Multiplier float64 `json:"dual_lambda" limits:">0,1e9"`
	// Slack is the most that a short step can gain, the largest value of the constraint; its
	// publication: 1e-3.
	Slack float64 `json:"dual_slack" limits:">0,1"`
	// Components is the number of components of skills that are unit vectors; 0: one-hot skills.
	Components int `json:"continuous_skills,omitempty" limits:"0,64"`

	Nets nn.Trainable[metraNets]
}

// metraNets are the encoder and the logarithm of lambda: a pytree.
type metraNets struct {
	Encoder       nn.Network
	LogMultiplier *Node // scalar
}

func (m METRA) vectors() bool { return m.Components > 0 }

// Loss implements [Diversity].
func (METRA) Loss() string { return "encoder_loss" }

// Condition implements [Conditioner].
func (m METRA) Condition(p Problem) Problem {
	if m.Components > 0 {
		p.Skills = unitVectors(p.Skills.Count(), m.Components)
	}
	if len(p.Features.Columns) > 0 {
		p.Features = p.EpisodeDescriptors()
	}
	return p
}

// Init implements [Diversity].
func (m METRA) Init(p Problem, key random.Key) Diversity {
	mlp := nn.NewMLP(p.Width(), m.Hidden, p.Skills.Size())
	m.Nets = nn.NewTrainable(metraNets{mlp.New(key),
		Const(key.Hi.Graph(), float32(math.Log(m.Multiplier)))}, cmp.Or(m.LearningRate, p.Learner.LearningRate))
	return m
}

// Reward implements [Diversity].
func (m METRA) Reward(b Batch) *Node {
	return Mul(m.along(m.step(b), b.Skill), OneMinus(b.Done))
}

// Learn implements [Diversity].
func (m METRA) Learn(b Batch) (Diversity, *Node) {
	loss, dual := m.losses(b)
	// Either loss depends on the other's parameters only through constants.
	m.Nets = m.Nets.Step(Add(loss, dual))
	return m, loss
}

// losses returns the losses of the encoder and of the multiplier, scalars. Transitions that end an
// episode do not count.
func (m METRA) losses(b Batch) (encoder, multiplier *Node) {
	step, running := m.step(b), OneMinus(b.Done)
	mean := func(x *Node) *Node {
		return Div(ReduceAllSum(Mul(x, running)), MaxScalar(ReduceAllSum(running), 1))
	}
	constraint := MinScalar(OneMinus(ReduceMean(Square(step), 1)), m.Slack)
	log := m.Nets.Params.LogMultiplier
	lambda := StopGradient(Exp(log))
	encoder = Neg(Add(mean(m.along(step, b.Skill)), Mul(lambda, mean(constraint))))
	return encoder, Mul(log, StopGradient(mean(constraint)))
}

// step is the movement of each transition in the learned space, [B, skills].
func (m METRA) step(b Batch) *Node {
	return Sub(m.Nets.Params.Encoder.Apply(b.Next), m.Nets.Params.Encoder.Apply(b.Now))
}

// along returns the components of steps [B, skills] in the directions of their skills, [B].
func (m METRA) along(step, skill *Node) *Node {
	if m.Components > 0 {
		return dot(step, skill)
	}
	skills := float64(skill.Shape().Dimensions[1])
	direction := MulScalar(AddScalar(skill, -1/skills), skills/max(1, skills-1))
	return dot(step, direction)
}

var _ = preset("metra", defaultMetra, wide)

// defaultMetra returns the publication's hyperparameters (seohongpark/METRA, README.md and tests/main.py):
// skills of two components for ants and humanoids, 16 discrete ones for other robots, 50 updates for eight
// episodes of 200 steps, none before 10 000 transitions, its constraint, learning rate and entropy
// coefficient. Sizes of networks, batches and buffers are those of DIAYN.
func defaultMetra(env envs.Spec) *Discovery {
	m := METRA{Hidden: []int{256, 256}, Multiplier: 30, Slack: 1e-3}
	if robot, _, _ := strings.Cut(env.Name, "-"); robot == "ant" || robot == "humanoid" {
		m.Components = 2
	}
	d := discovery(env, m, DiversityOnly{})
	d.NumSkills, d.LearningRate, d.RewardScaling = 16, 1e-4, 1
	d.AlphaInit, d.FixAlpha = 0.01, false
	d.GradUpdatesPerStep, d.WarmupSteps = 0.03, 10_000
	return d
}
