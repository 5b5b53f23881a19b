package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
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
