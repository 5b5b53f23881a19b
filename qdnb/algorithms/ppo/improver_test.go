package ppo

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// An improver that maximises a final position gets its change in each step, whose mean is the position, and not
// the position itself; nothing in the step that ends an episode, after which the next one has begun.
func TestWalkersMeasureChangesOfPositions(t *testing.T) {
	const n, length = 4, 5
	config := *Default(envs.Spec{Length: length})
	config.NumEnvs, config.UnrollLength, config.BatchSize, config.NumMinibatches = n, 8, n, 1
	a := newAgent(config, 2, 2, false)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			c := &collecting{agent: a, env: envs.AutoReset(envs.Pointmaze{}, length), describes: true,
				shared: xla.Slices{N: n, Size: n, Workers: 1}}
			worker := Const(in[0].Graph(), int32(0))
			l := a.start(key.FoldIn(1))
			_, d := c.collect(actorOf(l), nil, c.start(key, worker), key.FoldIn(2), worker)
			return []*Node{d.Obs, d.Done, d.Descriptor}
		}, xlatest.Tensor([]uint32{1, 2}, 2))
		positions, done, measured := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]),
			xlatest.Flat[float32](t, out[2])
		moved := 0.0
		for i := range n {
			for step := range 8 {
				for k := range 2 {
					at := func(step int) float64 { return float64(positions[(i*9+step)*2+k]) }
					want := length * (at(step+1) - at(step))
					if done[i*8+step] > 0 {
						want = 0
					}
					got := float64(measured[(i*8+step)*2+k])
					if moved = max(moved, math.Abs(got)); math.Abs(got-want) > 1e-5 {
						t.Errorf("environment %d, step %d: %g, want %g", i, step, got, want)
					}
				}
			}
		}
		if moved == 0 {
			t.Error("nothing moves")
		}
	})
}
