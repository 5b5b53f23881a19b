package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
)

// hurdlesSkillEnv is the environment that supplies the skills of [Control].
const hurdlesSkillEnv = "halfcheetah-uni"

// ControlSpec configures [Control].
type ControlSpec struct {
	// Skills is a finished run of halfcheetah-uni. The meta-controller chooses among the skills of
	// its policy, or all filled cells of its repertoire if it has no skills.
	Skills *runs.Run
	// SkillsBudget is the budget that the skills were trained for; the run's budget if zero. It is
	// part of the configuration of the results.
	SkillsBudget runs.Budget

	Tune   Tuning      // changes the hyperparameters, which are [policies.MetaController]
	Budget runs.Budget // ends the run at its first limit; [ControlBudget] if zero

	Runs    string // folder of the results; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar; warnings are still printed
}

// ControlBudget is the paper's budget: 61 iterations, just below 200 million environment steps.
var ControlBudget = runs.Budget{EnvSteps: 199_884_800}

// Config returns the configuration of the run of [Control]. The training run is given by its
// configuration and budget, and need not exist yet. The seed is the training run's.
func (s ControlSpec) Config(training runs.Config, trained runs.Budget) (runs.Config, error) {
	if training.Env != hurdlesSkillEnv {
		return runs.Config{}, fmt.Errorf("%s needs skills of %s, but %s is a run on %s",
			policies.HurdlesEnv, hurdlesSkillEnv, training.Name(), training.Env)
	}
	c, err := controlSettings(s.Tune)
	if err != nil {
		return runs.Config{}, err
	}
	c.Skills, c.SkillsBudget = training.Name(), trained
	return runs.NewConfig(records.HierarchicalControl, policies.HurdlesEnv, training.Seed, c)
}

// controlSettings returns the paper's settings of [Control], tuned.
func controlSettings(tune Tuning) (*policies.ControlSettings, error) {
	c := policies.DefaultControl()
	if tune != nil {
		if err := tune(&c.MetaController); err != nil {
			return nil, err
		}
	}
	return c, c.Check()
}

// Control trains a meta-controller that chooses which skill of a run acts next; see qdnb.Control.
func Control(ctx context.Context, s ControlSpec) (*runs.Run, error) {
	if s.Skills == nil {
		return nil, errors.New("no run is given: set Skills to the run whose skills to choose among")
	}
	config, err := s.Config(s.Skills.Config, cmp.Or(s.SkillsBudget, s.Skills.Status.Budget))
	if err = cmp.Or(err, s.Budget.Validate()); err != nil {
		return nil, err
	}
	t, err := ofSkills(config, s.Skills, nil)
	if err != nil {
		return nil, err
	}
	t.Spec = Spec{Runs: cmp.Or(s.Runs, runs.Folder()), Budget: cmp.Or(s.Budget, ControlBudget), Backend: s.Backend,
		Quiet: s.Quiet}
	t.Config = config
	return t.Run(ctx)
}
