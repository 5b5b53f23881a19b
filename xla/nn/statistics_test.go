package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// Statistics are right where the mean is far larger than the deviation, also over many batches: those of a
// pressure in Pa, and of a mean of a million.
func TestStatisticsFarFromZero(t *testing.T) {
	const batches, b, d = 20, 1000, 3
	means, deviations := []float64{101325, 1e6, -1e6}, []float64{0.52, 0.8, 30}
	random := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, batches*b*d)
	var sums, squares [d]float64
	for i := range x {
		x[i] = float32(means[i%d] + deviations[i%d]*random.NormFloat64())
		off := float64(x[i]) - means[i%d]
		sums[i%d], squares[i%d] = sums[i%d]+off, squares[i%d]+off*off
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				S nn.Statistics
				X *Node
			}
			s := xla.For(in[0].Graph(), batches, state{nn.NewStatistics(in[0].Graph(), d), in[0]},
				func(i *Node, s state) state { return state{s.S.Update(xla.Row(s.X, i)), s.X} }).S
			first := nn.NewStatistics(in[0].Graph(), d).Update(Squeeze(Slice(in[0], AxisElem(0)), 0))
			return []*Node{s.Mean, s.Deviation(), first.Deviation(), s.Count}
		}, xlatest.Tensor(x, batches, b, d))
		for i := range d {
			n := float64(batches * b)
			mean, deviation := means[i]+sums[i]/n, math.Sqrt(squares[i]/n-sums[i]*sums[i]/n/n)
			at := func(k int) float64 { return float64(xlatest.Flat[float32](t, out[k])[i]) }
			if math.Abs(at(0)-mean) > 0.1*deviation+0.0625 || math.Abs(at(1)/deviation-1) > 0.01 ||
				math.Abs(at(2)/deviation-1) > 0.1 {
				t.Errorf("mean %.9g, deviation %g, after one batch %g; want %.9g and %g", at(0), at(1), at(2), mean,
					deviation)
			}
		}
		if got := xlatest.Flat[float32](t, out[3])[0]; got != batches*b {
			t.Errorf("%g vectors", got)
		}
	})
}

func TestBounded(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{nn.Bounded(in[0], -1, 2)} },
			xlatest.Tensor([]float32{-inf, -2, -1, 0.5, 2, 3, inf, nan}, 8))
		got := xlatest.Flat[float32](t, out[0])
		if want := []float32{-1, -1, -1, 0.5, 2, 2, 2}; !slices.Equal(got[:7], want) || got[7] == got[7] {
			t.Errorf("%v, want %v and NaN", got, want)
		}
	})
}
