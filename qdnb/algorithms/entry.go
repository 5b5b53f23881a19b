package algorithms

import "example.com/qdnb/envs"

// Entry is an algorithm by its name.
type Entry struct {
	Name string
	// Defaults returns the paper's hyperparameters in an environment, or those of the algorithm's own
	// publication.
	Defaults func(envs.Spec) Algorithm
	// Observes: it learns from observations, so that it needs a task that has some.
	Observes bool
	Options  []envs.Option // of the environment that it trains in
}

// NewEntry returns the entry of an algorithm, given its defaults.
func NewEntry[A Algorithm](name string, defaults func(envs.Spec) A, observes bool,
	options ...envs.Option) Entry {
	return Entry{name, func(env envs.Spec) Algorithm { return defaults(env) }, observes, options}
}
