package bench

import (
	"context"
	"math"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// AdaptationTiming is the result of [Adaptation].
type AdaptationTiming struct {
	Env               string  `json:"env"`
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Policies          int     `json:"policies"`
	Episodes          int     `json:"episodes"` // per policy and value
	Batch             int     `json:"batch"`    // policies times episodes
	Slice             int     `json:"slice"`    // episodes rolled out together
	Values            int     `json:"values"`   // of gravity
	Steps             int     `json:"steps"`
	BestSeconds       float64 `json:"best_s"`  // all values, best of the repeats
	WholeSeconds      float64 `json:"whole_s"` // compilation and the first repeat
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
}

// AdaptationSpec configures [Adaptation].
type AdaptationSpec struct {
	Env      string
	Policies int
	Episodes int
	Values   int
	Steps    int
	Repeats  int
	Backend  string // see [xla.Open]
}

// Adaptation times the evaluations of qdnb.Adapt. Random policies with two hidden layers of 256
// units play episodes under the first s.Values of the paper's gravity multipliers.
func Adaptation(s AdaptationSpec) (AdaptationTiming, error) {
	values := envs.GravityMultiplier.Values()
	if s.Values < 1 || s.Values > len(values) {
		return AdaptationTiming{}, errors.Errorf("values must be between 1 and %d, not %d",
			len(values), s.Values)
	}
	env, err := envs.Make(s.Env)
	if err != nil {
		return AdaptationTiming{}, err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return AdaptationTiming{}, err
	}
	platform, err := xla.Open(context.Background(), s.Backend)
	if err != nil {
		return AdaptationTiming{}, err
	}
	task := scoring.NewTask(live, []int{256, 256}, s.Steps)
	policies, err := randomPolicies(platform, task, s.Policies)
	if err != nil {
		return AdaptationTiming{}, err
	}
	defer policies.Free()
	begin := time.Now()
	evaluator, err := scoring.NewEvaluator(platform, task, scoring.Plan{Policies: s.Policies,
		States: s.Episodes})
	if err != nil {
		return AdaptationTiming{}, err
	}
	defer evaluator.Free()
	t := AdaptationTiming{Env: s.Env, Backend: platform.Name(), Workers: platform.Workers,
		Policies: s.Policies, Episodes: s.Episodes,
		Batch: s.Policies * s.Episodes, Slice: evaluator.Slice(), Values: s.Values, Steps: s.Steps,
		BestSeconds: math.Inf(1)}
	for i := range max(1, s.Repeats) + 1 { // the first repeat is a warm-up
		start := time.Now()
		for _, value := range values[:s.Values] {
			conditions, err := envs.GravityMultiplier.Apply(live.Nominal(), value)
			if err != nil {
				return t, err
			}
			if _, err := evaluator.Evaluate(policies, 1, &conditions); err != nil {
				return t, err
			}
		}
		if i == 0 {
			t.WholeSeconds = time.Since(begin).Seconds()
		} else {
			t.BestSeconds = min(t.BestSeconds, time.Since(start).Seconds())
		}
	}
	t.EnvStepsPerSecond = math.Round(float64(s.Policies*s.Episodes*s.Values*s.Steps) / t.BestSeconds)
	return t, nil
}
