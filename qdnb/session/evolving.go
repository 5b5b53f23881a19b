package session

import (
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/xla"
)

// evolving is the neuroevolution family.
type evolving struct{ evolution.Hyperparameters }

func (e evolving) Settings() any          { return e.Hyperparameters }
func (e evolving) Options() []envs.Option { return nil }

func (e evolving) measured() measured {
	b := e.Base()
	return measured{b.CVT, b.Hidden, b.EpisodeLength, b.Weights}
}

func (e evolving) Takes(algorithm string, p Parts) error {
	if p.Diversity != nil || p.Objective != nil {
		return errors.Errorf("%s has no diversity reward or objective to replace: set Emitter, Learner "+
			"or Archive", algorithm)
	}
	return nil
}

func (e evolving) Observes(env envs.Env, p Parts) bool {
	method := e.method(Training{Parts: p}, npz.Array{})
	_, records := method.Archive.Sequence(e.measured().task(env))
	return records || method.Learner != nil
}

func (e evolving) search(t Training, platform *xla.Platform, centroids npz.Array) (search, error) {
	base := e.Base()
	running, err := evolution.New(platform, t.task(), e.method(t, centroids), evolution.Settings{
		Batch: base.Batch, Slice: base.Slice, Seed: t.Seed, Centroids: centroids,
		Starts: base.Starts, Together: t.together,
	})
	if err != nil {
		return nil, err // a nil *Search is a search
	}
	return running, nil
}

// method returns the algorithm's method with the parts that the spec replaces.
func (e evolving) method(t Training, centroids npz.Array) evolution.Method {
	method := e.Method(centroids)
	if t.Parts.Emitter != nil {
		method.Emitter = t.Parts.Emitter
	}
	if t.Parts.Learner != nil {
		method.Learner = t.Parts.Learner
	}
	if t.Parts.Archive != nil {
		method.Archive = t.Parts.Archive
	}
	return method
}

func (e evolving) Fingerprints(t Training) (map[string]string, error) {
	own := evolution.Method{Emitter: t.Parts.Emitter, Learner: t.Parts.Learner,
		Archive: t.Parts.Archive}
	base, d := e.Base(), len(t.Env.Spec().Descriptor.Lower)
	// Parts depend only on the shape of the centroids.
	shape := npz.Of(make([]float32, base.Cells*d), base.Cells, d)
	method := e.method(t, shape)
	prints, err := evolution.Fingerprints(t.task(), method, own, base.Batch)
	_, objectives := method.Archive.(evolution.MultiObjective)
	if err == nil && objectives && !slices.Contains(envs.Names(), t.Env.Spec().Name) {
		prints["objectives"], err = envs.FingerprintObjectives(t.Env)
	}
	return prints, err
}

func (evolving) Skills(envs.Env) (int, bool) { return 0, false }
