package qdnb

import (
	"slices"
	"sync"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/xla"
)

// algorithm is a method by its name.
type algorithm struct {
	name     string
	defaults func(envs.Spec) family // the paper's hyperparameters
}

// algorithms are those of both families, in the paper's order.
var algorithms = sync.OnceValue(func() (all []algorithm) {
	for _, a := range evolution.Algorithms {
		all = append(all, algorithm{a.Name, func(s envs.Spec) family { return evolving{a.Defaults(s)} }})
	}
	for _, a := range skills.Algorithms {
		all = append(all,
			algorithm{a.Name, func(s envs.Spec) family { return discovering{a.Defaults(s)} }})
	}
	return all
})

// Algorithms lists the algorithms that [Train] knows.
func Algorithms() []string {
	var list []string
	for _, a := range algorithms() {
		list = append(list, a.name)
	}
	return list
}

// usesSkills says how to make the runs that name no algorithm of [Train].
var usesSkills = map[string]string{
	HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the plan with " +
		"`qdnb sweep run`, or call qdnb.Control in a notebook",
	Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan with `qdnb " +
		"sweep run`, or call qdnb.Adapt in a notebook",
}

// findAlgorithm looks an algorithm up.
func findAlgorithm(name string) (algorithm, error) {
	i := slices.IndexFunc(algorithms(), func(a algorithm) bool { return a.name == name })
	if use, ok := usesSkills[name]; ok && i < 0 {
		return algorithm{},
			errors.Errorf("%s uses the skills of finished runs and is not trained by itself: %s", name, use)
	}
	if i < 0 {
		return algorithm{}, names.Unknown("algorithm", name, Algorithms())
	}
	return algorithms()[i], nil
}

// family is what an algorithm's hyperparameters are to [Train]: those of neuroevolution or of
// reinforcement learning.
type family interface {
	// Check finds values that cannot work, before anything is compiled.
	Check() error
	// hyperparameters is a pointer to the settings, for assignments and for the configuration.
	hyperparameters() any
	// printed are the assignments that replace hyperparameters of the published code by those of
	// the paper, where they disagree.
	printed(env string) []string
	// options are those that the environment is made with.
	options() []envs.Option
	// tessellation gives the number of cells of the repertoire that is measured, of the samples
	// that its tessellation clusters, and its seed.
	tessellation() (cells, samples int, seed int64)
	// task is what a genotype of the repertoire is evaluated in.
	task(envs.Env) evolution.Task
	// takes tells which factors of a variant are none of the family's.
	takes(Spec) error
	// fingerprints hash the parts that a spec supplies, by their names.
	fingerprints(plan) (map[string]string, error)
	// search compiles the algorithm.
	search(p plan, platform *xla.Platform, centroids npz.Array) (search, error)
}

// search is a running algorithm: [evolution.Search] or [skills.Search].
type search interface {
	// step runs the next generation or iteration; the first call what comes before the first.
	step() (outcome, error)
	// generation is the newest, -1 before the first step.
	generation() int64
	Columns() []string
	Arrays() (map[string]npz.Array, error)
	Restore(generation int64, arrays map[string]npz.Array) error
	Repertoire(genotypes bool) (map[string]npz.Array, error)
	ReplayShape() (capacity int64, width int, total int64)
	ReplayRows(from, to int64) ([]float32, error)
	SetReplay(read func(put func(from int64, rows []float32) error) error) error
	Refill() (episodes int64, err error)
	compileSeconds() float64
	Close()
}

// outcome is what a step found.
type outcome struct {
	Generation, Evaluations, EnvSteps int64
	// Fitnesses are of the repertoire that is measured; nil where it was not, and nothing is to be
	// logged.
	Fitnesses []float32
	Invalid   int
	Extra     []float64 // see Columns
}
