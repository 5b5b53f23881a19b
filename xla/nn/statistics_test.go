package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// The rms.* arrays of 12_stats.npz: statistics after each of three batches, and vectors normalised
// with the last statistics.
func TestGoldenStatistics(t *testing.T) {
	data := golden.Read(t, "12_stats.npz")
	const limit = 5
	d := data.Shape("rms.x")[1]
	batches := 0
	for data.Has(fmt.Sprint("rms.batch_", batches)) {
		batches++
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for k := range batches {
			name := fmt.Sprint("rms.batch_", k)
			inputs = append(inputs, xlatest.Tensor(data.Float32s(name), data.Shape(name)...))
		}
		inputs = append(inputs, xlatest.Tensor(data.Float32s("rms.x"), data.Shape("rms.x")...))
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			var after []*Node
			s := nn.NewStatistics(in[0].Graph(), d)
			for _, batch := range in[:batches] {
				s = s.Update(batch)
				after = append(after, s.Mean, s.Squares, s.Count)
			}
			return append(after, s.Normalise(in[batches], limit))
		}, inputs...)
		for k := range batches {
			for i, name := range []string{"rms.mean_", "rms.var_", "rms.count_"} {
				name = fmt.Sprint(name, k)
				xlatest.Close(t, name, xlatest.Flat[float32](t, out[3*k+i]), data.Float32s(name), 1e-5)
			}
		}
		xlatest.Close(t, "rms.normalized", xlatest.Flat[float32](t, out[3*batches]),
			data.Float32s("rms.normalized"), 1e-5)
	})
}

func TestBounded(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{nn.Bounded(in[0], -1, 2)} },
			xlatest.Tensor([]float32{-inf, -2, -1, 0.5, 2, 3, inf, nan}, 8))
		got := xlatest.Flat[float32](t, out[0])
		if want := []float32{-1, -1, -1, 0.5, 2, 2, 2}; !slices.Equal(got[:7], want) || got[7] == got[7] {
			t.Errorf("%v, want %v and NaN", got, want)
		}
	})
}
