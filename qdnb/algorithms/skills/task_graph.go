package skills

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Task is the environment that a policy learns in.
type Task struct {
	Env    envs.Env
	Length int // control steps per episode
	Skills int // number of skills to condition the policy on; 0 for SAC alone
	// Continuous is the number of components of skills that are vectors, drawn for each episode: unit
	// vectors, or descriptors if Desired; 0: skills are numbered. Evaluations use a fixed set of
	// Skills such vectors.
	Continuous int
	// Desired: a skill is a desired descriptor, and skills are distinguished by features of
	// steps: state descriptors or, with Changes, their changes over a whole episode at the rate of the
	// step. In all of them, the limits of the descriptor are scaled to -1 and 1.
	Desired, Changes bool
	// Random is the share of the sampled transitions whose skill is replaced by a random one; 0 unless
	// skills are vectors.
	Random float64
	// Restarts: the first step of an episode starts from its own initial descriptor, also in an
	// environment that keeps the last one, see [envs.Descriptor]. DIAYN and DADS do as their published
	// code, without it.
	Restarts bool
	// FullState distinguishes skills by whole observations instead of the task's state descriptors.
	FullState bool
}

// Method defines an algorithm by its two factors.
type Method struct {
	Diversity Diversity // distinguishes skills; nil: the policy learns only the task
	Objective Objective // combines both rewards; nil if Diversity is nil
}

// policy is the network of a skill as a separate policy; see [Task.Genotypes].
func (t Task) policy(hidden []int) nn.MLP {
	spec := t.Env.Spec()
	return nn.Policy(spec.Observations, hidden, spec.Actions)
}

// width is the number of features that distinguish skills.
func (t Task) width() int {
	if t.FullState {
		return t.Env.Spec().Observations
	}
	return len(t.Env.Spec().Descriptor.Lower)
}

// layout is the layout of transitions in the replay buffer. With skills, the index of the skill
// follows, and what distinguishes skills besides observations: the descriptors before and after the
// step, or its features.
func (t Task) layout() replay.Layout {
	spec := t.Env.Spec()
	layout := replay.Layout{Obs: spec.Observations, Actions: spec.Actions}
	if t.Skills > 0 {
		layout.More = []int{max(1, t.Continuous)}
		switch d := len(spec.Descriptor.Lower); {
		case t.Desired:
			layout.More = append(layout.More, d)
		case !t.FullState:
			layout.More = append(layout.More, d, d)
		}
	}
	return layout
}

// inputs is the number of network inputs that hold the skill.
func (t Task) inputs() int {
	if t.Continuous > 0 {
		return t.Continuous
	}
	return t.Skills
}

// vector returns skills as they are stored, [B, 1 or components], as network inputs.
func (t Task) vector(skill *Node) *Node {
	if t.Continuous > 0 {
		return skill
	}
	return oneHot(skill, t.Skills)
}

// drawn returns random skills that are vectors, [keys, components].
func (t Task) drawn(keys xla.Key) *Node {
	if t.Desired {
		return keys.Uniform(-1, 1, keys.Hi.Shape().Dimensions[0], t.Continuous)
	}
	x := keys.Normal(keys.Hi.Shape().Dimensions[0], t.Continuous)
	return Div(x, Sqrt(AddScalar(InsertAxes(ReduceSum(Square(x), 1), -1), 1e-12)))
}

// evaluated returns the skills that are evaluated, vectors [skills][components]: evenly spread
// descriptors, or unit vectors that are evenly spaced on a circle or else drawn once for all runs.
func (t Task) evaluated() [][]float32 {
	if t.Desired {
		return spread(t.Skills, t.Continuous)
	}
	rng, all := rand.New(rand.NewPCG(1, 2)), make([][]float32, t.Skills)
	for i := range all {
		x, square := make([]float64, t.Continuous), 0.0
		for k := range x {
			x[k] = rng.NormFloat64()
		}
		if t.Continuous == 2 {
			x[1], x[0] = math.Sincos(2 * math.Pi * float64(i) / float64(t.Skills))
		}
		for k := range x {
			square += x[k] * x[k]
		}
		for k := range x {
			all[i] = append(all[i], float32(x[k]/math.Sqrt(square)))
		}
	}
	return all
}

// Numbered converts an actor [1, N] of skills that are vectors into the actor of the evaluated
// ones as numbered skills; any other actor is returned unchanged. All code after training sees
// this one.
func (t Task) Numbered(algorithm sac.SAC, actor *Node) *Node {
	if t.Continuous == 0 {
		return actor
	}
	net, observations := algorithm.Actor.View(actor), t.Env.Spec().Observations
	first := net.Kernel[0] // [1, observations + components, units]
	units, rows := first.Shape().Dimensions[2], Const(actor.Graph(), t.evaluated())
	byskill := Zeros(actor.Graph(), shapes.Make(dtypes.Float32, t.Skills, units))
	for k := range t.Continuous { // the same sums for any number of skills
		byskill = Add(byskill, Mul(Slice(rows, AxisRange(), AxisRange(k, k+1)),
			Reshape(Slice(first, AxisRange(), AxisElem(observations+k)), 1, units)))
	}
	net.Kernel[0] = Concatenate([]*Node{Slice(first, AxisRange(), AxisRange(0, observations)),
		InsertAxes(byskill, 0)}, 1)
	net.Form.Sizes = slices.Clone(net.Form.Sizes)
	net.Form.Sizes[0] = observations + t.Skills
	return net.Join()
}

