package xla

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

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

func TestLoopsNestAndReadTheirState(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			type state struct{ Sum, One, Outer *Node }
			program, err := p.Compile("nested", []Input{{Shape: shapes.Make(dtypes.Float32)}},
				func(in []*Node) []*Node {
					x := AddScalar(in[0], 1) // the constant 1 is cached outside of the loops, and used inside
					out := For(x.Graph(), 3, state{Sum: x, One: OnesLike(x), Outer: Const(x.Graph(), int32(0))},
						func(i *Node, s state) state {
							s.Outer = i // the inner loop reads it from the state
							return For(x.Graph(), 4, s, func(j *Node, s state) state {
								s.Sum = AddScalar(Add(s.Sum, Mul(s.One, ConvertDType(Add(MulScalar(s.Outer, 10), j),
									dtypes.Float32))), 1)
								return s
							})
						})
					return []*Node{out.Sum}
				})
			must.Do(err)
			out := must.Get(program.Run(Sharded{tensors.FromScalar(float32(5))}))
			// 5 + 1, plus 12 ones, plus the sum of 10i+j over i < 3, j < 4 = 120 + 18.
			if got := tensors.ToScalar[float32](out[0][0]); got != 156 {
				t.Errorf("nested loops gave %g, want 156", got)
			}
		})
	}
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
			if got[w][0] != float32(w)+0.5 || math.Float32bits(got[w][1]) != 1<<31 {
				t.Errorf("worker %d sees %v of worker %d", part, got[w], w)
			}
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
				return []*Node{For(in[0].Graph(), 3, in[0],
					func(_, x *Node) *Node { return Slice(x, AxisRange(0, 2)) })}
			},
			"the body of a loop took 1 tensors and returned 2": func(in []*Node) []*Node {
				return Loop(in, func(x []*Node) *Node { return Const(x[0].Graph(), true) },
					func(x []*Node) []*Node { return append(x, x...) })
			},
			"a loop needs at least one tensor as its state": func(in []*Node) []*Node {
				return Loop([]*Node{}, func([]*Node) *Node { return nil }, func(x []*Node) []*Node { return x })
			},
			"keys of shape (Uint32)[3] cannot draw an array of dimensions [4 2]": func(in []*Node) []*Node {
				keys := random.NewKey(in[0].Graph(), 1).FoldInEach(Iota(in[0].Graph(), shapes.Make(dtypes.Int32, 3),
					0))
				return []*Node{keys.Bits(4, 2)}
			},
			"shapes": func(in []*Node) []*Node {
				return []*Node{Add(in[0], Const(in[0].Graph(), []float32{1, 2}))}
			},
			"out of range":        func(in []*Node) []*Node { return in[3:4:len(in)] },
			"in plain words":      func([]*Node) []*Node { panic("in plain words") },
			"no outputs selected": func([]*Node) []*Node { return nil },
		} {
			errtest.Want(t, errtest.Of(p.Compile("my program", vector, build)), `program "my program" cannot be compiled: `, want)
		}
	}
}

func TestMistakesInRunsGiveOneLine(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		program := must.Get(p.Compile("sum", []Input{{Shape: shapes.Make(dtypes.Float32, 3)},
			{Shape: shapes.Make(dtypes.Float32, 3), Donate: true}},
			func(in []*Node) []*Node { return []*Node{Add(in[0], in[1])} }))
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
			"it takes 2 inputs, not 1": {vector(1, 2, 3)},
			"it takes 2 inputs, not 3": {vector(1, 2, 3), survivor, vector(1, 2, 3)},
			"input 0 has 2 parts, the program runs on 1 devices": {append(vector(1, 2, 3),
				vector(1, 2, 3)...), survivor},
			"input 0 has 0 parts, the program runs on 1 devices": {nil, survivor},
			"input 0 was freed or donated before":                {gone, survivor},
			"input 1 was freed or donated before":                {vector(1, 2, 3), donated},
			"input 0 has shape (Float32)[2], not (Float32)[3]":   {vector(1, 2), survivor},
			"input 0 has shape (Int32)[3], not (Float32)[3]": {{tensors.FromValue([]int32{1, 2, 3})},
				survivor},
			"input 0 has shape (Float32)[1, 3], not (Float32)[3]": {{tensors.FromValue([][]float32{{1, 2,
				3}})}, survivor},
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
