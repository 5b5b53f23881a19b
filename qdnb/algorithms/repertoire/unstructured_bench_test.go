package repertoire

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// One insertion and one re-insertion of AURORA's size on one core, with an archive that is three
// quarters full.
func BenchmarkUnstructuredWinners(b *testing.B) { benchmarkUnstructured(b, false) }

func BenchmarkUnstructuredSurvivors(b *testing.B) { benchmarkUnstructured(b, true) }

func benchmarkUnstructured(b *testing.B, survivors bool) {
	const n, size, d = 1024, 1000, 5
	p := xlatest.Best(b)
	inputs := []xlatest.Input{{Shape: shapes.Make(dtypes.Float32, n)},
		{Shape: shapes.Make(dtypes.Float32, n, d)},
		{Shape: shapes.Make(dtypes.Float32)}, {Shape: shapes.Make(dtypes.Float32, size)},
		{Shape: shapes.Make(dtypes.Float32, size, d)}}
	program, err := xlatest.Compile(p, "archive", inputs, func(in []*Node) []*Node {
		u := Unstructured{in[0], in[1]}
		if survivors {
			return []*Node{u.Survivors(in[2]), in[3], in[4]}
		}
		index, accepted := u.Winners(in[2], Batch{in[3], in[4]})
		return []*Node{index, accepted}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer program.Free()
	rng := rand.New(rand.NewPCG(7, 8))
	var values []xla.Sharded
	for _, input := range inputs {
		flat := make([]float32, input.Shape.Size())
		for i := range flat {
			flat[i] = rng.Float32()
			if input.Shape.Rank() == 1 && len(flat) == n && i%4 == 0 {
				flat[i] = float32(math.Inf(-1))
			}
		}
		values = append(values, xla.Sharded{xlatest.Tensor(flat, input.Shape.Dimensions...)})
	}
	b.ResetTimer()
	for range b.N {
		out, err := program.Run(values...)
		if err != nil {
			b.Fatal(err)
		}
		for _, value := range out {
			value.Free()
		}
	}
}
