package xla

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// platformsUnderTest returns the pure Go backend and the best other one of this machine.
func platformsUnderTest(t *testing.T) []*Platform {
	t.Helper()
	best := must.Get(Open(t.Context(), ""))
	pure := must.Get(Open(t.Context(), "go"))
	if best.Kind == backend.Go {
		return []*Platform{pure}
	}
	return []*Platform{best, pure}
}

// eachPlatform runs a test on each of them.
func eachPlatform(t *testing.T, test func(t *testing.T, p *Platform)) {
	t.Helper()
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) { test(t, p) })
	}
}

func TestLoopsNestAndReadTheirState(t *testing.T) {
	eachPlatform(t, func(t *testing.T, p *Platform) {
		type state struct{ Sum, One, Outer *Node }
		program, err := p.Compile("nested", []Input{{Shape: shapes.Make(dtypes.Float32)}}, func(in []*Node) []*Node {
			x := AddScalar(in[0], 1) // the constant 1 is cached outside of the loops, and used inside
			out := For(x.Graph(), 3, state{Sum: x, One: OnesLike(x), Outer: Const(x.Graph(), int32(0))},
				func(i *Node, s state) state {
					s.Outer = i // the inner loop reads it from the state
					return For(x.Graph(), 4, s, func(j *Node, s state) state {
						s.Sum = AddScalar(Add(s.Sum, Mul(s.One, ConvertDType(Add(MulScalar(s.Outer, 10), j), dtypes.Float32))), 1)
						return s
					})
				})
			return []*Node{out.Sum}
		})
		must.Do(err)
		out := must.Get(program.Run(Sharded{tensors.FromScalar(float32(5))}))
		// 5 + 1, plus 12 ones, plus the sum of 10i+j over i < 3, j < 4 = 120 + 18.
		errtest.Equal(t, "nested loops", tensors.ToScalar[float32](out[0][0]), 156)
	})
}

func TestNodesFromOutsideALoopAreExplained(t *testing.T) {
	p := platformsUnderTest(t)[0]
	if p.Kind == backend.Go {
		t.Skip("SKIPPED: the pure Go backend lets loops read nodes made outside")
	}
	errtest.Want(t, errtest.Of(p.Compile("capture", []Input{{Shape: shapes.Make(dtypes.Float32, 2)}},
		func(in []*Node) []*Node {
			return []*Node{For(in[0].Graph(), 3, in[0], func(i, x *Node) *Node { return Mul(x, in[0]) })}
		})), "carry it in the loop's state")
}

func TestParallelProgramGathersBitForBit(t *testing.T) {
	p := platformsUnderTest(t)[0]
	inputs := []Input{{Shape: shapes.Make(dtypes.Float32, 2)}, {Shape: shapes.Make(dtypes.Int32)}}
	program := must.Get(p.CompileParallel("gather", inputs, func(in []*Node) []*Node {
		return []*Node{AllGather(in[0], in[1], p.Workers)}
	}))
	var x, worker Sharded
	negativeZero := float32(0)
	negativeZero *= -1
	for w := range p.Workers {
		x = append(x, tensors.FromValue([]float32{float32(w) + 0.5, negativeZero}))
		worker = append(worker, tensors.FromScalar(int32(w)))
	}
	out := must.Get(program.Run(x, worker))
	for part := range p.Workers {
		got := out[0][part].Value().([][]float32)
		for w := range p.Workers {
			errtest.Equal(t, fmt.Sprintf("worker %d sees of worker %d", part, w), fmt.Sprint(got[w][0], math.Float32bits(got[w][1])),
				fmt.Sprint(float32(w)+0.5, 1<<31))
		}
	}
}

// An error in a graph is one line that names the program.
func TestMistakesInGraphsGiveOneLine(t *testing.T) {
	vector := []Input{{Shape: shapes.Make(dtypes.Float32, 3)}}
	for _, p := range platformsUnderTest(t) {
		for want, build := range map[string]func(in []*Node) []*Node{
			"turned a tensor of its state from (Float32)[3] into (Float32)[2]: shapes may not change": func(
				in []*Node) []*Node {
				return []*Node{For(in[0].Graph(), 3, in[0], func(_, x *Node) *Node { return Slice(x, AxisRange(0, 2)) })}
			},
			"the body of a loop took 1 tensors and returned 2": func(in []*Node) []*Node {
				return Loop(in, func(x []*Node) *Node { return Const(x[0].Graph(), true) },
					func(x []*Node) []*Node { return append(x, x...) })
			},
			"a loop needs at least one tensor as its state": func(in []*Node) []*Node {
				return Loop([]*Node{}, func([]*Node) *Node { return nil }, func(x []*Node) []*Node { return x })
			},
			"keys of shape (Uint32)[3] cannot draw an array of dimensions [4 2]": func(in []*Node) []*Node {
				keys := random.NewKey(in[0].Graph(), 1).Split(3)
				return []*Node{keys.Bits(4, 2)}
			},
			"no outputs selected": func([]*Node) []*Node { return nil },
		} {
			errtest.Want(t, errtest.Of(p.Compile("my program", vector, build)), `program "my program" cannot be compiled: `, want)
		}
	}
}

