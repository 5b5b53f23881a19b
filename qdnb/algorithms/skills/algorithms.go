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
	{"diayn", func(s envs.Spec) Hyperparameters { return &alone[diayn]{defaultDiscovery(s)} }},
	{"dads", func(s envs.Spec) Hyperparameters { return &alone[dads]{defaultDiscovery(s)} }},
	{"diayn-reward",
		func(s envs.Spec) Hyperparameters { return &rewarded[diayn]{defaultRewarded(s)} }},
	{"dads-reward", func(s envs.Spec) Hyperparameters { return &rewarded[dads]{defaultRewarded(s)} }},
	{"smerl-diayn",
		func(s envs.Spec) Hyperparameters { return &selective[diayn]{defaultSelective(s)} }},
	{"smerl-dads", func(s envs.Spec) Hyperparameters { return &selective[dads]{defaultSelective(s)} }},
	{"metra", func(s envs.Spec) Hyperparameters { return defaultMetra(s) }},
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
