package session

import (
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
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
		return errors.Errorf("%s has no diversity reward or objective to replace: set Mix or Archive of "+
			"its hyperparameters", algorithm)
	}
	return nil
}

func (e evolving) Observes(envs.Env, Parts) bool { return e.method(npz.Array{}).Observes() }

func (e evolving) search(t Training, platform *xla.Platform, centroids npz.Array) (search, error) {
	base := e.Base()
	running, err := evolution.New(platform, t.task(), e.method(centroids), evolution.Settings{
		Batch: base.Batch, Slice: base.Slice, Seed: t.Seed, Centroids: centroids,
		Starts: base.Starts,
	})
	if err != nil {
		return nil, err // a nil *Search is a search
	}
	return running, nil
}

// method returns the algorithm's method with its replaced parts.
func (e evolving) method(centroids npz.Array) evolution.Method {
	return e.Base().Parts.Replace(e.Method(centroids))
}

func (e evolving) Custom(Parts) bool { return e.Base().Parts.Any() }

func (e evolving) Fingerprints(t Training) (map[string]string, error) {
	if !e.Custom(t.Parts) {
		return map[string]string{}, nil
	}
	print, err := t.fingerprint()
	prints := map[string]string{"algorithm": print}
	_, objectives := e.method(npz.Array{}).Archive.(repertoire.Measurer)
	if err == nil && objectives && !slices.Contains(envs.Names(), t.Env.Spec().Name) {
		prints["objectives"], err = envs.FingerprintObjectives(t.Env)
	}
	return prints, err
}

func (evolving) Skills(envs.Env) (int, bool) { return 0, false }
