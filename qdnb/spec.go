package qdnb

import (
	"slices"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Spec configures [Train]: what to train, and for how long.
type Spec struct {
	Algorithm string // see [Algorithms]
	Env       string // see [envs.Names]
	Seed      int64

	// Environment is a custom environment and replaces Env. The run's folder is named after the
	// name in its Spec, which must not be one of [envs.Names].
	Environment envs.Env

	// Constants selects the hyperparameters where the paper and its published code disagree:
	// "code", the default, or "paper". The only one is reward_scaling of the reinforcement-learning
	// methods on walker-uni: 10 in the code, 1 in the paper. The configuration stores the number,
	// so --set reward_scaling=1 names the same run.
	Constants string

	// Set overrides hyperparameters, as in "batch=100". The names are the JSON names of the
	// algorithm's settings.
	Set []string

	// Budget ends the run when the first of its limits is reached. The default is the paper's two
	// hours.
	Budget runs.Budget

	// Emitter, Learner and Archive replace parts of a neuroevolution algorithm. The result is a
	// variant and needs a Name.
	//
	// These parts, Diversity, Objective and Environment belong to the run's identity, through their
	// graphs with all constants and through what their other methods return (see
	// [evolution.Fingerprints], [skills.Fingerprints] and [envs.Fingerprint]). If one of them
	// changes, Train starts another run and reports which part changed. Comments and variable names
	// do not count. Fingerprints do not cover what depends on the clock, on random numbers or on
	// earlier calls.
	Emitter evolution.Emitter // varies parents
	Learner evolution.Learner // makes the first offspring of a generation, and learns
	Archive evolution.Archive // stores the solutions

	// Diversity and Objective replace parts of a reinforcement-learning algorithm. Such a variant
	// needs a Name, too.
	Diversity skills.Diversity // rewards distinguishable skills
	Objective skills.Objective // weighs the diversity reward against the task

	Name string // of a variant; defaults to Algorithm

	Runs    string // folder of the runs; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar

	// Fresh trains from the start. Train moves an existing folder of the run to the folder
	// set-aside and never deletes it. It is an error if another process trains in the folder.
	Fresh bool

	// KeepReplay keeps a learner's replay buffer on disk (hundreds of megabytes) when the run
	// finishes, so that extending the run is the same as never having stopped. Without it, an
	// extension refills the buffer.
	KeepReplay bool
}

// Generations returns a budget of n generations after the initial population.
func Generations(n int) runs.Budget { return runs.Budget{Generations: int64(n)} }

// PaperBudget is the paper's budget for every run.
var PaperBudget = runs.Budget{Time: 2 * time.Hour}

// plan is a resolved Spec.
type plan struct {
	Spec
	env    envs.Env
	family family
	config runs.Config
}

// Config returns the configuration after which the run is named.
func (s Spec) Config() (runs.Config, error) {
	p, err := s.resolve()
	return p.config, err
}

func (s Spec) resolve() (plan, error) {
	p := plan{Spec: s}
	algorithm, err := findAlgorithm(s.Algorithm)
	if err != nil {
		return p, err
	}
	if p.env, err = s.environment(); err != nil {
		return p, err
	}
	spec := p.env.Spec()
	if spec.Descriptor.Kind == envs.None {
		return p, errors.Errorf("%s has no descriptor, which a repertoire needs", spec.Name)
	}
	p.family = algorithm.defaults(spec)
	if err := p.family.takes(s); err != nil {
		return p, err
	}
	variant := s.Emitter != nil || s.Learner != nil || s.Archive != nil || s.Diversity !=
		nil || s.Objective != nil
	if variant && (s.Name == "" || slices.Contains(Algorithms(), s.Name)) {
		return p, errors.New("a variant needs a name that no algorithm has: set Name together with the " +
			"parts that it replaces")
	}
	if s.Name == "" {
		p.Name = s.Algorithm
	}
	printed, err := p.printed()
	if err != nil {
		return p, err
	}
	if err := runs.Set(p.family.hyperparameters(), slices.Concat(printed, s.Set)...); err != nil {
		return p, err
	}
	if err := p.family.Check(); err != nil {
		return p, err
	}
	if options := p.family.options(); len(options) > 0 && s.Environment == nil {
		if p.env, err = envs.Make(s.Env, options...); err != nil {
			return p, err
		}
	}
	if err := s.Budget.Validate(); err != nil {
		return p, err
	}
	if p.Budget == (runs.Budget{}) {
		p.Budget = PaperBudget
	}
	if p.Runs == "" {
		p.Runs = runs.Folder()
	}
	if p.config, err = runs.NewConfig(p.Name, p.env.Spec().Name, s.Seed,
		p.family.hyperparameters()); err != nil {
		return p, err
	}
	p.config.Parts, err = p.fingerprints()
	return p, err
}

// Values of [Spec.Constants].
const (
	CodeConstants  = "code"
	PaperConstants = "paper"
)

// printed returns the hyperparameter assignments that Constants selects.
func (p plan) printed() ([]string, error) {
	switch p.Constants {
	case "", CodeConstants:
		return nil, nil
	case PaperConstants:
		return p.family.printed(p.env.Spec().Name), nil
	}
	return nil, names.Unknown("origin of constants", p.Constants,
		[]string{CodeConstants, PaperConstants})
}

// environment returns Environment, or makes the environment that Env names.
func (s Spec) environment() (envs.Env, error) {
	if s.Environment == nil {
		return envs.Make(s.Env)
	}
	if s.Env != "" {
		return nil, errors.New("Env and Environment are mutually exclusive: set one of them")
	}
	spec := s.Environment.Spec()
	if slices.Contains(envs.Names(), spec.Name) {
		return nil, errors.Errorf("%q is the name of a built-in environment: choose another name in "+
			"the Spec of your environment", spec.Name)
	}
	return s.Environment, spec.Validate()
}

// task returns the task in which genotypes of the repertoire are evaluated.
func (p plan) task() scoring.Task { return p.family.task(p.env) }

// centroids returns the centroids of the measured repertoire, [cells, d].
func (p plan) centroids() (npz.Array, error) {
	limits := p.env.Spec().Descriptor
	cells, samples, seed := p.family.tessellation()
	cvt := repertoire.CVT{Cells: cells, Samples: samples, Seed: seed, Lower: limits.Lower,
		Upper: limits.Upper}
	flat, err := cvt.Centroids()
	if err != nil {
		return npz.Array{}, err
	}
	return npz.Of(flat, cells, len(limits.Lower)), nil
}

// search compiles the algorithm.
func (p plan) search(platform *xla.Platform) (search, error) {
	centroids, err := p.centroids()
	if err != nil {
		return nil, err
	}
	return p.family.search(p, platform, centroids)
}
