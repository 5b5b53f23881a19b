package nn

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// The auto-encoder as built for GPUs has the same loss and gradient, here computed by the CPU.
func TestAutoencoderOfAcceleratorsAgrees(t *testing.T) {
	p, as := xlatest.As(t, backend.CUDA)
	a := Autoencoder{Features: 3, Hidden: 2, Steps: 5}
	results := func(p *xla.Platform) [][]float32 {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			row, sequences := a.Init(key), key.FoldIn(1).Normal(4*5*3)
			sequences = Reshape(sequences, 4, 5, 3)
			loss, gradient := a.LossGradient(row, sequences)
			return []*Node{loss, gradient, a.Encode(row, sequences), a.Reconstruct(row, sequences)}
		}, xlatest.Tensor(random.SeedWords(3), 2))
		var flat [][]float32
		for _, x := range out {
			flat = append(flat, xlatest.Flat[float32](t, x))
		}
		return flat
	}
	want := results(p)
	for i, got := range results(as) {
		xlatest.Close(t, []string{"loss", "gradient", "descriptors", "outputs"}[i], got, want[i], 1e-5)
	}
}
