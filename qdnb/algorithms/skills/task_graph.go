package skills

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla/nn"
)

// Task is what a policy learns in.
type Task struct {
	Env    envs.Env
	Length int // control steps of an episode
	Skills int // that the policy is told of, one at a time; 0: none, as in SAC alone
	// FullState tells skills apart by whole observations; else they are by the task's state
	// descriptors.
	FullState bool
}

// Method is what an algorithm is made of.
type Method struct {
	Diversity Diversity // tells skills apart; nil: nothing does, and the policy learns the task alone
	Objective Objective // what both rewards are worth together; nil as well
}

// policy is the form of a skill as a policy of its own; see [Task.Genotypes].
func (t Task) policy(hidden []int) nn.MLP {
	spec := t.Env.Spec()
	return nn.Policy(spec.Observations, hidden, spec.Actions)
}

// features is how many numbers skills are told apart by.
func (t Task) features() int {
	if t.FullState {
		return t.Env.Spec().Observations
	}
	return len(t.Env.Spec().Descriptor.Lower)
}

// The columns of a transition that follow those of replay.Transitions.
const (
	skillColumn      = "skill" // its number
	descriptorColumn = "descriptor"
	nextColumn       = "next_descriptor"
)

// layout is that of the transitions in the replay buffer.
func (t Task) layout() replay.Layout {
	spec := t.Env.Spec()
	layout := replay.Transitions(spec.Observations, spec.Actions)
	if t.Skills > 0 {
		layout = append(layout, replay.Column{Name: skillColumn, Width: 1})
		if !t.FullState {
			d := len(spec.Descriptor.Lower)
			layout = append(layout, replay.Column{Name: descriptorColumn, Width: d},
				replay.Column{Name: nextColumn, Width: d})
		}
	}
	return layout
}

// row is the transition from one state of n environments to the next, [n, width].
func (t Task) row(before, after envs.State, action, skill, truncation *Node) *Node {
	b := replay.Batch{
		Obs: before.Observation, NextObs: after.Observation, Action: action, Reward: after.Reward,
		Done: after.Done, Truncation: truncation,
	}
	if t.Skills > 0 {
		b.More = append(b.More, skill)
		if !t.FullState {
			b.More = append(b.More, before.Descriptor, after.Descriptor)
		}
	}
	return t.layout().Join(b)
}

// conditioned puts the skills [B, skills] beside the observations [B, observations]: what the
// networks see.
func conditioned(observations, skills *Node) *Node {
	return Concatenate([]*Node{observations, skills}, 1)
}

// read cuts transitions [B, width] into what learns of them; the networks' inputs are told the
// skill. The second is nil if there are none.
func (t Task) read(rows *Node) (replay.Batch, *Batch) {
	b := t.layout().Split(rows)
	more := b.More
	b.More = nil
	if t.Skills == 0 {
		return b, nil
	}
	s := &Batch{Skill: oneHot(more[0], t.Skills), Now: b.Obs, Next: b.NextObs, Done: b.Done}
	if !t.FullState {
		s.Now, s.Next = more[1], more[2]
	}
	b.Obs, b.NextObs = conditioned(b.Obs, s.Skill), conditioned(b.NextObs, s.Skill)
	return b, s
}

// oneHot is a 1 in the column of each number [B, 1], [B, skills].
func oneHot(number *Node, skills int) *Node {
	shape := shapes.Make(dtypes.Float32, number.Shape().Dimensions[0], skills)
	column := Iota(number.Graph(), shape, 1)
	return ConvertDType(Equal(BroadcastToDims(number, shape.Dimensions...), column), dtypes.Float32)
}

// playing is the skill that each of n environments plays, for the whole of a run: k mod skills,
// float32 [n, 1].
func (t Task) playing(g *Graph, n int) *Node {
	return ModScalar(Iota(g, shapes.Make(dtypes.Float32, n, 1), 0), float64(max(1, t.Skills)))
}

// Genotypes are the skills of an actor [1, N] as policies of their own, rows of observations ->
// hidden -> actions with tanh, as the neuroevolution has them: [skills, params], or one of a policy
// that is told nothing. What a skill adds to the first layer goes into its bias, and of the last
// layer the means stay. They do what the actor does without noise.
func (t Task) Genotypes(algorithm sac.SAC, actor *Node) *Node {
	net := algorithm.Actor.View(actor)
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
