package bench

import (
	"fmt"
	"time"

	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
)

// Generation times generations of a neuroevolution algorithm after a warm-up that fills the
// repertoire, and the rollout of as many random policies alone.
type Generation struct {
	Algorithm   string   `json:"-" default:"map-elites"`
	Env         string   `json:"env" default:"pointmaze"`
	Generations int      `json:"-" default:"20"`
	Warmup      int      `json:"-" default:"20"`
	Set         []string `json:"-" sep:"none" placeholder:"NAME=VALUE"`
}

// GenerationTiming is the result of [Generation].
type GenerationTiming struct {
	Generation
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Batch             int     `json:"batch"`
	Slice             int     `json:"slice"`
	Steps             int     `json:"steps"`
	CompileSeconds    float64 `json:"compile_seconds"`
	GenerationSeconds float64 `json:"generation_s"`    // median
	EvaluationSeconds float64 `json:"evaluation_s"`    // median time of rolling out a batch
	VariationShare    float64 `json:"variation_share"` // part of variation and insertion
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
}

// Measure implements [Benchmark].
func (b Generation) Measure(p *xla.Platform) (any, error) {
	algorithm, env, err := algorithmOf(b.Algorithm, b.Env, b.Set)
	if err != nil {
		return nil, err
	}
	base, ok := algorithm.(*evolution.MapElites)
	if !ok {
		return nil, fmt.Errorf("%s is no neuroevolution: generations are timed of map-elites and the like",
			b.Algorithm)
	}
	search, err := algorithm.New(p, env, 0)
	if err != nil {
		return nil, err
	}
	defer search.Close()
	for range max(1, b.Warmup) {
		if _, err := search.Step(); err != nil {
			return nil, err
		}
	}
	evaluator, err := scoring.NewEvaluator(p, search.Task(), scoring.Plan{Policies: base.Batch,
		Slice: base.Slice})
	if err != nil {
		return nil, err
	}
	defer evaluator.Free()
	policies, err := randomPolicies(p, search.Task(), base.Batch)
	if err != nil {
		return nil, err
	}
	defer policies.Free()
	var all, alone []float64
	// alternate, so that a drift in machine speed affects both equally; the first pair warms up
	for i := range max(1, b.Generations) + 1 {
		start := time.Now()
		if _, err := evaluator.Evaluate(policies, 1, nil); err != nil {
			return nil, err
		}
		middle := time.Now()
		if _, err := search.Step(); err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, time.Since(middle).Seconds())
			alone = append(alone, middle.Sub(start).Seconds())
		}
	}
	generation, rollout := stats.Median(all), stats.Median(alone)
	return GenerationTiming{Generation: b, Backend: p.Name(), Workers: p.Workers, Batch: base.Batch,
		Slice: evaluator.Slice(), Steps: base.EpisodeLength,
		CompileSeconds:    search.CompileTime().Seconds(),
		GenerationSeconds: generation, EvaluationSeconds: rollout,
		VariationShare:    1 - rollout/generation,
		EnvStepsPerSecond: float64(base.Batch*base.EpisodeLength) / generation}, nil
}
