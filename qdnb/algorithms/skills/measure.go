package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// policies are an actor's skills as separate policies, see [Problem.Genotypes], and its row.
type policies struct{ Genotypes, Policy xla.Array }

// plan returns the episodes of an evaluation, which record positions in a plane.
func (p Problem) plan(states int) scoring.Plan {
	skills := max(1, p.Skills.Count())
	plan := scoring.Plan{Policies: skills, Episodes: skills * states}
	if d := p.Env.Spec().Descriptor; d.Kind == envs.Final && len(d.Lower) == 2 {
		plan.Recorders = []envs.Recorder{{Every: 1, Width: 2,
			Row: func(before envs.State, _ *graph.Node, _ envs.State) *graph.Node {
				return before.Descriptor
			}}}
	}
	return plan
}

// actor returns the actor on the device.
func (s *search) actor() xla.State[nn.Network] {
	return xla.Part(s.state, func(s state) nn.Network { return s.Learner.Actor.Params })
}

// policies returns the genotypes of the current skills.
func (s *search) policies() (xla.Array, error) {
	out, err := s.skills.Run(s.actor())
	out.Policy.Free()
	return out.Genotypes, err
}

// Evaluate rolls out the current skills without noise, in one episode from each initial state: episode i has
// skill i mod skills. It also returns the row of the actor, see [Problem.WithOneHotSkills]. The only record, if
// they are positions in a plane, is the state descriptors before each step. It does not change the search.
func (s *search) Evaluate() (policy []float32, found scoring.Results, err error) {
	out, err := s.skills.Run(s.actor())
	if err != nil {
		return nil, found, err
	}
	defer xla.Free(&out)
	if policy, err = out.Policy.Floats(); err != nil {
		return nil, found, err
	}
	found, err = s.Rollout(out.Genotypes)
	return policy, found, err
}
