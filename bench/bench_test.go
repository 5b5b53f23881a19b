// Package bench times the stages of training, in the standard format of Go's benchmarks:
//
//	go test ./bench -bench Rollout -benchtime 3x -env ant-uni
//
// A benchmark runs once to warm up, then as often as -benchtime says, and reports the fastest run as
// best-s. `make bench-peer` compares with the same work in JAX, `make roofline` with the machine's limits.
package bench

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Settings of the benchmarks, of which each uses some.
var (
	algorithm = flag.String("algorithm", "",
		"`name` of the algorithm of Generation (default map-elites) or Training (pga-map-elites)")
	env   = flag.String("env", "ant-uni", "environment, or a robot's file that ends in .xml, .json or .txt")
	batch = flag.Int("batch", 0,
		"policies of Rollout (default 256), copies of Robot (512), candidates of Insertion (1000)")
	steps    = flag.Int("steps", 250, "control steps per episode, or updates per program")
	slice    = flag.Int("slice", 0, "policies rolled out together; 0: the same as in training, or 16 copies of Robot")
	substeps = flag.Int("substeps", 0, "physics steps of a control step of a robot's file; 0: those of 0.02 s")
	touch    = flag.String("touch", "",
		"`names` of the geoms of a robot's file that alone touch the floor, FR,FL; empty: all contacts")
	robotTask = flag.String("task", "",
		"task of a robot's file in Rollout: walk or velocity, where its feet alone touch the floor")
	weights     = flag.String("weights", "float32", "number `format` of the policies' weights: float32 or bfloat16")
	policies    = flag.Int("policies", 64, "distinct policies of Adaptation")
	episodes    = flag.Int("episodes", 4, "episodes per policy and multiplier of gravity")
	values      = flag.Int("values", 5, "multipliers of gravity, starting at 0.25")
	learner     = flag.String("learner", "td3", "`name` of the learner of Updates: td3, sac, or variation by policy gradient")
	individuals = flag.Int("individuals", 50, "individuals varied by variation")
	buffer      = flag.Int("buffer", 100_000, "transitions in the replay buffer of Updates")
	better      = flag.Int("better", 50, "candidates that beat every occupant")
	warmup      = flag.Int("warmup", 2, "untimed generations of Generation and Training beforehand")
	settings    list
)

func init() { flag.Var(&settings, "set", "hyperparameter as `name=value`, may be repeated") }

// list is a flag that may be repeated.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// platform is what QDNB_BACKEND names.
var platform *xla.Platform

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if platform, err = xla.Open(context.Background(), ""); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if flag.Lookup("test.bench").Value.String() != "" {
		fmt.Printf("backend: %s\nworkers: %d\n", platform.Name(), platform.Workers)
	}
	os.Exit(m.Run())
}

// failing makes the error of a panic the failure of a benchmark.
func failing(b *testing.B) {
	switch failure := recover().(type) {
	case nil:
	case error:
		b.Fatal(failure)
	default:
		panic(failure)
	}
}

// best runs and times a function after a warm-up, whose seconds it returns, and reports the fastest run.
func best(b *testing.B, run func()) (first, fastest float64) {
	timed := func() float64 {
		start := time.Now()
		run()
		return time.Since(start).Seconds()
	}
	first, fastest = timed(), math.Inf(1)
	for b.Loop() {
		fastest = min(fastest, timed())
	}
	b.ReportMetric(fastest, "best-s")
	return first, fastest
}

// batchOr returns -batch, or a default.
func batchOr(size int) int {
	if *batch != 0 {
		size = *batch
	}
	return size
}

// report reports numbers by their units.
func report(b *testing.B, numbers map[string]float64) {
	for unit, x := range numbers {
		b.ReportMetric(x, unit)
	}
}

// tuned returns an algorithm with the settings, and its environment.
func tuned(name string) (algorithms.Algorithm, envs.Env) {
	environment := must.Get(envs.Make(*env))
	if *algorithm != "" {
		name = *algorithm
	}
	return must.Get(must.Get(registry.Find(name)).Tuned(environment.Spec(), runs.Assign(settings...))), environment
}

// randomPolicies draws the initial population of a task on every worker.
func randomPolicies(task scoring.Task, count int) xla.Sharded {
	seed := platform.Seed(0)
	defer seed.Free()
	program := must.Get(xla.CompileParallel(platform, "random policies", seed, func(seed xla.Array) xla.Array {
		which := graph.Iota(seed.Tree.Graph(), shapes.Make(dtypes.Int32, count), 0)
		return xla.Out(task.Policy.Init(random.KeyOf(seed.Tree).FoldInEach(which)))
	}))
	defer program.Free()
	return must.Get(program.Run(seed)).Value()
}

// peakMemory returns the peak resident memory of this process in bytes, 0 without /proc.
func peakMemory() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if fields := strings.Fields(rest); len(fields) > 0 {
		kib, _ := strconv.ParseFloat(fields[0], 64)
		return 1024 * kib
	}
	return 0
}

// Every benchmark runs at small sizes and reports numbers.
func TestBenchmarks(t *testing.T) {
	must.Do(flag.Set("test.benchtime", "1x"))
	small := " -set hidden=[8,8] -set episode_length=20"
	for _, c := range []struct {
		run      func(*testing.B)
		flags    string
		positive string
	}{
		{BenchmarkGeneration, "-env pointmaze -warmup 1 -set batch=16 -set cells=32 -set cvt_samples=500" + small, "generation-s"},
		{BenchmarkRollout, "-env walker-uni -batch 5 -steps 3", "best-s env-steps/s compile-s peak-B"},
		{BenchmarkRollout, "-env ../envs/mujoco/testdata/accepted/gym_hopper_model.json -batch 2 -steps 2", "env-steps/s"},
		{BenchmarkRobot, "-env ../envs/mujoco/testdata/accepted/gym_hopper_model.json -batch 3 -slice 2 -steps 2 -substeps 4",
			"best-s env-steps/s compile-s"},
		{BenchmarkInsertion, "-batch 20 -better 6", "best-s entered"},
		{BenchmarkAdaptation, "-env walker-uni -policies 3 -episodes 2 -values 2 -steps 4", "best-s whole-s env-steps/s"},
		{BenchmarkUpdates, "-learner variation -individuals 2 -steps 2", "best-s updates/s"},
		{BenchmarkTraining, "-algorithm diayn -env pointmaze -warmup 1 -set env_batch_size=5 -set hidden=[8] " +
			"-set batch_size=8 -set replay_buffer_size=65", "generation-s checkpoint-s"},
		{BenchmarkCeilings, "", "products-gflops cache-GB/s"},
	} {
		if strings.HasPrefix(c.positive, "products") && (platform.Kind == backend.Go || testing.Short()) {
			continue
		}
		flag.VisitAll(func(f *flag.Flag) { // as on a new command line
			if f.Name == "set" {
				settings = nil
			} else if !strings.HasPrefix(f.Name, "test.") {
				must.Do(f.Value.Set(f.DefValue))
			}
		})
		words := strings.Fields(c.flags)
		for i := 0; i < len(words); i += 2 {
			must.Do(flag.Set(words[i][1:], words[i+1]))
		}
		found := testing.Benchmark(c.run)
		for unit := range strings.FieldsSeq(c.positive) {
			if !(found.Extra[unit] > 0) {
				t.Errorf("%s: %s is %g", c.flags, unit, found.Extra[unit])
			}
		}
	}
}
