package bench

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Rollout times rollouts of random policies with two hidden layers of 256 units, one policy per
// copy of the environment. This is the cost of an evaluation in MAP-Elites. Env may be a robot's file
// that ends in .xml, .json or .txt: the task observes its joints and rewards the velocity of its first body
// but one, as the first is MuJoCo's world.
type Rollout struct {
	Env     string `json:"env" required:""`
	Batch   int    `json:"batch" default:"256"`
	Steps   int    `json:"steps" default:"250"`
	Slice   int    `json:"slice"`
	Repeats int    `json:"-" default:"3"`

	Weights scoring.Precision `json:"weights,omitzero" default:"float32" enum:"float32,bfloat16"`
}

// RolloutTiming is the result of [Rollout].
type RolloutTiming struct {
	Rollout                   // with the slice that was used
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	BestSeconds       float64 `json:"best_s"` // best of the repeats
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
	CompileSeconds    float64 `json:"compile_seconds"`
	// MemoryBytes is the peak resident memory of the process; 0 if the system does not report it.
	MemoryBytes int64 `json:"memory_bytes"`
}

// Measure implements [Benchmark].
func (b Rollout) Measure(p *xla.Platform) (any, error) {
	env, err := environment(b.Env)
	if err != nil {
		return nil, err
	}
	task := scoring.NewTask(env, []int{256, 256}, b.Steps)
	task.Weights = b.Weights
	evaluator, err := scoring.NewEvaluator(p, task, scoring.Plan{Policies: b.Batch, Slice: b.Slice})
	if err != nil {
		return nil, err
	}
	defer evaluator.Free()
	policies, err := randomPolicies(p, task, b.Batch)
	if err != nil {
		return nil, err
	}
	defer policies.Free()
	_, fastest, err := best(b.Repeats, func() error {
		_, err := evaluator.Evaluate(policies, 1, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.Slice = evaluator.Slice()
	return RolloutTiming{Rollout: b, Backend: p.Name(), Workers: p.Workers, BestSeconds: fastest,
		EnvStepsPerSecond: math.Round(float64(b.Batch*b.Steps) / fastest),
		CompileSeconds:    evaluator.CompileTime.Seconds(), MemoryBytes: peakMemory()}, nil
}

// environment returns a built-in environment, or a task of the robot in a file.
func environment(name string) (envs.Env, error) {
	if !slices.Contains([]string{".xml", ".json", ".txt"}, filepath.Ext(name)) {
		return envs.Make(name)
	}
	system, _, err := envs.ReadSystem(context.Background(), name, mujoco.Options{IgnorePairs: true})
	if err != nil {
		return nil, err
	}
	bodies := system.BodyNames()
	env := &envs.Rigid{System: system, Noise: 0.1,
		Settings: envs.Spec{Name: name, Observations: 2 * len(system.DefaultAngles()), Actions: system.Actions(), Length: 250,
			Descriptor: envs.Descriptor{Kind: envs.None}},
		Observe: func(m envs.StepView) *graph.Node {
			angles, velocities := system.JointAngles(m.State)
			return graph.Concatenate([]*graph.Node{angles, velocities}, 0)
		},
		Reward: func(_, after envs.StepView, _ *graph.Node) *graph.Node {
			return after.Frame(bodies[min(1, len(bodies)-1)]).Velocity[0]
		},
	}
	return env, envs.Validate(env)
}

// randomPolicies draws the initial population of a task on every worker.
func randomPolicies(p *xla.Platform, task scoring.Task, batch int) (xla.Sharded, error) {
	seed := p.Seed(0)
	defer seed.Free()
	program, err := xla.CompileParallel(p, "random policies", seed, func(seed xla.Array) xla.Array {
		return xla.Out(task.Policy.Init(random.KeyOf(seed.Tree).FoldInEach(graph.Iota(seed.Tree.Graph(),
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
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if fields := strings.Fields(rest); len(fields) > 0 {
		kib, _ := strconv.ParseInt(fields[0], 10, 64)
		return kib << 10
	}
	return 0
}