// row returns the transitions of n environments from one state to the next, [n, width].
func (t Task) row(before, after envs.State, action, skill, truncation *Node) *Node {
	b := replay.Batch{
		Obs: before.Observation, NextObs: after.Observation, Action: action, Reward: after.Reward,
		Done: after.Done, Truncation: truncation,
	}
	if t.Skills > 0 {
		b.More = append(b.More, skill)
		switch {
		case t.Desired:
			b.More = append(b.More, t.features(before, after))
		case !t.FullState:
			now := before.Descriptor
			if t.Restarts {
				now = t.descriptor(before)
			}
			b.More = append(b.More, now, after.Descriptor)
		}
	}
	return t.layout().Join(b)
}

// descriptor returns the state descriptor of a state, [n, d]; that of the initial state if an
// episode has just ended.
func (t Task) descriptor(s envs.State) *Node {
	return Where(ended(s), envs.AutoReset(t.Env, t.Length).Start(s), s.Descriptor)
}

// ended returns where the step to a state ended an episode, [n, d].
func ended(s envs.State) *Node {
	return BroadcastToDims(InsertAxes(GreaterThan(s.Done, ZerosLike(s.Done)), -1),
		s.Descriptor.Shape().Dimensions...)
}

// conditioned appends the skills [B, skills] to the observations [B, observations], as network
// input.
func conditioned(observations, skills *Node) *Node {
	return Concatenate([]*Node{observations, skills}, 1)
}

// read splits transitions [B, width] into learner batches; network inputs are conditioned on the
// skill. The second result is nil if there are no skills.
func (t Task) read(rows *Node) (replay.Batch, *Batch) {
	b := t.layout().Split(rows)
	more := b.More
	b.More = nil
	if t.Skills == 0 {
		return b, nil
	}
	s := &Batch{Skill: t.vector(more[0]), Now: b.Obs, Next: b.NextObs, Done: b.Done}
	if !t.FullState {
		s.Now, s.Next = more[1], more[len(more)-1]
	}
	b.Obs, b.NextObs = conditioned(b.Obs, s.Skill), conditioned(b.NextObs, s.Skill)
	return b, s
}

// oneHot returns the one-hot encoding of skill indices [B, 1], [B, skills].
func oneHot(number *Node, skills int) *Node {
	shape := shapes.Make(dtypes.Float32, number.Shape().Dimensions[0], skills)
	column := Iota(number.Graph(), shape, 1)
	return ConvertDType(Equal(BroadcastToDims(number, shape.Dimensions...), column), dtypes.Float32)
}

// playing returns the fixed skill of each of n environments during a run, k mod skills, as float32
// [n, 1].
func (t Task) playing(g *Graph, n int) *Node {
	return ModScalar(Iota(g, shapes.Make(dtypes.Float32, n, 1), 0), float64(max(1, t.Skills)))
}

// Genotypes converts an actor [1, N] into one policy per skill, in the network form of the
// neuroevolution methods: observations -> hidden -> actions with tanh. The result is [skills,
// params], with one row if there are no skills. A skill's contribution to the first layer becomes
// part of its bias, and the last layer keeps only the means. Each policy equals the actor without
// noise.
func (t Task) Genotypes(algorithm sac.SAC, actor *Node) *Node {
	form := algorithm.Actor
	form.Sizes = slices.Clone(form.Sizes)
	form.Sizes[0] = t.Env.Spec().Observations + t.Skills
	net := form.View(t.Numbered(algorithm, actor))
	spec, last, skills := t.Env.Spec(), len(net.Kernel)-1, max(1, t.Skills)
	if t.Skills > 0 {
		first := net.Kernel[0] // [1, observations + skills, units]
		byskill := Reshape(Slice(first, AxisRange(), AxisRange(spec.Observations)), skills, -1)
		net.Bias[0] = Add(BroadcastToDims(net.Bias[0], byskill.Shape().Dimensions...), byskill)
		net.Kernel[0] = Slice(first, AxisRange(), AxisRange(0, spec.Observations))
	}
	net.Bias[last] = Slice(net.Bias[last], AxisRange(), AxisRange(0, spec.Actions))
	net.Kernel[last] = Slice(net.Kernel[last], AxisRange(), AxisRange(), AxisRange(0, spec.Actions))
	for _, arrays := range [][]*Node{net.Bias, net.Kernel} {
		for i, x := range arrays {
			dims := slices.Clone(x.Shape().Dimensions)
			dims[0] = skills
			arrays[i] = BroadcastToDims(x, dims...)
		}
	}
	net.Form = t.policy(algorithm.Hidden)
	return net.Join()
}
