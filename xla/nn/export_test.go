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

// NamedLeaf is one array of a flat row.
type NamedLeaf struct {
	Name   string
	Shape  []int // [out] of a bias, [in, out] of a kernel
	Offset int   // in the row
}

// Layout lists the leaves of a row in their order, with Flax's names: hf.bias, hf.kernel, ...,
// if.kernel, ...
func (l LSTM) Layout() []NamedLeaf {
	var leaves []NamedLeaf
	for _, gate := range lstmGates {
		leaves = append(leaves, NamedLeaf{Name: "h" + string(gate) + ".bias", Shape: []int{l.Hidden}},
			NamedLeaf{Name: "h" + string(gate) + ".kernel", Shape: []int{l.Hidden, l.Hidden}})
	}
	for _, gate := range lstmGates {
		leaves = append(leaves, NamedLeaf{Name: "i" + string(gate) + ".kernel",
			Shape: []int{l.Inputs, l.Hidden}})
	}
	return withOffsets(leaves)
}

// withOffsets fills in the offsets of consecutive leaves.
func withOffsets(leaves []NamedLeaf) []NamedLeaf {
	offset := 0
	for i := range leaves {
		leaves[i].Offset = offset
		size := 1
		for _, dim := range leaves[i].Shape {
			size *= dim
		}
		offset += size
	}
	return leaves
}

// Layout lists the leaves of a row in their order.
func (a Autoencoder) Layout() []NamedLeaf {
	leaves := []NamedLeaf{
		{Name: "decoder.dense.bias", Shape: []int{a.Features}},
		{Name: "decoder.dense.kernel", Shape: []int{a.Hidden, a.Features}},
	}
	for _, part := range []string{"decoder", "encoder"} {
		for _, leaf := range a.cell().Layout() {
			leaf.Name = part + "." + leaf.Name
			leaves = append(leaves, leaf)
		}
	}
	return withOffsets(leaves)
}
