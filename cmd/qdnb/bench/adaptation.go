package bench

import (
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Adaptation times the evaluations of qdnb.Adapt. Random policies with two hidden layers of 256
// units play episodes under the first Values of the paper's gravity multipliers.
type Adaptation struct {
	Env      string `json:"env" default:"ant-uni"`
	Policies int    `json:"policies" default:"64"`
	Episodes int    `json:"episodes" default:"4"`
	Values   int    `json:"values" default:"5"`
	Steps    int    `json:"steps" default:"250"`
	Repeats  int    `json:"-" default:"3"`
}

// AdaptationTiming is the result of [Adaptation].
type AdaptationTiming struct {
	Adaptation
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Batch             int     `json:"batch"`   // policies times episodes
	Slice             int     `json:"slice"`   // episodes rolled out together
	BestSeconds       float64 `json:"best_s"`  // all values, best of the repeats
	WholeSeconds      float64 `json:"whole_s"` // compilation and the first repeat
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
}

// Measure implements [Benchmark].
func (b Adaptation) Measure(p *xla.Platform) (any, error) {
	values := envs.GravityMultiplier.Values()
	if b.Values < 1 || b.Values > len(values) {
		return nil, fmt.Errorf("values must be between 1 and %d, not %d", len(values), b.Values)
	}
	if b.Policies < 1 || b.Episodes < 1 {
		return nil, fmt.Errorf("policies and episodes must be 1 or more, not %d and %d", b.Policies,
			b.Episodes)
	}
	env, err := envs.Make(b.Env)
	if err != nil {
		return nil, err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return nil, err
	}
	task := scoring.NewTask(live, []int{256, 256}, b.Steps)
	policies, err := randomPolicies(p, task, b.Policies)
	if err != nil {
		return nil, err
	}
	defer policies.Free()
	evaluator, err := scoring.NewEvaluator(p, task, scoring.Plan{Policies: b.Policies,
		States: b.Episodes})
	if err != nil {
		return nil, err
	}
	defer evaluator.Free()
	first, fastest, err := best(b.Repeats, func() error {
		for _, value := range values[:b.Values] {
			conditions, err := envs.GravityMultiplier.Apply(live.Nominal(), value)
			if err != nil {
				return err
			}
			if _, err := evaluator.Evaluate(policies, 1, &conditions); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	batch := b.Policies * b.Episodes
	return AdaptationTiming{Adaptation: b, Backend: p.Name(), Workers: p.Workers, Batch: batch,
		Slice: evaluator.Slice(), BestSeconds: fastest,
		WholeSeconds:      evaluator.CompileTime.Seconds() + first,
		EnvStepsPerSecond: math.Round(float64(batch*b.Values*b.Steps) / fastest)}, nil
}
