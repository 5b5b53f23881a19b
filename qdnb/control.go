package qdnb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/hierarchy"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// HierarchicalControl is the algorithm name of the runs of [Control].
const HierarchicalControl = protocol.HierarchicalControl

// The environment of [Control], and the environment that supplies the skills.
const (
	hurdlesEnv      = "halfcheetah-hurdles"
	hurdlesSkillEnv = "halfcheetah-uni"
)

// ControlSpec configures [Control].
type ControlSpec struct {
	// Skills is a finished run of halfcheetah-uni. The meta-controller chooses among the skills of
	// its policy, or all filled cells of its repertoire if it has no skills.
	Skills *runs.Run
	// SkillsBudget is the budget that the skills were trained for; the run's budget if zero. It is
	// part of the configuration of the results.
	SkillsBudget runs.Budget

	Set    []string    // overrides hyperparameters, as in "num_envs=64": see [hierarchy.Settings]
	Budget runs.Budget // ends the run at its first limit; [ControlBudget] if zero

	Runs    string // folder of the results; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar
}

// ControlBudget is the paper's budget: 61 iterations, just below 200 million environment steps.
var ControlBudget = runs.Budget{EnvSteps: 199_884_800}

// control are the hyperparameters of the runs of [Control].
type control struct {
	Skills       string      `json:"skills"` // name of the folder of the run
	SkillsBudget runs.Budget `json:"skills_budget"`
	hierarchy.Settings
}

// controlColumns are the columns of the metrics of [Control] before the losses, with a row per
// evaluation. fitness_max is the best of all evaluations so far.
var controlColumns = []string{
	"generation", "evaluations", "env_steps", "seconds", "fitness_mean", "fitness_std", "fitness_max",
	"hurdles_mean", "hurdles_max",
}

// ControlConfig returns the configuration of the run of [Control]. The training run is given by its
// configuration and budget, and need not exist yet. The seed is the training run's.
func ControlConfig(training runs.Config, trained runs.Budget, s ControlSpec) (runs.Config, error) {
	if training.Env != hurdlesSkillEnv {
		return runs.Config{}, errors.Errorf("%s needs skills of %s, but %s is a run on %s",
			hurdlesEnv, hurdlesSkillEnv, training.Name(), training.Env)
	}
	c := control{Settings: hierarchy.Default()}
	if err := cmp.Or(runs.Set(&c.Settings, s.Set...), c.Check()); err != nil {
		return runs.Config{}, err
	}
	c.Skills, c.SkillsBudget = training.Name(), trained
	return runs.NewConfig(HierarchicalControl, hurdlesEnv, training.Seed, c)
}

// Control trains a meta-controller that steers a half-cheetah over hurdles. Every ten steps the
// meta-controller, trained by PPO, chooses which skill of a run acts next. The skills are not
// trained further. Control creates a run, whose metrics are those of evaluations: the return of
// episodes, and how many of the ten hurdles they pass. Like [Train], it loads a finished run,
// resumes an interrupted one, extends a run whose budget has grown, and returns [ErrInterrupted]
// when ctx is done. [Watch] plays an episode of the trained controller.
func Control(ctx context.Context, s ControlSpec) (*runs.Run, error) {
	if s.Skills == nil {
		return nil, errors.New("no run is given: set Skills to the run whose skills to choose among")
	}
	if s.SkillsBudget == (runs.Budget{}) {
		s.SkillsBudget = s.Skills.Status.Budget
	}
	if s.Budget == (runs.Budget{}) {
		s.Budget = ControlBudget
	}
	if s.Runs == "" {
		s.Runs = runs.Folder()
	}
	config, err := ControlConfig(s.Skills.Config, s.SkillsBudget, s)
	if err = cmp.Or(err, s.Budget.Validate()); err != nil {
		return nil, err
	}
	if _, err := xla.Canonical(s.Backend); err != nil { // checked even if nothing is left to compute
		return nil, err
	}
	if run, err := runs.Open(filepath.Join(s.Runs,
		config.Name())); err == nil && run.Status.Finished && s.Budget.Done(run.Status.Progress) {
		return run, nil
	}
	if !s.Skills.Status.Finished {
		return nil, errors.Errorf("%s is not finished: train it to the end first", s.Skills.Dir)
	}
	c := &controlling{ControlSpec: s}
	defer c.close()
	if err := c.open(config); err != nil {
		c.abandon()
		return nil, err
	}
	if err := c.train(ctx); err != nil {
		return nil, err
	}
	return runs.Open(c.writer.Dir)
}

