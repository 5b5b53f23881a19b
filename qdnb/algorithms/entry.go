package algorithms

import (
	"cmp"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/records"
)

// Entry is an algorithm by its name.
type Entry struct {
	records.Record
	// Defaults returns the paper's hyperparameters in an environment, or those of the algorithm's own
	// publication.
	Defaults func(envs.Spec) Algorithm

	DiscreteActions bool // it also learns discrete actions, see package scoring

	Options []envs.Option // of the environment that it trains in
}

// Tuned returns the algorithm in an environment with the hyperparameters that tune changes, and an error if
// they cannot work. tune may be nil.
func (e Entry) Tuned(env envs.Spec, tune func(hyperparameters any) error) (Algorithm, error) {
	a := e.Defaults(env)
	if tune != nil {
		if err := tune(a); err != nil {
			return a, err
		}
	}
	if r, ok := a.(interface{ Resolve(envs.Spec) }); ok {
		r.Resolve(env)
	}
	var err error
	if e.Name != "" { // a loop of its user checks its own
		err = limits.Of(a)
	}
	return a, cmp.Or(err, a.Check())
}

// NeedsGradients reports whether the algorithm needs gradients of fitness and descriptor, which an
// [envs.BlackBox] has.
func (e Entry) NeedsGradients() bool {
	d, ok := e.Defaults(envs.Spec{}).(interface{ NeedsGradients() bool })
	return ok && d.NeedsGradients()
}
