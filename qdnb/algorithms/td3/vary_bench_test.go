package td3

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// BenchmarkVary is the policy-gradient variation of one individual and of the paper's 50, with the
// paper's 100 steps and the sizes of ant-uni. The 50 are divided among the workers, as in training.
// A single one is a program on the first device, whose matrix products XLA spreads over the cores.
func BenchmarkVary(b *testing.B) {
	t := New(Default(), nn.NewPolicy(87, []int{256, 256}, 8))
	for _, individuals := range []int{1, 50} {
		b.Run(fmt.Sprint(individuals), func(b *testing.B) {
			p := xlatest.Best(b)
			compile, workers := xlatest.CompileParallel, p.Workers
			if individuals == 1 {
				compile, workers = xlatest.Compile, 1
			}
			share := (individuals + workers - 1) / workers
			inputs := []shapes.Shape{shapes.Make(dtypes.Uint32, 2),
				shapes.Make(dtypes.Int32)}
			program, err := compile(p, "vary", inputs, func(in []*Node) []*Node {
				key, worker := random.KeyOf(in[0]), in[1]
				g, rows := key.Hi.Graph(), 10_000
				full := Const(g, int32(rows))
				zeros := Zeros(g, shapes.Make(dtypes.Float32, rows))
				obs := key.FoldIn(0).Normal(rows, 87)
				buffer := replay.Buffer{Rows: t.Layout().Join(replay.Transitions{Obs: obs, NextObs: obs,
					Action: Zeros(g, shapes.Make(dtypes.Float32, rows, 8)), Reward: zeros, Done: zeros,
					Truncation: zeros,
				}), Size: full, Position: ZerosLike(full)}
				which := Add(MulScalar(worker, int32(share)), Iota(g, shapes.Make(dtypes.Int32, share), 0))
				parents := t.Actor.Init(key.FoldIn(1).FoldInEach(which))
				critic := t.Start(Slice(parents, AxisRange(0, 1)), key.FoldIn(2)).Critic.Params[0]
				return []*Node{t.Vary(parents, critic, t.DrawObservations(buffer, key.FoldIn(3), 100), worker,
					individuals)}
			})
			must.Do(err)
			defer program.Free()
			seed, worker := p.Replicated(func() *tensors.Tensor {
				return xlatest.Tensor(random.SeedWords(0), 2)
			})[:workers], p.WorkerNumbers()[:workers]
			for b.Loop() {
				out := must.Get(program.Run(seed, worker))
				for _, children := range out[0] {
					xlatest.Flat[float32](b, children) // waits for the device
				}
				out[0].Free()
			}
		})
	}
}
