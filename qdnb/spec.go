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
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Spec says what to train and for how long.
type Spec struct {
	Algorithm string // see [Algorithms]
	Env       string // see [envs.Names]
	Seed      int64

	// Environment takes the place of Env: an environment of one's own. The run's folder is named
	// after the name in its Spec, which must not be one of [envs.Names].
	Environment envs.Env

	// Constants says which hyperparameters hold where the paper and its published code disagree:
	// "code", the default, or "paper". The only one is reward_scaling of the reinforcement-learning
	// methods on walker-uni: 10 in the code, 1 in print. The configuration has the number, so that
	// --set reward_scaling=1 names the same run.
	Constants string

	// Set overrides hyperparameters, as in "batch=100": the names of the algorithm's settings in
	// JSON.
	Set []string

	// Budget ends the run; the first limit that is reached counts. Without any limit it is the
	// paper's two hours.
	Budget runs.Budget

	// Emitter, Learner and Archive replace parts of an algorithm of neuroevolution: a variant,
	// which Name must name.
	//
	// What these parts, Diversity, Objective and Environment build is a part of the run's identity:
	// their graphs with all constants, and what their other methods return (see
	// [evolution.Fingerprints], [skills.Fingerprints] and [envs.Fingerprint]). After a change of it
	// Train trains another run, and says which part changed. Comments and names of variables do not
	// count. Not covered is what depends on the clock, on random numbers or on calls before.
	Emitter evolution.Emitter // varies parents
	Learner evolution.Learner // makes the first offspring of a generation, and learns
	Archive evolution.Archive // keeps

	// Diversity and Objective do so in the reinforcement-learning family; Name must name such a
	// variant, too.
	Diversity skills.Diversity // tells skills apart
	Objective skills.Objective // what that is worth beside the task

	Name string

	Runs    string // folder of the runs; [runs.Folder] if empty
	Backend string // see [xla.Open]; empty for the best there is
	Quiet   bool   // no progress bar

	// Fresh trains from the start: Train moves the folder of the run, if there is one, to the
	// folder set-aside, and never deletes it. A folder in which another process trains is an error.
	Fresh bool

	// KeepReplay leaves the replay buffer of a learner on the disk when the run is finished,
	// hundreds of megabytes, so that it can be extended as if it had never stopped. Without it, an
	// extension fills the buffer anew.
	KeepReplay bool
}

// Generations is a budget of n generations after the initial population.
func Generations(n int) runs.Budget { return runs.Budget{Generations: int64(n)} }

// PaperBudget is what the paper gives every run.
var PaperBudget = runs.Budget{Time: 2 * time.Hour}

// plan is a Spec with everything looked up.
type plan struct {
	Spec
	env    envs.Env
	family family
	config runs.Config
}

// Config is the configuration that names the run of a spec.
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
		return p, errors.Errorf("%s has no descriptor by which a repertoire could tell skills apart",
			spec.Name)
	}
	p.family = algorithm.defaults(spec)
	if err := p.family.takes(s); err != nil {
		return p, err
	}
	variant := s.Emitter != nil || s.Learner != nil || s.Archive != nil || s.Diversity !=
		nil || s.Objective != nil
	if variant && (s.Name == "" || slices.Contains(Algorithms(), s.Name)) {
		return p, errors.New("a variant needs a name of its own: set Name beside the parts that it " +
			"replaces")
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

// printed are the assignments of the hyperparameters that Constants chooses.
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

// environment is the one that a spec names, or brings.
func (s Spec) environment() (envs.Env, error) {
	if s.Environment == nil {
		return envs.Make(s.Env)
	}
	if s.Env != "" {
		return nil, errors.New("there are two environments: set Env or Environment, not both")
	}
	spec := s.Environment.Spec()
	if slices.Contains(envs.Names(), spec.Name) {
		return nil, errors.Errorf("%q is the name of an environment of qdnb: give yours one of its "+
			"own, in its Spec", spec.Name)
	}
	return s.Environment, spec.Validate()
}

// task is what a genotype of the repertoire is evaluated in.
func (p plan) task() evolution.Task { return p.family.task(p.env) }

// centroids are those of the repertoire that is measured.
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
