package qdnb

import (
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// GenerationTiming is what [BenchGeneration] measures.
type GenerationTiming struct {
	Env               string  `json:"env"`
	Backend           string  `json:"backend"`
	Workers           int     `json:"workers"`
	Batch             int     `json:"batch"`
	Slice             int     `json:"slice"`
	Steps             int     `json:"steps"`
	CompileSeconds    float64 `json:"compile_seconds"`
	GenerationSeconds float64 `json:"generation_s"` // median
	// median, of rolling out as many stored policies
	EvaluationSeconds float64 `json:"evaluation_s"`
	VariationShare    float64 `json:"variation_share"` // of variation and insertion in a generation
	EnvStepsPerSecond float64 `json:"env_steps_per_s"`
}

// BenchGeneration times generations of a spec's algorithm after a warm-up that fills the
// repertoire, and their evaluations alone.
func BenchGeneration(spec Spec, warmup, generations int) (GenerationTiming, error) {
	p, err := spec.resolve()
	if err != nil {
		return GenerationTiming{}, err
	}
	family, ok := p.family.(evolving)
	if !ok {
		return GenerationTiming{},
			errors.Errorf("%s has no generations: `qdnb bench updates` times what it spends its time with",
				spec.Algorithm)
	}
	platform, err := xla.Open(p.Backend)
	if err != nil {
		return GenerationTiming{}, err
	}
	centroids, err := p.centroids()
	if err != nil {
		return GenerationTiming{}, err
	}
	search, err := family.run(p, platform, centroids)
	if err != nil {
		return GenerationTiming{}, err
	}
	defer search.Close()
	for range max(1, warmup) {
		if _, err := search.Step(); err != nil {
			return GenerationTiming{}, err
		}
	}
	t, err := search.Measure(max(1, generations))
	if err != nil {
		return GenerationTiming{}, err
	}
	base := family.Base()
	return GenerationTiming{
		Env: p.Env, Backend: platform.Name(), Workers: platform.Workers, Batch: base.Batch,
		Slice: search.Slice(),
		Steps: base.EpisodeLength, CompileSeconds: search.CompileTime().Seconds(),
		GenerationSeconds: t.Generation, EvaluationSeconds: t.Evaluation,
		VariationShare:    1 - t.Evaluation/t.Generation,
		EnvStepsPerSecond: float64(base.Batch*base.EpisodeLength) / t.Generation,
	}, nil
}
