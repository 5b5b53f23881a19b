package nn_test

import (
	"cmp"
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
		leaves = append(leaves, fmt.Sprintf("params.Dense_%d.bias", layer),
			fmt.Sprintf("params.Dense_%d.kernel", layer))
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
		if !slices.Equal(leaf.Shape,
			data.Shape(leaves[i])) || !slices.Equal(flat[leaf.Offset:leaf.Offset+len(stored)], stored) {
			t.Errorf("%s is not at %d, or not of shape %v", leaves[i], leaf.Offset, leaf.Shape)
		}
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
				xlatest.Close(t, fmt.Sprintf("actions of policy %d at step %d", i, step), got[i*out:(i+1)*out],
					want[at:at+out], 1e-5)
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
		g := in[0].Graph()
		return []*Node{policy.Init(random.KeyOf(in[0]).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, draws),
			0)))}
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
			if worst := slices.MaxFunc(drawn, func(a,
				b float64) int {
				return cmp.Compare(math.Abs(a), math.Abs(b))
			}); worst != 0 {
				t.Errorf("a bias of layer %d begins with %g", leaf.Layer, worst)
			}
			continue
		}
		want := theory[4*leaf.Layer : 4*leaf.Layer+4]
		n := float64(len(drawn))
		var mean, variance float64
		for _, x := range drawn {
			mean += x / n
		}
		for _, x := range drawn {
			variance += (x - mean) * (x - mean) / (n - 1)
		}
		const kurtosis = 1.8 // of the uniform distribution
		for _, moment := range []struct {
			name                string
			got, want, standard float64
		}{
			{"mean", mean, want[0], want[1] / math.Sqrt(n)},
			{"standard deviation", math.Sqrt(variance), want[1], want[1] * math.Sqrt((kurtosis-1)/n) / 2},
			// The distance of an extreme from the limit is exponential with mean width/n; the chance of 12
			// means is 1 in 160 000.
			{"minimum", slices.Min(drawn), want[2], 12. / 5 * (want[3] - want[2]) / n},
			{"maximum", slices.Max(drawn), want[3], 12. / 5 * (want[3] - want[2]) / n},
		} {
			if off := math.Abs(moment.got - moment.want); off > 5*moment.standard+1e-7 {
				t.Errorf("layer %d: the %s is %g, in theory %g +- %.2g", leaf.Layer, moment.name, moment.got,
					moment.want, moment.standard)
			}
		}
	}
}

// Networks without gradients compute what others do, with few columns and many; others have
// gradients.
func TestWithoutGradients(t *testing.T) {
	for _, sizes := range [][]int{{8, 1}, {64, 16}, {24, 8}, {9, 3}, {64, 17}, {3, 40}} {
		layer := nn.MLP{Sizes: sizes}
		const p = 3
		draw := uniform(1)
		rows, x := draw(p*layer.Params()), draw(p*sizes[0])
		xlatest.Logic(t, func(t *testing.T, platform *xla.Platform) {
			out := xlatest.Run(t, platform, func(in []*Node) []*Node {
				net := layer.View(in[0])
				y, without := net.Apply(in[1]), net.WithoutGradients()
				return []*Node{without.Apply(in[1]), y, Squeeze(without.Apply(InsertAxes(in[1], 1)), 1), y,
					Gradient(ReduceAllSum(y), in[1])[0], ReduceSum(net.Kernel[0], 2)}
			}, xlatest.Tensor(rows, p, layer.Params()), xlatest.Tensor(x, p, sizes[0]))
			for i, name := range []string{"outputs", "outputs of a batch", "gradients"} {
				xlatest.Close(t, fmt.Sprint(sizes, " ", name), xlatest.Flat[float32](t, out[2*i]),
					xlatest.Flat[float32](t, out[2*i+1]), 1e-5)
			}
		})
	}
}

// Networks without inputs that are 0 compute what others do.
func TestWithoutZeroInputs(t *testing.T) {
	const p = 3
	policy := nn.MLP{Sizes: []int{9, 16, 3}}
	for _, zero := range [][]int{{0}, {2, 3, 8}, {2, 5, 8}, {0, 3, 4, 6, 7, 8}, {1, 3, 5, 7, 8},
		{0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		draw := uniform(1)
		rows, x := draw(p*policy.Params()), draw(p*policy.Sizes[0])
		for i := range x {
			if slices.Contains(zero, i%policy.Sizes[0]) {
				x[i] = 0
			}
		}
		xlatest.Logic(t, func(t *testing.T, platform *xla.Platform) {
			out := xlatest.Run(t, platform, func(in []*Node) []*Node {
				all, some := policy.View(in[0]), policy.View(in[0]).WithoutGradients(zero...)
				batch := InsertAxes(in[1], 1)
				return []*Node{all.Apply(in[1]), some.Apply(in[1]), all.Apply(batch), some.Apply(batch)}
			}, xlatest.Tensor(rows, p, policy.Params()), xlatest.Tensor(x, p, policy.Sizes[0]))
			for i := range 2 {
				xlatest.Close(t, fmt.Sprint("without ", zero), xlatest.Flat[float32](t, out[2*i+1]),
					xlatest.Flat[float32](t, out[2*i]), 1e-6)
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

// The layout of the paper's policies for pointmaze: where the first layer's parameters are in a
// flat row.
func ExampleMLP_Layout() {
	policy := nn.NewPolicy(2, []int{256, 256}, 2)
	fmt.Println(policy.Params(), "parameters")
	for _, leaf := range policy.Layout()[:2] {
		fmt.Printf("layer %d, kernel %v, shape %v, offset %d\n", leaf.Layer, leaf.Kernel, leaf.Shape,
			leaf.Offset)
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
		if got := xlatest.Flat[float32](t, out[4]); !slices.Equal(got, wanted) {
			t.Errorf("a new network normalises by %v", got)
		}
		for _, x := range xlatest.Flat[float32](t, out[5]) {
			if x != 0 {
				t.Fatal("Join is not the inverse of View")
			}
		}
	})
}
