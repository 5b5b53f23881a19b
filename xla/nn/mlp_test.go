package nn_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// goldenPolicy reads the sizes of the stored policies from the shapes of their leaves.
func goldenPolicy(data golden.File) (policy nn.MLP, leaves []string) {
	for layer := 0; data.Has(fmt.Sprintf("params.Dense_%d.kernel", layer)); layer++ {
		shape := data.Shape(fmt.Sprintf("params.Dense_%d.kernel", layer))
		if layer == 0 {
			policy.Sizes = shape[:1]
		}
		policy.Sizes = append(policy.Sizes, shape[1])
		leaves = append(leaves, fmt.Sprintf("params.Dense_%d.bias", layer), fmt.Sprintf("params.Dense_%d.kernel", layer))
	}
	last := len(policy.Sizes) - 1
	return nn.NewPolicy(policy.Sizes[0], policy.Sizes[1:last], policy.Sizes[last]), leaves
}

// 03_policy_mlp.npz: policies of QDax, as flat rows and leaf by leaf, and their actions.
func TestGoldenPolicy(t *testing.T) {
	data := golden.Read(t, "03_policy_mlp.npz")
	policy, leaves := goldenPolicy(data)
	flat := data.Float32s("params.flat")
	if policy.Params() != len(flat) {
		t.Fatalf("%v has %d parameters, stored are %d", policy.Sizes, policy.Params(), len(flat))
	}
	for i, leaf := range policy.Layout() {
		stored := data.Float32s(leaves[i])
		errtest.Equal(t, leaves[i], fmt.Sprint(leaf.Shape, flat[leaf.Offset:leaf.Offset+len(stored)]),
			fmt.Sprint(data.Shape(leaves[i]), stored))
	}
	rows, obs, want := data.Float32s("params_flat_all"), data.Float32s("obs"), data.Float32s("actions")
	p, steps, in, out := data.Shape("obs")[0], data.Shape("obs")[1], data.Shape("obs")[2],
		data.Shape("actions")[2]
	for i := range p * steps {
		got := nn.Act(policy.Sizes, rows[i/steps*len(flat):], obs[i*in:(i+1)*in])
		xlatest.Close(t, "actions on the host", got, want[i*out:(i+1)*out], 1e-5)
	}
	xlatest.Each(t, func(t *testing.T, platform *xla.Platform) {
		outputs := xlatest.Run(t, platform, func(inputs []*Node) []*Node {
			net := policy.View(inputs[0])
			at := []*Node{net.Apply(inputs[1])} // all observations at once, then one by one
			for step := range steps {
				at = append(at, net.Apply(Squeeze(Slice(inputs[1], AxisRange(), AxisElem(step)), 1)))
			}
			return at
		}, xlatest.Tensor(rows, p, policy.Params()), xlatest.Tensor(obs, p, steps, in))
		xlatest.Close(t, "actions", xlatest.Flat[float32](t, outputs[0]), want, 1e-5)
		for step := range steps {
			got := xlatest.Flat[float32](t, outputs[1+step])
			for i := range p {
				at := (i*steps + step) * out
				xlatest.Close(t, fmt.Sprintf("actions of policy %d at step %d", i, step), got[i*out:(i+1)*out], want[at:at+out], 1e-5)
			}
		}
	})
}

