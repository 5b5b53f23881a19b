package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
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
			inputs = append(inputs, xlatest.Stored(data, name))
		}
		inputs = append(inputs, xlatest.Stored(data, "rms.x"))
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

// Many steps in a loop agree with the equations in float64; rows are independent.
func TestAdamOracle(t *testing.T) {
	const steps, rate = 200, 0.05
	start, target := []float32{3, -2, 0.5, 0, 1e-3, 7}, []float32{1, 1, 1, 1, 1, 1}
	want := make([]float32, len(start))
	for i := range start {
		x, first, second := float64(start[i]), 0.0, 0.0
		for t := 1; t <= steps; t++ {
			gradient := 2 * (x - float64(target[i]))
			first, second = 0.9*first+0.1*gradient, 0.999*second+0.001*gradient*gradient
			x -= rate * first / (1 - math.Pow(0.9, float64(t))) / (math.Sqrt(second/(1-math.Pow(0.999,
				float64(t)))) + 1e-8)
		}
		want[i] = float32(x)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				X, Target *Node
				Adam      nn.Moments
			}
			adam := nn.NewAdam(rate)
			end := xla.For(in[0].Graph(), steps, state{in[0], in[1], adam.Start(in[0])},
				func(_ *Node, s state) state {
					gradient := Gradient(ReduceAllSum(Square(Sub(s.X, s.Target))), s.X)[0]
					s.X, s.Adam = adam.Update(s.X, gradient, s.Adam)
					return s
				})
			return []*Node{end.X}
		}, xlatest.Tensor(start, 2, 3), xlatest.Tensor(target, 2, 3))
		xlatest.Close(t, "parameters", xlatest.Flat[float32](t, out[0]), want, 2e-5)
	})
}

// Orders have each number once, and are functions of their keys. Those of Shuffle are equally
// likely, and Permutation moves numbers by a third of their range on average.
func TestOrders(t *testing.T) {
	const n, draws, many = 4, 1200, 1000
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			_, orders := xla.Scan(in[0].Graph(), draws, key, func(i *Node, key random.Key) (random.Key, *Node) {
				return key, nn.Shuffle(key.FoldInEach(i), n)
			})
			return []*Node{orders, nn.Shuffle(key.FoldIn(-1), many), nn.Permutation(key.FoldIn(0), many),
				nn.Permutation(key.FoldIn(1), many), nn.Permutation(random.Key{Hi: key.Hi, Lo: key.Lo}.FoldIn(0), many)}
		}, tensors.FromValue(random.SeedWords(5)))
		counts := map[[n]int32]int{}
		for order := range slices.Chunk(xlatest.Flat[int32](t, out[0]), n) {
			counts[[n]int32(order)]++
			checkOrder(t, order)
		}
		const orders = 24
		chi := 0.0
		for _, count := range counts {
			chi += math.Pow(float64(count)-draws/orders, 2) / (draws / orders)
		}
		// Chi squared of 23 degrees of freedom exceeds 69 with a probability of 2e-6.
		if len(counts) != orders || chi > 69 {
			t.Errorf("%d orders, chi squared %g: %v", len(counts), chi, counts)
		}
		var long [][]int32
		for _, x := range out[1:] {
			long = append(long, xlatest.Flat[int32](t, x))
			checkOrder(t, long[len(long)-1])
		}
		if slices.Equal(long[1], long[2]) || !slices.Equal(long[1], long[3]) {
			t.Error("permutations are not a function of their keys")
		}
		moved := 0.0 // the expected mean displacement is a third
		for i, x := range long[1] {
			moved += math.Abs(float64(i)-float64(x)) / many
		}
		if moved < 0.3*many || moved > 0.37*many {
			t.Errorf("numbers moved by %v on average", moved)
		}
	})
}

func checkOrder(t *testing.T, order []int32) {
	t.Helper()
	for i, x := range slices.Sorted(slices.Values(order)) {
		if int(x) != i {
			t.Fatalf("%d does not occur exactly once in %v", i, order)
		}
	}
}

func TestWrongShapesAreRefused(t *testing.T) {
	policy, lstm := nn.NewPolicy(3, []int{4}, 2), nn.LSTM{Inputs: 3, Hidden: 2}
	coder, short := nn.Autoencoder{Features: 3, Hidden: 2, Steps: 4}, nn.Autoencoder{Features: 3, Hidden: 2, Steps: 1}
	view := func(in []*Node) []*Node { return policy.View(in[0]).Kernel }
	cell := func(in []*Node) []*Node { return []*Node{lstm.View(in[0]).Bias} }
	encode := func(a nn.Autoencoder) func(in []*Node) []*Node {
		return func(in []*Node) []*Node { return []*Node{a.Encode(in[0], in[1])} }
	}
	n := coder.Params()
	for _, c := range []struct {
		want  string
		build func(in []*Node) []*Node
		dims  [][]int // of the inputs
	}{
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{2, 27}}},
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{26}}},
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{2, 1, 26}}},
		{"an LSTM of 3 inputs and 2 units has 48 parameters", cell, [][]int{{49}}},
		{"an LSTM of 3 inputs and 2 units has 48 parameters", cell, [][]int{{1, 48}}},
		{"an auto-encoder of 3 features and 2 units has 105 parameters", encode(coder),
			[][]int{{n + 1}, {5, 4, 3}}},
		{"a row of shape (Float32)[2, 105] does not fit", encode(coder), [][]int{{2, n}, {5, 4, 3}}},
		{"an auto-encoder of 4 steps of 3 features cannot read sequences", encode(coder),
			[][]int{{1, n}, {5, 3, 4}}},
		{"of two steps or more", encode(short), [][]int{{1, n}, {5, 1, 3}}},
	} {
		var inputs []shapes.Shape
		for _, dims := range c.dims {
			inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
		}
		errtest.Want(t, errtest.Of(xlatest.Compile(xlatest.Best(t), "wrong", inputs, c.build)), c.want)
	}
}
