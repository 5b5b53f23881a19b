package nn

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Unexported names for tests.
var (
	DrawFilled = drawFilled
	Triplets   = triplets
)

// DecoderInputs is [Autoencoder.decoderInputs].
func (a Autoencoder) DecoderInputs(sequences *Node) *Node { return a.decoderInputs(sequences) }

// LossGradient returns the loss for normalised sequences [N, L, F] and its gradient.
func (a Autoencoder) LossGradient(row, sequences *Node) (loss, gradient *Node) {
	return a.lossGradient(row, a.decoderInputs(sequences))
}

// Reconstruct returns the decoder's outputs [N, L, F] for normalised sequences [N, L, F].
func (a Autoencoder) Reconstruct(row, sequences *Node) *Node {
	c, inputs := a.view(row), a.decoderInputs(sequences)
	memory, _ := c.encode(inputs, false)
	_, done := c.Decoder.run(inputs, 0, a.Steps, memory, true)
	return TransposeAllAxes(c.dense(done.Outputs, a.Steps, nil), 2, 0, 1)
}

// NoNormaliser returns the identity: mean 0, deviation 1.
func NoNormaliser(g *Graph, features int) Normaliser {
	shape := shapes.Make(dtypes.Float32, features)
	return Normaliser{Zeros(g, shape), Ones(g, shape)}
}

// Arrays returns the parts of a row: biases [N], the recurrent kernels of the decoder's and the
// encoder's gates [8, n, n], their input kernels [2 F, 4 n], and the kernel of the outputs [n, F].
func (a Autoencoder) Arrays(row *Node) []*Node {
	c := a.view(row)
	gates := func(kernel *Node) *Node { return Transpose(Reshape(kernel, a.Hidden, 4, a.Hidden), 0, 1) }
	return []*Node{Concatenate([]*Node{c.Bias, c.Decoder.Bias, c.Encoder.Bias}, 0),
		Concatenate([]*Node{gates(c.Decoder.Recurrent), gates(c.Encoder.Recurrent)}, 0),
		Concatenate([]*Node{c.Decoder.Input, c.Encoder.Input}, 0), c.Kernel}
}

// plain returns the loss, its gradient, the descriptors and the outputs of normalised sequences [N, L, F],
// step by step and by GoMLX's gradient.
func plain(a Autoencoder, row, sequences *Node) []*Node {
	c, inputs := a.view(row), a.decoderInputs(sequences)
	n := inputs.Shape().Dimensions[2]
	memory, outputs := c.Encoder.Start(n), []*Node{}
	for t := range a.Steps {
		memory, _ = c.Encoder.Step(step(inputs, 1+t), memory)
	}
	descriptors := Transpose(memory.Cell, 0, 1)
	for t := range a.Steps {
		memory, _ = c.Decoder.Step(step(inputs, t), memory)
		outputs = append(outputs, Add(Dot(Transpose(c.Kernel, 0, 1), memory.Output).Product(), InsertAxes(c.Bias, -1)))
	}
	all := TransposeAllAxes(Stack(outputs, 0), 2, 0, 1)
	scored := func(x *Node) *Node { return Slice(x, AxisRange(), AxisRange(0, a.Steps-1)) }
	loss := ReduceAllMean(Square(Sub(scored(all), scored(sequences))))
	return []*Node{loss, Gradient(loss, row)[0], descriptors, all}
}

// The auto-encoder in loops, and as built for GPUs, is the plain one. The
// batches are split in different ways.
func TestAutoencoderIsThePlainOne(t *testing.T) {
	as := xlatest.As(xlatest.Quick(t), backend.CUDA)
	pure := xlatest.Pure(t)
	for a, n := range map[Autoencoder]int{{Features: 1, Hidden: 1, Steps: 2}: 1, {Features: 3, Hidden: 2, Steps: 5}: 48} {
		drawn := xlatest.Run(t, pure, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			row, sequences := MulScalar(key.Normal(a.Params()), 0.5), key.FoldIn(1).Normal(n, a.Steps, a.Features)
			return append([]*Node{row, sequences}, plain(a, row, sequences)...)
		}, xlatest.Tensor(random.SeedWords(3), 2))
		row, sequences := xlatest.Flat[float32](t, drawn[0]), xlatest.Flat[float32](t, drawn[1])
		for _, p := range []*xla.Platform{as, pure} {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				loss, gradient := a.LossGradient(in[0], in[1])
				return []*Node{loss, gradient, a.Encode(in[0], in[1]), a.Reconstruct(in[0], in[1])}
			}, xlatest.Tensor(row, len(row)), xlatest.Tensor(sequences, n, a.Steps, a.Features))
			for i, name := range []string{"loss", "gradient", "descriptors", "outputs"} {
				xlatest.Close(t, fmt.Sprintf("%s of %v", name, a), xlatest.Flat[float32](t, out[i]),
					xlatest.Flat[float32](t, drawn[2+i]), 1e-5)
			}
		}
	}
}
