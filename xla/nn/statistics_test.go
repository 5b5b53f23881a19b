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

// Batches of any size give the mean and the squared distances of all vectors, as computed at once
// in float64.
func TestStatisticsOfBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const d = 2
	var batches [][]float32
	columns := make([][]float64, d)
	for _, n := range []int{1, 30, 7} {
		data := make([]float32, n*d)
		for i := range data {
			data[i] = float32(100*float64(i%d) + rng.NormFloat64()*float64(1+i%d))
			columns[i%d] = append(columns[i%d], float64(data[i]))
		}
		batches = append(batches, data)
	}
	var means, squares []float32
	for _, column := range columns {
		mean, sum := 0.0, 0.0
		for _, x := range column {
			mean += x / float64(len(column))
		}
		for _, x := range column {
			sum += (x - mean) * (x - mean)
		}
		means, squares = append(means, float32(mean)), append(squares, float32(1+sum))
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for _, data := range batches {
			inputs = append(inputs, xlatest.Tensor(data, len(data)/d, d))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			s := nn.NewStatistics(in[0].Graph(), d)
			for _, batch := range in {
				s = s.Update(batch)
			}
			return xla.Flatten(s)
		}, inputs...)
		xlatest.Close(t, "mean", xlatest.Flat[float32](t, out[0]), means, 1e-6)
		xlatest.Close(t, "squares", xlatest.Flat[float32](t, out[1]), squares, 1e-5)
		if count := xlatest.Flat[float32](t, out[2])[0]; int(count) != len(columns[0]) {
			t.Errorf("the count is %v, want %d", count, len(columns[0]))
		}
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
