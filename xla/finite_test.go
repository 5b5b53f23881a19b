package xla_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Rows that are not finite are replaced by the finite ones in turn; the others keep their bits.
func TestKeepFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	negative := float32(math.Copysign(0, -1))
	for _, c := range []struct{ rows, want []float32 }{
		{[]float32{1, negative, 3, 4, 5, 6}, []float32{1, negative, 3, 4, 5, 6}},
		{[]float32{nan, 1, 3, 4, 5, -inf, 7, 8}, []float32{3, 4, 3, 4, 3, 4, 7, 8}},
		{[]float32{3, 4, nan, 1, 1, nan, 7, 8}, []float32{3, 4, 7, 8, 3, 4, 7, 8}},
		{[]float32{nan, 1, inf, 2}, []float32{-1, -2, -1, -2}},
	} {
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			n := len(c.rows) / 2
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				kept, replaced := xla.KeepFinite(in[0], in[1])
				return []*Node{kept, replaced}
			}, xlatest.Tensor(c.rows, n, 2), xlatest.Tensor([]float32{-1, -2}, 1, 2))
			bits := func(x []float32) (words []uint32) {
				for _, x := range x {
					words = append(words, math.Float32bits(x))
				}
				return words
			}
			if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(bits(got), bits(c.want)) {
				t.Errorf("%v becomes %v, want %v", c.rows, got, c.want)
			}
			want := int32(0)
			for i := range n {
				if !slices.Equal(bits(c.rows[2*i:2*i+2]), bits(c.want[2*i:2*i+2])) {
					want++
				}
			}
			if got := xlatest.Flat[int32](t, out[1])[0]; got != want {
				t.Errorf("%d of %v are replaced, want %d", got, c.rows, want)
			}
		})
	}
}
