package qdnb

import (
	"os"
	"slices"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/npz"
	"example.com/qdnb/qdnb/evolution"
	"example.com/qdnb/qdnb/repertoire"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Spec says what to train and for how long.
type Spec struct {
	Algorithm string // see [Algorithms]
	Env       string // see [envs.Names]
	Seed      int64

	// Environment takes the place of Env: an environment of one's own. The name of its folder has the name in its Spec, which must
	// not be one of [envs.Names]. It cannot tell what code it ran: change the name when you change the code.
	Environment envs.Env

	// Set overrides hyperparameters, as in "batch=100": the names of the algorithm's settings in JSON.
	Set []string

	// Budget ends the run; the first limit that is reached counts. Without any limit it is the paper's two hours.
	Budget runs.Budget

	// Emitter replaces the algorithm's own: a variant. Name must then name it, since the name of its folder cannot tell what code
	// it ran: change the name when you change the code.
	Emitter evolution.Emitter
	Name    string

	Runs    string // folder of the runs; [runs.Folder] if empty
	Backend string // see [xla.Open]; empty for the best there is
	Quiet   bool   // no progress bar
}

// Generations is a budget of n generations after the initial population.
func Generations(n int) runs.Budget { return runs.Budget{Generations: int64(n)} }

// PaperBudget is what the paper gives every run.
var PaperBudget = runs.Budget{Time: 2 * time.Hour}

// algorithms are the methods by name.
var algorithms = []string{"map-elites"}

// Algorithms lists the algorithms that [Train] knows.
func Algorithms() []string { return append([]string(nil), algorithms...) }

// Scaled is full, or smoke where $QDNB_SMOKE is set, as it is when the notebooks are tested.
func Scaled[T any](full, smoke T) T {
	if os.Getenv("QDNB_SMOKE") != "" {
		return smoke
	}
	return full
}

// plan is a Spec with everything looked up.
type plan struct {
	Spec
	env      envs.Env
	settings evolution.MapElites
	config   runs.Config
}

// Config is the configuration that names the run of a spec.
func (s Spec) Config() (runs.Config, error) {
	p, err := s.resolve()
	return p.config, err
}

func (s Spec) resolve() (plan, error) {
	p := plan{Spec: s}
	if !slices.Contains(algorithms, s.Algorithm) {
		return p, names.Unknown("algorithm", s.Algorithm, algorithms)
	}
	var err error
	if p.env, err = s.environment(); err != nil {
		return p, err
	}
	if p.env.Spec().Descriptor.Kind == envs.None {
		return p, errors.Errorf("%s has no descriptor by which a repertoire could tell skills apart", p.env.Spec().Name)
	}
	if p.Emitter != nil && (s.Name == "" || slices.Contains(algorithms, s.Name)) {
		return p, errors.New("a variant needs a name of its own: set Name beside Emitter")
	}
	if s.Name == "" {
		p.Name = s.Algorithm
	}
	p.settings = evolution.DefaultMapElites(p.env.Spec())
	if err := runs.Set(&p.settings, s.Set...); err != nil {
		return p, err
	}
	if err := p.settings.Check(); err != nil {
		return p, err
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
	if p.Emitter == nil {
		p.Emitter = evolution.Isoline{IsoSigma: p.settings.IsoSigma, LineSigma: p.settings.LineSigma}
	}
	p.config, err = runs.NewConfig(p.Name, p.env.Spec().Name, s.Seed, p.settings)
	return p, err
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
		return nil, errors.Errorf("%q is the name of an environment of qdnb: give yours one of its own, in its Spec", spec.Name)
	}
	return s.Environment, spec.Validate()
}

func (p plan) task() evolution.Task {
	return evolution.NewTask(p.env, p.settings.Hidden, p.settings.EpisodeLength)
}

// search compiles the algorithm.
func (p plan) search(platform *xla.Platform) (*evolution.Search, error) {
	limits := p.env.Spec().Descriptor
	cvt := repertoire.CVT{Cells: p.settings.Cells, Samples: p.settings.CVTSamples, Seed: p.settings.CVTSeed, Lower: limits.Lower, Upper: limits.Upper}
	centroids, err := cvt.Centroids(platform)
	if err != nil {
		return nil, err
	}
	return evolution.New(platform, p.task(), p.Emitter, evolution.Settings{
		Batch: p.settings.Batch, Slice: p.settings.Slice, Seed: p.Seed,
		Centroids: npz.Of(centroids, p.settings.Cells, len(limits.Lower)),
	})
}
