package xla_test

import (
	"slices"
	"testing"

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

func TestRowsOfVectorsAndTensors(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			at := Const(in[0].Graph(), int32(1))
			return []*Node{xla.Rows(in[0], at, 2), xla.SetRows(in[0], at, Slice(in[0], AxisRange(0, 1))),
				xla.SetRows(in[1], at, Slice(in[1], AxisRange(0, 1)))}
		}, tensors.FromValue([]int32{7, 8, 9}), tensors.FromValue([][][]float32{{{1}, {2}}, {{3}, {4}}}))
		if got := xlatest.Flat[int32](t, out[0]); !slices.Equal(got, []int32{8, 9}) {
			t.Errorf("Rows of a vector: %v", got)
		}
		if got := xlatest.Flat[int32](t, out[1]); !slices.Equal(got, []int32{7, 7, 9}) {
			t.Errorf("SetRows of a vector: %v", got)
		}
		if got := xlatest.Flat[float32](t, out[2]); !slices.Equal(got, []float32{1, 2, 1, 2}) {
			t.Errorf("SetRows of three axes: %v", got)
		}
	})
}

// Row and SetRow read and replace one row, the latter of every array of a pytree.
func TestRowAndSetRow(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			at := Const(in[0].Graph(), int32(1))
			rows := []*Node{xla.Row(in[0], at), xla.Row(in[1], at)}
			changed := xla.SetRow(in, at, xla.Map(rows, Neg))
			return append(rows, changed...)
		}, tensors.FromValue([]float32{7, 8, 9}), tensors.FromValue([][]float32{{1, 2}, {3, 4}}))
		for i, want := range [][]float32{{8}, {3, 4}, {7, -8, 9}, {1, 2, -3, -4}} {
			if got := xlatest.Flat[float32](t, out[i]); !slices.Equal(got, want) {
				t.Errorf("output %d is %v, want %v", i, got, want)
			}
		}
		if out[0].Rank() != 0 || out[1].Rank() != 1 {
			t.Errorf("rows of %d and %d axes", out[0].Rank(), out[1].Rank())
		}
	})
}
