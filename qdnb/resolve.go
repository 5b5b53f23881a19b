package qdnb

import (
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// plan is a resolved Spec.
type plan struct {
	Spec
	options  session.Options
	training session.Training
}

// config is the configuration after which the run is named.
func (p plan) config() runs.Config { return p.options.Config }

// Config returns the configuration after which the run is named.
func (s Spec) Config() (runs.Config, error) {
	p, err := s.resolve()
	return p.config(), err
}

// custom reports whether an algorithm runs code of its user.
func custom(a, loop algorithms.Algorithm) bool {
	v, ok := a.(algorithms.Variant)
	return loop != nil || ok && v.Replaced()
}

// entry returns the spec's algorithm by its name, which is empty for a Loop.
func (s Spec) entry() (registry.Entry, error) {
	switch {
	case s.Loop == nil:
		return session.Find(s.Algorithm)
	case s.Algorithm != "":
		return registry.Entry{}, errors.New("Algorithm and Loop are mutually exclusive: set one of them")
	}
	return registry.Entry{Defaults: func(envs.Spec) algorithms.Algorithm { return s.Loop }}, nil
}

func (s Spec) resolve() (plan, error) {
	p := plan{Spec: s}
	entry, err := s.entry()
	if err != nil {
		return p, err
	}
	env, err := s.environment()
	if err != nil {
		return p, err
	}
	spec := env.Spec()
	if spec.Descriptor.Kind == envs.None {
		return p, fmt.Errorf("%s has no descriptor, which a repertoire needs", spec.Name)
	}
	if spec.Observations == 0 && entry.Observes {
		return p, fmt.Errorf("%s learns from observations, of which %s has none: use an algorithm "+
			"that does not, such as map-elites", s.Algorithm, spec.Name)
	}
	algorithm := entry.Defaults(spec)
	if err := s.tune(algorithm); err != nil {
		return p, err
	}
	if custom(algorithm, s.Loop) && (s.Name == "" || slices.Contains(Algorithms(), s.Name)) {
		return p, errors.New("a variant needs a name that no algorithm has: set Name together with the " +
			"parts that you replace")
	}
	if p.Name == "" {
		p.Name = entry.Name
	}
	if a, ok := algorithm.(algorithms.Environmental); ok && s.Environment == nil {
		if env, err = envs.Make(s.Env, a.Options()...); err != nil {
			return p, err
		}
	}
	if err := s.Budget.Validate(); err != nil {
		return p, err
	}
	if s.Corrected < 0 {
		return p, fmt.Errorf("Corrected is a number of episodes, 0 or more, not %d", s.Corrected)
	}
	if p.Budget == (runs.Budget{}) {
		p.Budget = PaperBudget
	}
	if p.Runs == "" {
		p.Runs = runs.Folder()
	}
	config, err := runs.NewConfig(p.Name, env.Spec().Name, s.Seed, algorithm)
	if err != nil {
		return p, err
	}
	p.training = session.Training{Env: env, Algorithm: algorithm, Seed: s.Seed,
		KeepReplay: s.KeepReplay, Corrected: s.Corrected}
	if p.Name != entry.Name {
		p.training.Base = entry.Name
	}
	p.options = session.Options{Root: p.Runs, Config: config, Budget: p.Budget, Backend: s.Backend,
		Quiet: s.Quiet, Fresh: s.Fresh}
	p.options.Config.Parts, err = p.fingerprints()
	return p, err
}

// tune sets the hyperparameters that Tune selects, and checks them.
func (s Spec) tune(a algorithms.Algorithm) error {
	if s.Tune != nil {
		if err := s.Tune(a); err != nil {
			return err
		}
	}
	return a.Check()
}

// environment returns Environment, or makes the environment that Env names.
func (s Spec) environment() (envs.Env, error) {
	if s.Environment == nil {
		return envs.Make(s.Env)
	}
	if s.Env != "" {
		return nil, errors.New("Env and Environment are mutually exclusive: set one of them")
	}
	spec := s.Environment.Spec()
	if slices.Contains(envs.Names(), spec.Name) {
		return nil, fmt.Errorf("%q is the name of a built-in environment: choose another name in "+
			"the Spec of your environment", spec.Name)
	}
	return s.Environment, envs.Validate(s.Environment)
}
