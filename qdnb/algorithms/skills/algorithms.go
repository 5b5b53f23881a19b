package skills

import "example.com/qdnb/envs"

// Algorithm is an algorithm of the family by its name.
type Algorithm struct {
	Name string
	// Defaults are the paper's hyperparameters in an environment.
	Defaults func(envs.Spec) Hyperparameters
}

// Algorithms are the paper's, in its order, and SAC, on which all of them build.
var Algorithms = []Algorithm{
	{"diayn", func(s envs.Spec) Hyperparameters { return DefaultDIAYN(s) }},
	{"dads", func(s envs.Spec) Hyperparameters { return DefaultDADS(s) }},
	{"diayn-reward", func(s envs.Spec) Hyperparameters { return DefaultDIAYNReward(s) }},
	{"dads-reward", func(s envs.Spec) Hyperparameters { return DefaultDADSReward(s) }},
	{"smerl-diayn", func(s envs.Spec) Hyperparameters { return DefaultSMERLDIAYN(s) }},
	{"smerl-dads", func(s envs.Spec) Hyperparameters { return DefaultSMERLDADS(s) }},
	{"sac", func(s envs.Spec) Hyperparameters { return DefaultSAC(s) }},
}
