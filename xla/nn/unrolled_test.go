package nn

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

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

// The auto-encoder in loops, and as built for GPUs, here run by the CPU, is the plain one. The batches are
// split in different ways.
func TestAutoencoderIsThePlainOne(t *testing.T) {
	own, as := xlatest.As(t, backend.CUDA)
	for a, n := range map[Autoencoder]int{{Features: 1, Hidden: 1, Steps: 2}: 1, {Features: 3, Hidden: 2, Steps: 5}: 48} {
		for _, p := range []*xla.Platform{own, as, xlatest.Pure(t)} {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				key := random.KeyOf(in[0])
				row := MulScalar(key.Normal(a.Params()), 0.5)
				sequences := key.FoldIn(1).Normal(n, a.Steps, a.Features)
				loss, gradient := a.LossGradient(row, sequences)
				return append(plain(a, row, sequences), loss, gradient, a.Encode(row, sequences),
					a.Reconstruct(row, sequences))
			}, xlatest.Tensor(random.SeedWords(3), 2))
			for i, name := range []string{"loss", "gradient", "descriptors", "outputs"} {
				xlatest.Close(t, fmt.Sprintf("%s of %v", name, a), xlatest.Flat[float32](t, out[4+i]),
					xlatest.Flat[float32](t, out[i]), 1e-5)
			}
		}
	}
}
