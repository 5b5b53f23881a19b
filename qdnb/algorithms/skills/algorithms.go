package skills

import "example.com/qdnb/envs"

// Algorithm is an algorithm of the family by its name.
type Algorithm struct {
	Name string
	// Defaults are the paper's hyperparameters in an environment.
	Defaults func(envs.Spec) Hyperparameters
}

// Algorithms are the paper's, in its order, later ones, and SAC, on which all of them build.
var Algorithms = []Algorithm{
	{"diayn", func(s envs.Spec) Hyperparameters { return defaultDiscovery(s, diayn, false) }},
	{"dads", func(s envs.Spec) Hyperparameters { return defaultDiscovery(s, dads, true) }},
	{"diayn-reward", func(s envs.Spec) Hyperparameters { return defaultRewarded(s, diayn, false) }},
	{"dads-reward", func(s envs.Spec) Hyperparameters { return defaultRewarded(s, dads, true) }},
	{"smerl-diayn", func(s envs.Spec) Hyperparameters { return defaultSelective(s, diayn, false) }},
	{"smerl-dads", func(s envs.Spec) Hyperparameters { return defaultSelective(s, dads, true) }},
	{"metra", func(s envs.Spec) Hyperparameters { return defaultMetra(s) }},
	{"qdac", func(s envs.Spec) Hyperparameters { return defaultQdac(s) }},
	{"sac", func(s envs.Spec) Hyperparameters { return DefaultSAC(s) }},
}

// Defaults returns the paper's hyperparameters of an algorithm in an environment, or nil if the
// algorithm is not of the family.
func Defaults(algorithm string, env envs.Spec) Hyperparameters {
	for _, a := range Algorithms {
		if a.Name == algorithm {
			return a.Defaults(env)
		}
	}
	return nil
}
