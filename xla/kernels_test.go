package xla_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
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

// The test reads from XLA's dump how XLA:CPU compiled a small loop. It runs in a separate process,
// because XLA reads its flags once.
func TestForUnfusedIsNoFunction(t *testing.T) {
	if xlatest.Best(t).Kind != xla.CPU {
		t.Skip("SKIPPED: this is about XLA:CPU")
	}
	if folder := os.Getenv("QDNB_TEST_DUMP"); folder != "" {
		x := xlatest.Tensor(make([]float32, 64*64), 64, 64)
		xlatest.Run(t, xlatest.Best(t), product(xla.For[*Node]), x)
		xlatest.Run(t, xlatest.Best(t), product(xla.ForUnfused[*Node]), x)
		return
	}
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestForUnfusedIsNoFunction$")
	cmd.Env = append(os.Environ(), "QDNB_TEST_DUMP="+folder, "XLA_FLAGS="+os.Getenv("XLA_FLAGS")+
		" --xla_dump_hlo_as_text --xla_dump_to="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*.cpu_after_optimizations.txt"))
	if err != nil || len(programs) != 2 {
		t.Fatalf("XLA dumped %d programs, want 2 (%v)", len(programs), err)
	}
	for i, want := range []bool{true, false} {
		text, err := os.ReadFile(programs[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "xla_cpu_small_call"); got != want {
			t.Errorf("program %d has a loop that is one function: %v, want %v", i, got, want)
		}
	}
}