// init_theory of 03_policy_mlp.npz: mean, standard deviation, minimum and maximum of the initial
// kernels of each layer. Our draws agree within five standard errors.
func TestGoldenInitMoments(t *testing.T) {
	data := golden.Read(t, "03_policy_mlp.npz")
	theory, layers := data.Float64s("init_theory"), data.Shape("init_theory")[0]
	sizes := make([]int, layers) // the inputs of a layer follow from its limit, sqrt(3/in)
	for layer := range layers {
		limit := theory[4*layer+3]
		sizes[layer] = int(math.Round(3 / (limit * limit)))
	}
	const outputs, draws = 8, 60
	policy := nn.NewPolicy(sizes[0], sizes[1:], outputs)
	rows := xlatest.Flat[float32](t, xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
		return []*Node{policy.Init(random.KeyOf(in[0]).Split(draws))}
	}, tensors.FromValue(random.SeedWords(1)))[0])
	for _, leaf := range policy.Layout() {
		var drawn []float64
		size := leaf.Shape[0]
		if leaf.Kernel {
			size *= leaf.Shape[1]
		}
		for row := range draws {
			at := row*policy.Params() + leaf.Offset
			for _, x := range rows[at : at+size] {
				drawn = append(drawn, float64(x))
			}
		}
		if !leaf.Kernel {
			if slices.Min(drawn) != 0 || slices.Max(drawn) != 0 {
				t.Errorf("biases of layer %d begin from %g to %g", leaf.Layer, slices.Min(drawn), slices.Max(drawn))
			}
			continue
		}
		const kurtosis = 1.8 // of the uniform distribution
		want, n, what := theory[4*leaf.Layer:4*leaf.Layer+4], float64(len(drawn)), fmt.Sprintf("layer %d: ", leaf.Layer)
		mean, deviation := stat.MeanStdDev(drawn, nil)
		expect(t, what+"mean", mean, want[0], want[1]/math.Sqrt(n))
		expect(t, what+"standard deviation", deviation, want[1], want[1]*math.Sqrt((kurtosis-1)/n)/2)
		// The distance of an extreme from the limit is exponential with mean width/n; the chance of 12 means is 1 in 160 000.
		expect(t, what+"minimum", slices.Min(drawn), want[2], 12./5*(want[3]-want[2])/n)
		expect(t, what+"maximum", slices.Max(drawn), want[3], 12./5*(want[3]-want[2])/n)
	}
}

// Networks for rollouts compute what others do, with few columns and many, and if inputs that are
// always 0 are left out; others have gradients.
func TestWithoutGradients(t *testing.T) {
	const p = 3
	nine := []int{9, 16, 3}
	for _, c := range []struct{ sizes, zero []int }{
		{[]int{8, 1}, nil}, {[]int{64, 16}, nil}, {[]int{24, 8}, nil}, {[]int{9, 3}, nil}, {[]int{64, 17}, nil},
		{[]int{3, 40}, nil}, {nine, []int{0}}, {nine, []int{2, 3, 8}}, {nine, []int{2, 5, 8}},
		{nine, []int{0, 3, 4, 6, 7, 8}}, {nine, []int{1, 3, 5, 7, 8}}, {nine, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		mlp, draw, tolerance := nn.MLP{Sizes: c.sizes}, uniform(1), 1e-5
		if c.zero != nil {
			tolerance = 1e-6
		}
		rows, x := draw(p*mlp.Params()), draw(p*c.sizes[0])
		for i := range x {
			if slices.Contains(c.zero, i%c.sizes[0]) {
				x[i] = 0
			}
		}
		xlatest.Logic(t, func(t *testing.T, platform *xla.Platform) {
			out := xlatest.Run(t, platform, func(in []*Node) []*Node {
				net, batch := mlp.View(in[0]), InsertAxes(in[1], 1)
				y, without := net.Apply(in[1]), net.WithoutGradients(c.zero...)
				pairs := []*Node{without.Apply(in[1]), y, Squeeze(without.Apply(batch), 1), y, Squeeze(net.Apply(batch), 1), y}
				if len(net.Kernel) == 1 {
					pairs = append(pairs, Gradient(ReduceAllSum(y), in[1])[0], ReduceSum(net.Kernel[0], 2))
				}
				return pairs
			}, xlatest.Tensor(rows, p, mlp.Params()), xlatest.Tensor(x, p, c.sizes[0]))
			names := []string{"outputs", "outputs of a batch", "outputs of a batch with gradients", "gradients"}
			for i := 0; i < len(out); i += 2 {
				xlatest.Close(t, fmt.Sprint(c, " ", names[i/2]), xlatest.Flat[float32](t, out[i]),
					xlatest.Flat[float32](t, out[i+1]), tolerance)
			}
		})
	}
}

// uniform returns a function that draws n numbers up to limit in size.
func uniform(limit float32) (draw func(n int) []float32) {
	random := rand.New(rand.NewPCG(1, 2))
	return func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = 2*limit*random.Float32() - limit
		}
		return x
	}
}

