// Package policies selects the policies of finished runs, which are skills or the cells of a
// repertoire, and rolls them out.
package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// Policy is one skill, or the policy in a cell.
type Policy struct {
	Cell     bool      // whether it is a cell, not a skill
	Number   int       // of the skill or cell
	Genotype []float32 // parameters, [N]
}

// String names the policy, as in "cell 17" or "skill 3".
func (p Policy) String() string {
	if p.Cell {
		return fmt.Sprintf("cell %d", p.Number)
	}
	return fmt.Sprintf("skill %d", p.Number)
}

// Set is a selection of policies of a run.
type Set struct {
	Run      *runs.Run
	Policies []Policy // not empty
	// Architecture is set for policies with code of the user; nil: the run's settings hold it.
	Architecture nn.Architecture
	hidden       []int // layers of skills; nil for cells, whose layers the run's settings hold
	// most is the number of policies to compile for if the set may grow; 0: the present one.
	most int
}

// Select returns the policies of a run with the given numbers of skills or cells. Without numbers,
// it returns all skills, or the best cell if the run has no skills.
func Select(run *runs.Run, numbers, cells []int) (*Set, error) {
	if err := Own(run); err != nil {
		return nil, err
	}
	switch {
	case len(numbers) > 0 && len(cells) > 0:
		return nil, names.Wrongf("skills and cells are mutually exclusive: give one of them")
	case len(numbers) > 0 && !run.HasSkills() && run.HasRepertoire():
		return nil, names.Wrongf("%s has a repertoire and no skills: give a cell", run.Name())
	case len(cells) > 0 && !run.HasRepertoire() && run.HasSkills():
		return nil, names.Wrongf("%s has skills and no repertoire: give a skill", run.Name())
	case !run.HasSkills() && !run.HasRepertoire():
		return nil, unfinished(run)
	case len(numbers) > 0, len(cells) == 0 && run.HasSkills():
		return selectSkills(run, numbers)
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	if len(cells) == 0 {
		cells = []int{repertoire.Best()}
		if cells[0] < 0 {
			return nil, fmt.Errorf("the repertoire of %s is empty", run.Name())
		}
	}
	return selectCells(run, repertoire, cells)
}

// unfinished is the error of a run that has not written its policies.
func unfinished(run *runs.Run) error {
	advice := "rerun what trains it"
	if at := run.Status.Generation; at > 0 {
		advice += fmt.Sprintf(", to its end or with --generations %[1]d (Budget: qdnb.Generations(%[1]d)) to end it here; a "+
			"learner continues later only with --keep-replay (KeepReplay: true)", at)
	}
	return fmt.Errorf("%s has no policies yet: %s", run.Dir, advice)
}

// All returns all skills of a run, or all filled cells of the repertoire if it has no skills.
func All(run *runs.Run) (*Set, error) {
	if run.HasSkills() {
		return Select(run, nil, nil)
	}
	if err := Own(run); err != nil {
		return nil, err
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	set, err := selectCells(run, repertoire, repertoire.Filled())
	if err == nil && len(set.Policies) == 0 {
		err = fmt.Errorf("the repertoire of %s is empty: train it longer", run.Name())
	}
	return set, err
}

// Own returns an error if a run has no policies because it evaluates the skills of another run.
func Own(run *runs.Run) error {
	if run.Config.Algorithm != records.Adaptation {
		return nil
	}
	return names.Wrongf("%s has no policies of its own: name the run whose skills it uses, %s",
		run.Name(), run.Config.SkillsRun())
}

// selectCells returns the policies in cells of a run's repertoire. An empty cell is an error.
func selectCells(run *runs.Run, r *runs.Repertoire, cells []int) (*Set, error) {
	set := &Set{Run: run}
	filled, genotypes := r.Filled(), r.Rows()
	for _, cell := range cells {
		if cell < 0 || cell >= r.Cells() {
			return nil, names.Wrongf("there is no cell %d: the repertoire of %s has cells 0 to %d", cell, run.Name(), r.Cells()-1)
		}
		if _, ok := slices.BinarySearch(filled, cell); !ok {
			if len(filled) == 0 {
				return nil, fmt.Errorf("cell %d is empty, like all cells of %s", cell, run.Name())
			}
			return nil, names.Wrongf("cell %d is empty; the nearest filled cell of %s is %d",
				cell, run.Name(), r.Near(r.Centroid(cell)...))
		}
		set.Policies = append(set.Policies, Policy{true, cell, genotypes[cell]})
	}
	return set, nil
}

func selectSkills(run *runs.Run, wanted []int) (*Set, error) {
	all, err := run.Skills()
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		for k := range all.Skills() {
			wanted = append(wanted, k)
		}
	}
	set := &Set{Run: run, hidden: append([]int{}, all.Hidden...)}
	for _, k := range wanted {
		if k < 0 || k >= all.Skills() {
			return nil, names.Wrongf("there is no skill %d: %s has skills 0 to %d", k, run.Name(), all.Skills()-1)
		}
		set.Policies = append(set.Policies, Policy{false, k, all.Genotype(k)})
	}
	return set, nil
}

// Task returns the task of evaluating the policies in an environment. The settings of every
// algorithm and variant hold the hidden layers of the policies and the length of an episode, and
// those of neuroevolution may hold the format of weights. It is an error if the policies do not fit
// the environment.
func (s *Set) Task(env envs.Env) (scoring.Task, error) {
	task, err := s.task(env)
	if err != nil {
		return task, err
	}
	spec := env.Spec()
	t := s.trained() // nothing in a run whose first session trains it
	if t.Actions > 0 && (t.Observations != spec.Observations || t.Actions != spec.Actions) {
		return task, names.Wrongf("%s has %d observations and %d actions, but the policies of %s are "+
			"for %s, which has %d and %d", spec.Name, spec.Observations, spec.Actions, s.Run.Name(), t.Name,
			t.Observations, t.Actions)
	}
	if want, params := task.Policy.Params(), len(s.Policies[0].Genotype); want != params {
		return task, fmt.Errorf("policies for %s have %d parameters, but those of %s have %d: it was "+
			"trained in another environment", spec.Name, want, s.Run.Name(), params)
	}
	return task, nil
}

// Network returns the layers of the policies and the format of their weights in rollouts, also of a
// run in a custom environment. Other architectures are an error.
func (s *Set) Network() (nn.MLP, scoring.Precision, error) {
	policy, precision, err := s.Stored()
	if err != nil {
		return nn.MLP{}, "", err
	}
	m, ok := policy.(nn.MLP)
	if !ok {
		return m, "", fmt.Errorf("the policies of %s are not multilayer perceptrons, which this needs, but %v: only "+
			"qdnb can play them", s.Run.Name(), policy)
	}
	return m, precision, nil
}

// Stored returns the architecture that the settings of the run hold and the format of weights in rollouts,
// also of a run in a custom environment.
func (s *Set) Stored() (nn.Architecture, scoring.Precision, error) {
	env, err := Environment(s.Run)
	if err != nil {
		env = &envs.BlackBox{Facts: s.trained()}
	}
	task, err := s.task(env)
	return task.Policy, task.Weights, err
}

// TaskOf returns the task that a run's settings describe in an environment, for its cells. own is the
// architecture of policies with code of the user, else nil.
func TaskOf(run *runs.Run, env envs.Env, own nn.Architecture) (scoring.Task, error) {
	return (&Set{Run: run, Architecture: own}).task(env)
}

func (s *Set) task(env envs.Env) (scoring.Task, error) {
	base := evolution.DefaultMapElites(env.Spec())
	settings := struct {
		Hidden        *[]int             `json:"hidden"`
		PolicyHidden  *[]int             `json:"policy_hidden"` // of PPO
		EpisodeLength *int               `json:"episode_length"`
		Weights       *scoring.Precision `json:"weights"`
		Normalises    bool               `json:"normalize_observations"` // of PPO
		Memory        *int               `json:"memory"`
	}{&base.Hidden, &base.Hidden, &base.EpisodeLength, &base.Weights, false, &base.Memory}
	if err := json.Unmarshal(s.Run.Config.Hyperparameters, &settings); err != nil {
		return scoring.Task{}, fmt.Errorf("cannot read the settings of %s: %v", s.Run.Name(), err)
	}
	if s.hidden != nil {
		base.Hidden = s.hidden
	}
	task := scoring.NewTask(env, base.Hidden, base.EpisodeLength)
	task.Weights = base.Weights
	switch {
	case s.Architecture != nil:
		task.Policy = s.Architecture
		if err := task.CheckPolicy(); err != nil {
			return task, err
		}
	case settings.Hidden == nil:
		return task, fmt.Errorf("the policies of %s have code of their own, which its folder does not hold: "+
			"give it as Policy to Play or Adapt; they cannot be exported", s.Run.Name())
	case settings.Normalises:
		m := task.MLP()
		m.Normalises = true
		task.Policy = m
	}
	return task.WithMemory(base.Memory), nil
}

// trained returns name and sizes of the environment in which the policies were trained.
func (s *Set) trained() envs.Spec {
	status := s.Run.Status
	return envs.Spec{Name: s.Run.Config.Env, Observations: status.Observations, Actions: status.Actions}
}

// Environment makes the built-in environment that a run was trained in, with the options of its
// algorithm, or with its skills. A custom environment is an error.
func Environment(run *runs.Run) (envs.Env, error) {
	if run.Config.Algorithm == records.HierarchicalControl {
		return controlled(run)
	}
	if path := run.Robot(); path != "" {
		return envs.ReadRobot(context.Background(), path, envs.RobotTask{})
	}
	if name := run.Config.Env; !slices.Contains(envs.Names(), name) {
		return nil, fmt.Errorf("%s is not a built-in environment: new episodes need its code, in a "+
			"notebook or program that calls qdnb.Play with PlaySpec.Environment; export works without it", name)
	}
	entry, _ := registry.Find(cmp.Or(run.Status.Base, run.Config.Algorithm)) // a Loop has no options
	return envs.Make(run.Config.Env, entry.Options...)
}
