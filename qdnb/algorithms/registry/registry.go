// Package registry lists the algorithms of qdnb.Train by name.
package registry

import (
	"fmt"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/skills"
)

// usesSkills tells how to make the runs whose algorithm is not one of qdnb.Train.
var usesSkills = map[string]string{
	records.HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the " +
		"plan with `qdnb sweep run`, or call qdnb.Control in a notebook",
	records.Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan " +
		"with `qdnb sweep run`, or call qdnb.Adapt in a notebook",
}

// Names lists the names of the algorithms, in the order of their records.
func Names() []string { return records.Names() }

// Find returns an algorithm by name. An unknown name is an error with suggestions.
func Find(name string) (algorithms.Entry, error) {
	for _, all := range []map[string]algorithms.Entry{evolution.Algorithms, skills.Algorithms,
		{"ppo": {Defaults: func(env envs.Spec) algorithms.Algorithm { return ppo.Default(env) },
			DiscreteActions: true}}} {
		if e, ok := all[name]; ok {
			if e.Record, ok = records.Find(name); !ok {
				return e, fmt.Errorf("algorithm %q has a preset, but no record: add one to package records", name)
			}
			return e, nil
		}
	}
	if use, ok := usesSkills[name]; ok {
		return algorithms.Entry{}, fmt.Errorf("%s needs the skills of a finished run: %s", name, use)
	}
	if _, ok := records.Find(name); ok {
		return algorithms.Entry{}, fmt.Errorf("algorithm %q has a record, but no preset: add one to package evolution "+
			"or skills", name)
	}
	return algorithms.Entry{}, names.Unknown("algorithm", name, Names())
}
