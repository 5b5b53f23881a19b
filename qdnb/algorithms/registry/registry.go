// Package registry lists the algorithms of qdnb.Train by name.
package registry

import (
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/skills"
)

// Entry is an algorithm by its name.
type Entry struct {
	Name string
	// Defaults returns the paper's hyperparameters in an environment, or those of the algorithm's own
	// publication.
	Defaults func(envs.Spec) algorithms.Algorithm
	// Observes: it learns from observations, so that it needs a task that has some.
	Observes bool
}

// entry returns the entry of an algorithm of type A.
func entry[A algorithms.Algorithm](name string, defaults func(envs.Spec) A, observes bool) Entry {
	return Entry{name, func(env envs.Spec) algorithms.Algorithm { return defaults(env) }, observes}
}

// All are the algorithms: those of the paper, in its order, and later ones, for each family, and SAC,
// on which one of them builds.
var All = []Entry{
	entry("map-elites", evolution.DefaultMapElites, false),
	entry("pga-map-elites", evolution.DefaultPGAMapElites, true),
	entry("aurora", evolution.DefaultAurora, true),
	entry("pga-aurora", evolution.DefaultPGAAurora, true),
	entry("dns", evolution.DefaultDominatedNovelty, false),
	entry("cma-mae", evolution.DefaultCMAMAE, false),
	entry("mome", evolution.DefaultMOME, false),
	entry("dcrl-map-elites", evolution.DefaultDCRLMapElites, true),
	entry("diayn", skills.DefaultDIAYN, true),
	entry("dads", skills.DefaultDADS, true),
	entry("diayn-reward", skills.DefaultDIAYNReward, true),
	entry("dads-reward", skills.DefaultDADSReward, true),
	entry("smerl-diayn", skills.DefaultSMERLDIAYN, true),
	entry("smerl-dads", skills.DefaultSMERLDADS, true),
	entry("metra", skills.DefaultMetra, true),
	entry("qdac", skills.DefaultQdac, true),
	entry("sac", skills.DefaultSAC, true),
}

// Names lists the names of the algorithms.
func Names() []string {
	var list []string
	for _, e := range All {
		list = append(list, e.Name)
	}
	return list
}

// Find returns an algorithm by name. An unknown name is an error with suggestions.
func Find(name string) (Entry, error) {
	if i := slices.IndexFunc(All, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return All[i], nil
	}
	return Entry{}, names.Unknown("algorithm", name, Names())
}

// Options returns the options with which an algorithm trains in an environment; none for an unknown
// name.
func Options(name string, env envs.Spec) []envs.Option {
	if e, err := Find(name); err == nil {
		if a, ok := e.Defaults(env).(algorithms.Environmental); ok {
			return a.Options()
		}
	}
	return nil
}
