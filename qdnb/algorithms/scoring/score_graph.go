package scoring

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Rollout describes the rollout of a batch of policies in slices.
type Rollout struct {
	Task
	Recorders  []envs.Recorder
	Objectives bool // whether the returns by objective are scored, too
	Slices     xla.Slices
}

// scores are the results of a batch's episodes: a pytree.
type scores struct {
	Fitness     *Node   // [batch], see [envs.Record]
	Descriptors *Node   // [batch, d]; nil if the task has none
	Records     []*Node // [batch, rows * width], of each recorder
	Objectives  *Node   // [batch, objectives], returns by objective; nil if not scored
}

// Init draws a genotype for each key, [P, N].
func (t Task) Init(keys random.Key) *Node {
	rows := t.Policy.Init(keys)
	xla.CheckShape(t.Policy, "Init", fmt.Sprintf("rows of %T", t.Policy), rows, dtypes.Float32,
		keys.Hi.Shape().Dimensions[0], t.Policy.Params())
	return rows
}

// View cuts genotypes [P, N] into the policies that act in rollouts.
func (t Task) View(genotypes *Node) nn.Policy {
	policies := t.Policy.Policies(genotypes, t.Env.Spec().Zero...)
	if policies == nil {
		panic(xla.Misfit(t.Policy, "Policies", "it returns nil, not the policies of %T", t.Policy))
	}
	if t.Weights == bfloat16s {
		policies = policies.(nn.Net).BFloat16()
	}
	return policies
}

// Score rolls out the slices of one worker. It returns scores [turns, slice, ...], for
// [xla.Slices.Join]. reset returns the initial states of a slice's episodes, and play its policies
// and what the next slice carries.
//
// On CPUs the initial states of all slices are computed first, in a loop of their own. XLA:CPU
// compiles each loop into one function, in a time that grows faster than its length and with each
// loop around it, and compiles several functions at once. The loop over the slices is therefore no
// part of the function of the steps.
func Score[T any, P nn.Policy](b Rollout, worker *Node, carried T,
	reset func(turn *Node, carried T) envs.State, play func(turn *Node, carried T) (T, P)) scores {
	type state struct {
		Carried T
		Starts  envs.State // [turns, ...] each; none on accelerators
		Scores  scores
	}
	d := len(b.Env.Spec().Descriptor.Lower)
	zeros := func(dims ...int) *Node {
		return Zeros(worker.Graph(), shapes.Make(dtypes.Float32, append([]int{b.Slices.Turns(), b.Slices.Size}, dims...)...))
	}
	start := state{Carried: carried, Scores: scores{Fitness: zeros()}}
	if d > 0 {
		start.Scores.Descriptors = zeros(d)
	}
	if b.Objectives {
		start.Scores.Objectives = zeros(b.Env.Spec().Rewards())
	}
	for _, r := range b.Recorders {
		start.Scores.Records = append(start.Scores.Records, zeros(r.Rows(b.Length)*r.Width))
	}
	ahead := !xla.KindOf(worker.Graph()).Accelerator()
	if ahead {
		start.Starts = xla.MapSlices(b.Slices.Turns(), worker, carried,
			func(turn *Node, carried T) envs.State { return batchLast(reset(turn, carried)) })
	}
	return xla.ForSlicesUnfused(b.Slices.Turns(), worker, start, func(turn *Node, s state) state {
		var begin envs.State
		if ahead {
			begin = batchLast(xla.Map(s.Starts, func(x *Node) *Node { return xla.Row(x, turn) }))
		} else {
			begin = reset(turn, s.Carried)
		}
		var policies P
		s.Carried, policies = play(turn, s.Carried)
		if b.Objectives {
			begin = begin.WithObjectives(b.Env.Spec())
		}
		score, records := envs.Record(b.Env, policies, begin, b.Length, b.Recorders...)
		fitness, descriptors := score.Result()
		s.Scores.Fitness = xla.SetRow(s.Scores.Fitness, turn, fitness)
		if d > 0 {
			s.Scores.Descriptors = xla.SetRow(s.Scores.Descriptors, turn, descriptors)
		}
		if b.Objectives {
			s.Scores.Objectives = xla.SetRow(s.Scores.Objectives, turn, score.Objectives)
		}
		for i, record := range records {
			s.Scores.Records[i] = xla.SetRows(s.Scores.Records[i], turn, Reshape(record, 1, b.Slices.Size, -1))
		}
		return s
	}).Scores
}

// batchLast moves the batch of observation and descriptor to the other axis. With the batch on the
// last axis, the loop over the steps carries them in the layout in which tasks compute them.
func batchLast(s envs.State) envs.State {
	if s.Observation != nil {
		s.Observation = Transpose(s.Observation, 0, 1)
	}
	if s.Descriptor != nil {
		s.Descriptor = Transpose(s.Descriptor, 0, 1)
	}
	return s
}
