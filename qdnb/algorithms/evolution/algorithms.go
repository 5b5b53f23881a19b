package evolution

import "example.com/qdnb/envs"

// Algorithm is an algorithm of the family by its name.
type Algorithm struct {
	Name string
	// Defaults are the paper's hyperparameters in an environment.
	Defaults func(envs.Spec) Hyperparameters
}

// Algorithms are the paper's, in its order, then later ones.
var Algorithms = []Algorithm{
	{"map-elites", func(s envs.Spec) Hyperparameters { return DefaultMapElites(s) }},
	{"pga-map-elites", func(s envs.Spec) Hyperparameters { return DefaultPGAMapElites(s) }},
	{"aurora", func(s envs.Spec) Hyperparameters { return DefaultAurora(s) }},
	{"pga-aurora", func(s envs.Spec) Hyperparameters { return DefaultPGAAurora(s) }},
	{"dns", func(s envs.Spec) Hyperparameters { return DefaultDominatedNovelty(s) }},
	{"cma-mae", func(s envs.Spec) Hyperparameters { return DefaultCMAMAE(s) }},
	{"mome", func(s envs.Spec) Hyperparameters { return DefaultMOME(s) }},
	{"dcrl-map-elites", func(s envs.Spec) Hyperparameters { return DefaultDCRLMapElites(s) }},
}
