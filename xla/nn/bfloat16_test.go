package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

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
				return []*Node{apply(policy.View(in[0]).BFloat16()), apply(policy.View(in[1])),
					apply(policy.View(in[0]))}
			}, xlatest.Tensor(rows, p, policy.Params()), xlatest.Tensor(rounded, p, policy.Params()),
				xlatest.Tensor(x, p, sizes[0]))
			got := xlatest.Flat[float32](t, out[0])
			xlatest.Close(t, fmt.Sprint(sizes), got, xlatest.Flat[float32](t, out[1]), 1e-5)
			if slices.Equal(got, xlatest.Flat[float32](t, out[2])) {
				t.Errorf("%v: kernels are not rounded", sizes)
			}
		})
	}
}
