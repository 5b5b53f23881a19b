package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Autoencoder describes AURORA's sequence auto-encoder (Chalumeau et al. 2023, appendix; the LSTM
// auto-encoder of Srivastava et al. 2015). The encoder is an LSTM that starts from zeros; its last
// cell state, not its output, is the descriptor. The decoder is an LSTM that starts from the
// encoder's last state, with a dense layer on its outputs. It uses teacher forcing: at step t it
// reads the true values of step t-1, and at step 0 the value -1000 in all features. It is
// deterministic.
//
// A row, [1, N] or [N], holds the decoder (bias and kernel of the dense layer, then the LSTM), then
// the encoder's LSTM.
type Autoencoder struct {
	Features int // features of a step
	Hidden   int // size of a descriptor: 5 in the paper
	Steps    int // L, the length of a sequence: at least 2
}

// beforeFirst is the value that the decoder reads at step 0.
const beforeFirst = -1000

func (a Autoencoder) cell() LSTM { return LSTM{a.Features, a.Hidden} }

// Params is the number N of parameters.
func (a Autoencoder) Params() int { return (1+a.Hidden)*a.Features + 2*a.cell().Params() }

// Init draws a row [1, N] from a single key: the cells as in [LSTM.Init], the kernel of the dense
// layer from the same distribution as their input kernels with variance 1/Hidden, its bias 0.
func (a Autoencoder) Init(key random.Key) *Node {
	row := Concatenate([]*Node{
		Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, a.Features)),
		leCunNormal(key.FoldIn(0), a.Hidden, a.Hidden*a.Features),
		a.cell().Init(key.FoldIn(1)),
		a.cell().Init(key.FoldIn(2)),
	}, 0)
	return InsertAxes(row, 0)
}

// coder is an auto-encoder cut out of its row: a pytree.
type coder struct {
	Bias, Kernel     *Node // of the dense layer: [Features] and [Hidden, Features]
	Decoder, Encoder Cell
}

func (a Autoencoder) view(row *Node) coder {
	if row.Shape().Size() != a.Params() || row.Rank() > 2 || row.Shape().Dimensions[row.Rank()-1] != a.Params() {
		panic(fmt.Errorf("an auto-encoder of %d features and %d units has %d parameters, a row of shape %s does not fit",
			a.Features, a.Hidden, a.Params(), row.Shape()))
	}
	row = Reshape(row, -1)
	taken := 0
	take := func(n int) *Node { taken += n; return Slice(row, AxisRange(taken-n, taken)) }
	return coder{
		Bias:    take(a.Features),
		Kernel:  Reshape(take(a.Hidden*a.Features), a.Hidden, a.Features),
		Decoder: a.cell().View(take(a.cell().Params())),
		Encoder: a.cell().View(take(a.cell().Params())),
	}
}

// row is the inverse of view.
func (c coder) row() *Node {
	return Concatenate([]*Node{c.Bias, Reshape(c.Kernel, -1), c.Decoder.Row(), c.Encoder.Row()}, 0)
}

// decoderInputs turns sequences [N, L, F] into the decoder's inputs, [1+L, F, N]: the constant,
// then the sequence. The encoder's inputs begin at index 1.
func (a Autoencoder) decoderInputs(sequences *Node) *Node {
	dims := sequences.Shape().Dimensions
	if len(dims) != 3 || dims[1] != a.Steps || dims[2] != a.Features || a.Steps < 2 {
		panic(fmt.Errorf("an auto-encoder of %d steps of %d features cannot read sequences of shape %s: it takes "+
			"[N, steps, features], of two steps or more", a.Steps, a.Features, sequences.Shape()))
	}
	return batchLast(a.withStart(sequences))
}

// withStart prepends the constant to sequences [N, L, F]: [N, 1+L, F].
func (a Autoencoder) withStart(sequences *Node) *Node {
	first := Ones(sequences.Graph(), shapes.Make(dtypes.Float32, sequences.Shape().Dimensions[0], 1, a.Features))
	return Concatenate([]*Node{MulScalar(first, beforeFirst), sequences}, 1)
}

func batchLast(sequences *Node) *Node { return TransposeAllAxes(sequences, 1, 2, 0) }

// Encode returns the descriptors [N, Hidden] of normalised sequences [N, L, F]. Descriptors are not
// bounded. The descriptor of a sequence with a NaN is NaN.
func (a Autoencoder) Encode(row, sequences *Node) *Node {
	memory, _ := a.view(row).encode(a.decoderInputs(sequences), false)
	return Transpose(memory.Cell, 0, 1)
}

