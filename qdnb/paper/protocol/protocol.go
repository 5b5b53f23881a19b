// Package protocol holds facts about the paper's experiments as plain data: its environments in the
// order of its figures, and the grids of its sensitivity section. Plans, figures, tables and claims
// read them here. Facts about the environments themselves are in package envs/catalog, and those
// about the methods in package records.
package protocol

import (
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
)

// Environments lists the training environments in the order of the paper's figures.
func Environments() []string {
	return []string{"ant-trap", "ant-maze", "pointmaze", "ant-uni", "ant-omni", "walker-uni", "halfcheetah-uni"}
}

// Where lists the training environments that satisfy a condition, in the order of [Environments].
func Where(wanted func(catalog.Task) bool) []string {
	return slices.DeleteFunc(Environments(), func(name string) bool {
		task, _ := catalog.Find(name)
		return !wanted(task)
	})
}

// Gaits lists the environments whose descriptor is the contacts of the feet. Adaptation changes
// their gravity and legs.
func Gaits() []string {
	return Where(func(t catalog.Task) bool { return t.Descriptor.Kind == catalog.Mean })
}

// EpisodeLength is the number of control steps of an episode in the paper.
func EpisodeLength(env string) int {
	if task, ok := catalog.Find(env); ok {
		return task.Length
	}
	return 250
}

// CompareEnvironments orders names of environments as the paper does. Others follow.
var CompareEnvironments = names.InOrder(Environments())

// HyperparameterGrid is a grid of two hyperparameters in the paper's sensitivity section.
type HyperparameterGrid struct {
	Method   string
	Settings [2]string // names in run configurations
	Symbols  [2]string // in the paper
	Values   [2][]float64
}

// Grids returns the paper's grids.
func Grids() []HyperparameterGrid {
	return []HyperparameterGrid{
		{Method: "map-elites", Settings: [2]string{"iso_sigma", "line_sigma"},
			Symbols: [2]string{"σ1", "σ2"},
			Values:  [2][]float64{{0.001, 0.01, 0.1}, {0.01, 0.1, 1}}},
		{Method: "dads-reward", Settings: [2]string{"diversity_reward_scale", "alpha_init"},
			Symbols: [2]string{"β", "α"}, Values: [2][]float64{{0.1, 1, 10}, {0.1, 0.5, 1}}},
	}
}

// GridOf returns the grid of a method; false if the paper has none.
func GridOf(method string) (HyperparameterGrid, bool) {
	for _, g := range Grids() {
		if g.Method == method {
			return g, true
		}
	}
	return HyperparameterGrid{}, false
}

// GridEnvironments lists the environments of the grids, in the order of the paper's figure 3.
func GridEnvironments() []string {
	return []string{"ant-omni", "halfcheetah-uni", "ant-uni", "walker-uni"}
}
