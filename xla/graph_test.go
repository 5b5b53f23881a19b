package xla_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
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
			errtest.Equal(t, c.rows, bits(xlatest.Flat[float32](t, out[0])), bits(c.want))
			want := int32(0)
			for i := range n {
				if !slices.Equal(bits(c.rows[2*i:2*i+2]), bits(c.want[2*i:2*i+2])) {
					want++
				}
			}
			errtest.Equal(t, "replaced rows", xlatest.Flat[int32](t, out[1])[0], want)
		})
	}
}

// The gradient of a sum broadcasts, and arithmetic in the body reads the broadcast; the other results are unread.
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
				xla.NthTrue(upTo, Const(in[0].Graph(), []int32{2, 0, 1, 3, 0})), xla.Argmin(in[1], 0), xla.Argmax(in[1], 0),
			}
		}, x, flags)
		for i, want := range [][]int32{{2, 2, 1, 0}, {2, 2, 1, 0}, {3, 2, 2}, {4, 1, 2, 4, 1}, {0}, {1}} {
			errtest.Equal(t, i, xlatest.Flat[int32](t, out[i]), want)
		}
	})
}

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
			errtest.Equal(t, start, xlatest.Flat[float32](t, out[1]), want)
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
			errtest.Equal(t, i, xlatest.Flat[float32](t, out[i]), want)
		}
		errtest.Equal(t, "axes of rows", fmt.Sprint(out[0].Rank(), out[1].Rank()), "0 1")
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
				all = append(all, xla.SetRowsAt(in[0], rows, nil, Const(g, []int32{3, 1, 0, 0, 0}), Const(g, int32(count))))
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
			errtest.Equal(t, "dimensions", out[i].Shape().Dimensions, want)
		}
		sums := slices.Concat(xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[2]))
		errtest.Equal(t, "sums", sums, []float32{1, -1, 2, 0, 3, 1, 1, -1})
		numbers := slices.Concat(xlatest.Flat[int32](t, out[1]), xlatest.Flat[int32](t, out[3]))
		errtest.Equal(t, "numbers", numbers, []int32{10, 11, 12, 10})
	})
}

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
		errtest.Equal(t, "the end of four iterations", xlatest.Flat[float32](t, out[0])[0], 41)
		errtest.Equal(t, "the end of no iterations", xlatest.Flat[float32](t, out[1])[0], 1)
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
		errtest.Equal(t, "numbers", xlatest.Flat[float32](t, out[0]), []float32{7, 5, 9})
	})
}

// XLA:CPU compiles a small loop into one function, unless it is unfused. In neither does it fuse a join with what
// computes its parts or uses it, or a materialized value with its users; it inlines other calls. XLA dumps the texts
// after its passes in a process of its own, which runs this test again, because it reads its flags once.
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
		errtest.Equal(t, fmt.Sprintf("program %d: times of %q", i, p.text), got, p.want)
	}
}

// A falling stone: the state of the loop is a struct with names.
func ExampleFor() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	type stone struct{ Height, Speed *Node }
	height := xla.Single(tensors.FromScalar(float32(100)))
	program, err := xla.Compile(p, "fall", height, func(height xla.Array) xla.State[stone] {
		const dt = 0.125
		s := stone{Height: height.Tree, Speed: ZerosLike(height.Tree)}
		return xla.Out(xla.For(height.Tree.Graph(), 8, s, func(_ *Node, s stone) stone {
			s.Speed = AddScalar(s.Speed, -10*dt)
			s.Height = Add(s.Height, MulScalar(s.Speed, dt))
			return s
		}))
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	out, err := program.Run(height)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("after a second: height and speed", out.Scalars())
	// Output: after a second: height and speed [94.375 -10]
}
