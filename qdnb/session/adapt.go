package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// AdaptSpec configures [Adapt].
type AdaptSpec struct {
	// Skills is a finished run. Its policy's five skills are evaluated, or all filled cells of its
	// repertoire if it has no skills.
	Skills *runs.Run
	// SkillsBudget is the budget that the skills were trained for; the run's budget if zero. It is
	// part of the configuration of the results.
	SkillsBudget runs.Budget

	// Environment is needed by a run in a custom environment, but for that of a Robot: that environment, or another one
	// of the same name. Its code is part of the identity of the results.
	Environment envs.Env

	// Policy is the architecture of a run whose policies have code of the user. Its code, too, is part of
	// the identity.
	Policy nn.Architecture

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
	if err := (envs.Conditions{s.Perturbation: s.Perturbation.Nominal()}).Check(); err != nil {
		return runs.Config{}, err
	}
	live, err := envs.Adjust(env, s.Perturbation)
	if err != nil {
		return runs.Config{}, err
	}
	values := s.Values
	if values == nil {
		values = s.Perturbation.Values()
	}
	for _, value := range values {
		if _, err := live.Values(envs.Conditions{s.Perturbation: value}); err != nil {
			return runs.Config{}, err
		}
	}
	if len(values) == 0 {
		return runs.Config{}, fmt.Errorf("there are no values of %s: set Values", s.Perturbation)
	}
	if s.Episodes == 0 {
		s.Episodes = 100
	}
	config, err := runs.NewConfig(records.Adaptation, training.Env, training.Seed, Adaptation{
		Skills: training.Name(), SkillsBudget: trained, Perturbation: s.Perturbation, Values: values,
		Episodes: s.Episodes, StatesSeed: s.Seed,
	})
	if err == nil && (s.Environment != nil || s.Policy != nil) {
		code := Spec{Algorithm: "map-elites", Env: training.Env}
		if s.Environment != nil {
			code.Env, code.Environment = "", live
		}
		if s.Policy != nil {
			code.Name, code.Tune = "own-policies", func(m any) error {
				m.(*evolution.MapElites).Policy = s.Policy
				return nil
			}
		}
		var identity runs.Config
		identity, err = code.Config()
		config.Parts = identity.Parts
	}
	return config, err
}

// Adapt evaluates the skills of a run in a changed environment; see qdnb.Adapt.
func Adapt(ctx context.Context, s AdaptSpec) (*runs.Run, error) {
	if s.Skills == nil {
		return nil, errors.New("no run is given: set Skills to the run whose skills to evaluate")
	}
	var config runs.Config
	var err error
	if s.Environment == nil && s.Skills.Robot() != "" {
		if s.Environment, err = policies.Environment(s.Skills); err != nil {
			return nil, err
		}
	}
	if panicked := xla.CatchUse("AdaptSpec", s, func() {
		config, err = s.Config(s.Skills.Config, cmp.Or(s.SkillsBudget, s.Skills.Status.Budget))
	}); panicked != nil {
		err = panicked
	}
	if err != nil {
		return nil, err
	}
	t, err := ofSkills(config, s.Skills, s.Environment)
	if err != nil {
		return nil, err
	}
	a := t.Algorithm.(*Adaptation)
	a.ctx, a.policy = ctx, s.Policy
	var own []string
	if s.Policy != nil {
		own = []string{"Policy"}
	}
	t.Spec = Spec{Environment: s.Environment, Runs: cmp.Or(s.Runs, runs.Folder()), Backend: s.Backend, Quiet: s.Quiet}
	t.Config, t.Own = config, t.Spec.own(own)
	return t.Run(ctx)
}

// ofSkills returns the training of a run of [Adapt] or [Control] that uses the skills of another run,
// without its Spec and Config. env is the environment of an adaptation; nil: the built-in one of the skills.
func ofSkills(config runs.Config, skills *runs.Run, env envs.Env) (t Training, err error) {
	if config.Algorithm != records.Adaptation {
		var settings policies.ControlSettings
		if err := config.Settings(&settings); err != nil {
			return t, err
		}
		rows, err := policies.ForControl(skills)
		if err != nil {
			return t, err
		}
		env, err = settings.Environment(rows)
		return Training{Env: env, Algorithm: &settings, Skills: skills}, err
	}
	a := &Adaptation{skills: skills, ctx: context.Background()}
	if err := config.Settings(a); err != nil {
		return t, err
	}
	if env == nil {
		if env, err = policies.Environment(skills); err != nil {
			return t, err
		}
	}
	if live, err := envs.Adjust(env, a.Perturbation); err == nil {
		env = live
	}
	return Training{Env: env, Algorithm: a, Skills: skills}, nil
}

