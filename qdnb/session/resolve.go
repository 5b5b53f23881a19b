package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Config returns the configuration after which the run is named.
func (s Spec) Config() (runs.Config, error) {
	t, err := s.Training(context.Background())
	return t.Config, err
}

// own names the fields that hold code of the user: the Loop or parts that Tune replaced, and the
// Environment.
func (s Spec) own(replaced []string) (names []string) {
	if s.Loop != nil {
		names = append(names, "Loop")
	}
	names = append(names, replaced...)
	if s.Environment != nil {
		names = append(names, "Environment")
	}
	return names
}

// fits returns an error if an algorithm cannot learn in an environment.
func (s Spec) fits(entry algorithms.Entry, a algorithms.Algorithm, env envs.Env) error {
	spec := env.Spec()
	_, simulated := env.(*envs.Simulator)
	_, discrete := env.(envs.Discrete)
	o, ok := a.(interface{ NeedsObservations() bool })
	observes := ok && o.NeedsObservations()
	name := cmp.Or(s.Name, s.Algorithm, "this run")
	switch {
	case spec.Descriptor.Kind == envs.None:
		return names.Wrongf("%s has no descriptor, which a repertoire needs", spec.Name)
	case simulated && (observes || s.Corrected > 0):
		return names.Wrongf("%s needs transitions or rollouts, which a simulator on the host does not return: "+
			"use map-elites, cma-mae, dns or mome, without Corrected", name)
	case spec.Observations == 0 && observes:
		return names.Wrongf("%s learns from observations, of which %s has none: use an algorithm "+
			"that does not, such as map-elites", name, spec.Name)
	case discrete && s.Loop == nil && !entry.DiscreteActions:
		return fmt.Errorf("%s has discrete actions, which %s does not learn: use ppo", spec.Name, s.Algorithm)
	}
	return nil
}

// Training returns what the spec configures; ctx interrupts reading a robot. A panic, as of a field that is a nil
// pointer, is an error.
func (s Spec) Training(ctx context.Context) (t Training, err error) {
	if panicked := xla.CatchUse("Spec", s, func() { t, err = s.training(ctx) }); panicked != nil {
		return Training{}, panicked
	}
	return t, err
}

func (s Spec) training(ctx context.Context) (t Training, err error) {
	if s.Robot != "" {
		if err := s.readRobot(ctx); err != nil {
			return t, err
		}
	}
	entry := algorithms.Entry{Defaults: func(envs.Spec) algorithms.Algorithm { return s.Loop }}
	if s.Loop == nil {
		if entry, err = registry.Find(s.Algorithm); err != nil {
			return t, err
		}
	} else if s.Algorithm != "" {
		return t, errors.New("Algorithm and Loop are mutually exclusive: set one of them")
	}
	env, err := s.environment(entry.Options...)
	if err != nil {
		return t, err
	}
	algorithm, tuned := entry.Tuned(env.Spec(), s.Tune)
	if err := cmp.Or(s.fits(entry, algorithm, env), tuned); err != nil {
		return t, err
	}
	if f, ok := algorithm.(interface{ Fits(envs.Env) error }); ok {
		if err := f.Fits(env); err != nil {
			return t, err
		}
	}
	var replaced []string
	if s.Loop == nil {
		original, _ := entry.Tuned(env.Spec(), nil)
		replaced = parts.Replaced(original, algorithm)
	}
	custom := s.Loop != nil || len(replaced) > 0
	taken := slices.Contains(append(records.Names(), records.Adaptation, records.HierarchicalControl), s.Name)
	if custom && (s.Name == "" || taken) {
		return t, errors.New("a variant needs a name that no algorithm has: set Name together with the parts that you replace")
	}
	if taken && s.Name != s.Algorithm {
		return t, fmt.Errorf("Name is %q, which is an algorithm other than %s: choose a name that no algorithm has, "+
			"or leave it out", s.Name, s.Algorithm)
	}
	if err := cmp.Or(limits.Int("--corrected (Spec.Corrected)", s.Corrected, 0, policies.MaxEpisodes),
		s.Budget.Validate(), s.CorrectedBy.Check(), s.CorrectedBy.Used(s.Corrected > 0)); err != nil {
		return t, err
	}
	name := cmp.Or(s.Name, entry.Name)
	config, err := runs.NewConfig(name, env.Spec().Name, s.Seed, algorithm)
	if err != nil {
		return t, err
	}
	s.Runs, s.Budget = cmp.Or(s.Runs, runs.Folder()), cmp.Or(s.Budget, PaperBudget)
	t = Training{Spec: s, Config: config, Own: s.own(replaced), Env: env, Algorithm: algorithm}
	if name != entry.Name {
		t.Base = entry.Name
	}
	if t.Config.Parts, err = s.fingerprints(&t, custom); err == nil {
		err = s.start(&t)
	}
	return t, err
}

// fingerprints hashes the programs of a training with code of its user.
func (s Spec) fingerprints(t *Training, custom bool) (map[string]string, error) {
	part, facts := "algorithm", []any(nil)
	if env := t.Env.Spec(); s.Environment != nil {
		env.Descriptor.Components = nil // the names have no effect
		facts = []any{env.Descriptor, env.Offset, env.Initial}
		if d, ok := s.Environment.(envs.Discrete); ok {
			facts = append(facts, d.Choices())
		}
		if !custom {
			part = "environment"
		}
	} else if !custom {
		return nil, nil
	}
	if simulator, ok := t.Env.(*envs.Simulator); ok {
		env := simulator.Facts
		facts = append(facts, env.Observations, env.Actions, env.Length, env.Objectives, simulator.Bounded)
		if part == "environment" {
			return map[string]string{part: hash(fmt.Append(nil, facts...))}, nil
		}
	}
	print, err := t.Fingerprint(facts...)
	return map[string]string{part: print}, err
}

// environment returns Environment, or makes the environment that Env names, with options.
func (s Spec) environment(options ...envs.Option) (envs.Env, error) {
	if s.Environment == nil {
		return envs.Make(s.Env, options...)
	}
	if s.Env != "" {
		return nil, errors.New("Env and Environment are mutually exclusive: set one of them")
	}
	spec := s.Environment.Spec()
	if slices.Contains(envs.Names(), spec.Name) {
		return nil, names.Wrongf("%q is the name of a built-in environment: choose another name in "+
			"the Spec of your environment", spec.Name)
	}
	env := s.Environment
	if inner, ok := envs.Inner(env).(*envs.Simulator); ok { // a wrapper has no part in it but its facts
		simulator := *inner
		simulator.Facts, env = spec, &simulator
	}
	return env, envs.Validate(env)
}
