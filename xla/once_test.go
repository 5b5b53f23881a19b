package xla_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// long is a chain of more operations than are cheap.
func long(x *Node) *Node {
	y := x
	for range 5 {
		y = Mul(AddScalar(y, 1), x)
	}
	return y
}

// Materialized values of any type are bit-identical, inside and outside of loops.
func TestMaterialize(t *testing.T) {
	type values struct{ Number, Where, Count *Node }
	program := func(through func(*Node) *Node) func(in []*Node) []*Node {
		return func(in []*Node) []*Node {
			step := func(x *Node) values {
				y := long(x)
				limit := Const(x.Graph(), float32(9))
				return xla.Map(values{y, GreaterThan(AddScalar(y, 1), ZerosLike(x)),
					ConvertDType(Clip(y, Neg(limit), limit), dtypes.Int32)}, through)
			}
			outside := step(in[0])
			inside := xla.For(in[0].Graph(), 2, outside, func(_ *Node, v values) values {
				next := step(v.Number)
				next.Number = Where(v.Where, next.Number, AddScalar(next.Number, 0.5))
				return next
			})
			float := func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }
			return xla.Flatten(xla.Map([]values{outside, inside}, float))
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		start := []float32{-2, 0, 5, float32(math.Inf(1)), 1e-38, math.MaxFloat32, float32(math.NaN())}
		bits := func(through func(*Node) *Node) (all []uint32) {
			for _, out := range xlatest.Run(t, p, program(through), xlatest.Tensor(start, len(start))) {
				for _, x := range xlatest.Flat[float32](t, out) {
					all = append(all, math.Float32bits(x))
				}
			}
			return all
		}
		want := bits(func(x *Node) *Node { return x })
		if got := bits(func(x *Node) *Node { return xla.Materialize(x)[0] }); !slices.Equal(got, want) {
			t.Errorf("bits %x, without Materialize %x", got, want)
		}
	})
}

// joins concatenates values that a loop computes, and uses the result.
func joins(loop func(g *Graph, count int, state *Node, body func(*Node, *Node) *Node) *Node,
	join func(parts []*Node) *Node) func([]*Node) []*Node {
	return func(in []*Node) []*Node {
		return []*Node{loop(in[0].Graph(), 2, in[0], func(_, x *Node) *Node {
			parts := []*Node{Slice(AddScalar(x, 1), AxisRange(1)), Slice(MulScalar(x, 2), AxisRange(0, 1))}
			return AddScalar(join(parts), 1)
		})}
	}
}

func TestJoin(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, joins(xla.For[*Node], xla.Join), xlatest.Tensor([]float32{1, 2, 3}, 3))
		if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(got, []float32{7, 5, 9}) {
			t.Errorf("the numbers are %v", got)
		}
	})
}

// XLA:CPU fuses a join neither with what computes its parts nor with what uses it, in a loop that
// is one function and in another one.
func TestJoinIsNotFused(t *testing.T) {
	plain := func(parts []*Node) *Node { return Concatenate(parts, 0) }
	dumps := optimized(t, joins(xla.For[*Node], plain), joins(xla.For[*Node], xla.Join),
		joins(xla.ForUnfused[*Node], xla.Join))
	want := []int{1, 3, 3} // fusions: all together, or each part and the user
	for i, dump := range dumps {
		if got := strings.Count(dump, ",64]{1,0} fusion("); got != want[i] {
			t.Errorf("program %d has %d fusions, want %d\n%s", i, got, want[i], dump)
		}
	}
}

// XLA:CPU does not fuse a materialized value into its users, in a loop that is one function and in
// another one. It inlines other calls.
func TestMaterializeSeparates(t *testing.T) {
	program := func(loop func(g *Graph, count int, state *Node, body func(*Node, *Node) *Node) *Node,
		through func(...*Node) []*Node) func([]*Node) []*Node {
		return func(in []*Node) []*Node {
			return []*Node{loop(in[0].Graph(), 3, in[0], func(_, x *Node) *Node {
				y := through(long(x))[0]
				return Mul(y, Reverse(y, 0))
			})}
		}
	}
	called := func(nodes ...*Node) []*Node {
		return NewFunction(nodes[0].Graph(), "other", func(g *Graph) []*Node {
			return []*Node{Parameter(g, "x", nodes[0].Shape())}
		}).Call(nodes...)
	}
	dumps := optimized(t, program(xla.For[*Node], called), program(xla.For[*Node], xla.Materialize),
		program(xla.ForUnfused[*Node], xla.Materialize))
	want := []int{1, 2, 2}
	for i, dump := range dumps {
		if got := strings.Count(dump, "f32[64,64]{1,0} fusion("); got != want[i] {
			t.Errorf("program %d has %d fusions, want %d", i, got, want[i])
		}
	}
}