// The layout of the paper's policies for pointmaze: where the first layer's parameters are in a flat row.
func ExampleMLP_Layout() {
	policy := nn.NewPolicy(2, []int{256, 256}, 2)
	fmt.Println(policy.Params(), "parameters")
	for _, leaf := range policy.Layout()[:2] {
		fmt.Printf("layer %d, kernel %v, shape %v, offset %d\n", leaf.Layer, leaf.Kernel, leaf.Shape, leaf.Offset)
	}
	// Output:
	// 67074 parameters
	// layer 0, kernel false, shape [256], offset 0
	// layer 0, kernel true, shape [2 256], offset 256
}

// Two networks of one layer, y = tanh(b + x*k), each with its own input.
func ExampleNet_Apply() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	mlp := nn.MLP{Sizes: []int{1, 1}, Output: Tanh}
	type inputs struct{ Rows, X xla.Array }
	in := inputs{xla.Single(tensors.FromValue([][]float32{{0, 1}, {1, 0}})),
		xla.Single(tensors.FromValue([][]float32{{0.5}, {0.5}}))}
	program, err := xla.Compile(p, "two networks", in, func(in inputs) xla.Array {
		return xla.Out(mlp.View(in.Rows.Tree).Apply(in.X.Tree))
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := program.Run(in)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", out.Value()[0].Value())
	// Output: [[0.4621] [0.7616]]
}

// A network that normalises has the means and deviations of its inputs at the end of its row, and clamps
// what it normalises. Without them it is the same network.
func TestNormalisingNetwork(t *testing.T) {
	plain := nn.NewPolicy(3, []int{4}, 2)
	mlp := plain
	mlp.Normalises = true
	if mlp.Params() != plain.Params()+6 {
		t.Fatalf("%d parameters", mlp.Params())
	}
	x := []float32{0.1, 101325.5, 7, 2, 101324, -1e9}
	mean, deviation := []float32{0, 101325, 1}, []float32{0.01, 0.5, 3}
	inputs := make([]float32, len(x)) // of the first layer
	for i := range x {
		inputs[i] = max(-5, min(5, (x[i]-mean[i%3])/deviation[i%3]))
	}
	if want := []float32{5, 1, 2, 5, -2, -5}; !slices.Equal(inputs[1:], want[1:]) {
		t.Fatalf("the test is wrong: %v", inputs)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			keys := random.KeyOf(in[0]).FoldInEach(Const(in[0].Graph(), []int32{0, 1}))
			rows := mlp.Init(keys)
			fresh := Slice(rows, AxisRange(), AxisRange(plain.Params()))
			rows = Slice(rows, AxisRange(), AxisRange(0, plain.Params()))
			own := func(x *Node) *Node { return BroadcastToDims(InsertAxes(x, 0), 2, 3) }
			all := Concatenate([]*Node{rows, own(in[3]), own(in[4])}, 1)
			net, want := mlp.View(all), plain.View(rows).Apply(in[2])
			again := func(x *Node) *Node { return InsertAxes(x, 1) }
			return []*Node{want, net.Apply(in[1]), net.WithoutGradients().Apply(in[1]),
				Squeeze(net.Apply(again(in[1])), 1), fresh, Sub(net.Join(), all)}
		}, xlatest.Tensor(random.SeedWords(3), 2), xlatest.Tensor(x, 2, 3), xlatest.Tensor(inputs, 2, 3),
			xlatest.Tensor(mean, 3), xlatest.Tensor(deviation, 3))
		want := xlatest.Flat[float32](t, out[0])
		for i, what := range []string{"applied", "without gradients", "with an axis of time"} {
			xlatest.Close(t, what, xlatest.Flat[float32](t, out[1+i]), want, 1e-6)
		}
		wanted := []float32{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}
		errtest.Equal(t, "a new network normalises by", xlatest.Flat[float32](t, out[4]), wanted)
		for _, x := range xlatest.Flat[float32](t, out[5]) {
			if x != 0 {
				t.Fatal("Join is not the inverse of View")
			}
		}
	})
}

