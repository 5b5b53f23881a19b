package xla_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// product is a loop of small matrix products.
func product(loop func(g *Graph, count int, state *Node,
	body func(*Node, *Node) *Node) *Node) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		return []*Node{loop(in[0].Graph(), 3, in[0],
			func(_, x *Node) *Node { return Dot(x, x).Product() })}
	}
}

func TestForUnfusedIsFor(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			nested := func(g *Graph, count int, x *Node) *Node {
				return xla.ForUnfused(g, count, x, func(step, x *Node) *Node {
					inner := xla.RepeatUnfused(step, x, func(step,
						x *Node) *Node {
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

// XLA:CPU compiles a small loop into one function, unless it is unfused.
func TestForUnfusedIsNoFunction(t *testing.T) {
	dumps := optimized(t, product(xla.For[*Node]), product(xla.ForUnfused[*Node]))
	want := []bool{true, false}
	for i, dump := range dumps {
		if got := strings.Contains(dump, "xla_cpu_small_call"); got != want[i] {
			t.Errorf("program %d has a loop that is one function: %v, want %v", i, got, want[i])
		}
	}
}

// optimized returns the texts of programs of a tensor [64, 64] after XLA:CPU's passes, which XLA
// dumps. The same test compiles them in a process of its own, because XLA reads its flags once.
// There it returns no texts.
func optimized(t *testing.T, programs ...func(in []*Node) []*Node) (texts []string) {
	t.Helper()
	if xlatest.Best(t).Kind != backend.CPU {
		t.Skip("SKIPPED: this is about XLA:CPU")
	}
	if os.Getenv("QDNB_TEST_DUMP") != "" {
		for _, program := range programs {
			xlatest.Run(t, xlatest.Best(t), program, xlatest.Tensor(make([]float32, 64*64), 64, 64))
		}
		return nil
	}
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "QDNB_TEST_DUMP="+folder, "XLA_FLAGS="+os.Getenv("XLA_FLAGS")+
		" --xla_dump_hlo_as_text --xla_dump_to="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.cpu_after_optimizations.txt"))
	if err != nil || len(files) != len(programs) {
		t.Fatalf("XLA dumped %d programs, want %d (%v)", len(files), len(programs), err)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))
		texts = append(texts, string(text))
	}
	return texts
}
