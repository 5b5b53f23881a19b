package qdnb

import (
	"slices"
	"sync"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/xla"
)

// algorithm is a registered algorithm.
type algorithm struct {
	name     string
	defaults func(envs.Spec) family // the paper's hyperparameters
}

// algorithms returns the algorithms of both families in the paper's order.
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

// Algorithms lists the names of the algorithms of [Train].
func Algorithms() []string {
	var list []string
	for _, a := range algorithms() {
		list = append(list, a.name)
	}
	return list
}

// usesSkills tells how to make the runs whose algorithm is not one of [Train].
var usesSkills = map[string]string{
	HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the plan with " +
		"`qdnb sweep run`, or call qdnb.Control in a notebook",
	Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan with `qdnb " +
		"sweep run`, or call qdnb.Adapt in a notebook",
}

// findAlgorithm looks up an algorithm by name.
func findAlgorithm(name string) (algorithm, error) {
	i := slices.IndexFunc(algorithms(), func(a algorithm) bool { return a.name == name })
	if use, ok := usesSkills[name]; ok && i < 0 {
		return algorithm{},
			errors.Errorf("%s needs the skills of a finished run: %s", name, use)
	}
	if i < 0 {
		return algorithm{}, names.Unknown("algorithm", name, Algorithms())
	}
	return algorithms()[i], nil
}

// family is the hyperparameters of an algorithm as [Train] sees them. Its implementations are the
// neuroevolution and the reinforcement-learning family.
type family interface {
	// Check rejects invalid values before anything is compiled.
	Check() error
	// hyperparameters returns a pointer to the settings, for assignments and for the configuration.
	hyperparameters() any
	// printed returns assignments of the paper's values where the published code disagrees.
	printed(env string) []string
	// options returns the options with which the environment is made.
	options() []envs.Option
	// tessellation returns the number of cells of the measured repertoire, the number of samples
	// that are clustered for its tessellation, and the seed.
	tessellation() (cells, samples int, seed int64)
	// task returns the task in which genotypes of the repertoire are evaluated.
	task(envs.Env) scoring.Task
	// takes returns an error if the spec replaces parts that the family does not have.
	takes(Spec) error
	// fingerprints hashes the parts that a spec supplies, by name.
	fingerprints(plan) (map[string]string, error)
	// search compiles the algorithm.
	search(p plan, platform *xla.Platform, centroids npz.Array) (search, error)
}

// search is a running algorithm: [evolution.Search] or [skills.Search].
type search interface {
	// step runs the next generation or iteration. The first call evaluates the
	// initial population or policy.
	step() (outcome, error)
	// generation returns the newest generation, -1 before the first step.
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

// outcome is the result of a step.
type outcome struct {
	Generation, Evaluations, EnvSteps int64
	// Fitnesses are those of the measured repertoire. They are nil if it was not measured; then
	// there is nothing to log.
	Fitnesses []float32
	Invalid   int
	Extra     []float64 // see Columns
}
