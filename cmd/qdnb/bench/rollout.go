package bench

import (
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// RolloutTiming is the result of [Rollout].
type RolloutTiming struct {
	Env               string  `json:"env"`
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Batch             int     `json:"batch"` // policies, all different
	Slice             int     `json:"slice"` // policies rolled out together
	Steps             int     `json:"steps"`
	BestSeconds       float64 `json:"best_s"` // best of the repeats
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
	CompileSeconds    float64 `json:"compile_seconds"`
	// MemoryBytes is the peak resident memory of the process; 0 if the system does not report it.
	MemoryBytes int64 `json:"memory_bytes"`
}

// RolloutSpec configures [Rollout].
type RolloutSpec struct {
	Env     string
	Batch   int
	Steps   int
	Slice   int // 0: as in training
	Repeats int
	Backend string // see [xla.Open]
}

// Rollout times rollouts of random policies with two hidden layers of 256 units, one policy per
// copy of the environment. This is the cost of an evaluation in MAP-Elites.
func Rollout(s RolloutSpec) (RolloutTiming, error) {
	env, err := envs.Make(s.Env)
	if err != nil {
		return RolloutTiming{}, err
	}
	platform, err := xla.Open(context.Background(), s.Backend)
	if err != nil {
		return RolloutTiming{}, err
	}
	task := scoring.NewTask(env, []int{256, 256}, s.Steps)
	evaluator, err := scoring.NewEvaluator(platform, task, scoring.Plan{Policies: s.Batch,
		Slice: s.Slice})
	if err != nil {
		return RolloutTiming{}, err
	}
	defer evaluator.Free()
	policies, err := randomPolicies(platform, task, s.Batch)
	if err != nil {
		return RolloutTiming{}, err
	}
	defer policies.Free()
	best := math.Inf(1)
	for range max(1, s.Repeats) + 1 { // the first repeat is a warm-up
		start := time.Now()
		if _, err := evaluator.Evaluate(policies, 1, nil); err != nil {
			return RolloutTiming{}, err
		}
		best = min(best, time.Since(start).Seconds())
	}
	return RolloutTiming{
		Env: s.Env, Backend: platform.Name(), Workers: platform.Workers, Batch: s.Batch,
		Slice: evaluator.Slice(), Steps: s.Steps,
		BestSeconds: best, EnvStepsPerSecond: math.Round(float64(s.Batch*s.Steps) / best),
		CompileSeconds: evaluator.CompileTime.Seconds(), MemoryBytes: peakMemory(),
	}, nil
}

// randomPolicies draws the initial population of a task on every worker.
func randomPolicies(p *xla.Platform, task scoring.Task, batch int) (xla.Sharded, error) {
	seed := p.Seed(0)
	defer seed.Free()
	program, err := xla.CompileParallel(p, "random policies", seed, func(seed xla.Array) xla.Array {
		return xla.Out(task.Policy.Init(xla.KeyOf(seed.Tree).FoldInEach(graph.Iota(seed.Tree.Graph(),
			shapes.Make(dtypes.Int32, batch), 0))))
	})
	if err != nil {
		return nil, err
	}
	defer program.Free()
	policies, err := program.Run(seed)
	if err != nil {
		return nil, err
	}
	return policies.Value(), nil
}

// peakMemory returns the peak resident memory of this process in bytes, 0 without /proc.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
