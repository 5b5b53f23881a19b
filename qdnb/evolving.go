package qdnb

import (
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// evolving is the neuroevolution family.
type evolving struct{ evolution.Hyperparameters }

func (e evolving) hyperparameters() any   { return e.Hyperparameters }
func (e evolving) options() []envs.Option { return nil }

func (evolving) printed(string) []string { return nil }

func (e evolving) tessellation() (cells, samples int, seed int64) {
	base := e.Base()
	return base.Cells, base.CVTSamples, base.CVTSeed
}

func (e evolving) task(env envs.Env) scoring.Task {
	base := e.Base()
	return scoring.NewTask(env, base.Hidden, base.EpisodeLength)
}

func (e evolving) takes(s Spec) error {
	if s.Diversity != nil || s.Objective != nil {
		return errors.Errorf("%s has no diversity reward or objective to replace: set Emitter, Learner "+
			"or Archive", s.Algorithm)
	}
	return nil
}

func (e evolving) search(p plan, platform *xla.Platform, centroids npz.Array) (search, error) {
	running, err := e.run(p, platform, centroids)
	if err != nil {
		return nil, err
	}
	base := e.Base()
	return evolvingSearch{running, int64(base.Batch), int64(base.Batch) * int64(base.EpisodeLength)},
		nil
}

// method returns the algorithm's method with the parts that the spec replaces.
func (e evolving) method(p plan, centroids npz.Array) evolution.Method {
	method := e.Method(centroids)
	if p.Emitter != nil {
		method.Emitter = p.Emitter
	}
	if p.Learner != nil {
		method.Learner = p.Learner
	}
	if p.Archive != nil {
		method.Archive = p.Archive
	}
	return method
}

func (e evolving) fingerprints(p plan) (map[string]string, error) {
	own := evolution.Method{Emitter: p.Emitter, Learner: p.Learner, Archive: p.Archive}
	base, d := e.Base(), len(p.env.Spec().Descriptor.Lower)
	// Parts depend only on the shape of the centroids.
	shape := npz.Of(make([]float32, base.Cells*d), base.Cells, d)
	return evolution.Fingerprints(e.task(p.env), e.method(p, shape), own, base.Batch)
}

// run compiles the algorithm.
func (e evolving) run(p plan, platform *xla.Platform, centroids npz.Array) (*evolution.Search,
	error) {
	base := e.Base()
	return evolution.New(platform, e.task(p.env), e.method(p, centroids), evolution.Settings{
		Batch: base.Batch, Slice: base.Slice, Seed: p.Seed, Centroids: centroids,
	})
}

// evolvingSearch adapts [evolution.Search] to search and counts evaluations and steps.
type evolvingSearch struct {
	*evolution.Search
	batch, steps int64 // per generation: evaluations, and environment steps
}

func (s evolvingSearch) generation() int64 { return s.Generation() }

func (s evolvingSearch) compileSeconds() float64 { return s.CompileTime().Seconds() }

func (s evolvingSearch) step() (outcome, error) {
	o, err := s.Step()
	return outcome{o.Generation, o.Generation * s.batch, o.Generation * s.steps, o.Fitnesses,
		o.Invalid, o.Extra}, err
}
