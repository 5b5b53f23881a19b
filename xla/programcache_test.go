package xla_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
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

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/backend/diskcache"
)

// childEnv names the variable that turns this test binary into a process that compiles two
// programs.
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
	child.Env = append(os.Environ(), append([]string{childEnv + "=1", backend.ProgramsEnv + "=" + dir},
		more...)...)
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
	if without.Hits != 0 || cold.Hits != 0 || warm.Hits != 2 {
		t.Errorf("hits: %d without a cache, %d at first, %d then; want 0, 0, 2", without.Hits, cold.Hits,
			warm.Hits)
	}
	if !slices.Equal(without.Bits, cold.Bits) || !slices.Equal(cold.Bits, warm.Bits) {
		t.Error("results differ with the cache")
	}

	// The key covers what code depends on: flags in any order, but not other flags or other cores.
	flags := func(list ...string) string { return "XLA_FLAGS=" + strings.Join(list, " ") }
	a, b := "--xla_cpu_enable_fast_min_max=true", "--xla_cpu_prefer_vector_width=512"
	if found := compileWith(t, dir, flags(a, b)); found.Hits != 0 {
		t.Errorf("%d hits with other flags", found.Hits)
	}
	if found := compileWith(t, dir, flags(b, a)); found.Hits != 2 {
		t.Errorf("%d hits with the same flags in another order, want 2", found.Hits)
	}
	if _, err := exec.LookPath("taskset"); err == nil {
		if found := compileWith(t, dir, "taskset"); found.Hits != 0 {
			t.Errorf("%d hits on one core of several", found.Hits)
		}
	}

	if found := compileWith(t, dir, "PJRT_NPROC=3"); found.Hits != 0 {
		t.Errorf("%d hits with other threads", found.Hits)
	}

	// An unusable folder is no error.
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o600))
	if found := compileWith(t, filepath.Join(file, "programs")); !slices.Equal(found.Bits, cold.Bits) {
		t.Error("results differ without a folder")
	}
}

// TestProgramsThatCannotBeLoaded: an entry that is intact but no program, or another program's, or
// damaged, is compiled again and replaced.
func TestProgramsThatCannotBeLoaded(t *testing.T) {
	if xlatest.Best(t).Kind != backend.CPU {
		t.Skip("SKIPPED: the cache of programs is XLA:CPU's")
	}
	dir := filepath.Join(t.TempDir(), "programs")
	want := compileWith(t, dir)
	spoil := map[string]func(path string) error{
		"no program": func(path string) error {
			raw, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".xla"))
			if err != nil {
				return err
			}
			store, err := diskcache.Open(dir, 1<<30)
			if err == nil {
				store.Put(diskcache.Key(raw), []byte("this is no program"))
			}
			return err
		},
		"cut off": func(path string) error { return os.Truncate(path, 100) },
		"a flipped bit": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o600)
		},
	}
	for name, spoil := range spoil {
		for _, path := range programFiles(t, dir) {
			must.Do(spoil(path))
		}
		if found := compileWith(t, dir); found.Hits != 0 || !slices.Equal(found.Bits, want.Bits) {
			t.Errorf("%s: %d hits, same results: %t", name, found.Hits, slices.Equal(found.Bits, want.Bits))
		}
		if found := compileWith(t, dir); found.Hits != 2 || !slices.Equal(found.Bits, want.Bits) {
			t.Errorf("after %s: %d hits, want 2", name, found.Hits)
		}
	}
}
