package xla

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// tracedEnv makes the test program print the sum of a trace for [TestTraceOpensNoBackend].
const tracedEnv = "QDNB_TEST_TRACE"

// traceOf traces a graph with loops, random numbers, calls, reductions, and constants.
func traceOf(t testing.TB, constant float64, table []float32) string {
	t.Helper()
	trace := NewTrace()
	trace.Note("name", 3, []string{"a"})
	inputs := struct{ X, Key Array }{Declare(dtypes.Float32, 3, 2), Declare(dtypes.Uint32, 2)}
	out := must.Get(TraceGraph(trace, inputs, func(in struct{ X, Key Array }) Array {
		type state struct {
			X *Node
			K random.Key
		}
		g := in.X.Tree.Graph()
		end := For(g, 4, state{in.X.Tree, random.KeyOf(in.Key.Tree)}, func(_ *Node, s state) state {
			inner := For(g, 2, s, func(step *Node, s state) state {
				s.X = Add(s.X, s.K.FoldInEach(step).Normal(3, 2))
				return s
			})
			inner.X = Materialize(MulScalar(Tanh(AddScalar(Square(inner.X), 1)), constant))[0]
			return inner
		})
		return Out(ReduceSum(Mul(end.X, Const(g, [][]float32{table, table, table})), 1))
	}))
	if dims := out.Dims(); !slices.Equal(dims, []int{3}) {
		t.Fatalf("an output of %v", dims)
	}
	return trace.Sum()
}

func TestTrace(t *testing.T) {
	first := traceOf(t, 0.005, []float32{1, 2})
	for range 3 {
		if again := traceOf(t, 0.005, []float32{1, 2}); again != first {
			t.Fatalf("the same graph has the hashes %s and %s", first, again)
		}
	}
	if traceOf(t, 0.00500001, []float32{1, 2}) == first {
		t.Error("another scalar has the same hash")
	}
	if traceOf(t, 0.005, []float32{1, 2.0000002}) == first {
		t.Error("another constant has the same hash")
	}
}

// A trace needs no plugin and gives the same hash without one.
func TestTraceOpensNoBackend(t *testing.T) {
	if os.Getenv(tracedEnv) != "" {
		t.Log("trace " + traceOf(t, 0.005, []float32{1, 2}))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTraceOpensNoBackend$", "-test.v")
	cmd.Env = append(os.Environ(), tracedEnv+"=1", backend.BackendEnv+"=nonsense", backend.WorkersEnv+"=1")
	out, err := cmd.CombinedOutput()
	if want := "trace " + traceOf(t, 0.005, []float32{1,
		2}); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %s\nwants %s", err, out, want)
	}
}

// A graph that cannot be built gives an error of one line.
func TestTraceOfAMistake(t *testing.T) {
	_, err := TraceGraph(NewTrace(), Declare(dtypes.Float32, 3), func(in Array) Array {
		return Out(Add(in.Tree, Ones(in.Tree.Graph(), shapes.Make(dtypes.Float32, 4))))
	})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
