package xla_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	"example.com/qdnb/xla/backend/diskcache"
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
		errtest.Equal(t, c, compiledBy(compile(c.by, c.donate)), c.want)
	}
	programs[0].Free()
	programs[0].Free() // once is enough, twice does no harm
	for i, want := range []float32{0, 9, 15, 9, 15, 9} {
		if i == 0 {
			continue
		}
		errtest.Equal(t, i, added(t, programs[i]), want)
		programs[i].Free()
	}
	errtest.Want(t, errtest.Of(programs[1].Run(xla.Sharded{tensors.FromValue([]float32{1, 2, 3})})))
	var again *xla.Executable
	if got := compiledBy(func() { again = must.Get(sums(p, 6, false)) }); got != 0 || added(t, again) != 9 {
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
		errtest.Equal(t, c.by, compiledBy(func() { must.Get(sums(p, c.by, false)).Free() }), c.want)
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

// childEnv names the variable that turns this test binary into a process that compiles two programs.
const childEnv = "QDNB_TEST_COMPILE"

// compiledIn is the output of such a process.
type compiledIn struct {
	Hits int64
	Bits []uint32 // of the results
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		compileInChild()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func compileInChild() {
	p := must.Get(xla.Open(context.Background(), "cpu"))
	var found compiledIn
	alone := must.Get(p.Compile("alone", []xla.Input{{Shape: shapes.Make(dtypes.Float32, 64),
		Donate: true}}, func(in []*Node) []*Node {
		return []*Node{xla.For(in[0].Graph(), 5, in[0], func(_, x *Node) *Node {
			return Add(Sin(x), MulScalar(ReduceAllSum(x), 0.01))
		})}
	}))
	numbers := make([]float32, 64)
	for i := range numbers {
		numbers[i] = float32(i) / 7
	}
	out := must.Get(alone.Run(xla.Sharded{tensors.FromValue(numbers)}))
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32, 64)}, {Shape: shapes.Make(dtypes.Int32)}}
	together := must.Get(p.CompileParallel("together", inputs, func(in []*Node) []*Node {
		return []*Node{xla.AllGather(Exp(MulScalar(in[0], 0.1)), in[1], p.Workers)}
	}))
	parts := must.Get(together.Run(p.Replicated(func() *tensors.Tensor {
		return tensors.FromValue(numbers)
	}), p.WorkerNumbers()))
	for _, result := range append(out[0], parts[0]...) {
		for _, x := range tensors.MustCopyFlatData[float32](result) {
			found.Bits = append(found.Bits, math.Float32bits(x))
		}
	}
	found.Hits = diskcache.Hits()
	must.Do(json.NewEncoder(os.Stdout).Encode(found))
}

// compileWith runs a process that compiles, with a given program folder and extra environment.
func compileWith(t *testing.T, dir string, more ...string) compiledIn {
	t.Helper()
	child := exec.Command(os.Args[0])
	if len(more) > 0 && more[0] == "taskset" {
		child = exec.Command("taskset", "-c", "0", os.Args[0])
		more = more[1:]
	}
	child.Env = append(os.Environ(), append([]string{childEnv + "=1", backend.ProgramsEnv + "=" + dir}, more...)...)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	text, err := child.Output()
	var found compiledIn
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return found
}

// programFiles returns the entries of a program folder.
func programFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.xla"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no programs in %s: %v", dir, err)
	}
	return found
}

func TestProgramsAreKeptOnDisk(t *testing.T) {
	if xlatest.Best(t).Kind != backend.CPU {
		t.Skip("SKIPPED: the cache of programs is XLA:CPU's")
	}
	dir := filepath.Join(t.TempDir(), "programs")
	without := compileWith(t, "off")
	cold, warm := compileWith(t, dir), compileWith(t, dir)
	errtest.Equal(t, "hits without a cache, at first and then", fmt.Sprint(without.Hits, cold.Hits, warm.Hits), "0 0 2")
	errtest.Equal(t, "results with the cache and without", fmt.Sprint(without.Bits, cold.Bits),
		fmt.Sprint(cold.Bits, warm.Bits))

	// The key covers what code depends on: flags in any order, but not other flags or other cores.
	flags := func(list ...string) string { return "XLA_FLAGS=" + strings.Join(list, " ") }
	a, b := "--xla_cpu_enable_fast_min_max=true", "--xla_cpu_prefer_vector_width=512"
	errtest.Equal(t, "hits with other flags", compileWith(t, dir, flags(a, b)).Hits, 0)
	errtest.Equal(t, "hits with the same flags in another order", compileWith(t, dir, flags(b, a)).Hits, 2)
	if _, err := exec.LookPath("taskset"); err == nil {
		errtest.Equal(t, "hits on one core of several", compileWith(t, dir, "taskset").Hits, 0)
	}

	errtest.Equal(t, "hits with other threads", compileWith(t, dir, "PJRT_NPROC=3").Hits, 0)

	// An unusable folder is no error.
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o600))
	errtest.Equal(t, "results without a folder", compileWith(t, filepath.Join(file, "programs")).Bits, cold.Bits)
}

// An intact entry that is no program is compiled again and replaced. Damaged entries are tested by package diskcache.
func TestProgramsThatCannotBeLoaded(t *testing.T) {
	if xlatest.Best(t).Kind != backend.CPU {
		t.Skip("SKIPPED: the cache of programs is XLA:CPU's")
	}
	dir := filepath.Join(t.TempDir(), "programs")
	want := compileWith(t, dir)
	store := must.Get(diskcache.Open(dir, 1<<30))
	for _, path := range programFiles(t, dir) {
		raw := must.Get(hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".xla")))
		store.Put(diskcache.Key(raw), []byte("this is no program"))
	}
	for _, hits := range []int64{0, 2} {
		if found := compileWith(t, dir); found.Hits != hits || !slices.Equal(found.Bits, want.Bits) {
			t.Errorf("%d hits, want %d; same results: %t", found.Hits, hits, slices.Equal(found.Bits, want.Bits))
		}
	}
}
