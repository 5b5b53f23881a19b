package qdnb

import (
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/evolution"
)

// algorithm is a method by its name.
type algorithm struct {
	name     string
	defaults func(envs.Spec) evolution.Hyperparameters // the paper's
}

// algorithms are the methods in the paper's order.
var algorithms = []algorithm{
	{"map-elites", func(s envs.Spec) evolution.Hyperparameters { return evolution.DefaultMapElites(s) }},
	{"pga-map-elites", func(s envs.Spec) evolution.Hyperparameters { return evolution.DefaultPGAMapElites(s) }},
	{"aurora", func(s envs.Spec) evolution.Hyperparameters { return evolution.DefaultAurora(s) }},
	{"pga-aurora", func(s envs.Spec) evolution.Hyperparameters { return evolution.DefaultPGAAurora(s) }},
}

// Algorithms lists the algorithms that [Train] knows.
func Algorithms() []string {
	var list []string
	for _, a := range algorithms {
		list = append(list, a.name)
	}
	return list
}

// findAlgorithm looks an algorithm up.
func findAlgorithm(name string) (algorithm, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return algorithm{}, names.Unknown("algorithm", name, Algorithms())
	}
	return algorithms[i], nil
}