// Weights, not biases, are rounded to the nearest bfloat16, ties to even.
func TestRoundBFloat16(t *testing.T) {
	one := nn.MLP{Sizes: []int{1, 1}} // bias, then weight
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	if got := one.RoundBFloat16([]float32{1 + 0x1p-20, 1 + 0x1p-20}); got[0] == 1 || got[1] != 1 {
		t.Errorf("bias and weight are rounded to %v", got)
	}
	var rows, want, x []float32
	for _, c := range [][2]float32{{1 + 0x1p-8, 1}, {1 + 0x1.8p-7, 1 + 0x1p-6},
		{1 + 0x1.01p-8, 1 + 0x1p-7}, {-1 - 0x0.ffp-8, -1}, {math.MaxFloat32, inf},
		{-inf, -inf}, {math.Float32frombits(0x7fffffff), nan}, {nan, nan}} {
		rows, want, x = append(rows, 0, c[0]), append(want, c[1]), append(x, 1)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			return []*Node{one.View(in[0]).BFloat16().Apply(in[1])}
		}, xlatest.Tensor(rows, len(x), 2), xlatest.Tensor(x, len(x), 1))
		for i, got := range xlatest.Flat[float32](t, out[0]) {
			host := one.RoundBFloat16(rows[2*i : 2*i+2])[1]
			for _, got := range []float32{got, host} {
				if got != want[i] && (got == got || want[i] == want[i]) {
					t.Errorf("%g is rounded to %g, on the host to %g, not to %g", rows[2*i+1], got, host, want[i])
				}
			}
		}
	})
}

// Networks of rounded kernels compute what networks of float32 compute with these kernels: inside
// loops, for sizes that do not fill words and iterations, and for kernels too large to be packed.
func TestBFloat16(t *testing.T) {
	for _, sizes := range [][]int{{87, 64, 48, 8}, {16, 16}, {3, 17, 13, 2}, {1, 1}, {600, 608, 2}} {
		policy := nn.NewPolicy(sizes[0], sizes[1:len(sizes)-1], sizes[len(sizes)-1])
		const p = 3
		draw := uniform(0.1)
		rows, x := draw(p*policy.Params()), draw(p*sizes[0])
		var rounded []float32
		for row := range slices.Chunk(rows, policy.Params()) {
			rounded = append(rounded, policy.RoundBFloat16(row)...)
		}
		xlatest.Each(t, func(t *testing.T, platform *xla.Platform) {
			out := xlatest.Run(t, platform, func(in []*Node) []*Node {
				type running struct {
					Net nn.Net
					X   *Node
				}
				apply := func(net nn.Net) *Node {
					return xla.For(in[0].Graph(), 2, running{net, in[2]}, func(_ *Node, r running) running {
						r.X = Add(r.X, InsertAxes(ReduceSum(r.Net.Apply(r.X), 1), -1))
						return r
					}).X
				}
				return []*Node{apply(policy.View(in[0]).BFloat16()), apply(policy.View(in[1])), apply(policy.View(in[0]))}
			}, xlatest.Tensor(rows, p, policy.Params()), xlatest.Tensor(rounded, p, policy.Params()), xlatest.Tensor(x, p, sizes[0]))
			got := xlatest.Flat[float32](t, out[0])
			xlatest.Close(t, fmt.Sprint(sizes), got, xlatest.Flat[float32](t, out[1]), 1e-5)
			if slices.Equal(got, xlatest.Flat[float32](t, out[2])) {
				t.Errorf("%v: kernels are not rounded", sizes)
			}
		})
	}
}

// dense returns x W + b of a layer in a row, and the rest of the row.
func dense(row []float32, x []float64, out int) (y []float64, rest []float32) {
	for k := range out {
		sum := float64(row[k])
		for i, v := range x {
			sum += v * float64(row[out+i*out+k])
		}
		y = append(y, sum)
	}
	return y, row[out+len(x)*out:]
}

