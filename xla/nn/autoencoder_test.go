package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// goldenAutoencoder reads the sizes of the stored auto-encoder from the shapes of the arrays.
func goldenAutoencoder(t *testing.T) (golden.File, nn.Autoencoder) {
	data := golden.Read(t, "09_aurora_seq2seq.npz")
	shape := data.Shape("batch")
	return data, nn.Autoencoder{Features: shape[2], Hidden: data.Shape("encoder_c")[1],
		Steps: shape[1]}
}

// 09_aurora_seq2seq.npz: descriptors, the decoder's inputs and outputs, loss and gradient, and the
// state of the encoder's cell after a sequence.
func TestGoldenAutoencoder(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	flat := data.Float32s("params.flat")
	if autoencoder.Params() != len(flat) {
		t.Fatalf("%v has %d parameters, stored are %d", autoencoder, autoencoder.Params(), len(flat))
	}
	lstm := nn.LSTM{Inputs: autoencoder.Features, Hidden: autoencoder.Hidden}
	encoder := len(flat) - lstm.Params()
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			cell := lstm.View(Slice(Reshape(in[0], -1), AxisRangeToEnd(encoder)))
			memory := cell.Start(data.Shape("batch")[0])
			for step := range autoencoder.Steps {
				memory, _ = cell.Step(Transpose(Squeeze(Slice(in[1], AxisRange(), AxisElem(step)), 1), 0, 1), memory)
			}
			loss, gradient := autoencoder.LossGradient(in[0], in[1])
			inputs := Slice(autoencoder.DecoderInputs(in[1]), AxisRange(0, autoencoder.Steps))
			return []*Node{autoencoder.Encode(in[0], in[1]), autoencoder.Reconstruct(in[0], in[1]),
				loss, gradient, TransposeAllAxes(inputs, 2, 0, 1), Transpose(memory.Cell, 0, 1), Transpose(memory.Output, 0, 1),
				cell.Row()}
		}, xlatest.Tensor(flat, 1, autoencoder.Params()), xlatest.Stored(data, "batch"))
		xlatest.Matches(t, data, out, 1e-6, "encoder_c", "outputs", "loss", "grad.flat", "decoder_inputs",
			"encoder_c", "encoder_h")
		if !slices.Equal(xlatest.Flat[float32](t, out[7]), flat[encoder:]) {
			t.Error("the row of a view is not the row that was viewed")
		}
		if got := out[3].Shape().Dimensions; !slices.Equal(got, []int{1, autoencoder.Params()}) {
			t.Errorf("the gradient by a row [1, N] has shape %v", got)
		}
	})
}

// train.* of 09_aurora_seq2seq.npz: three steps of Adam on one batch, which are three epochs of one
// batch. Each loss is the one before the step.
func TestGoldenAutoencoderSteps(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	n := data.Shape("batch")[0]
	training := nn.AutoencoderTraining{Batch: n, LearningRate: data.Number("const.learning_rate")}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			order := func(epoch *Node, _ struct{}) *Node { return Iota(epoch.Graph(), shapes.Make(dtypes.Int32, n), 0) }
			var rows, losses []*Node
			for step := range data.Shape("train.loss")[0] {
				row, loss := nn.TrainEpochs(training, autoencoder, in[0], in[1], Const(g, int32(step+1)), struct{}{}, order)
				rows, losses = append(rows, row), append(losses, loss)
			}
			return []*Node{Stack(losses, 0), Stack(rows, 0)}
		}, xlatest.Stored(data, "params.flat"), xlatest.Stored(data, "batch"))
		xlatest.Matches(t, data, out, 1e-6, "train.loss")
		xlatest.Matches(t, data, out[1:], 2e-6, "train.params")
	})
}

// A NaN anywhere in a sequence makes its descriptor and the loss NaN, but no other sequence's
// descriptor.
func TestAutoencoderShowsNaN(t *testing.T) {
	autoencoder := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 4}
	const n, bad = 5, 2
	row, x := float32s(numbers(autoencoder.Params(), 0.8)), float32s(numbers(n*autoencoder.Steps*autoencoder.Features, 2))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		program, err := xlatest.Compile(p, "nan", []shapes.Shape{shapes.Make(dtypes.Float32, len(row)),
			shapes.Make(dtypes.Float32, n, autoencoder.Steps, autoencoder.Features)}, func(in []*Node) []*Node {
			loss, gradient := autoencoder.LossGradient(in[0], in[1])
			return []*Node{loss, autoencoder.Encode(in[0], in[1]), gradient}
		})
		must.Do(err)
		defer program.Free()
		for at := range autoencoder.Steps * autoencoder.Features {
			spoiled := slices.Clone(x)
			spoiled[bad*autoencoder.Steps*autoencoder.Features+at] = float32(math.NaN())
			out := must.Get(program.Run(xla.Sharded{xlatest.Tensor(row, len(row))},
				xla.Sharded{xlatest.Tensor(spoiled, n, autoencoder.Steps, autoencoder.Features)}))
			isNaN := func(x float32) bool { return x != x }
			if loss := xlatest.Flat[float32](t, out[0][0]); !isNaN(loss[0]) {
				t.Errorf("NaN at %d: the loss is %v", at, loss[0])
			}
			for i, d := range xlatest.Flat[float32](t, out[1][0]) {
				if isNaN(d) != (i/autoencoder.Hidden == bad) {
					t.Errorf("NaN at %d of sequence %d: the descriptor of sequence %d has a %v", at, bad,
						i/autoencoder.Hidden, d)
				}
			}
			if !slices.ContainsFunc(xlatest.Flat[float32](t, out[2][0]), isNaN) {
				t.Errorf("NaN at %d: none in the gradient", at)
			}
		}
	})
}

