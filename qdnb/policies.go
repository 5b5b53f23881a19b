package qdnb

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
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

// policiesOf returns the selected policies of a run; without a selection all skills, or the best
// cell if the run has no skills. hidden is the sizes of the hidden layers of skills. It is nil for
// cells, since the run's settings hold them.
func policiesOf(run *runs.Run, skills, cells []int) (policies []Policy, hidden []int, err error) {
	if err := ownPolicies(run); err != nil {
		return nil, nil, err
	}
	switch {
	case len(skills) > 0 && len(cells) > 0:
		return nil, nil, errors.New("skills and cells are mutually exclusive: give one of them")
	case len(skills) > 0 && !run.HasSkills() && run.HasRepertoire():
		return nil, nil, errors.Errorf("%s has a repertoire and no skills: give a cell", run.Name())
	case len(cells) > 0 && !run.HasRepertoire() && run.HasSkills():
		return nil, nil, errors.Errorf("%s has skills and no repertoire: give a skill", run.Name())
	case !run.HasSkills() && !run.HasRepertoire():
		return nil, nil,
			errors.Errorf("%s has neither skills nor a repertoire yet: train it to the end first", run.Dir)
	case len(skills) > 0, len(cells) == 0 && run.HasSkills():
		return skillsOf(run, skills)
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, nil, err
	}
	if len(cells) == 0 {
		cells = []int{repertoire.Best()}
		if cells[0] < 0 {
			return nil, nil, errors.Errorf("the repertoire of %s is empty", run.Name())
		}
	}
	policies, err = policiesIn(run, repertoire, cells)
	return policies, nil, err
}

// ownPolicies returns an error if a run has no policies because it uses the skills of another run.
func ownPolicies(run *runs.Run) error {
	if a := run.Config.Algorithm; a != Adaptation && a != HierarchicalControl {
		return nil
	}
	var settings struct {
		Skills string `json:"skills"`
	}
	_ = json.Unmarshal(run.Config.Hyperparameters, &settings) // the name is only a hint
	return errors.Errorf("%s has no policies of its own: name the run whose skills it uses, %s",
		run.Name(), settings.Skills)
}

// policiesIn returns the policies in cells of a run's repertoire. An empty cell is an error.
func policiesIn(run *runs.Run, r *runs.Repertoire, cells []int) (policies []Policy, err error) {
	filled := r.Filled()
	for _, cell := range cells {
		if cell < 0 || cell >= r.Cells() {
			return nil, errors.Errorf("there is no cell %d: the repertoire of %s has cells 0 to %d", cell,
				run.Name(), r.Cells()-1)
		}
		if _, ok := slices.BinarySearch(filled, cell); !ok {
			if len(filled) == 0 {
				return nil, errors.Errorf("cell %d is empty, like all cells of %s", cell, run.Name())
			}
			return nil, errors.Errorf("cell %d is empty; the nearest filled cell of %s is %d",
				cell, run.Name(), r.Near(r.Centroid(cell)...))
		}
		policies = append(policies, Policy{true, cell, r.Genotype(cell)})
	}
	return policies, nil
}

// skillsOf returns the selected skills of a run, all if none is selected.
func skillsOf(run *runs.Run, wanted []int) ([]Policy, []int, error) {
	skills, err := run.Skills()
	if err != nil {
		return nil, nil, err
	}
	if len(wanted) == 0 {
		for k := range skills.Skills() {
			wanted = append(wanted, k)
		}
	}
	var policies []Policy
	for _, k := range wanted {
		if k < 0 || k >= skills.Skills() {
			return nil, nil, errors.Errorf("there is no skill %d: %s has skills 0 to %d", k, run.Name(),
				skills.Skills()-1)
		}
		policies = append(policies, Policy{false, k, skills.Genotype(k)})
	}
	return policies, append([]int{}, skills.Hidden...), nil
}

// everySkill returns all skills of a run. For a run without skills, it returns all filled cells of
// the repertoire.
func everySkill(run *runs.Run) ([]Policy, []int, error) {
	if run.HasSkills() {
		return policiesOf(run, nil, nil)
	}
	if err := ownPolicies(run); err != nil {
		return nil, nil, err
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, nil, err
	}
	policies, err := policiesIn(run, repertoire, repertoire.Filled())
	if err == nil && len(policies) == 0 {
		err = errors.Errorf("the repertoire of %s is empty: train it longer", run.Name())
	}
	return policies, nil, err
}

// fits returns an error if policies of a run do not fit a task.
func fits(task scoring.Task, run *runs.Run, params int) error {
	spec := task.Env.Spec()
	if trained, err := envs.Make(run.Config.Env); err == nil {
		if t := trained.Spec(); t.Observations != spec.Observations || t.Actions != spec.Actions {
			return errors.Errorf("%s has %d observations and %d actions, but the policies of %s are for "+
				"%s, which has %d and %d",
				spec.Name, spec.Observations, spec.Actions, run.Name(), t.Name, t.Observations, t.Actions)
		}
	}
	if want := task.Policy.Params(); want != params {
		return errors.Errorf("policies for %s have %d parameters, but those of %s have %d: it was "+
			"trained in another environment", spec.Name, want, run.Name(), params)
	}
	return nil
}
