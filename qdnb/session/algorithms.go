package session

import (
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/xla"
)

// Algorithm is an algorithm of [Train].
type Algorithm struct {
	Name     string
	Defaults func(envs.Spec) Family // the paper's hyperparameters
}

// algorithms returns the algorithms of both families in the paper's order.
var algorithms = sync.OnceValue(func() (all []Algorithm) {
	for _, a := range evolution.Algorithms {
		all = append(all, Algorithm{a.Name, func(s envs.Spec) Family { return evolving{a.Defaults(s)} }})
	}
	for _, a := range skills.Algorithms {
		all = append(all,
			Algorithm{a.Name, func(s envs.Spec) Family { return discovering{a.Defaults(s)} }})
	}
	return all
})

// Algorithms lists the names of the algorithms of [Train].
func Algorithms() []string {
	var list []string
	for _, a := range algorithms() {
		list = append(list, a.Name)
	}
	return list
}

// usesSkills tells how to make the runs whose algorithm is not one of [Train].
var usesSkills = map[string]string{
	protocol.HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the " +
		"plan with `qdnb sweep run`, or call qdnb.Control in a notebook",
	protocol.Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan " +
		"with `qdnb sweep run`, or call qdnb.Adapt in a notebook",
}

// Find looks up an algorithm by name.
func Find(name string) (Algorithm, error) {
	i := slices.IndexFunc(algorithms(), func(a Algorithm) bool { return a.Name == name })
	if use, ok := usesSkills[name]; ok && i < 0 {
		return Algorithm{}, errors.Errorf("%s needs the skills of a finished run: %s", name, use)
	}
	if i < 0 {
		return Algorithm{}, names.Unknown("algorithm", name, Algorithms())
	}
	return algorithms()[i], nil
}

// Parts replace parts of an algorithm; nil keeps the algorithm's own.
type Parts struct {
	Diversity skills.Diversity
	Objective skills.Objective
}

// Family is the hyperparameters of an algorithm of one family: neuroevolution or reinforcement
// learning.
type Family interface {
	// Check rejects invalid values before anything is compiled.
	Check() error
	// Settings returns a pointer to the hyperparameters, for changes and for the configuration.
	Settings() any
	// Options returns the options with which the environment is made.
	Options() []envs.Option
	// Takes returns an error if the named algorithm does not have the parts to replace.
	Takes(algorithm string, p Parts) error
	// Custom reports whether parts are replaced.
	Custom(p Parts) bool
	// Fingerprints hashes the replaced parts, by name.
	Fingerprints(Training) (map[string]string, error)
	// Observes reports whether the algorithm, with replaced parts, learns from observations.
	Observes(env envs.Env, p Parts) bool
	// Skills returns how many skills condition the policy. ok is false for a family that finds
	// repertoires.
	Skills(envs.Env) (count int, ok bool)

	// measured returns what describes the measured repertoire.
	measured() measured
	// search compiles the algorithm.
	search(t Training, platform *xla.Platform, centroids npz.Array) (search, error)
}

// search is a running algorithm: an [evolution.Search], or a [skills.Search] as [skilled].
type search interface {
	// Step runs the next generation or iteration. The first call evaluates the
	// initial population or policy.
	Step() (scoring.Outcome, error)
	// Measured reports whether the newest step measured the state that it left; always, if all do.
	Measured() bool
	// Conclude measures the newest state. The outcome has its Fitnesses and Invalid, and Extra unless
	// that is the newest step's. The search must not go on.
	Conclude() (scoring.Outcome, error)
	// Generation returns the newest generation, -1 before the first step.
	Generation() int64
	Columns() []string
	Arrays() (map[string]npz.Array, error)
	Restore(generation int64, arrays map[string]npz.Array) error
	Repertoire(genotypes bool) (map[string]npz.Array, error)
	// Replay returns the learner's replay buffer, nil without one, and the number of rows written so
	// far.
	Replay() (buffer *replay.Store, total int64)
	Refill() (episodes int64, err error)
	CompileTime() time.Duration
	Close()
}

// measured describes the measured repertoire of a run: its tessellation, and the policies whose
// parameters are its genotypes.
type measured struct {
	repertoire.CVT
	hidden  []int // units of the policies' hidden layers
	length  int   // control steps of an episode
	weights scoring.Weights
}

// task returns the task in which genotypes of the repertoire are evaluated.
func (m measured) task(env envs.Env) scoring.Task {
	task := scoring.NewTask(env, m.hidden, m.length)
	task.Weights = m.weights
	return task
}
