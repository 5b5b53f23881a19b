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
