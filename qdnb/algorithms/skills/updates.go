package skills

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla/random"
)

// Updates holds the updates of a search without its environments, for timing. It is a pytree.
type Updates struct {
	Learning learning
	Buffer   replay.Buffer
}

// NewUpdates starts with new networks and a full buffer of random transitions, none of which ends
// an episode.
func NewUpdates(method Method, config sac.Config, rows int, key random.Key) Updates {
	g, spec := key.Hi.Graph(), method.Env.Spec()
	it := newIteration(method, config)
	zeros := Zeros(g, shapes.Make(dtypes.Float32, rows))
	b := replay.Batch{
		Obs:     key.FoldIn(0).Normal(rows, spec.Observations),
		NextObs: key.FoldIn(1).Normal(rows, spec.Observations),
		Action:  key.FoldIn(2).Uniform(-1, 1, rows, spec.Actions), Reward: key.FoldIn(3).Normal(rows),
		Done: zeros, Truncation: zeros,
	}
	for i, width := range it.layout().More {
		b.More = append(b.More, key.FoldIn(4+i).Normal(rows, width))
	}
	if it.Skills.OneHot > 0 {
		b.More[0] = it.Skills.playing(g, rows)
	} else if it.Skills.vectors() {
		b.More[0] = it.Skills.drawn(key.FoldIn(8), rows)
	}
	full := Const(g, int32(rows))
	return Updates{learning{it.sac.Start(key.FoldIn(6)), it.init(key.FoldIn(7))},
		replay.Buffer{Rows: it.layout().Join(b), Size: full, Position: ZerosLike(full)}}
}

// Run performs n updates and returns the mean critic and actor losses, scalars.
func (u Updates) Run(method Method, config sac.Config, n int, key random.Key) (Updates, []*Node) {
	it := newIteration(method, config)
	it.updates = n
	var f metrics
	u.Learning, f = it.train(u.Learning, u.Buffer, nil, key)
	return u, []*Node{f.Critic, f.Actor}
}
