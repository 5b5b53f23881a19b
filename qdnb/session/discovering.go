package session

import (
	"errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// discovering is the reinforcement-learning family.
type discovering struct{ skills.Hyperparameters }

func (d discovering) Settings() any { return d.Hyperparameters }

func (d discovering) measured() measured {
	b := d.Base()
	return measured{b.CVT, b.Hidden, b.EpisodeLength, scoring.Float32}
}

func (d discovering) Takes(_ string, p Parts) error {
	own := skills.Parts{Diversity: p.Diversity, Objective: p.Objective}
	if parts := d.Replaced(); parts != nil {
		*parts = own
	} else if own != (skills.Parts{}) {
		return errors.New("sac has no skills: use diayn-reward and replace its Diversity or Objective")
	}
	return nil
}

func (discovering) Custom(p Parts) bool { return p != Parts{} }

func (discovering) Observes(envs.Env, Parts) bool { return true }

func (d discovering) Fingerprints(t Training) (map[string]string, error) {
	if parts := d.Replaced(); parts != nil {
		return skills.Fingerprints(d.Method(t.Env), *parts, d.Base().BatchSize)
	}
	return map[string]string{}, nil
}

func (d discovering) search(t Training, platform *xla.Platform,
	centroids npz.Array) (search, error) {
	base, method := d.Base(), d.Method(t.Env)
	running, err := skills.New(platform, method,
		skills.Config{SAC: base, Seed: t.Seed, Centroids: centroids})
	if err != nil {
		return nil, err
	}
	return skilled{running, method.Task, base.Hidden}, nil
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
		Observations: spec.Observations, Actions: spec.Actions, Count: s.task.Skills.Count(), Hidden: s.hidden,
		Fitnesses: evaluation.Fitnesses, Descriptors: evaluation.Descriptors,
		Trajectories: evaluation.Positions, Policy: evaluation.Policy,
	}
	if out.Extra, err = s.Diversity(); err != nil {
		return nil, err
	}
	for i := range evaluation.Fitnesses {
		out.Which = append(out.Which, i%max(1, s.task.Skills.Count()))
	}
	return out, nil
}

func (d discovering) Skills(env envs.Env) (int, bool) {
	return d.Method(env).Skills.Count(), true
}
