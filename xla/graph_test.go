package xla_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

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

// The gradient of a sum broadcasts, and arithmetic in the body reads the broadcast; the other
// results are unread.
func TestGradientInLoop(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct{ X, Target, Unread *Node }
			end := xla.For(in[0].Graph(), 3, state{in[0], in[1], in[1]}, func(_ *Node, s state) state {
				loss := ReduceAllMean(Square(Sub(s.X, s.Target)))
				s.X = Sub(s.X, Gradient(loss, s.X)[0]) // with four elements the difference is halved
				return s
			})
			return []*Node{end.X}
		}, xlatest.Tensor([]float32{8, 0, -8, 16}, 2, 2), xlatest.Tensor([]float32{0, 0, 0, 8}, 2, 2))
		xlatest.Close(t, "parameters", xlatest.Flat[float32](t, out[0]), []float32{1, 0, -1, 9}, 1e-6)
	})
}

// A program may return an input unchanged and ignore others.
func TestInputsAreReturned(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for i := range 5 {
			inputs = append(inputs, xlatest.Tensor([]float32{float32(i), 1}, 2))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return in[:1] }, inputs...)
		if got := xlatest.Flat[float32](t, out[0]); got[0] != 0 || got[1] != 1 {
			t.Errorf("the first input comes back as %v", got)
		}
	})
}

func TestFirstTrueAndNthTrue(t *testing.T) {
	nan := float32(math.NaN())
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		x := tensors.FromValue([][]float32{{3, 1, 1}, {5, 5, 5}, {nan, 2, 2}, {2, 7, nan}})
		flags := tensors.FromValue([]int32{0, 1, 1, 0, 1})
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			upTo := CumSum(ConvertDType(in[1], dtypes.Int32), 0)
			hit := Equal(in[0], ConstAs(in[0], float32(2))) // in row 2 from 1 on, and in row 3 at 0
			return []*Node{
				xla.FirstTrue(hit, 1), xla.FirstTrue(hit, -1), xla.FirstTrue(hit, 0),
				xla.NthTrue(upTo, Const(in[0].Graph(), []int32{2, 0, 1, 3, 0})),
			}
		}, x, flags)
		for i, want := range [][]int32{{2, 2, 1, 0}, {2, 2, 1, 0}, {3, 2, 2}, {4, 1, 2, 4, 1}} {
			if got := xlatest.Flat[int32](t, out[i]); !slices.Equal(got, want) {
				t.Errorf("result %d: %v, want %v", i, got, want)
			}
		}
	})
}
