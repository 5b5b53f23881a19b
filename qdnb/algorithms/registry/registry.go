// Package registry finds the algorithms of qdnb.Train by name.
package registry

import (
	"fmt"
	"slices"

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

// presets are the algorithms by name.
var presets = byName(evolution.Algorithms, skills.Algorithms, []algorithms.Entry{{Record: records.Record{Name: "ppo"},
	Defaults:        func(env envs.Spec) algorithms.Algorithm { return ppo.Default(env) },
	DiscreteActions: true}})

// byName panics if two presets have one name.
func byName(lists ...[]algorithms.Entry) map[string]algorithms.Entry {
	all := map[string]algorithms.Entry{}
	for _, e := range slices.Concat(lists...) {
		if _, twice := all[e.Name]; twice {
			panic(fmt.Sprintf("algorithm %q has two presets: rename one", e.Name))
		}
		all[e.Name] = e
	}
	return all
}

// Find returns an algorithm by its name, one of [records.Names]. An unknown name is an error with suggestions.
func Find(name string) (algorithms.Entry, error) {
	if e, ok := presets[name]; ok {
		if e.Record, ok = records.Find(name); !ok {
			return e, fmt.Errorf("algorithm %q has a preset, but no record: add one to package records", name)
		}
		return e, nil
	}
	if use, ok := usesSkills[name]; ok {
		return algorithms.Entry{}, names.Wrongf("%s needs the skills of a finished run: %s", name, use)
	}
	if name == "cma-me" {
		return algorithms.Entry{}, names.Wrongf("cma-me is cma-mae with a setting: archive_learning_rate=1")
	}
	if _, ok := records.Find(name); ok {
		return algorithms.Entry{}, fmt.Errorf("algorithm %q has a record, but no preset: add one to package evolution "+
			"or skills", name)
	}
	return algorithms.Entry{}, names.Unknown("algorithm", name, records.Names())
}
