package skills

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Problem is what a search solves: the environment that a policy learns in, and the skills that it learns.
type Problem struct {
	Env      envs.Env
	Length   int // control steps per episode
	Skills   Distribution
	Features Features // what distinguishes the skills
	// Learner are the settings of soft actor-critic, which a diversity reward may follow.
	Learner sac.Config
}

// method is an algorithm in an environment: a task, and the two factors of the reward.
type method struct {
	Problem
	Diversity Diversity // distinguishes skills; nil: the policy learns only the task
	Objective Objective // combines both rewards; nil if Diversity is nil
}

// newMethod returns a method whose task has the skills and features of its diversity reward, if that
// is a [Conditioner].
func newMethod(task Problem, diversity Diversity, objective Objective) method {
	if c, ok := diversity.(Conditioner); ok {
		task = c.Condition(task)
	}
	return method{task, diversity, objective}
}

// Width is the number of features that distinguish skills.
func (p Problem) Width() int {
	if len(p.Features.Columns) == 0 {
		return p.Env.Spec().Observations
	}
	return p.Features.Columns[0]
}

// policy is the network of a skill as a separate policy; see [Problem.Genotypes].
func (p Problem) policy(hidden []int) nn.MLP {
	spec := p.Env.Spec()
	return nn.NewPolicy(spec.Observations, hidden, spec.Actions)
}

// layout is the layout of transitions in the replay buffer. With skills, the skill and the columns
// of the features follow.
func (p Problem) layout() replay.Layout {
	spec := p.Env.Spec()
	layout := replay.Layout{Obs: spec.Observations, Actions: spec.Actions}
	if w := p.Skills.width(); w > 0 {
		layout.More = slices.Concat([]int{w}, p.Features.Columns)
	}
	return layout
}

// inputs returns network inputs: observations [B, observations], and behind them the skills as they
// are stored, if there are any.
func (p Problem) inputs(observations, stored *Node) *Node {
	if stored == nil {
		return observations
	}
	return Concatenate([]*Node{observations, p.Skills.inputs(stored)}, 1)
}

// WithOneHotSkills converts an actor of skills that are vectors into the actor of the evaluated ones as
// one-hot skills; any other actor is returned unchanged. All code after training sees this one.
func (p Problem) WithOneHotSkills(actor nn.Network) nn.Network {
	if !p.Skills.vectors() {
		return actor
	}
	first, observations := actor.Kernel[0], p.Env.Spec().Observations
	units, rows := first.Shape().Dimensions[1], Const(first.Graph(), p.Skills.Evaluated)
	byskill := Zeros(first.Graph(), shapes.Make(dtypes.Float32, p.Skills.Count(), units))
	for k := range p.Skills.Size() { // the same sums for any number of skills
		byskill = Add(byskill, Mul(Slice(rows, AxisRange(), AxisElem(k)), Slice(first, AxisElem(observations+k))))
	}
	actor.Kernel = slices.Clone(actor.Kernel)
	actor.Kernel[0] = Concatenate([]*Node{Slice(first, AxisRange(0, observations)), byskill}, 0)
	actor.MLP.Sizes = slices.Clone(actor.MLP.Sizes)
	actor.MLP.Sizes[0] = observations + p.Skills.Count()
	return actor
}

// Genotypes converts an actor of one-hot skills into one policy per skill, in the architecture of
// the neuroevolution methods: observations -> hidden -> actions with tanh. The result is [skills,
// params], with one row if there are no skills. A skill's contribution to the first layer becomes
// part of its bias, and the last layer keeps only the means. Each policy equals the actor without
// noise.
func (p Problem) Genotypes(actor nn.Network) *Node {
	spec, skills, sizes := p.Env.Spec(), max(1, p.Skills.Count()), actor.MLP.Sizes
	net := nn.Net{MLP: p.policy(sizes[1 : len(sizes)-1])}
	for layer, kernel := range actor.Kernel {
		bias := actor.Bias[layer]
		if layer == 0 && p.Skills.Count() > 0 {
			byskill := Slice(kernel, AxisRange(spec.Observations))
			bias = Add(BroadcastToDims(bias, byskill.Shape().Dimensions...), byskill)
			kernel = Slice(kernel, AxisRange(0, spec.Observations))
		}
		if layer == len(actor.Kernel)-1 {
			bias, kernel = Slice(bias, AxisRange(), AxisRange(0, spec.Actions)),
				Slice(kernel, AxisRange(), AxisRange(0, spec.Actions))
		}
		in, out := kernel.Shape().Dimensions[0], kernel.Shape().Dimensions[1]
		net.Bias = append(net.Bias, BroadcastToDims(bias, skills, out))
		net.Kernel = append(net.Kernel, BroadcastToDims(InsertAxes(kernel, 0), skills, in, out))
	}
	return net.Join()
}

// rows returns the transitions of n environments from one state to the next, [n, width]. Without
// skills, skill is nil.
func (p Problem) rows(before, after envs.State, action, skill, truncation *Node) *Node {
	b := replay.Transitions{
		Obs: before.Observation, NextObs: after.Observation, Action: action, Reward: after.Reward,
		Done: after.Done, Truncation: truncation,
	}
	if skill != nil {
		b.More = append(b.More, skill)
		if of := p.Features.Of; of != nil {
			features := of(before, after)
			xla.CheckCount(of, "Of", "features", features, len(p.Features.Columns))
			for i, d := range p.Features.Columns {
				xla.CheckShape(of, "Of", "features", features[i], dtypes.Float32, action.Shape().Dimensions[0], d)
			}
			b.More = append(b.More, features...)
		}
	}
	return p.layout().Join(b)
}

// read splits transitions [B, width]. Some get other skills, see [Distribution.Redraw], if there is a key.
func (p Problem) read(rows *Node, redraw *random.Key) Batch {
	b := Batch{Transitions: p.layout().Split(rows)}
	if more := b.More; len(more) > 0 {
		b.More = nil
		if redraw != nil {
			more[0] = p.Skills.redrawn(more[0], *redraw)
		}
		b.Skill, b.Now, b.Next = p.Skills.inputs(more[0]), b.Obs, b.NextObs
		if len(more) > 1 {
			b.Now, b.Next = more[1], more[len(more)-1]
		}
		b.Obs, b.NextObs = Concatenate([]*Node{b.Obs, b.Skill}, 1),
			Concatenate([]*Node{b.NextObs, b.Skill}, 1)
	}
	return b
}
