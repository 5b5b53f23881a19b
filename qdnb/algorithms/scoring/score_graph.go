package scoring

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Batch describes the rollout of a batch of policies in slices.
type Batch struct {
	Task
	Recorders  []envs.Recorder
	Objectives bool // whether the returns by objective are scored, too
	Slices     xla.Slices
}

// Scores are the results of a batch's episodes: a pytree.
type Scores struct {
	Fitness     *Node   // [batch], see [envs.Record]
	Descriptors *Node   // [batch, d]; nil if the task has none
	Records     []*Node // [batch, rows * width], of each recorder
	Objectives  *Node   // [batch, objectives], returns by objective; nil if not scored
}

// Score rolls out the slices of one worker. It returns scores [turns, slice, ...], for
// [xla.Slices.Join]. play returns the policies of a slice, the initial states of their episodes,
// and what the next slice carries.
func Score[T any](b Batch, worker *Node, carried T,
	play func(turn *Node, carried T) (T, nn.Net, envs.State)) Scores {
	type state struct {
		Carried T
		Scores  Scores
	}
	d := len(b.Env.Spec().Descriptor.Lower)
	zeros := func(dims ...int) *Node {
		return Zeros(worker.Graph(), shapes.Make(dtypes.Float32,
			append([]int{b.Slices.Turns(), b.Slices.Size}, dims...)...))
	}
	start := state{carried, Scores{Fitness: zeros()}}
	if d > 0 {
		start.Scores.Descriptors = zeros(d)
	}
	if b.Objectives {
		start.Scores.Objectives = zeros(b.Env.Spec().Rewards())
	}
	for _, r := range b.Recorders {
		start.Scores.Records = append(start.Scores.Records, zeros(r.Rows(b.Length)*r.Width))
	}
	return xla.ForSlices(b.Slices.Turns(), worker, start, func(turn *Node, s state) state {
		var policies nn.Net
		var begin envs.State
		s.Carried, policies, begin = play(turn, s.Carried)
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
			s.Scores.Records[i] = xla.SetRows(s.Scores.Records[i], turn,
				Reshape(record, 1, b.Slices.Size, -1))
		}
		return s
	}).Scores
}
