package xla_test

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// MapSlices stacks the results of all slices, of any type, also of a single one.
func TestMapSlices(t *testing.T) {
	type result struct {
		Sum    *Node // [2]
		Number *Node // scalar
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			f := func(slice, x *Node) result {
				number := xla.For(slice.Graph(), 2, slice, func(_, n *Node) *Node { return AddScalar(n, 5) })
				return result{Add(x, ConvertDType(slice, x.DType())), number}
			}
			worker := ConvertDType(Reshape(Slice(in[0], AxisElem(0))), dtypes.Int32)
			three, one := xla.MapSlices(3, worker, in[0], f), xla.MapSlices(1, worker, in[0], f)
			return []*Node{three.Sum, three.Number, one.Sum, one.Number}
		}, xlatest.Tensor([]float32{1, -1}, 2))
		for i, want := range [][]int{{3, 2}, {3}, {1, 2}, {1}} {
			if got := out[i].Shape().Dimensions; !slices.Equal(got, want) {
				t.Errorf("result %d has dimensions %v, want %v", i, got, want)
			}
		}
		sums := slices.Concat(xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[2]))
		if want := []float32{1, -1, 2, 0, 3, 1, 1, -1}; !slices.Equal(sums, want) {
			t.Errorf("the sums are %v, want %v", sums, want)
		}
		numbers := slices.Concat(xlatest.Flat[int32](t, out[1]), xlatest.Flat[int32](t, out[3]))
		if want := []int32{10, 11, 12, 10}; !slices.Equal(numbers, want) {
			t.Errorf("the numbers are %v, want %v", numbers, want)
		}
	})
}
