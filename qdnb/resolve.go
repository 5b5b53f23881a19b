package qdnb

import (
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
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

// parts returns the parts that the spec replaces.
func (s Spec) parts() session.Parts {
	return session.Parts{Diversity: s.Diversity, Objective: s.Objective}
}

func (s Spec) resolve() (plan, error) {
	p := plan{Spec: s}
	algorithm, err := session.Find(s.Algorithm)
	if err != nil {
		return p, err
	}
	env, err := s.environment()
	if err != nil {
		return p, err
	}
	spec := env.Spec()
	if spec.Descriptor.Kind == envs.None {
		return p, errors.Errorf("%s has no descriptor, which a repertoire needs", spec.Name)
	}
	family := algorithm.Defaults(spec)
	if err := family.Takes(s.Algorithm, s.parts()); err != nil {
		return p, err
	}
	if err := s.tune(family); err != nil {
		return p, err
	}
	if spec.Observations == 0 && family.Observes(env, s.parts()) {
		return p, errors.Errorf("%s learns from observations, of which %s has none: use an algorithm "+
			"that does not, such as map-elites", s.Algorithm, spec.Name)
	}
	if family.Custom(s.parts()) && (s.Name == "" || slices.Contains(Algorithms(), s.Name)) {
		return p, errors.New("a variant needs a name that no algorithm has: set Name together with the " +
			"parts that you replace")
	}
	if s.Name == "" {
		p.Name = s.Algorithm
	}
	if options := family.Options(); len(options) > 0 && s.Environment == nil {
		if env, err = envs.Make(s.Env, options...); err != nil {
			return p, err
		}
	}
	if err := s.Budget.Validate(); err != nil {
		return p, err
	}
	if s.Corrected < 0 {
		return p, errors.Errorf("Corrected is a number of episodes, 0 or more, not %d", s.Corrected)
	}
	if p.Budget == (runs.Budget{}) {
		p.Budget = PaperBudget
	}
	if p.Runs == "" {
		p.Runs = runs.Folder()
	}
	config, err := runs.NewConfig(p.Name, env.Spec().Name, s.Seed, family.Settings())
	if err != nil {
		return p, err
	}
	p.training = session.Training{Env: env, Family: family, Parts: s.parts(), Seed: s.Seed,
		KeepReplay: s.KeepReplay, Corrected: s.Corrected}
	if p.Name != s.Algorithm {
		p.training.Base = s.Algorithm
	}
	p.options = session.Options{Root: p.Runs, Config: config, Budget: p.Budget, Backend: s.Backend,
		Quiet: s.Quiet, Fresh: s.Fresh}
	p.options.Config.Parts, err = p.fingerprints()
	return p, err
}

// tune sets the hyperparameters that Tune selects, and checks them.
func (s Spec) tune(family session.Family) error {
	if s.Tune != nil {
		if err := s.Tune(family.Settings()); err != nil {
			return err
		}
	}
	return family.Check()
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
		return nil, errors.Errorf("%q is the name of a built-in environment: choose another name in "+
			"the Spec of your environment", spec.Name)
	}
	return s.Environment, envs.Validate(s.Environment)
}
