// Package registry lists the algorithms of qdnb.Train by name.
package registry

import (
	"slices"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/skills"
)

// All are the algorithms: those of the paper, in its order, and later ones, for each family.
var All = append(slices.Concat(evolution.Algorithms, skills.Algorithms),
	algorithms.NewEntry("ppo", ppo.Default, algorithms.Observes|algorithms.Chooses))

// Names lists the names of the algorithms.
func Names() []string {
	var list []string
	for _, e := range All {
		list = append(list, e.Name)
	}
	return list
}

// Find returns an algorithm by name. An unknown name is an error with suggestions.
func Find(name string) (algorithms.Entry, error) {
	if i := slices.IndexFunc(All, func(e algorithms.Entry) bool { return e.Name == name }); i >= 0 {
		return All[i], nil
	}
	return algorithms.Entry{}, names.Unknown("algorithm", name, Names())
}
