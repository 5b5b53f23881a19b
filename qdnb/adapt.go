package qdnb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// AdaptSpec configures [Adapt].
type AdaptSpec struct {
	// Skills is a finished run. Its policy's five skills are evaluated, or all filled cells of its
	// repertoire if it has no skills.
	Skills *runs.Run
	// SkillsBudget is the budget that the skills were trained for; the run's budget if zero. It is
	// part of the configuration of the results.
	SkillsBudget runs.Budget

	// Environment is needed by a run in a custom environment: that environment, or another one of the
	// same name. Its code is part of the identity of the results.
	Environment envs.Env

	Perturbation envs.Perturbation
	Values       [][]float64 // of the perturbation; nil: the paper's
	Episodes     int         // per skill and value, from different initial states; 0: the paper's 100
	Seed         int64       // of the initial states, which all skills and values share

	Runs    string // folder of the results; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar; warnings are still printed
}

// Config returns the configuration of the run of [Adapt]. The training run is given by its
// configuration and budget, and need not exist yet.
func (s AdaptSpec) Config(training runs.Config, trained runs.Budget) (runs.Config, error) {
	env := s.Environment
	if env == nil {
		var err error
		if env, err = envs.Make(training.Env); err != nil {
			return runs.Config{}, fmt.Errorf("%w; for a custom environment, set Environment", err)
		}
	} else if name := env.Spec().Name; name != training.Env {
		return runs.Config{}, fmt.Errorf("the skills are those of %s, the Environment is %s", training.Env, name)
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return runs.Config{}, err
	}
	values := s.Values
	if values == nil {
		values = s.Perturbation.Values()
	}
	for _, value := range values {
		c, err := s.Perturbation.Apply(live.Nominal(), value)
		if err == nil {
			_, err = live.Values(c)
		}
		if err != nil {
			return runs.Config{}, err
		}
	}
	if len(values) == 0 {
		_, err := s.Perturbation.Apply(live.Nominal(), nil)
		return runs.Config{}, err
	}
	if s.Episodes == 0 {
		s.Episodes = 100
	}
	config, err := runs.NewConfig(records.Adaptation, training.Env, training.Seed, session.Adaptation{
		Skills: training.Name(), SkillsBudget: trained, Perturbation: s.Perturbation, Values: values,
		Episodes: s.Episodes, StatesSeed: s.Seed,
	})
	if err == nil && s.Environment != nil {
		var code runs.Config
		code, err = Spec{Algorithm: "map-elites", Environment: live}.Config()
		config.Parts = code.Parts
	}
	return config, err
}

// Adapt evaluates the skills of a run in a changed environment, without further training: the
// paper's few-shot adaptation. It creates a run, whose metrics hold a row per value of the
// perturbation and skill (a skill's number, or a cell) with statistics of the fitness over the
// episodes, such as the median. A method's score under a value is the median of the best skill.
// Like [Train], it loads a finished run, resumes an interrupted one, and returns [ErrInterrupted]
// when ctx is done.
//
// For runs of AURORA it evaluates the measured repertoire, not the algorithm's own archive. The
// members of that repertoire are also members of the archive.
func Adapt(ctx context.Context, s AdaptSpec) (*runs.Run, error) {
	if s.Skills == nil {
		return nil, errors.New("no run is given: set Skills to the run whose skills to evaluate")
	}
	config, err := s.Config(s.Skills.Config, cmp.Or(s.SkillsBudget, s.Skills.Status.Budget))
	if err != nil {
		return nil, err
	}
	return session.Adapt(ctx, session.Options{Root: cmp.Or(s.Runs, runs.Folder()), Config: config,
		Own: Spec{Environment: s.Environment}.own(nil), Backend: s.Backend, Quiet: s.Quiet}, s.Skills, s.Environment)
}
