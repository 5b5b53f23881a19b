package xla_test

import (
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// shared returns the best backend, which must have program texts.
func shared(t *testing.T) *xla.Platform {
	t.Helper()
	p := xlatest.Best(t)
	if p.Kind == backend.Go {
		t.Skip("SKIPPED: the pure Go backend compiles every program")
	}
	return p
}

// sums compiles a program of nested loops, reductions and a sort that adds a number to a vector.
func sums(p *xla.Platform, by float64, donate bool) (*xla.Executable, error) {
	input := xla.Input{Shape: shapes.Make(dtypes.Float32, 3), Donate: donate}
	return p.Compile("sums", []xla.Input{input}, func(in []*Node) []*Node {
		return []*Node{xla.For(in[0].Graph(), 3, in[0], func(_, x *Node) *Node {
			x = xla.ForUnfused(x.Graph(), 2, x, func(_, x *Node) *Node { return AddScalar(x, by/6) })
			return Add(x, Sub(InsertAxes(ReduceAllSum(x), 0), InsertAxes(ReduceAllSum(x), 0)))
		})}
	})
}

// added runs a program of sums on 1, 2, 3 and returns the last number.
func added(t *testing.T, program *xla.Executable) float32 {
	t.Helper()
	out, err := program.Run(xla.Sharded{tensors.FromValue([]float32{1, 2, 3})})
	if err != nil {
		t.Error(err)
		return 0
	}
	defer out[0].Free()
	return xlatest.Flat[float32](t, out[0][0])[2]
}

// compiledBy returns the number of compilations of a function.
func compiledBy(f func()) int64 {
	before := xla.Compilations()
	f()
	return xla.Compilations() - before
}

func TestProgramsOfOneTextAreCompiledOnce(t *testing.T) {
	p := shared(t)
	xla.FreshCache(t, 3)
	var programs []*xla.Executable
	compile := func(by float64, donate bool) func() {
		return func() { programs = append(programs, must.Get(sums(p, by, donate))) }
	}
	for _, c := range []struct {
		by     float64
		donate bool
		want   int64
	}{{6, false, 1}, {6, false, 0}, {12, false, 1}, {6, true, 1}, {12, false, 0}, {6, true, 0}} {
		if got := compiledBy(compile(c.by, c.donate)); got != c.want {
			t.Errorf("%+v was compiled %d times", c, got)
		}
	}
	programs[0].Free()
	programs[0].Free() // once is enough, twice does no harm
	for i, want := range []float32{0, 9, 15, 9, 15, 9} {
		if i == 0 {
			continue
		}
		if got := added(t, programs[i]); got != want {
			t.Errorf("program %d gives %g, want %g", i, got, want)
		}
		programs[i].Free()
	}
	if _, err := programs[1].Run(xla.Sharded{tensors.FromValue([]float32{1, 2, 3})}); err == nil {
		t.Error("a program that was freed runs")
	}
	var again *xla.Executable
	if got := compiledBy(func() { again = must.Get(sums(p, 6, false)) }); got != 0 || added(t,
		again) != 9 {
		t.Errorf("a program that nobody used was compiled again, %d times", got)
	}
	again.Free()
}

func TestIdleExecutablesAreFew(t *testing.T) {
	p := shared(t)
	xla.FreshCache(t, 2)
	var programs []*xla.Executable
	for by := range 4 {
		programs = append(programs, must.Get(sums(p, 600+float64(by), false)))
	}
	for _, program := range programs {
		program.Free()
	}
	for _, c := range []struct {
		by   float64
		want int64
	}{{603, 0}, {602, 0}, {601, 1}, {602, 0}, {603, 1}} {
		// 601 evicts 603, which was used before 602.
		if got := compiledBy(func() { must.Get(sums(p, c.by, false)).Free() }); got != c.want {
			t.Errorf("%g: %d compilations, want %d", c.by, got, c.want)
		}
	}
}

func TestWhoComesSecondWaits(t *testing.T) {
	p := shared(t)
	xla.FreshCache(t, 3)
	var group sync.WaitGroup
	if got := compiledBy(func() {
		for range 8 {
			group.Go(func() {
				program, err := sums(p, 66, false)
				if err != nil {
					t.Error(err)
					return
				}
				added(t, program)
				program.Free()
			})
		}
		group.Wait()
	}); got != 1 {
		t.Errorf("%d compilations, want 1", got)
	}
	must.Get(sums(p, 66, false)).Free()
}
