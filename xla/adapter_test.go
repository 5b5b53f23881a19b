package xla

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla/backend"
)

// Plain GoMLX, on a backend without the adapter, rejects a While inside a While.
func TestNestingStillNeedsTheAdapter(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			// count adds 1 to x until it reaches a limit; the inner loop runs at each addition.
			var count func(g *Graph, x *Node, limit float32, body func(g *Graph, x *Node) *Node) *Node
			parameter := func(g *Graph) *Node {
				return Parameter(g, g.UniqueName("x"), shapes.Make(dtypes.Float32))
			}
			count = func(g *Graph, x *Node, limit float32, body func(g *Graph, x *Node) *Node) *Node {
				condition := NewClosure(g, func(g *Graph) []*Node {
					return []*Node{LessThan(parameter(g), Const(g, limit))}
				})
				step := NewClosure(g, func(g *Graph) []*Node { return []*Node{body(g, parameter(g))} })
				return While(condition, step, x)[0]
			}
			one := func(g *Graph, x *Node) *Node { return Add(x, Const(g, float32(1))) }
			run := func(build func(g *Graph, x *Node) *Node) error {
				g := NewGraph(p.Backend, "plain")
				defer g.Finalize()
				return exceptions.TryCatch[error](func() {
					if err := g.Compile(build(g, parameter(g))); err != nil {
						panic(err)
					}
				})
			}
			if err := run(func(g *Graph, x *Node) *Node { return count(g, x, 3, one) }); err != nil {
				t.Fatalf("a single loop of plain GoMLX fails, so this test tells nothing: %v", err)
			}
			err := run(func(g *Graph, x *Node) *Node {
				return count(g, x, 9, func(g *Graph, x *Node) *Node { return count(g, one(g, x), 3, one) })
			})
			if err == nil {
				t.Errorf("GoMLX now nests loops by itself on %s: the nesting part of xla/adapter.go can go",
					p.Name())
			}
		})
	}
}

// The body of a loop may return a node several times, even unknowingly: the Go backend merges equal
// constants.
func TestLoopReturnsANodeTwice(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			type state struct{ A, B, C, D, E *Node }
			program := must.Get(p.Compile("twice", []Input{{Shape: shapes.Make(dtypes.Float32, 2)}},
				func(in []*Node) []*Node {
					x := in[0]
					s := For(x.Graph(), 3, state{x, x, x, x, x}, func(_ *Node, s state) state {
						next := Add(s.A, s.B)
						constant := func() *Node { return Const(x.Graph(), []float32{7, 8}) }
						return state{next, next, s.C, constant(), constant()}
					})
					return []*Node{s.A, s.B, s.C, s.D, s.E}
				}))
			defer program.Free()
			out := must.Get(program.Run(Sharded{tensors.FromValue([]float32{1, 2})}))
			for i, want := range [][]float32{{8, 16}, {8, 16}, {1, 2}, {7, 8}, {7, 8}} {
				if got := tensors.MustCopyFlatData[float32](out[i][0]); !slices.Equal(got, want) {
					t.Errorf("output %d is %v, want %v", i, got, want)
				}
				out[i].Free()
			}
		})
	}
}

// go-xla caches the functions that reductions and scatters apply by type, and the caches are
// invalid across loops. The test uses all kinds in the main function, in a loop, in a nested loop,
// and outside again.
func TestReductionsInNestedFunctions(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			reductions := func(x *Node) *Node { // of a vector of 3
				index := InsertAxes(ArgMax(x, 0), 0)
				hit := Scatter(InsertAxes(index, 0), Ones(x.Graph(), shapes.Make(dtypes.Float32, 1)), x.Shape(),
					false, false)
				return Add(Add(ReduceSum(x), ReduceMax(x)),
					Add(ReduceMin(Mul(x, hit)), Mul(ReduceMax(hit), ConvertDType(ArgMin(x, 0), dtypes.Float32))))
			}
			spread := func(x, y *Node) *Node { return Mul(x, AddScalar(DivScalar(y, 100), 1)) }
			program := must.Get(p.Compile("reductions", []Input{{Shape: shapes.Make(dtypes.Float32, 3)}},
				func(in []*Node) []*Node {
					g := in[0].Graph()
					x := spread(in[0], reductions(in[0]))
					x = For(g, 2, x, func(_, x *Node) *Node {
						x = spread(x, reductions(x))
						x = For(g, 2, x, func(_, x *Node) *Node { return spread(x, reductions(x)) })
						return spread(x, reductions(x))
					})
					x = For(g, 1, x, func(_, x *Node) *Node { return spread(x, reductions(x)) })
					return []*Node{spread(x, reductions(x))}
				}))
			defer program.Free()
			out := must.Get(program.Run(Sharded{tensors.FromValue([]float32{3, 1, 2})}))
			want := []float64{3, 1, 2} // largest, smallest and another, and they stay so
			for range 1 + 2*4 + 2 {
				y := 1 + (want[0]+want[1]+want[2]+want[0]+0+1)/100
				for i := range want {
					want[i] *= y
				}
			}
			for i, got := range out[0][0].Value().([]float32) {
				if d := float64(got) - want[i]; d > 1e-4*want[i] || d < -1e-4*want[i] {
					t.Errorf("element %d is %g, want %g", i, got, want[i])
				}
			}
		})
	}
}

// A donated input that is updated in place keeps its memory; one that is not donated is copied.
func TestDonatedMemoryIsReused(t *testing.T) {
	p := platformsUnderTest(t)[0]
	if p.Kind != backend.CPU {
		t.Skipf("SKIPPED: only XLA on the CPU tells where its buffers lie, this is %s", p.Name())
	}
	address := func(v Sharded) unsafe.Pointer {
		buffer := must.Get(v[0].Buffer(p.Backend, 0))
		flat := must.Get(buffer.Data())
		return reflect.ValueOf(flat).UnsafePointer()
	}
	const rows, columns = 1000, 300
	matrix := shapes.Make(dtypes.Float32, rows, columns)
	for _, donate := range []bool{true, false} {
		inputs := []Input{{Shape: shapes.Make(dtypes.Int32)}, {Shape: matrix, Donate: donate}}
		program, err := p.Compile("update", inputs, func(in []*Node) []*Node {
			sum := ReduceAllSum(in[0]) // an output of another shape comes first
			return []*Node{sum, SetRows(in[1], in[0],
				Ones(in[0].Graph(), shapes.Make(dtypes.Float32, 1, columns)))}
		})
		must.Do(err)
		defer program.Free()
		at := Sharded{tensors.FromScalar(int32(7))}
		out := must.Get(program.Run(at, Sharded{tensors.FromShape(matrix)}))
		before := address(out[1])
		again := must.Get(program.Run(at, out[1]))
		if same := address(again[1]) == before; same != donate {
			t.Errorf("donated: %v, the result lies where the input lay: %v", donate, same)
		}
		if flat := tensors.MustCopyFlatData[float32](again[1][0]); flat[7*columns] != 1 ||
			flat[6*columns] != 0 || flat[8*columns] != 0 {
			t.Error("the wrong row was updated")
		}
	}
}
