package td3

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// BenchmarkVary is the policy-gradient variation of one individual and of the paper's 50 by the paper's 100 steps, sizes of ant-uni.
func BenchmarkVary(b *testing.B) {
	t := New(Default(), nn.Policy(87, []int{256, 256}, 8))
	for _, individuals := range []int{1, 50} {
		b.Run(fmt.Sprint(individuals), func(b *testing.B) {
			p := xlatest.Best(b)
			program, err := p.Compile("vary", []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}}, func(in []*Node) []*Node {
				key := xla.KeyOf(in[0])
				g, rows := key.Hi.Graph(), 10_000
				full := Const(g, int32(rows))
				zeros := Zeros(g, shapes.Make(dtypes.Float32, rows))
				obs := key.FoldInt(0).Normal(rows, 87)
				buffer := replay.Buffer{Rows: t.Layout().Join(replay.Batch{Obs: obs, NextObs: obs,
					Action: Zeros(g, shapes.Make(dtypes.Float32, rows, 8)), Reward: zeros, Done: zeros, Truncation: zeros,
				}), Size: full, Position: ZerosLike(full)}
				parents := t.Actor.Init(key.FoldInt(1).Fold(Iota(g, shapes.Make(dtypes.Int32, individuals), 0)))
				critics := t.Start(Slice(parents, AxisRange(0, 1)), key.FoldInt(2)).Critic
				observations := t.DrawObservations(buffer, key.FoldInt(3), 100)
				return []*Node{t.Vary(parents, critics, observations, Together(p.Kind, individuals))}
			})
			if err != nil {
				b.Fatal(err)
			}
			defer program.Free()
			seed := xla.Value{xlatest.Tensor(xla.SeedWords(0), 2)}
			for b.Loop() {
				out, err := program.Run(seed)
				if err != nil {
					b.Fatal(err)
				}
				out[0].Free()
			}
		})
	}
}
