package xla_test

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// A barrier changes no value, of any type, inside and outside of loops.
func TestBarrier(t *testing.T) {
	type values struct {
		Float, Count *Node
		Where        *Node
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			v := values{Float: in[0], Count: ConvertDType(in[0], dtypes.Int32),
				Where: GreaterThan(in[0], ZerosLike(in[0]))}
			v = xla.Barrier(v)
			v = xla.For(in[0].Graph(), 3, v, func(_ *Node, v values) values {
				v.Float = AddScalar(v.Float, 1)
				return xla.Barrier(v)
			})
			return []*Node{v.Float, v.Count, ConvertDType(v.Where, dtypes.Int32)}
		}, xlatest.Tensor([]float32{-2, 0, 5}, 3))
		if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(got, []float32{1, 3, 8}) {
			t.Errorf("the numbers are %v", got)
		}
		if got := xlatest.Flat[int32](t, out[1]); !slices.Equal(got, []int32{-2, 0, 5}) {
			t.Errorf("the integers are %v", got)
		}
		if got := xlatest.Flat[int32](t, out[2]); !slices.Equal(got, []int32{0, 0, 1}) {
			t.Errorf("the booleans are %v", got)
		}
		if xla.Barrier(struct{ N int }{3}).N != 3 {
			t.Error("a pytree without tensors changes")
		}
	})
}
