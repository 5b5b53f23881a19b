package envs

import (
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/xla"
)

// The types of the facts in package catalog.
type (
	Spec           = catalog.Spec
	Descriptor     = catalog.Descriptor
	DescriptorKind = catalog.DescriptorKind
	Wall           = catalog.Rect
	Objective      = catalog.Objective
	Component      = catalog.Component
	Perturbation   = catalog.Perturbation
	Conditions     = catalog.Conditions
)

// The reductions of state descriptors to the descriptor of an episode.
const (
	Final   = catalog.Final
	Mean    = catalog.Mean
	None    = catalog.None
	Outcome = catalog.Outcome
)

// The perturbations of the paper's adaptation experiments.
const (
	GravityMultiplier   = catalog.GravityMultiplier
	ActuatorsMultiplier = catalog.ActuatorsMultiplier
	TargetPosition      = catalog.TargetPosition
)

// Axes names the array sizes of a task, for [xla.Compile].
func Axes(s Spec) []xla.Axis {
	return []xla.Axis{
		{Size: s.Observations, Meaning: "numbers of an observation"},
		{Size: s.Actions, Meaning: "numbers of an action"},
		{Size: len(s.Descriptor.Lower), Meaning: "components of a descriptor"},
		{Size: len(s.Objectives), Meaning: "objectives"},
	}
}