// controlling is a session of [Control].
type controlling struct {
	ControlSpec
	session
	search *hierarchy.Search
	last   []string // metrics of the newest evaluation, for the progress bar
}

// open opens the backend, compiles, and restores the newest checkpoint.
func (c *controlling) open(config runs.Config) error {
	arrays, err := c.session.open(c.Runs, config, c.Quiet)
	if err != nil {
		return err
	}
	c.bar.Update(c.Budget.Fraction(c.status.Progress), "compiling")
	platform, err := xla.Open(c.Backend)
	if err != nil {
		return err
	}
	c.use(platform)
	var settings control
	if err := config.Settings(&settings); err != nil {
		return err
	}
	skills, err := controlSkills(c.Skills)
	if err != nil {
		return err
	}
	if c.search, err = hierarchy.New(platform, skills.task, skills.rows, settings.Settings,
		config.Seed); err != nil {
		return err
	}
	if c.from >= 0 {
		if err := c.search.Restore(c.from, arrays); err != nil {
			return errors.WithMessage(err, c.writer.Name())
		}
	}
	return c.begin(c.Budget, c.search.CompileTime().Seconds(),
		append(slices.Clone(controlColumns), c.search.Losses()...)...)
}

func (c *controlling) close() {
	if c.search != nil {
		c.search.Close()
	}
	c.session.close()
}

func (c *controlling) train(ctx context.Context) error {
	for c.search.Iteration() < 0 || !c.Budget.Done(c.status.Progress) {
		if err := c.step(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			if err := c.save(); err != nil {
				return err
			}
			return c.interrupted(fmt.Sprintf("iteration %d", c.status.Generation))
		}
		if c.due() {
			if err := c.save(); err != nil {
				return err
			}
		}
	}
	policy, err := c.search.Policy()
	if err != nil {
		return err
	}
	if err := npz.Write(filepath.Join(c.writer.Dir, controlPolicyFile), policy); err != nil {
		return errors.Errorf("cannot write the policy of %s: %v; rerun the same command to resume from "+
			"the last checkpoint", c.writer.Name(), err)
	}
	c.status.Finished = true
	if err := c.save(); err != nil {
		return err
	}
	c.bar.Done(c.summary())
	return nil
}

// controlPolicyFile is the name of the file in a run's folder that holds the meta-controller.
const controlPolicyFile = "policy.npz"

// step runs an iteration and records it.
func (c *controlling) step() error {
	o, err := c.search.Step()
	if err != nil {
		return err
	}
	s := &c.status
	s.Generation, s.Evaluations, s.EnvSteps = o.Iteration, o.Evaluations, o.EnvSteps
	c.clock()
	s.MaxFitness = o.Best
	if e := o.Evaluation; e != nil {
		all := Evaluated{Fitnesses: e.Fitnesses}
		sum, most := 0.0, 0
		for i := range e.Fitnesses {
			passed := hurdlesPassed(float64(e.Farthest(i)))
			sum, most = sum+float64(passed), max(most, passed)
		}
		hurdles := sum / float64(len(e.Fitnesses))
		c.last = []string{fmt.Sprintf("hurdles %.2f", hurdles),
			fmt.Sprintf("mean fitness %.4g", all.Mean())}
		row := []float64{float64(s.Generation), float64(s.Evaluations), float64(s.EnvSteps), s.Seconds,
			all.Mean(), all.Std(), o.Best, hurdles, float64(most)}
		if err := c.writer.Log(append(row, o.Losses...)...); err != nil {
			return err
		}
	}
	c.bar.Update(c.Budget.Fraction(s.Progress), c.metrics()...)
	return nil
}

