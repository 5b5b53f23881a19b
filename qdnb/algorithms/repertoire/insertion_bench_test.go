package repertoire

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// One insertion and one re-insertion of AURORA's size on one core, with an archive that is three
// quarters full.
func BenchmarkUnstructuredWinners(b *testing.B) {
	benchmarkInsertion(b, 5, func(in []*Node) []*Node {
		index, accepted := Unstructured{in[0], in[1]}.Winners(in[2], Batch{in[3], in[4]})
		return []*Node{index, accepted}
	})
}

func BenchmarkUnstructuredSurvivors(b *testing.B) {
	benchmarkInsertion(b, 5, func(in []*Node) []*Node {
		return []*Node{Unstructured{in[0], in[1]}.Survivors(in[2]), in[3], in[4]}
	})
}

// One insertion of the default size of Dominated Novelty Search.
func BenchmarkDominatedNovelty(b *testing.B) {
	benchmarkInsertion(b, 2, func(in []*Node) []*Node {
		members := Cells{Fitness: in[0], Descriptors: in[1]}
		index, accepted, _ := DominatedNovelty{NoveltySettings{K: 3}, members}.winners(Batch{in[3], in[4]})
		return []*Node{index, accepted, in[2]}
	})
}

// benchmarkInsertion passes build an archive (fitness, descriptors of d components), a threshold
// and a batch (fitness, descriptors).
func benchmarkInsertion(b *testing.B, d int, build func(in []*Node) []*Node) {
	const n, size = 1024, 1000
	p := xlatest.Best(b)
	inputs := []xlatest.Input{{Shape: shapes.Make(dtypes.Float32, n)},
		{Shape: shapes.Make(dtypes.Float32, n, d)},
		{Shape: shapes.Make(dtypes.Float32)}, {Shape: shapes.Make(dtypes.Float32, size)},
		{Shape: shapes.Make(dtypes.Float32, size, d)}}
	program, err := xlatest.Compile(p, "archive", inputs, build)
	must.Do(err)
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
		out := must.Get(program.Run(values...))
		for _, value := range out {
			value.Free()
		}
	}
}
