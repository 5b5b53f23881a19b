package algorithms

import "example.com/qdnb/envs"

// Entry is an algorithm by its name.
type Entry struct {
	Name string
	// Defaults returns the paper's hyperparameters in an environment, or those of the algorithm's own
	// publication.
	Defaults func(envs.Spec) Algorithm

	Observes       bool // it learns from observations
	Differentiates bool // it needs gradients of fitness and descriptor: an [envs.BlackBox]
	Chooses        bool // it also learns discrete actions, see package scoring

	Options []envs.Option // of the environment that it trains in
	Smoke   []string      // settings of its own for a run that takes seconds, such as "emitters=4"
}

// Defaults returns a function for an [Entry].
func Defaults[A Algorithm](of func(envs.Spec) A) func(envs.Spec) Algorithm {
	return func(env envs.Spec) Algorithm { return of(env) }
}