func TestMistakesInRunsGiveOneLine(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		program := must.Get(p.Compile("sum", []Input{{Shape: shapes.Make(dtypes.Float32, 3)},
			{Shape: shapes.Make(dtypes.Float32, 3), Donate: true}}, func(in []*Node) []*Node { return []*Node{Add(in[0], in[1])} }))
		defer program.Free()
		vector := func(x ...float32) Sharded { return Sharded{tensors.FromValue(x)} }
		gone := vector(1, 2, 3)
		gone.Free()
		out, err := program.Run(vector(1, 2, 3), vector(1, 1, 1))
		must.Do(err)
		donated := out[0] // on the device only; a tensor of the host keeps its copy there
		must.Get(program.Run(vector(1, 2, 3), donated))
		survivor := vector(1, 1, 1) // a run that cannot be donates nothing
		for want, inputs := range map[string][]Sharded{
			"it takes 2 inputs, not 1":                           {vector(1, 2, 3)},
			"it takes 2 inputs, not 3":                           {vector(1, 2, 3), survivor, vector(1, 2, 3)},
			"input 0 has 2 parts, the program runs on 1 devices": {append(vector(1, 2, 3), vector(1, 2, 3)...), survivor},
			"input 0 has 0 parts, the program runs on 1 devices": {nil, survivor},
			"input 0 was freed or donated before":                {gone, survivor},
			"input 1 was freed or donated before":                {vector(1, 2, 3), donated},
			"input 0 has shape (Float32)[2], not (Float32)[3]":   {vector(1, 2), survivor},
			"input 0 has shape (Int32)[3], not (Float32)[3]": {{tensors.FromValue([]int32{1, 2, 3})},
				survivor},
			"input 0 has shape (Float32)[1, 3], not (Float32)[3]": {{tensors.FromValue([][]float32{{1, 2, 3}})}, survivor},
		} {
			_, err := program.Run(inputs...)
			if err == nil || err.Error() != `program "sum" failed: `+want {
				t.Errorf("%s: %v; want %q", p.Name(), err, want)
			}
		}
		errtest.Want(t, errtest.Of(program.Run(Sharded{nil}, survivor)), "input 0 was freed")
		out, err = program.Run(vector(1, 2, 3), survivor)
		if err != nil || out[0][0].Value().([]float32)[2] != 4 {
			t.Errorf("%v %v", out, err)
		}
	}
}

// Workers read an input of the first device where it lies. It stays usable, and donating it
// afterwards does not change what they read.
func TestWorkersReadTheFirstDevice(t *testing.T) {
	eachPlatform(t, func(t *testing.T, p *Platform) {
		row := make([]float32, 1<<12)
		for i := range row {
			row[i] = float32(i)
		}
		type in struct{ Row, Worker Array }
		inputs := in{Single(tensors.FromValue(row)), Value(p.WorkerNumbers())}
		scaled := must.Get(CompileParallel(p, "scaled", inputs, func(in in) Array {
			return Out(Mul(in.Row.Tree, AddScalar(ConvertDType(in.Worker.Tree, in.Row.Tree.DType()), 1)))
		}))
		defer scaled.Free()
		type donated struct {
			Row Array `xla:"donate"`
		}
		doubled, err := Compile(p, "doubled", donated{inputs.Row}, func(in donated) Array {
			return Out(Add(in.Row.Tree, in.Row.Tree))
		})
		must.Do(err)
		defer doubled.Free()
		for round := range 3 {
			out := must.Get(scaled.Run(inputs))
			inputs.Row = must.Get(doubled.Run(donated{inputs.Row}))
			for worker, part := range out.Value() {
				got := tensors.MustCopyFlatData[float32](part)
				for i, x := range row {
					if want := x * float32(worker+1) * float32(int(1)<<round); got[i] != want {
						t.Fatalf("round %d: worker %d has %g at %d, want %g", round, worker, got[i], i, want)
					}
				}
			}
			out.Free()
		}
		Free(&inputs)
	})
}

// A parallel program writes the memory of a donated input, so each worker needs its own.
func TestDonatedInputsAreNotShared(t *testing.T) {
	p := platformsUnderTest(t)[0]
	if p.Workers == 1 {
		t.Skipf("SKIPPED: %s has one worker", p)
	}
	type donated struct {
		X Array `xla:"donate"`
	}
	in := donated{Single(tensors.FromScalar(float32(1)))}
	program := must.Get(CompileParallel(p, "one more", in, func(in donated) Array { return Out(AddScalar(in.X.Tree, 1)) }))
	defer program.Free()
	if _, err := program.Run(in); err == nil {
		t.Error("workers share a donated input")
	}
	if got := in.X.Value()[0]; !got.Ok() || !slices.Equal(tensors.MustCopyFlatData[float32](got), []float32{1}) {
		t.Error("a rejected input is lost")
	}
}

