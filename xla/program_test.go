package xla

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// platformsUnderTest are the pure Go backend and the best other one of this machine.
func platformsUnderTest(t *testing.T) []*Platform {
	t.Helper()
	best, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	pure, err := Open("go")
	if err != nil {
		t.Fatal(err)
	}
	if best.Kind == Go {
		return []*Platform{pure}
	}
	return []*Platform{best, pure}
}

func TestLoopsNestAndReadTheirState(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			type state struct{ Sum, One, Outer *Node }
			program, err := p.Compile("nested", []Input{{Shape: shapes.Make(dtypes.Float32)}}, func(in []*Node) []*Node {
				x := AddScalar(in[0], 1) // the constant 1 is cached outside of the loops, and used inside
				out := For(x.Graph(), 3, state{Sum: x, One: OnesLike(x), Outer: Const(x.Graph(), int32(0))}, func(i *Node, s state) state {
					s.Outer = i // the inner loop reads it from the state
					return For(x.Graph(), 4, s, func(j *Node, s state) state {
						s.Sum = AddScalar(Add(s.Sum, Mul(s.One, ConvertDType(Add(MulScalar(s.Outer, 10), j), dtypes.Float32))), 1)
						return s
					})
				})
				return []*Node{out.Sum}
			})
			if err != nil {
				t.Fatal(err)
			}
			out, err := program.Run(Value{tensors.FromScalar(float32(5))})
			if err != nil {
				t.Fatal(err)
			}
			// 5 + 1, plus 12 ones, plus the sum of 10i+j over i < 3, j < 4 = 120 + 18.
			if got := tensors.ToScalar[float32](out[0][0]); got != 156 {
				t.Errorf("nested loops gave %g, want 156", got)
			}
		})
	}
}

func TestNodesFromOutsideALoopAreExplained(t *testing.T) {
	p := platformsUnderTest(t)[0]
	if p.Kind == Go {
		t.Skip("the pure Go backend lets loops read nodes made outside")
	}
	_, err := p.Compile("capture", []Input{{Shape: shapes.Make(dtypes.Float32, 2)}}, func(in []*Node) []*Node {
		return []*Node{For(in[0].Graph(), 3, in[0], func(i, x *Node) *Node { return Mul(x, in[0]) })}
	})
	if err == nil || !strings.Contains(err.Error(), "carry it in the loop's state") {
		t.Errorf("got %v", err)
	}
}

func TestParallelProgramGathersBitForBit(t *testing.T) {
	p := platformsUnderTest(t)[0]
	inputs := []Input{{Shape: shapes.Make(dtypes.Float32, 2)}, {Shape: shapes.Make(dtypes.Int32)}}
	program, err := p.CompileParallel("gather", inputs, func(in []*Node) []*Node {
		return []*Node{Gathered(in[0], in[1], p.Workers)}
	})
	if err != nil {
		t.Fatal(err)
	}
	var x, worker Value
	negativeZero := float32(0)
	negativeZero *= -1
	for w := range p.Workers {
		x = append(x, tensors.FromValue([]float32{float32(w) + 0.5, negativeZero}))
		worker = append(worker, tensors.FromScalar(int32(w)))
	}
	out, err := program.Run(x, worker)
	if err != nil {
		t.Fatal(err)
	}
	for part := range p.Workers {
		got := out[0][part].Value().([][]float32)
		for w := range p.Workers {
			if got[w][0] != float32(w)+0.5 {
				t.Errorf("worker %d sees %v of worker %d", part, got[w], w)
			}
		}
	}
}
