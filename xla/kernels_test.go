package xla_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

func TestForUnfusedIsFor(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			nested := func(g *Graph, count int, x *Node) *Node {
				return xla.ForUnfused(g, count, x, func(step, x *Node) *Node {
					inner := xla.RepeatUnfused(step, x, func(step, x *Node) *Node {
						return Add(x, ConvertDType(step, x.DType()))
					})
					return AddScalar(MulScalar(inner, 2), 1)
				})
			}
			return []*Node{nested(in[0].Graph(), 4, in[0]), nested(in[0].Graph(), 0, in[0])}
		}, xlatest.Tensor([]float32{1}))
		// The inner loops add 0, then 1, then 3: +0 *2+1, then +0+1 *2+1, then +0+1+2 *2+1: 3, 7, 17, 41.
		if got := xlatest.Flat[float32](t, out[0])[0]; got != 41 {
			t.Errorf("four iterations end with %v, want 41", got)
		}
		if got := xlatest.Flat[float32](t, out[1])[0]; got != 1 {
			t.Errorf("no iterations end with %v, want 1", got)
		}
	})
}

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

// A function of its own computes what is inline otherwise, wherever it is called, with constants, reductions, loops
// and functions of its own, and whether it uses all that it is given.
func TestOutline(t *testing.T) {
	type state struct{ Number, Sum, Unused *Node }
	type result struct{ Number, Sum *Node }
	inner := func(s state) result {
		x := xla.For(s.Number.Graph(), 3, s.Number, func(step, x *Node) *Node {
			return Add(MulScalar(x, 2), ConvertDType(step, x.DType()))
		})
		return result{xla.Outline(x, func(x *Node) *Node { return AddScalar(long(x), 1) }), Add(s.Sum, ReduceAllSum(x))}
	}
	for name, by := range map[string]func(*Graph, int, state, func(*Node, state) state) state{
		"for": xla.For[state], "unfused": xla.ForUnfused[state],
		"no loop": func(_ *Graph, _ int, s state, body func(*Node, state) state) state { return body(nil, s) },
	} {
		program := func(outline func(state, func(state) result) result) func(in []*Node) []*Node {
			return func(in []*Node) []*Node {
				end := by(in[0].Graph(), 2, state{in[0], ReduceAllSum(in[0]), in[0]}, func(_ *Node, s state) state {
					r := outline(s, inner)
					return state{MulScalar(r.Number, 1e-3), r.Sum, s.Unused}
				})
				return []*Node{end.Number, end.Sum}
			}
		}
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			var results [2][][]float32
			for i, outline := range []func(state, func(state) result) result{xla.Outline[state, result],
				func(s state, body func(state) result) result { return body(s) }} {
				for _, out := range xlatest.Run(t, p, program(outline), xlatest.Tensor([]float32{1, -2, 0.5}, 3)) {
					results[i] = append(results[i], xlatest.Flat[float32](t, out))
				}
			}
			for i, got := range results[0] {
				for k, x := range got {
					if want := results[1][i][k]; math.Abs(float64(x-want)) > 1e-6*math.Abs(float64(want)) {
						t.Errorf("%s: the numbers are %v, inline %v", name, results[0], results[1])
					}
				}
			}
		})
	}
}

// loop is [xla.For] or [xla.ForUnfused].
type loop = func(g *Graph, count int, state *Node, body func(*Node, *Node) *Node) *Node

// looped is a program with a loop.
func looped(by loop, body func(x *Node) *Node) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		return []*Node{by(in[0].Graph(), 2, in[0], func(_, x *Node) *Node { return body(x) })}
	}
}

// joining concatenates values that a loop computes, and uses the result.
func joining(join func(parts []*Node) *Node) func(x *Node) *Node {
	return func(x *Node) *Node {
		parts := []*Node{Slice(AddScalar(x, 1), AxisRange(1)), Slice(MulScalar(x, 2), AxisRange(0, 1))}
		return AddScalar(join(parts), 1)
	}
}

func TestJoin(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, looped(xla.For, joining(xla.Join)), xlatest.Tensor([]float32{1, 2, 3}, 3))
		if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(got, []float32{7, 5, 9}) {
			t.Errorf("the numbers are %v", got)
		}
	})
}

// XLA:CPU compiles a small loop into one function, unless it is unfused. In neither does it fuse a
// join with what computes its parts or uses it, or a materialized value with its users; it inlines
// other calls. XLA dumps the texts after its passes in a process of its own, which runs this test
// again, because it reads its flags once.
func TestWhatXLAFuses(t *testing.T) {
	best := xlatest.Best(t)
	if best.Kind != backend.CPU {
		t.Skip("SKIPPED: this is about XLA:CPU")
	}
	product := func(x *Node) *Node { return Dot(x, x).Product() }
	plain := joining(func(parts []*Node) *Node { return Concatenate(parts, 0) })
	through := func(f func(...*Node) []*Node) func(x *Node) *Node {
		return func(x *Node) *Node {
			y := f(long(x))[0]
			return Mul(y, Reverse(y, 0))
		}
	}
	outlined := func(body func(x *Node) *Node) func(x *Node) *Node {
		return func(x *Node) *Node { return xla.Outline(x, body) }
	}
	called := func(nodes ...*Node) []*Node {
		return NewFunction(nodes[0].Graph(), "other", func(g *Graph) []*Node {
			return []*Node{Parameter(g, "x", nodes[0].Shape())}
		}).Call(nodes...)
	}
	const function, joined, fusion = "xla_cpu_small_call", ",64]{1,0} fusion(", "f32[64,64]{1,0} fusion("
	programs := []struct {
		loop loop
		body func(x *Node) *Node
		text string
		want int // occurrences of the text, of a function at most one
	}{
		{xla.For[*Node], product, function, 1}, {xla.ForUnfused[*Node], product, function, 0},
		// all together, or each part and the user
		{xla.For[*Node], plain, joined, 1}, {xla.For[*Node], joining(xla.Join), joined, 3},
		{xla.ForUnfused[*Node], joining(xla.Join), joined, 3},
		{xla.For[*Node], through(called), fusion, 1}, {xla.For[*Node], through(xla.Materialize), fusion, 2},
		{xla.ForUnfused[*Node], through(xla.Materialize), fusion, 2},
		{xla.ForUnfused[*Node], outlined(product), function, 1},
	}
	if os.Getenv("QDNB_TEST_DUMP") != "" {
		for _, p := range programs {
			xlatest.Run(t, best, looped(p.loop, p.body), xlatest.Tensor(make([]float32, 64*64), 64, 64))
		}
		return
	}
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "QDNB_TEST_DUMP="+folder, "XLA_FLAGS="+os.Getenv("XLA_FLAGS")+
		" --xla_dump_hlo_as_text --xla_dump_to="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "*.cpu_after_optimizations.txt")))
	if len(files) != len(programs) {
		t.Fatalf("XLA dumped %d programs, want %d", len(files), len(programs))
	}
	for i, p := range programs {
		text := string(must.Get(os.ReadFile(files[i])))
		got := strings.Count(text, p.text)
		if p.text == function {
			got = min(got, 1)
		}
		if got != p.want {
			t.Errorf("program %d has %d times %q, want %d\n%s", i, got, p.text, p.want, text)
		}
	}
}
