package repertoire

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Both losses end a training that makes no progress by MinDelta (ae_utils/model_train.py).
func TestXConTrainsUntilNoProgress(t *testing.T) {
	const slots = 16
	sequences, fitness := make([]float32, slots*3*2), make([]float32, slots)
	for i := range sequences {
		sequences[i], fitness[i%slots] = float32(math.Sin(float64(i*i))), float32(i)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) (rows []*Node) {
			g := in[0].Graph()
			for _, loss := range []string{tripletLoss, mseLoss} {
				for _, epochs := range []int{12, 30} {
					a := XCon{Capacity: slots, EncoderSettings: EncoderSettings{Latent: 2},
						Epochs: epochs, TrainingBatch: slots, LearningRate: 0.01, MinDelta: 1e6, Loss: loss,
						Population: EmptySlots(g, slots, 2), MinNovelty: Const(g, float32(1))}
					a.Encoded = a.empty(envs.Recorder{Every: 1, Width: 2}, slots, 3, random.NewKey(g, 1))
					a.Encoded.Sequences, a.Population.Fitness = in[0], in[1]
					rows = append(rows, a.train(random.NewKey(g, 2)).Encoded.Autoencoder, a.Encoded.Autoencoder)
				}
			}
			return rows
		}, xlatest.Tensor(sequences, slots, 3, 2), xlatest.Tensor(fitness, slots))
		row := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
		for i, loss := range []string{tripletLoss, mseLoss} {
			if !slices.Equal(row(4*i), row(4*i+2)) || slices.Equal(row(4*i), row(4*i+1)) {
				t.Errorf("%s: 30 epochs without progress do not end after 12, or train nothing", loss)
			}
		}
	})
}

// 19_xcon.npz: batches that the published code (adaptive_archive.py) inserted one after the other, and
// the least score of the archive after each, which is the margin of the triplets.
// tools/golden_xcon.py made it. Of the last archive the fittest and five other solutions survive
// extinctions, all others equally often.
func TestGoldenXCon(t *testing.T) {
	const capacity, batches, extinctions, survivors = 20, 4, 200, 6
	data := golden.Read(t, "19_xcon.npz")
	size, d := data.Shape("in_descriptors_0")[0], data.Shape("in_descriptors_0")[1]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for b := range batches {
			inputs = append(inputs, xlatest.Tensor(data.Float32s(fmt.Sprint("in_fitnesses_", b)), size),
				xlatest.Tensor(data.Float32s(fmt.Sprint("in_descriptors_", b)), size, d))
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			g := in[0].Graph()
			a := XCon{Capacity: capacity, K: 3, Remaining: (survivors + 0.9) / capacity,
				Population: EmptySlots(g, capacity, d), MinNovelty: unfilled(g)}
			ids := ZerosLike(a.Population.Fitness)
			for b := range batches {
				var entering Insertion
				a, entering = a.insert(Batch{in[2*b], in[2*b+1]})
				ids = Where(entering.Accepted, AddScalar(ConvertDType(entering.Index, dtypes.Float32),
					float64(size*b)), ids)
				out = append(out, Where(a.Population.filled(), ids, lowest(ids)), a.MinNovelty)
			}
			type state struct {
				Archive XCon
				Left    *Node
			}
			left := Zeros(g, shapes.Make(dtypes.Float32, extinctions, capacity))
			return append(out, a.Population.Fitness, xla.For(g, extinctions, state{a, left},
				func(i *Node, s state) state {
					after := s.Archive.extinguish(random.NewKey(i.Graph(), 1).FoldInEach(i))
					s.Left = xla.SetRow(s.Left, i, after.Population.Fitness)
					return s
				}).Left)
		}, inputs...)
		for b := range batches {
			ids := xlatest.Flat[float32](t, out[2*b])
			slices.Sort(ids)
			for len(ids) > 0 && math.IsInf(float64(ids[0]), -1) {
				ids = ids[1:]
			}
			if want := data.Float32s(fmt.Sprint("ids_", b)); !slices.Equal(ids, want) {
				t.Errorf("after batch %d: %v, want %v", b, ids, want)
			}
			xlatest.Close(t, "least", xlatest.Flat[float32](t, out[2*b+1]), data.Float32s(fmt.Sprint("d_min_", b)), 1e-6)
		}
		before, seen := xlatest.Flat[float32](t, out[2*batches]), map[float32]int{}
		for left := range slices.Chunk(xlatest.Flat[float32](t, out[2*batches+1]), capacity) {
			count := 0
			for slot, f := range left {
				if !math.IsInf(float64(f), -1) {
					count++
					seen[f]++
				}
				if f != before[slot] && !math.IsInf(float64(f), -1) {
					t.Fatalf("fitness %g became %g", before[slot], f)
				}
			}
			if count != survivors {
				t.Fatalf("%d survive", count)
			}
		}
		for f, count := range seen { // five of nineteen
			if f != slices.Max(before) && (count < 30 || count > 80) || f == slices.Max(before) && count != extinctions {
				t.Errorf("fitness %g survives %d times of %d", f, count, extinctions)
			}
		}
		if len(seen) != capacity {
			t.Errorf("%d solutions survive ever", len(seen))
		}
	})
}