// A GRU computes PyTorch's equations over a sequence, with and without hidden layers, and whether or not
// inputs that are always 0 are left out.
func TestGRU(t *testing.T) {
	const p, steps, in, units, out = 3, 4, 5, 6, 2
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, hidden := range [][]int{nil, {7}} {
		gru := nn.GRU{MLP: nn.NewPolicy(in, hidden, out), Units: units}
		xlatest.Logic(t, func(t *testing.T, platform *xla.Platform) {
			got := xlatest.Run(t, platform, func(inputs []*Node) []*Node {
				keys := random.NewKey(inputs[0].Graph(), 5).Split(p)
				rows := Add(gru.Init(keys), MulScalar(keys.FoldIn(9).Normal(p, gru.Params()), 0.1))
				policy := gru.Policies(rows, 3)
				var actions []*Node
				memory := policy.Memory()
				for step := range steps {
					var action *Node
					memory, action = policy.Act(memory, Reshape(Slice(inputs[0], AxisElem(step)), p, in))
					actions = append(actions, action)
				}
				return append(actions, rows)
			}, tensors.FromValue(observations(steps, p, in)))
			rows, x := got[steps].Value().([][]float32), observations(steps, p, in)
			for k, row := range rows {
				h := make([]float64, units)
				for step := range steps {
					y, row := []float64{}, row
					for _, v := range x[step][k] {
						y = append(y, float64(v))
					}
					for _, n := range hidden {
						y, row = dense(row, y, n)
						for i := range y {
							y[i] = max(y[i], 0)
						}
					}
					input, row := dense(row, y, 3*units)
					own, row := dense(row, h, 3*units)
					for i := range h {
						reset, keep := sigmoid(input[i]+own[i]), sigmoid(input[units+i]+own[units+i])
						fresh := math.Tanh(input[2*units+i] + reset*own[2*units+i])
						h[i] = (1-keep)*fresh + keep*h[i]
					}
					action, rest := dense(row, h, out)
					if len(rest) > 0 {
						t.Fatalf("%d parameters too many", len(rest))
					}
					for i, a := range action {
						action := got[step].Value().([][]float32)[k][i]
						if math.Abs(float64(action)-math.Tanh(a)) > 2e-6 {
							t.Errorf("policy %d, step %d: action %g, want %g", k, step, action, math.Tanh(a))
						}
					}
				}
			}
		})
	}
}

// observations are deterministic, [steps][p][in]; component 3 is always 0.
func observations(steps, p, in int) [][][]float32 {
	all := make([][][]float32, steps)
	for s := range all {
		all[s] = make([][]float32, p)
		for k := range all[s] {
			for i := range in {
				x := math.Sin(float64(31*s + 7*k + 3*i))
				if i == 3 {
					x = 0
				}
				all[s][k] = append(all[s][k], float32(x))
			}
		}
	}
	return all
}

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
		xlatest.Close(t, "rms.normalized", xlatest.Flat[float32](t, out[3*batches]), data.Float32s("rms.normalized"), 1e-5)
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
				t.Errorf("mean %.9g, deviation %g, after one batch %g; want %.9g and %g", at(0), at(1), at(2), mean, deviation)
			}
		}
		errtest.Equal(t, "vectors", xlatest.Flat[float32](t, out[3])[0], batches*b)
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
			x -= rate * first / (1 - math.Pow(0.9, float64(t))) / (math.Sqrt(second/(1-math.Pow(0.999, float64(t)))) + 1e-8)
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
			end := xla.For(in[0].Graph(), steps, state{in[0], in[1], adam.Start(in[0])}, func(_ *Node, s state) state {
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
		{"an auto-encoder of 3 features and 2 units has 105 parameters", encode(coder), [][]int{{n + 1}, {5, 4, 3}}},
		{"a row of shape (Float32)[2, 105] does not fit", encode(coder), [][]int{{2, n}, {5, 4, 3}}},
		{"an auto-encoder of 4 steps of 3 features cannot read sequences", encode(coder), [][]int{{1, n}, {5, 3, 4}}},
		{"of two steps or more", encode(short), [][]int{{1, n}, {5, 1, 3}}},
	} {
		var inputs []shapes.Shape
		for _, dims := range c.dims {
			inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
		}
		errtest.Want(t, errtest.Of(xlatest.Compile(xlatest.Best(t), "wrong", inputs, c.build)), c.want)
	}
}