// expect compares a moment of drawn numbers with theory, within five standard errors.
func expect(t *testing.T, what string, got, want, standard float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5*standard+1e-7) {
		t.Errorf("the %s is %g, in theory %g +- %.2g", what, got, want, standard)
	}
}

// Biases begin at 0, recurrent kernels are uniform over the orthogonal matrices, and input kernels
// are normal numbers truncated at two deviations, as are the stored ones (init.* of
// 09_aurora_seq2seq.npz, of at least 30 cells).
func TestGoldenAutoencoderInit(t *testing.T) {
	data, _ := goldenAutoencoder(t)
	const features, h, draws = 25, 5, 100
	autoencoder := nn.Autoencoder{Features: features, Hidden: h, Steps: 25}
	program := must.Get(xlatest.Compile(xlatest.Pure(t), "init", []shapes.Shape{shapes.Make(dtypes.Uint32, 2)},
		func(in []*Node) []*Node { return autoencoder.Arrays(autoencoder.Init(random.KeyOf(in[0]))) }))
	defer program.Free()
	var drawn [4][]float64
	for seed := range draws {
		out := must.Get(program.Run(xla.Sharded{tensors.FromValue(random.SeedWords(int64(seed)))}))
		for i := range drawn {
			for _, x := range xlatest.Flat[float32](t, out[i][0]) {
				drawn[i] = append(drawn[i], float64(x))
			}
		}
	}
	if slices.Max(drawn[0]) != 0 || slices.Min(drawn[0]) != 0 || drawn[2][0] == drawn[2][2*features*4*h] {
		t.Errorf("biases begin with up to %g, and two seeds with %g", slices.Max(drawn[0]), drawn[2][0])
	}
	var trace, squares, first float64
	for q := range slices.Chunk(drawn[1], h*h) {
		sum := 0.0
		for i := range h {
			for j := range h {
				var rows, columns float64
				for k := range h {
					rows, columns = rows+q[i*h+k]*q[j*h+k], columns+q[k*h+i]*q[k*h+j]
				}
				if want := map[bool]float64{true: 1}[i == j]; math.Abs(rows-want) > 1e-5 || math.Abs(columns-want) > 1e-5 {
					t.Fatalf("a recurrent kernel is not orthogonal: %v", q)
				}
			}
			sum += q[i*h+i]
		}
		trace, squares, first = trace+sum, squares+sum*sum, first+q[0]
	}
	// Under Haar's measure the trace of an orthogonal matrix of 5 rows has the moments of a normal
	// number: 0, 1, 0, 3; an element has mean 0 and variance 1/5. The diagonal of a QR
	// decomposition without the sign correction that makes it uniform has a nonzero mean.
	matrices := float64(draws * 8)
	expect(t, "mean trace", trace/matrices, 0, 1/math.Sqrt(matrices))
	expect(t, "mean square of the trace", squares/matrices, 1, math.Sqrt(2/matrices))
	expect(t, "mean of the first element", first/matrices, 0, math.Sqrt(1./h/matrices))
	check := func(whose string, n float64, inputs int, mean, deviation, largest float64) {
		// of a normal distribution truncated at +-2: standard deviation, kurtosis, density of the
		// magnitude at the limit
		const cut, kurtosis, end = 0.87962566103423978, 2.3656, 0.1131
		sigma := 1 / math.Sqrt(float64(inputs))
		expect(t, whose+" mean", mean, 0, sigma/math.Sqrt(n))
		expect(t, whose+" standard deviation", deviation, sigma, sigma*math.Sqrt((kurtosis-1)/n)/2)
		// the distance is exponential: the chance of exceeding this is 3e-7
		expect(t, whose+" largest magnitude", largest, 2*sigma/cut, 3/(n*end)*sigma/cut)
	}
	for inputs, x := range map[int][]float64{features: drawn[2], h: drawn[3]} {
		mean, deviation := stat.PopMeanStdDev(x, nil)
		check(fmt.Sprint(inputs, " inputs:"), float64(len(x)), inputs, mean, deviation, max(slices.Max(x), -slices.Min(x)))
	}
	stored := data.Float64s("init.input_kernel_moments")
	check("stored", 30*4*features*h, features, stored[0], stored[1], stored[2])
}

// numbers returns n numbers between -scale and scale, the same at each call.
func numbers(n int, scale float64) []float64 {
	out, word := make([]float64, n), uint64(n)
	for i := range out {
		word = word*6364136223846793005 + 1442695040888963407
		out[i] = scale * (2*float64(word>>11)/(1<<53) - 1)
	}
	return out
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i := range x {
		out[i] = float32(x[i])
	}
	return out
}
