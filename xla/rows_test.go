package xla_test

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// A window that would reach past an end is moved back inside, whole, on every backend.
func TestRowsAndSetRowsClampAtBothEnds(t *testing.T) {
	const n, count = 5, 2
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		x := tensors.FromValue([][]float32{{0, 0}, {1, 10}, {2, 20}, {3, 30}, {4, 40}})
		rows := tensors.FromValue([][]float32{{-1, -2}, {-3, -4}})
		for start := int32(-3); start < n+3; start++ {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				return []*Node{xla.Rows(in[0], in[2], count), xla.SetRows(in[0], in[2], in[1])}
			}, x, rows, tensors.FromScalar(start))
			first := int(min(max(start, 0), n-count))
			if got := out[0].Value().([][]float32); got[0][0] != float32(first) || got[1][1] != float32(
				10*(first+1)) {
				t.Errorf("rows from %d on: %v", start, got)
			}
			want := xlatest.Flat[float32](t, x)
			copy(want[2*first:], []float32{-1, -2, -3, -4})
			if got := xlatest.Flat[float32](t, out[1]); !slices.Equal(got, want) {
				t.Errorf("rows set from %d on: %v, want %v", start, got, want)
			}
		}
	})
}

// Row and SetRow read and replace one row, the latter of every array of a pytree, of any number of axes.
func TestRowAndSetRow(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			at := Const(in[0].Graph(), int32(1))
			rows := []*Node{xla.Row(in[0], at), xla.Row(in[1], at), xla.Row(in[2], at)}
			changed := xla.SetRow(in, at, xla.Map(rows, Neg))
			return append(rows, changed...)
		}, tensors.FromValue([]float32{7, 8, 9}), tensors.FromValue([][]float32{{1, 2}, {3, 4}}),
			tensors.FromValue([][][]float32{{{1}, {2}}, {{3}, {4}}}))
		for i, want := range [][]float32{{8}, {3, 4}, {3, 4}, {7, -8, 9}, {1, 2, -3, -4}, {1, 2, -3, -4}} {
			if got := xlatest.Flat[float32](t, out[i]); !slices.Equal(got, want) {
				t.Errorf("output %d is %v, want %v", i, got, want)
			}
		}
		if out[0].Rank() != 0 || out[1].Rank() != 1 {
			t.Errorf("rows of %d and %d axes", out[0].Rank(), out[1].Rank())
		}
	})
}

func TestNonzero(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, accepted := range [][]bool{{false, true, true, false, true}, {false, false}, {true},
			{true, true, true}} {
			var want []int32
			for i, a := range accepted {
				if a {
					want = append(want, int32(i))
				}
			}
			count := int32(len(want))
			want = append(want, make([]int32, len(accepted)-len(want))...)
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				cells, count := xla.Nonzero(in[0])
				return []*Node{cells, count}
			}, xlatest.Tensor(accepted, len(accepted)))
			if got, n := xlatest.Flat[int32](t, out[0]),
				xlatest.Flat[int32](t, out[1]); !slices.Equal(got, want) || n[0] != count {
				t.Errorf("%v: cells %v, %d of them; want %v, %d", accepted, got, n[0], want, count)
			}
		}
	})
}

func TestSetRowsAt(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			rows := AddScalar(Iota(g, shapes.Make(dtypes.Float32, 3, 2), 0), 10)
			var all []*Node
			for count := range 4 {
				all = append(all, xla.SetRowsAt(in[0], rows, nil, Const(g, []int32{3, 1, 0, 0, 0}),
					Const(g, int32(count))))
			}
			for count := range 4 { // 10 twice, then 12; entries beyond count do not matter
				all = append(all, xla.SetRowsAt(in[0], rows, Const(g, []int32{0, 0, 2, 1, 1}),
					Const(g, []int32{3, 1, 0, 3, 3}), Const(g, int32(count))))
			}
			return all
		}, xlatest.Tensor([]float32{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 5, 2))
		for count, want := range [][]float32{
			{0, 1, 2, 3, 4}, {0, 1, 2, 10, 4}, {0, 11, 2, 10, 4}, {12, 11, 2, 10, 4},
			{0, 1, 2, 3, 4}, {0, 1, 2, 10, 4}, {0, 10, 2, 10, 4}, {12, 10, 2, 10, 4},
		} {
			got := xlatest.Flat[float32](t, out[count])
			for row, x := range want {
				if got[2*row] != x || got[2*row+1] != x {
					t.Errorf("case %d: row %d is %g, want %g", count, row, got[2*row:2*row+2], x)
				}
			}
		}
	})
}
