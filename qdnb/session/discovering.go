package session

import (
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
)

// skillsOf returns the current policy of a search and an evaluation of its skills.
func skillsOf(s *skills.Search) (*runs.Skills, error) {
	evaluation, err := s.Evaluate()
	if err != nil {
		return nil, err
	}
	spec, task := s.Task().Env.Spec(), s.Task()
	out := &runs.Skills{
		Observations: spec.Observations, Actions: spec.Actions, Count: s.Skills(),
		Hidden:    task.Policy.Sizes[1 : len(task.Policy.Sizes)-1],
		Fitnesses: evaluation.Fitnesses, Descriptors: evaluation.Descriptors,
		Trajectories: evaluation.Positions, Policy: evaluation.Policy,
	}
	if out.Extra, err = s.Diversity(); err != nil {
		return nil, err
	}
	for i := range evaluation.Fitnesses {
		out.Which = append(out.Which, i%max(1, s.Skills()))
	}
	return out, nil
}
