package qdnb

import (
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Programs returns every program of a run, as it is built for a kind of backend (cpu, cuda or tpu)
// with the given number of devices. It compiles and computes nothing and needs no such device; see
// [xla.DryRun]. Besides the algorithms of [Train], the spec may name adaptation, or
// hierarchical-control with five skills of the paper's size.
func (s Spec) Programs(kind backend.Kind, devices int) ([]session.Program, error) {
	switch s.Algorithm {
	case protocol.HierarchicalControl:
		return session.Programs(kind, devices, func(p *xla.Platform) error { return controlPrograms(p, s) })
	case protocol.Adaptation:
		return session.Programs(kind, devices, func(p *xla.Platform) error { return adaptPrograms(p, s) })
	}
	t, err := s.resolve()
	if err != nil {
		return nil, err
	}
	return t.Programs(kind, devices)
}

// adaptPrograms compiles the evaluation of policies under conditions, of the paper's size: twenty
// policies at once, a hundred episodes each.
func adaptPrograms(platform *xla.Platform, spec Spec) error {
	if spec.Tune != nil {
		if err := spec.Tune(&struct{}{}); err != nil {
			return err
		}
	}
	env, err := envs.Make(spec.Env)
	if err != nil {
		return err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return err
	}
	const together, states = 20, 100
	task := scoring.NewTask(live, []int{256, 256}, env.Spec().Length)
	evaluator, err := scoring.NewEvaluator(platform, task, scoring.Plan{Policies: together,
		States: states, Slice: policies.Slice(platform.Kind, together, states, task)})
	if err != nil {
		return err
	}
	evaluator.Free()
	return nil
}

// controlPrograms runs the first iterations of a meta-controller.
func controlPrograms(platform *xla.Platform, spec Spec) error {
	if spec.Env != policies.HurdlesEnv {
		return fmt.Errorf("hierarchical control is on %s, not on %q", policies.HurdlesEnv, spec.Env)
	}
	settings, err := controlSettings(spec.Tune)
	if err != nil {
		return err
	}
	const number = 5
	skills := policies.HurdlesSkills([]int{256, 256}, true)
	params := skills.Net.Params()
	skills.Rows = npz.Of(make([]float32, number*params), number, params)
	env, err := settings.Environment(skills)
	if err != nil {
		return err
	}
	options := session.Options{Config: runs.Config{Seed: spec.Seed}}
	return session.Training{Options: options, Env: env, Algorithm: settings}.Steps(platform, 2)
}
