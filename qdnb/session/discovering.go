package session

import (
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// discovering is the reinforcement-learning family.
type discovering struct{ skills.Hyperparameters }

func (d discovering) Settings() any             { return d.Hyperparameters }
func (discovering) Printed(env string) []string { return skills.Printed(env) }

func (d discovering) measured() measured {
	b := d.Base()
	return measured{b.CVT, b.Hidden, b.EpisodeLength, scoring.Float32}
}

func (d discovering) Takes(algorithm string, p Parts) error {
	if p.Emitter != nil || p.Learner != nil || p.Archive != nil {
		return errors.Errorf("%s has no emitter, learner or archive to replace: set Diversity or "+
			"Objective", algorithm)
	}
	if (p.Diversity != nil || p.Objective != nil) && d.Method().Diversity == nil {
		return errors.New("sac has no skills: use diayn-reward and replace its Diversity or Objective")
	}
	return nil
}

func (discovering) Observes(envs.Env, Parts) bool { return true }

func (d discovering) Fingerprints(t Training) (map[string]string, error) {
	own := skills.Method{Diversity: t.Parts.Diversity, Objective: t.Parts.Objective}
	return skills.Fingerprints(d.Task(t.Env), own, d.Base().BatchSize)
}

func (d discovering) search(t Training, platform *xla.Platform,
	centroids npz.Array) (search, error) {
	method := d.Method()
	if t.Parts.Diversity != nil {
		method.Diversity = t.Parts.Diversity
	}
	if t.Parts.Objective != nil {
		method.Objective = t.Parts.Objective
	}
	base, task := d.Base(), d.Task(t.Env)
	running, err := skills.New(platform, task, method,
		skills.Config{SAC: base, Seed: t.Seed, Centroids: centroids})
	if err != nil {
		return nil, err
	}
	return skilled{running, task, base.Hidden}, nil
}

// skilled is a [skills.Search]. A finished search has skills.
type skilled struct {
	*skills.Search
	task   skills.Task
	hidden []int
}

// skills returns the current policy and an evaluation of its skills.
func (s skilled) skills() (*runs.Skills, error) {
	evaluation, err := s.Evaluate()
	if err != nil {
		return nil, err
	}
	spec := s.task.Env.Spec()
	out := &runs.Skills{
		Observations: spec.Observations, Actions: spec.Actions, Count: s.task.Skills, Hidden: s.hidden,
		Fitnesses: evaluation.Fitnesses, Descriptors: evaluation.Descriptors,
		Trajectories: evaluation.Positions,
	}
	if out.Policy, out.Extra, err = s.Params(); err != nil {
		return nil, err
	}
	for i := range evaluation.Fitnesses {
		out.Which = append(out.Which, i%max(1, s.task.Skills))
	}
	return out, nil
}

func (d discovering) Skills(env envs.Env) (int, bool) { return d.Task(env).Skills, true }
