package experiments

import (
	"cmp"
	"context"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// control returns the meta-controller's hyperparameters that differ from the paper's, and its
// budget.
func (s Scale) control() (set []string, budget runs.Budget) {
	switch s {
	case Paper:
		return nil, session.ControlBudget
	case Medium:
		return []string{"value_hidden=64,64"}, runs.Budget{CPU: results.MediumTime}
	case Small:
		return []string{
			"num_envs=128", "evaluation_envs=64", "evaluation_interval=4", "batch_size=32",
			"num_minibatches=8", "update_epochs=4", "learning_rate=0.001",
			"value_hidden=64,64",
		}, runs.Budget{EnvSteps: 2_048_000}
	}
	return []string{
		"num_envs=16", "evaluation_envs=8", "batch_size=8", "num_minibatches=2", "update_epochs=2",
		"policy_hidden=16,16", "value_hidden=16,16",
		"unroll_length=5",
	}, runs.Budget{Generations: 3}
}

// trainController trains a meta-controller on the skills of the run that a line needs.
func (e *executor) trainController(ctx context.Context, line sweep.Line, skills *runs.Run, trained runs.Budget) error {
	set, err := line.Run.Assignments("skills", "skills_budget")
	if err != nil {
		return err
	}
	spec := qdnb.ControlSpec{Skills: skills, SkillsBudget: trained, Budget: line.Budget,
		Tune: runs.Assign(set...), Runs: e.Runs, Backend: e.Backend, Quiet: e.Quiet}
	made, err := spec.Config(skills.Config, trained)
	if err = cmp.Or(err, session.SameRun(line.Run, made)); err != nil {
		return err
	}
	_, err = qdnb.Control(ctx, spec)
	return err
}
