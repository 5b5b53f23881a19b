package bench

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// GenerationTiming is the result of [Generation].
type GenerationTiming struct {
	Env               string  `json:"env"`
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Batch             int     `json:"batch"`
	Slice             int     `json:"slice"`
	Steps             int     `json:"steps"`
	CompileSeconds    float64 `json:"compile_seconds"`
	GenerationSeconds float64 `json:"generation_s"` // median

	// EvaluationSeconds is the median time of rolling out a batch of stored policies.
	EvaluationSeconds float64 `json:"evaluation_s"`

	// VariationShare is the fraction of a generation spent on variation and insertion.
	VariationShare float64 `json:"variation_share"`

	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
}

// GenerationSpec configures [Generation].
type GenerationSpec struct {
	Algorithm   string // a neuroevolution algorithm
	Env         string
	Set         []string // hyperparameters, as in "batch=100"
	Warmup      int      // untimed generations that fill the repertoire
	Generations int      // to time
	Backend     string   // see [xla.Open]
}

// Generation times generations of a neuroevolution algorithm, and their evaluations alone, after a
// warm-up that fills the repertoire.
func Generation(s GenerationSpec) (GenerationTiming, error) {
	i := slices.IndexFunc(evolution.Algorithms,
		func(a evolution.Algorithm) bool { return a.Name == s.Algorithm })
	if i < 0 {
		return GenerationTiming{},
			errors.Errorf("%s is not a neuroevolution algorithm: `qdnb bench updates` "+
				"times the updates of reinforcement learning", s.Algorithm)
	}
	env, err := envs.Make(s.Env)
	if err != nil {
		return GenerationTiming{}, err
	}
	hyperparameters := evolution.Algorithms[i].Defaults(env.Spec())
	if err := runs.Set(hyperparameters, s.Set...); err != nil {
		return GenerationTiming{}, err
	}
	if err := hyperparameters.Check(); err != nil {
		return GenerationTiming{}, err
	}
	platform, err := xla.Open(context.Background(), s.Backend)
	if err != nil {
		return GenerationTiming{}, err
	}
	base, limits := hyperparameters.Base(), env.Spec().Descriptor
	flat, err := repertoire.CVT{
		Cells: base.Cells, Samples: base.CVTSamples, Seed: base.CVTSeed, Lower: limits.Lower,
		Upper: limits.Upper,
	}.Centroids()
	if err != nil {
		return GenerationTiming{}, err
	}
	centroids := npz.Of(flat, base.Cells, len(limits.Lower))
	search, err := evolution.New(platform, scoring.NewTask(env, base.Hidden, base.EpisodeLength),
		hyperparameters.Method(centroids), evolution.Settings{Batch: base.Batch, Slice: base.Slice,
			Centroids: centroids})
	if err != nil {
		return GenerationTiming{}, err
	}
	defer search.Close()
	for range max(1, s.Warmup) {
		if _, err := search.Step(); err != nil {
			return GenerationTiming{}, err
		}
	}
	t, err := search.Measure(max(1, s.Generations))
	if err != nil {
		return GenerationTiming{}, err
	}
	return GenerationTiming{
		Env: s.Env, Backend: platform.Name(), Workers: platform.Workers, Batch: base.Batch,
		Slice: search.Slice(),
		Steps: base.EpisodeLength, CompileSeconds: search.CompileTime().Seconds(),
		GenerationSeconds: t.Generation, EvaluationSeconds: t.Evaluation,
		VariationShare:    1 - t.Evaluation/t.Generation,
		EnvStepsPerSecond: float64(base.Batch*base.EpisodeLength) / t.Generation,
	}, nil
}