func (c coder) encode(inputs *Node, traced bool) (Memory, trace) {
	dims := inputs.Shape().Dimensions
	return c.Encoder.run(inputs, 1, dims[0]-1, c.Encoder.Start(dims[2]), traced)
}

// dense applies the last layer to a decoder's outputs [steps+1, Hidden, N] except the one before
// its first step, and subtracts truth, [>=steps+1, F, N], which also has an entry before the first
// step (nil: subtracts nothing). The result is [steps, F, N].
func (c coder) dense(outputs *Node, steps int, truth *Node) *Node {
	type state struct{ Bias, Kernel, Outputs, Truth, Result *Node }
	features, n := c.Bias.Shape().Dimensions[0], outputs.Shape().Dimensions[2]
	if accelerated(outputs) {
		result := Add(weighted(c.Kernel, Slice(outputs, AxisRange(1, steps+1))), InsertAxes(c.Bias, 0, -1))
		if truth != nil {
			result = Sub(result, Slice(truth, AxisRange(1, steps+1)))
		}
		return result
	}
	s := state{c.Bias, c.Kernel, outputs, truth, Zeros(c.Bias.Graph(), shapes.Make(dtypes.Float32, steps, features, n))}
	return xla.For(c.Bias.Graph(), steps, s, func(t *Node, s state) state {
		next := AddScalar(t, int32(1))
		result := addWeighted(InsertAxes(s.Bias, -1), s.Kernel, xla.Row(s.Outputs, next))
		if s.Truth != nil {
			result = Sub(result, xla.Row(s.Truth, next))
		}
		s.Result = xla.SetRow(s.Result, t, result)
		return s
	}).Result
}

// lossGradient returns the mean of (output - x)^2 over the decoder's inputs of normalised sequences
// [N, L, F]: over the sequences, all steps but the last, and the features. It also returns the
// gradient with respect to the row, in the row's shape. GoMLX's Gradient cannot be used: see
// [LSTM].
func (a Autoencoder) lossGradient(row, inputs *Node) (loss, gradient *Node) {
	c, scored, n := a.view(row), a.Steps-1, inputs.Shape().Dimensions[2]
	memory, encoding := c.encode(inputs, true)
	_, decoding := c.Decoder.run(inputs, 0, scored, memory, true)
	off := c.dense(decoding.Outputs, scored, inputs)

	var by coder
	count := float64(scored * a.Features * n)
	loss, by.Bias, by.Kernel = c.denseGradient(decoding.Outputs, off, count)

	byZ, between := c.Decoder.back(decoding, c.Decoder.Start(n), &reading{Transpose(c.Kernel, 0, 1), off, 2 / count})
	by.Decoder = c.Decoder.gradient(inputs, 0, decoding, byZ)
	byZ, _ = c.Encoder.back(encoding, between, nil)
	by.Encoder = c.Encoder.gradient(inputs, 1, encoding, byZ)
	return loss, Reshape(by.row(), row.Shape().Dimensions...)
}

// denseGradient returns the sum of squares of off [steps, F, N] over count and its derivatives with
// respect to bias and kernel. outputs are the decoder's, from before its first step on.
func (c coder) denseGradient(outputs, off *Node, count float64) (loss, bias, kernel *Node) {
	type state struct{ Outputs, Off, Squares, Bias, Kernel *Node }
	features, width := c.Bias.Shape().Dimensions[0], lanes(off)
	zeros := func(dims ...int) *Node {
		return Zeros(off.Graph(), shapes.Make(dtypes.Float32, append(dims, width)...))
	}
	if accelerated(off) {
		loss = DivScalar(ReduceAllSum(Square(off)), count)
		kernel = outer(Slice(outputs, AxisRange(1, off.Shape().Dimensions[0]+1)), off)
		return loss, MulScalar(ReduceSum(off, 0, 2), 2/count), MulScalar(kernel, 2/count)
	}
	s := state{outputs, off, zeros(features), zeros(features), zeros(c.Decoder.LSTM.Hidden, features)}
	s = xla.For(off.Graph(), off.Shape().Dimensions[0], s, func(t *Node, s state) state {
		off := xla.Row(s.Off, t)
		s.Squares, s.Bias = addLanes(s.Squares, Square(off)), addLanes(s.Bias, off)
		s.Kernel = addOuter(s.Kernel, xla.Row(s.Outputs, AddScalar(t, int32(1))), off)
		return s
	})
	loss = DivScalar(ReduceAllSum(s.Squares), count)
	return loss, MulScalar(ReduceSum(s.Bias, 1), 2/count), MulScalar(ReduceSum(s.Kernel, 2), 2/count)
}
