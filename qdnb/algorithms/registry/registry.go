// Package registry lists the algorithms of qdnb.Train by name.
package registry

import (
	"fmt"
	"slices"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/paper/protocol"
)

// all are the algorithms: those of the paper, in its order, and later ones, for each family.
var all = slices.Concat(evolution.Algorithms, skills.Algorithms, []algorithms.Entry{
	{Name: "ppo", Defaults: algorithms.Defaults(ppo.Default), Chooses: true}})

// usesSkills tells how to make the runs whose algorithm is not one of qdnb.Train.
var usesSkills = map[string]string{
	protocol.HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the " +
		"plan with `qdnb sweep run`, or call qdnb.Control in a notebook",
	protocol.Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan " +
		"with `qdnb sweep run`, or call qdnb.Adapt in a notebook",
}

// Names lists the names of the algorithms.
func Names() []string {
	var list []string
	for _, e := range all {
		list = append(list, e.Name)
	}
	return list
}

// Find returns an algorithm by name. An unknown name is an error with suggestions.
func Find(name string) (algorithms.Entry, error) {
	if i := slices.IndexFunc(all, func(e algorithms.Entry) bool { return e.Name == name }); i >= 0 {
		return all[i], nil
	}
	if use, ok := usesSkills[name]; ok {
		return algorithms.Entry{}, fmt.Errorf("%s needs the skills of a finished run: %s", name, use)
	}
	return algorithms.Entry{}, names.Unknown("algorithm", name, Names())
}
