package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Evaluation is the result of evaluating skills without noise, in one episode from each initial
// state. Episode i is that of skill i mod skills.
type Evaluation struct {
	Genotypes       xla.Sharded // [skills, params] on all workers, see [Task.Genotypes]; of the search
	Policy          []float32   // row of the actor, see [Task.Numbered]
	scoring.Results             // of the episodes
	// Positions are the state descriptors before each step, [episodes * steps * 2]; nil if they are
	// not positions in a plane.
	Positions []float32
}

// measuring evaluates skills and holds the passive repertoire.
type measuring struct {
	episodes  int
	evaluator *scoring.Evaluator
	skills    *xla.Program[xla.State[nn.Network], policies]
	passive   *repertoire.Collection
	current   xla.Array // genotypes of the skills evaluated last, on all workers
}

// policies are an actor's skills as separate policies, and its row.
type policies struct{ Genotypes, Policy xla.Array }

// Task implements [algorithms.Search].
func (s *Search) Task() scoring.Task {
	task := s.it.Task
	return scoring.Task{Env: task.Env, Policy: task.policy(s.config.Hidden), Length: task.Length}
}

func (s *Search) newMeasuring() (*measuring, error) {
	task := s.it.Task
	m := &measuring{episodes: max(1, task.Skills.Count()) * s.config.EvaluationStates}
	evaluated := s.Task()
	var recorders []envs.Recorder
	if d := task.Env.Spec().Descriptor; d.Kind == envs.Final && len(d.Lower) == 2 {
		recorders = append(recorders, envs.Recorder{Every: 1, Width: 2,
			Row: func(before envs.State, _ *graph.Node, _ envs.State) *graph.Node {
				return before.Descriptor
			}})
	}
	var err error
	if m.evaluator, err = scoring.NewEvaluator(s.programs.Platform, evaluated, scoring.Plan{
		Policies: max(1, task.Skills.Count()), Episodes: m.episodes, Recorders: recorders}); err != nil {
		return nil, err
	}
	s.programs.Own(m.evaluator)
	m.skills, err = xla.Compile(s.programs, "skills", s.actor(),
		func(actor xla.State[nn.Network]) policies {
			numbered := task.Numbered(actor.Tree)
			return policies{xla.Out(task.Genotypes(numbered)), xla.Out(numbered.Join())}
		})
	if err != nil {
		return m, err
	}
	m.passive, err = repertoire.NewCollection(s.programs, evaluated, s.config.Centroids,
		max(1, task.Skills.Count()), m.episodes)
	return m, err
}

// actor returns the actor on the device.
func (s *Search) actor() xla.State[nn.Network] {
	return xla.Part(s.state, func(s state) nn.Network { return s.Learner.Actor.Params })
}

// Evaluate rolls out the current skills. It does not change the search.
func (s *Search) Evaluate() (Evaluation, error) {
	m := s.measuring
	m.current.Free()
	out, err := m.skills.Run(s.actor())
	if err != nil {
		return Evaluation{}, err
	}
	defer out.Policy.Free()
	if m.current, err = out.Genotypes.Spread(s.programs.Platform); err != nil {
		return Evaluation{}, err
	}
	policy, err := out.Policy.Floats()
	if err != nil {
		return Evaluation{}, err
	}
	genotypes := m.current.Value()
	found, err := m.evaluator.Evaluate(genotypes, s.config.Seed, nil)
	e := Evaluation{Genotypes: genotypes, Policy: policy, Results: found}
	if len(found.Records) > 0 {
		e.Positions = found.Records[0]
	}
	return e, err
}

// Repertoire implements [algorithms.Search]: the passive repertoire.
func (s *Search) Repertoire(genotypes bool) (map[string]npz.Array, error) {
	return s.measuring.passive.Arrays(genotypes)
}
