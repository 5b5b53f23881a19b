package xla_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Materialized values are bit-identical, inside and outside of loops, whatever parameter the 1 is
// computed from.
func TestMaterialize(t *testing.T) {
	start := []float32{-2, 0, 5, float32(math.Inf(1)), 1e-38, math.MaxFloat32}
	steps := func(x *Node) (number, where *Node) {
		number = Mul(AddScalar(Mul(AddScalar(x, 1), x), 3), x) // more than is cheap
		return number, GreaterThan(AddScalar(number, 1), ZerosLike(x))
	}
	program := func(materialize func([]*Node) []*Node) func(in []*Node) []*Node {
		return func(in []*Node) []*Node {
			number, where := steps(in[0])
			nodes := materialize([]*Node{number, where})
			type state struct{ Outside, Inside *Node }
			s := xla.For(in[0].Graph(), 2, state{nodes[0], in[0]}, func(_ *Node, s state) state {
				number, where := steps(s.Inside)
				nodes := materialize([]*Node{number, where})
				s.Inside = Where(nodes[1], nodes[0], AddScalar(nodes[0], 0.5))
				return s
			})
			return []*Node{s.Outside, s.Inside, Where(nodes[1], OnesLike(in[0]), ZerosLike(in[0]))}
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		bits := func(materialize func([]*Node) []*Node, first float32) (all []uint32) {
			values := slices.Clone(start)
			values[0] = first
			input := xlatest.Tensor(values, len(values))
			for _, out := range xlatest.Run(t, p, program(materialize), input) {
				for _, x := range xlatest.Flat[float32](t, out) {
					all = append(all, math.Float32bits(x))
				}
			}
			return all
		}
		for _, first := range []float32{-2, 0, float32(math.Copysign(0, -1)), float32(math.NaN())} {
			want := bits(func(nodes []*Node) []*Node { return nodes }, first)
			if got := bits(xla.Materialize, first); !slices.Equal(got, want) {
				t.Errorf("with %v: bits %x, without Once %x", first, got, want)
			}
		}
	})
}

func TestMaterializeOfConstants(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			return append(xla.Materialize([]*Node{AddScalar(Const(g, []float32{1, 2}), 1)}),
				xla.Materialize(nil)...)
		}, xlatest.Tensor([]float32{1}, 1))
		if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(got, []float32{2, 3}) {
			t.Errorf("the numbers are %v", got)
		}
	})
}