// dryText runs a program with a product and an all-gather without a device and returns its text.
func dryText(t *testing.T, kind backend.Kind, devices int) string {
	t.Helper()
	var names, texts []string
	p := must.Get(DryRun(kind, devices, func(name string, text []byte) error {
		names, texts = append(names, name), append(texts, string(text))
		return nil
	}))
	program := must.Get(p.CompileParallel("a product", []Input{{Shape: shapes.Make(dtypes.Float32, 2, 3)},
		{Shape: shapes.Make(dtypes.Int32)}}, func(in []*Node) []*Node {
		return []*Node{AllGather(Dot(in[0], Transpose(in[0], 0, 1)).Product(), in[1], devices)}
	}))
	defer program.Free()
	x := p.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	})
	out := must.Get(program.Run(x, p.WorkerNumbers()))
	got := must.Get(tensors.CopyFlatData[float32](out[0][devices-1]))
	for _, x := range got {
		if x != 0 {
			t.Errorf("a dry run gives %v, not zeros", got)
			break
		}
	}
	if times := p.RunTimes(); len(times) > 0 {
		t.Errorf("a dry run took time: %v", times)
	}
	if len(got) != devices*4 || !slices.Equal(names, []string{"a_product", "a_product"}) || texts[1] != "" {
		t.Fatalf("%d numbers, programs %q", len(got), names)
	}
	return texts[0]
}

func TestDryRun(t *testing.T) {
	text := dryText(t, backend.CUDA, 2)
	for _, part := range []string{"num_replicas = 2", "all_reduce", "dot_general"} {
		errtest.Contains(t, text, part)
	}
	for _, wrong := range []func() (*Platform, error){
		func() (*Platform, error) { return DryRun(backend.Go, 1, nil) },
		func() (*Platform, error) { return DryRun(backend.TPU, 0, nil) },
	} {
		if _, err := wrong(); err == nil {
			t.Error("no error")
		}
	}
}

// GPUs and TPUs multiply float32 numbers exactly, as docs/reliability.md promises.
func TestProductsAreExact(t *testing.T) {
	for _, kind := range []backend.Kind{backend.CUDA, backend.TPU} {
		text := dryText(t, kind, 1)
		if strings.Contains(text, "precision DEFAULT") || !strings.Contains(text, "precision HIGHEST") {
			t.Errorf("a product for %s:\n%s", kind, text)
		}
	}
}

// Plain GoMLX, on a backend without the adapter, rejects a While inside a While.
func TestNestingStillNeedsTheAdapter(t *testing.T) {
	eachPlatform(t, func(t *testing.T, p *Platform) {
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
			t.Errorf("GoMLX now nests loops by itself on %s: the nesting part of xla/adapter.go can go", p.Name())
		}
	})
}

// The body of a loop may return a node several times, even unknowingly: the Go backend merges equal constants.
func TestLoopReturnsANodeTwice(t *testing.T) {
	eachPlatform(t, func(t *testing.T, p *Platform) {
		type state struct{ A, B, C, D, E *Node }
		program := must.Get(p.Compile("twice", []Input{{Shape: shapes.Make(dtypes.Float32, 2)}}, func(in []*Node) []*Node {
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
			errtest.Equal(t, fmt.Sprintf("output %d", i), tensors.MustCopyFlatData[float32](out[i][0]), want)
			out[i].Free()
		}
	})
}

// go-xla caches the functions that reductions and scatters apply by type, and the caches are invalid across loops. The
// test uses all kinds in the main function, in a loop, in a nested loop, and outside again.
func TestReductionsInNestedFunctions(t *testing.T) {
	eachPlatform(t, func(t *testing.T, p *Platform) {
		reductions := func(x *Node) *Node { // of a vector of 3
			index := InsertAxes(ArgMax(x, 0), 0)
			hit := Scatter(InsertAxes(index, 0), Ones(x.Graph(), shapes.Make(dtypes.Float32, 1)), x.Shape(), false, false)
			return Add(Add(ReduceSum(x), ReduceMax(x)),
				Add(ReduceMin(Mul(x, hit)), Mul(ReduceMax(hit), ConvertDType(ArgMin(x, 0), dtypes.Float32))))
		}
		spread := func(x, y *Node) *Node { return Mul(x, AddScalar(DivScalar(y, 100), 1)) }
		program := must.Get(p.Compile("reductions", []Input{{Shape: shapes.Make(dtypes.Float32, 3)}}, func(in []*Node) []*Node {
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
			return []*Node{sum, SetRows(in[1], in[0], Ones(in[0].Graph(), shapes.Make(dtypes.Float32, 1, columns)))}
		})
		must.Do(err)
		defer program.Free()
		at := Sharded{tensors.FromScalar(int32(7))}
		out := must.Get(program.Run(at, Sharded{tensors.FromShape(matrix)}))
		before := address(out[1])
		again := must.Get(program.Run(at, out[1]))
		errtest.Equal(t, fmt.Sprintf("donated %v: the result lies where the input lay", donate), address(again[1]) == before,
			donate)
		if flat := tensors.MustCopyFlatData[float32](again[1][0]); flat[7*columns] != 1 ||
			flat[6*columns] != 0 || flat[8*columns] != 0 {
			t.Error("the wrong row was updated")
		}
	}
}
