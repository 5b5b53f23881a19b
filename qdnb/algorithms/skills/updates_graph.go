package skills

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
)

// Updates holds the updates of a search without its environments, for timing. It is a pytree.
type Updates struct {
	Learner sac.Learner
	Known   []*Node
	Buffer  replay.Buffer
}

// NewUpdates starts with new networks and a full buffer of random transitions, none of which ends
// an episode.
func NewUpdates(task Task, method Method, config sac.Config, rows int, key xla.Key) Updates {
	g, spec := key.Hi.Graph(), task.Env.Spec()
	it := newIteration(task, method, config)
	zeros := Zeros(g, shapes.Make(dtypes.Float32, rows))
	b := replay.Batch{
		Obs:     key.FoldIn(0).Normal(rows, spec.Observations),
		NextObs: key.FoldIn(1).Normal(rows, spec.Observations),
		Action:  key.FoldIn(2).Uniform(-1, 1, rows, spec.Actions), Reward: key.FoldIn(3).Normal(rows),
		Done: zeros, Truncation: zeros,
	}
	if task.Skills > 0 {
		skill := task.playing(g, rows)
		if task.Continuous > 0 {
			skill = task.drawn(key.FoldIn(8).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, rows), 0)))
		}
		b.More = append(b.More, skill)
		for i, width := range task.layout().More[1:] {
			b.More = append(b.More, key.FoldIn(4+i).Normal(rows, width))
		}
	}
	full := Const(g, int32(rows))
	u := Updates{Learner: it.sac.Start(key.FoldIn(6)),
		Buffer: replay.Buffer{Rows: task.layout().Join(b), Size: full, Position: ZerosLike(full)}}
	if method.Diversity != nil {
		u.Known = method.Diversity.Start(task.inputs(), task.width(), key.FoldIn(7))
	}
	return u
}

// Run performs n updates and returns the mean critic and actor losses, scalars.
func (u Updates) Run(task Task, method Method, config sac.Config, n int, key xla.Key) (Updates,
	[]*Node) {
	it := newIteration(task, method, config)
	it.updates = n
	var f metrics
	u.Learner, u.Known, f = it.train(u.Learner, u.Known, u.Buffer, nil, key)
	return u, []*Node{f.Critic, f.Actor}
}
