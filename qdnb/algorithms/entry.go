package algorithms

import "example.com/qdnb/envs"

// Traits say which tasks an algorithm is for.
type Traits uint8

const (
	Observes       Traits = 1 << iota // it learns from observations
	Differentiates                    // it needs gradients of fitness and descriptor: an [envs.BlackBox]
	Chooses                           // it also learns discrete actions, see package scoring
)

// Entry is an algorithm by its name.
type Entry struct {
	Name string
	// Defaults returns the paper's hyperparameters in an environment, or those of the algorithm's own
	// publication.
	Defaults func(envs.Spec) Algorithm
	Traits   Traits
	Options  []envs.Option // of the environment that it trains in
	Smoke    []string      // settings of its own for a run that takes seconds, such as "emitters=4"
}

// NewEntry returns the entry of an algorithm, given its defaults.
func NewEntry[A Algorithm](name string, defaults func(envs.Spec) A, traits Traits,
	options ...envs.Option) Entry {
	return Entry{Name: name, Defaults: func(env envs.Spec) Algorithm { return defaults(env) },
		Traits: traits, Options: options}
}

// WithSmoke returns the entry with settings for a run that takes seconds.
func (e Entry) WithSmoke(settings ...string) Entry {
	e.Smoke = settings
	return e
}

// Has reports whether the algorithm has a trait.
func (e Entry) Has(trait Traits) bool { return e.Traits&trait != 0 }
