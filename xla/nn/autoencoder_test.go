package nn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

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

// 09_aurora_seq2seq.npz: layout, descriptors, the decoder's inputs and outputs, loss and gradient.
func TestGoldenAutoencoder(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	flat := data.Float32s("params.flat")
	if autoencoder.Params() != len(flat) {
		t.Fatalf("%v has %d parameters, stored are %d", autoencoder, autoencoder.Params(), len(flat))
	}
	names := strings.NewReplacer("decoder.dense.", "params.decoder.DecoderLSTM_0.Dense_0.",
		"decoder.", "params.decoder.DecoderLSTM_0.LSTMCell_0.", "encoder.",
		"params.encoder.encoder_lstm.LSTMCell_0.")
	for _, leaf := range autoencoder.Layout() {
		name := names.Replace(leaf.Name)
		stored := data.Float32s(name)
		if !slices.Equal(leaf.Shape,
			data.Shape(name)) || !slices.Equal(flat[leaf.Offset:leaf.Offset+len(stored)], stored) {
			t.Errorf("%s is not at %d, or not of shape %v", name, leaf.Offset, leaf.Shape)
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			loss, gradient := autoencoder.LossGradient(in[0], in[1])
			inputs := Slice(autoencoder.DecoderInputs(in[1]), AxisRange(0, autoencoder.Steps))
			return []*Node{autoencoder.Encode(in[0], in[1]), autoencoder.Reconstruct(in[0], in[1]),
				loss, gradient, TransposeAllAxes(inputs, 2, 0, 1)}
		}, xlatest.Tensor(flat, 1, autoencoder.Params()),
			xlatest.Tensor(data.Float32s("batch"), data.Shape("batch")...))
		for i, name := range []string{"encoder_c", "outputs", "loss", "grad.flat", "decoder_inputs"} {
			xlatest.Close(t, name, xlatest.Flat[float32](t, out[i]), data.Float32s(name), 1e-6)
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
	params, losses := data.Float32s("train.params"), data.Float32s("train.loss")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		program, err := xlatest.Compile(p, "steps", []shapes.Shape{shapes.Make(dtypes.Float32,
			autoencoder.Params()),
			shapes.Make(dtypes.Float32, data.Shape("batch")...),
			shapes.Make(dtypes.Int32)}, func(in []*Node) []*Node {
			row, loss := nn.TrainEpochs(training, autoencoder, in[0], in[1], in[2], struct{}{},
				func(epoch *Node, _ struct{}) *Node {
					return Iota(epoch.Graph(), shapes.Make(dtypes.Int32, n), 0)
				})
			return []*Node{row, loss}
		})
		must.Do(err)
		defer program.Free()
		for step := range losses {
			out := must.Get(program.Run(xla.Sharded{xlatest.Tensor(data.Float32s("params.flat"), autoencoder.Params())},
				xla.Sharded{xlatest.Tensor(data.Float32s("batch"), data.Shape("batch")...)},
				xla.Sharded{tensors.FromScalar(int32(step + 1))}))
			xlatest.Close(t, fmt.Sprintf("parameters after %d steps", step+1),
				xlatest.Flat[float32](t, out[0][0]),
				params[step*autoencoder.Params():(step+1)*autoencoder.Params()], 2e-6)
			xlatest.Close(t, fmt.Sprintf("loss before step %d", step+1), xlatest.Flat[float32](t, out[1][0]),
				losses[step:step+1], 1e-6)
		}
	})
}

// init.* of 09_aurora_seq2seq.npz: moments of the input kernels of the paper's auto-encoder. Our
// draws agree with theory within five standard errors, and so does the stored sample, whose size is
// at least that of one cell.
func TestGoldenAutoencoderInit(t *testing.T) {
	data, _ := goldenAutoencoder(t)
	autoencoder := nn.Autoencoder{Features: 25, Hidden: 5, Steps: 25}
	const draws = 30
	program, err := xlatest.Compile(xlatest.Best(t), "init",
		[]shapes.Shape{shapes.Make(dtypes.Uint32, 2)}, func(in []*Node) []*Node {
			return []*Node{autoencoder.Init(random.KeyOf(in[0]))}
		})
	must.Do(err)
	defer program.Free()
	drawn := map[int][]float64{} // by the number of inputs
	var seen [][]float32
	for seed := range draws {
		out := must.Get(program.Run(xla.Sharded{tensors.FromValue(random.SeedWords(int64(seed)))}))
		row := xlatest.Flat[float32](t, out[0][0])
		seen = append(seen, row)
		for _, leaf := range autoencoder.Layout() {
			switch {
			case strings.HasSuffix(leaf.Name, ".bias"):
				if b := row[leaf.Offset : leaf.Offset+leaf.Shape[0]]; slices.ContainsFunc(b,
					func(x float32) bool { return x != 0 }) {
					t.Errorf("%s begins with %v", leaf.Name, b)
				}
			case strings.Contains(leaf.Name, ".i") || strings.Contains(leaf.Name, "dense"):
				for _, x := range row[leaf.Offset : leaf.Offset+leaf.Shape[0]*leaf.Shape[1]] {
					drawn[leaf.Shape[0]] = append(drawn[leaf.Shape[0]], float64(x))
				}
			}
		}
	}
	if slices.Equal(seen[0], seen[1]) {
		t.Error("two seeds draw the same row")
	}
	// For a normal distribution truncated at +-2: standard deviation, kurtosis, and density of the
	// magnitude at the limit.
	const cut, kurtosis, end = 0.87962566103423978, 2.3656, 0.1131
	stored := data.Float64s("init.input_kernel_moments")
	for inputs, x := range drawn {
		n, sigma := float64(len(x)), 1/math.Sqrt(float64(inputs))
		var mean, square, largest float64
		for _, x := range x {
			mean, square, largest = mean+x/n, square+x*x/n, max(largest, math.Abs(x))
		}
		check := func(whose string, n, mean, deviation, largest float64) {
			for _, moment := range []struct {
				name           string
				off, tolerance float64
			}{
				{"mean", mean, 5 * sigma / math.Sqrt(n)},
				{"standard deviation", deviation - sigma, 5 * sigma * math.Sqrt((kurtosis-1)/n) / 2},
				// The distance is exponential: the chance of exceeding this is 3e-7.
				{"largest magnitude", largest - 2*sigma/cut, 15 / (n * end) * sigma / cut},
			} {
				if !(math.Abs(moment.off) <= moment.tolerance+1e-7) {
					t.Errorf("%s kernels of %d inputs: the %s is off by %g, allowed is %.2g",
						whose, inputs, moment.name, moment.off, moment.tolerance)
				}
			}
		}
		check("own", n, mean, math.Sqrt(square-mean*mean), largest)
		if inputs == autoencoder.Features {
			check("stored", draws*float64(4*autoencoder.Features*autoencoder.Hidden), stored[0], stored[1], stored[2])
		}
	}
}

// A NaN anywhere in a sequence makes its descriptor and the loss NaN, but no other sequence's
// descriptor.
func TestAutoencoderShowsNaN(t *testing.T) {
	autoencoder := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 4}
	const n, bad = 5, 2
	row, x := float32s(numbers(autoencoder.Params(), 0.8)), float32s(numbers(n*autoencoder.Steps*autoencoder.Features, 2))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		program, err := xlatest.Compile(p, "nan",
			[]shapes.Shape{shapes.Make(dtypes.Float32, len(row)),
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