// metrics returns the metrics for the progress bar, the most important first.
func (c *controlling) metrics() []string {
	return append([]string{fmt.Sprintf("max fitness %.4g", c.status.MaxFitness)}, c.last...)
}

// summary returns the iteration and the newest metrics.
func (c *controlling) summary() string {
	return strings.Join(append([]string{fmt.Sprintf("iteration %d", c.status.Generation)},
		c.metrics()...), "  ")
}

// save writes a checkpoint.
func (c *controlling) save() error {
	arrays, err := c.search.Arrays()
	if err != nil {
		return err
	}
	return c.checkpoint(c.status.Generation, arrays)
}

// hurdlesPassed returns how many hurdles a torso has passed. x is its farthest observed position.
func hurdlesPassed(x float64) int {
	count := math.Ceil(metres(x)/catalog.HurdleSpacing) - 1 // the hurdles strictly before x
	if !(count > 0) {
		return 0
	}
	return int(min(count, catalog.HurdleNumber))
}

// metres converts the torso's observed position to its x in metres.
func metres(observed float64) float64 { return catalog.HurdlesHalfway * (observed + 1) }

// skillSet holds the skills that a meta-controller chooses among.
type skillSet struct {
	task    hierarchy.Task
	rows    npz.Array // [skills, N]
	numbers []int     // of the skills or cells, [skills]
}

// controlSkills returns the skills of a run as policies for the hurdles environment. They observe
// what they observed in training, so not the position that precedes it in the observation.
func controlSkills(run *runs.Run) (skillSet, error) {
	env, err := envs.Make(hurdlesEnv)
	if err != nil {
		return skillSet{}, err
	}
	set := skillSet{task: hierarchy.Task{Env: env, Unseen: 2, Place: [2]int{0, 2}}}
	var flat []float32
	observations, actions := env.Spec().Observations-set.task.Unseen, env.Spec().Actions
	if run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return skillSet{}, err
		}
		if skills.Observations != observations || skills.Actions != actions {
			return skillSet{},
				errors.Errorf("the skills of %s are for %d observations and %d actions, not %d and %d",
					run.Name(), skills.Observations, skills.Actions, observations, actions)
		}
		set.task.Skills = hierarchy.NewForm(observations, skills.Hidden, actions, true)
		for k := range skills.Skills() {
			set.numbers = append(set.numbers, k)
			flat = append(flat, gaussianSkill(skills, k)...)
		}
	} else {
		policies, _, err := everySkill(run)
		if err != nil {
			return skillSet{}, err
		}
		trained, err := envs.Make(run.Config.Env)
		if err != nil {
			return skillSet{}, err
		}
		task, err := taskOf(trained, run.Config)
		if err != nil {
			return skillSet{}, err
		}
		sizes := task.Policy.Sizes
		set.task.Skills = hierarchy.NewForm(observations, sizes[1:len(sizes)-1], actions, false)
		for _, policy := range policies {
			set.numbers = append(set.numbers, policy.Number)
			flat = append(flat, policy.Genotype...)
		}
	}
	if want := len(set.numbers) * set.task.Skills.Net.Params(); len(flat) != want {
		return skillSet{},
			errors.Errorf("the skills of %s have %d parameters in total, not %d: they do not fit %s",
				run.Name(), len(flat), want, hurdlesEnv)
	}
	set.rows = npz.Of(flat, len(set.numbers), len(flat)/len(set.numbers))
	return set, nil
}

// gaussianSkill returns a skill as a separate policy, like [runs.Skills.Genotype], but keeps the
// scales of the actions. The skill's row of the first kernel is added to the bias.
func gaussianSkill(s *runs.Skills, k int) []float32 {
	units := s.Sizes()[1]
	bias, kernel, rest := s.Policy[:units], s.Policy[units:units+s.Observations*units],
		s.Policy[units+(s.Observations+s.Count)*units:]
	row := append([]float32{}, bias...)
	if s.Count > 0 {
		at := units + (s.Observations+k)*units
		for unit, weight := range s.Policy[at : at+units] {
			row[unit] += weight
		}
	}
	return append(append(row, kernel...), rest...)
}
