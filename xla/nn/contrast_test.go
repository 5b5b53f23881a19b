package nn_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// 19_xcon.npz: a training on an archive with empty slots, which hold NaN, and a constant feature, with
// the stored triplets; it ends before its last epoch (ae_utils/model_train.py of the published code).
// tools/golden_xcon.py made it.
func TestGoldenContrast(t *testing.T) {
	data := golden.Read(t, "19_xcon.npz")
	dims, order := data.Shape("observations"), data.Shape("triplets")
	autoencoder := nn.Autoencoder{Features: dims[2], Hidden: int(data.Number("const.hidden")), Steps: dims[1]}
	c := nn.Contrast{Batch: int(data.Number("const.batch")), LearningRate: data.Number("const.learning_rate"),
		Epochs: int(data.Number("const.epochs")), MinDelta: data.Number("const.min_delta")}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			margin := Const(in[0].Graph(), float32(float64(autoencoder.Hidden)*data.Number("const.d_min")))
			filled := GreaterThan(in[2], ConstAs(in[2], math.Inf(-1)))
			return xla.Flatten(nn.TrainContrast(c, autoencoder, in[0], in[1], filled, margin, in[3],
				func(epoch, orders *Node) *Node { return xla.Row(orders, epoch) }))
		}, xlatest.Tensor(data.Float32s("params"), autoencoder.Params()),
			xlatest.Tensor(data.Float32s("observations"), dims...),
			xlatest.Tensor(data.Float32s("fitnesses"), dims[0]), xlatest.Tensor(data.Int32s("triplets"), order...))
		losses := data.Float32s("losses")
		for i, want := range [][]float32{data.Float32s("trained"), data.Float32s("mean"), data.Float32s("std"),
			losses[len(losses)-1:]} {
			xlatest.Close(t, []string{"trained", "mean", "std", "loss"}[i], xlatest.Flat[float32](t, out[i]), want, 1e-5)
		}
	})
}

// Reconstruct ends after more than ten epochs without progress: then its row is that of as many epochs of
// AURORA's training. Without a filled slot the row stays the same.
func TestReconstructEndsEarly(t *testing.T) {
	form := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 6}
	const slots, first = 21, 12 // the first epoch is progress
	x, filled := archive(form, slots, 0)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			key := random.NewKey(g, 1)
			row := form.Init(key)
			early := nn.Contrast{Batch: 8, LearningRate: 1e-2, Epochs: 40, MinDelta: 1e6}
			late := early
			late.MinDelta = -1e6 // all is progress
			aurora := func(epochs int32) *Node {
				return nn.AutoencoderTraining{Batch: 8, LearningRate: 1e-2}.Train(form, row, in[0], in[1], Const(g, epochs), key).Row
			}
			return []*Node{early.Reconstruct(form, row, in[0], in[1], key).Row, aurora(first),
				late.Reconstruct(form, row, in[0], in[1], key).Row, aurora(40),
				early.Reconstruct(form, row, in[0], ZerosLike(in[1]), key).Row, row}
		}, xlatest.Tensor(x, slots, form.Steps, form.Features), xlatest.Tensor(filled, slots))
		for i, what := range []string{"ended early", "all epochs", "no slot is filled"} {
			xlatest.Close(t, what, xlatest.Flat[float32](t, out[2*i]), xlatest.Flat[float32](t, out[2*i+1]), 1e-5)
		}
	})
}

// The positive of a triplet is nearer in fitness than the negative, and no other slot is preferred.
func TestTriplets(t *testing.T) {
	fitness := []float32{4, 0, 1, 1, 3, 7, float32(math.Inf(-1)), 5}
	drawn := slices.Repeat([]int32{0, 1, 2, 3, 4, 5, 7, 7}, 40)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			return []*Node{nn.Triplets(in[0], in[1], random.NewKey(in[0].Graph(), 3)),
				nn.Triplets(in[0], ZerosLike(in[1]), random.NewKey(in[0].Graph(), 3))}
		}, xlatest.Tensor(fitness, len(fitness)), xlatest.Tensor(drawn, len(drawn)))
		seen := map[int32]int{}
		for i, triplet := range slices.Collect(slices.Chunk(xlatest.Flat[int32](t, out[0]), 3)) {
			apart := func(k int) float64 { return math.Abs(float64(fitness[triplet[k]] - fitness[triplet[0]])) }
			if triplet[0] != drawn[i] || !(0 < apart(1) && apart(1) <= apart(2)) {
				t.Errorf("triplet %v", triplet)
			}
			seen[triplet[1]]++
			seen[triplet[2]]++
		}
		for slot, count := range seen { // of 40 draws of each of 6 slots, and 80 of slot 7
			if expected := 2 * len(drawn) / 8; slot != 7 && (count < expected/2 || count > 3*expected/2) || slot == 6 {
				t.Errorf("slot %d is in %d pairs", slot, count)
			}
		}
		for _, slot := range xlatest.Flat[int32](t, out[1]) {
			if slot != 0 {
				t.Fatalf("with one slot only, slot %d is in a triplet", slot)
			}
		}
	})
}
