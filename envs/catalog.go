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

// The quantities that can be changed; the first three are the paper's.
const (
	GravityMultiplier   = catalog.GravityMultiplier
	ActuatorsMultiplier = catalog.ActuatorsMultiplier
	TargetPosition      = catalog.TargetPosition
	MassMultiplier      = catalog.MassMultiplier
	CenterOffset        = catalog.CenterOffset
	FrictionMultiplier  = catalog.FrictionMultiplier
	GainMultiplier      = catalog.GainMultiplier
	DampingMultiplier   = catalog.DampingMultiplier
	ArmatureMultiplier  = catalog.ArmatureMultiplier
	PushSpeed           = catalog.PushSpeed
	TerrainMultiplier   = catalog.TerrainMultiplier
	TerrainOffset       = catalog.TerrainOffset
)

// Perturbations lists all quantities that can be changed, sorted.
func Perturbations() []Perturbation { return catalog.Perturbations() }

// Axes names the array sizes of a task, for [xla.Compile].
func Axes(s Spec) []xla.Axis {
	return []xla.Axis{
		{Size: s.Observations, Meaning: "numbers of an observation"},
		{Size: s.Actions, Meaning: "numbers of an action"},
		{Size: len(s.Descriptor.Lower), Meaning: "components of a descriptor"},
		{Size: len(s.Objectives), Meaning: "objectives"},
	}
}