// Adaptation are the hyperparameters of a run of [Adapt], an [algorithms.Algorithm] whose
// generations are the values of the perturbation.
type Adaptation struct {
	Skills       string            `json:"skills"` // name of the folder of the run
	SkillsBudget runs.Budget       `json:"skills_budget"`
	Perturbation envs.Perturbation `json:"perturbation"`
	Values       [][]float64       `json:"values"`
	Episodes     int               `json:"episodes"`
	StatesSeed   int64             `json:"states_seed"`

	skills *runs.Run
	policy nn.Architecture // see [AdaptSpec]
	ctx    context.Context // interrupts the evaluation under a value
}

// Check implements [algorithms.Algorithm]. [AdaptSpec.Config] has checked the settings.
func (a *Adaptation) Check() error { return nil }

// New implements [algorithms.Algorithm].
func (a *Adaptation) New(p *xla.Platform, env envs.Env, _ int64) (algorithms.Search, error) {
	set, err := policies.All(a.skills)
	if err != nil {
		return nil, err
	}
	set.Architecture = a.policy
	rollouts, err := policies.NewRollouts(p, set, env, a.Episodes, a.StatesSeed)
	if err != nil {
		return nil, err
	}
	return &adapting{Adaptation: a, rollouts: rollouts, skills: int64(len(set.Policies))}, nil
}

// watch shows the progress within a step.
func (s *session) watch(evaluations int64) {
	_, metrics := s.describe()
	s.bar.Update(s.Spec.Budget.Fraction(runs.Progress{Evaluations: s.status.Evaluations + evaluations}), metrics...)
}

// adapting is the search of an [Adaptation]. It has no repertoire: its results are rows of metrics.csv. Its
// Columns are all columns, and the first is the number of the row, which is its generation.
type adapting struct {
	*Adaptation
	rollouts *policies.Rollouts
	skills   int64
	index    int64                   // of the next value
	rows     [][]float64             // of the newest step
	best     float64                 // largest median of the newest step
	watch    func(evaluations int64) // is called in a step with the number of its evaluations so far
}

// Step evaluates all skills under the next value. An interrupted value is evaluated again.
func (a *adapting) Step() (o scoring.Outcome, err error) {
	value := a.Values[a.index]
	evaluations := int64(0)
	results, err := a.rollouts.Run(a.ctx, envs.Conditions{a.Perturbation: value}, func(episodes int) {
		evaluations += int64(episodes)
		a.watch(evaluations)
	})
	if err != nil {
		return o, err
	}
	x, y := value[0], math.NaN()
	if len(value) > 1 {
		y = value[1]
	}
	a.rows, a.best = nil, math.Inf(-1)
	for k, r := range results {
		low, high := r.Quartiles()
		a.rows = append(a.rows, []float64{float64(a.index*a.skills + int64(k)), float64(a.index), x, y,
			float64(r.Number), r.Median(), r.Mean(), r.Std(), low, high})
		if r.Median() > a.best { // not for NaN
			a.best = r.Median()
		}
	}
	a.index++
	o.Generation, o.Evaluations = a.index*a.skills-1, a.index*a.skills*int64(a.Episodes)
	o.EnvSteps = o.Evaluations * int64(a.rollouts.Task.Length)
	return o, nil
}

func (a *adapting) Columns() []string {
	return []string{"generation", "index", "x", "y", "skill", "fitness_median", "fitness_mean",
		"fitness_std", "fitness_q1", "fitness_q3"}
}

// total is the number of evaluations after which it is done.
func (a *adapting) total() int64 { return int64(len(a.Values)) * a.skills * int64(a.Episodes) }

// describe returns the state that a checkpoint saves and the metrics for the progress bar, the most
// important first, given the status of the run.
func (a *adapting) describe(s runs.Status) (state string, metrics []string) {
	if s.Evaluations > 0 { // a value is complete
		metrics = []string{fmt.Sprintf("best median %.4g", s.MaxFitness)}
	}
	under := a.Values[min(a.index, int64(len(a.Values)-1))]
	return fmt.Sprintf("value %d of %d", a.index, len(a.Values)),
		append(metrics, fmt.Sprintf("%s %v", a.Perturbation, under))
}

func (a *adapting) State() *xla.Checkpoint { return xla.Stored(&a.index) }

func (a *adapting) Repertoire(bool) (map[string]npz.Array, error) { return nil, nil }

func (a *adapting) Task() scoring.Task { return a.rollouts.Task }

func (a *adapting) CompileTime() time.Duration { return a.rollouts.CompileTime }

func (a *adapting) Close() { a.rollouts.Close() }
