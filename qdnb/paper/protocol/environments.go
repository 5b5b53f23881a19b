package protocol

import (
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
)

// Environments lists the training environments in the order of the paper's figures.
func Environments() []string {
	return []string{"ant-trap", "ant-maze", "pointmaze", "ant-uni", "ant-omni", "walker-uni",
		"halfcheetah-uni"}
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
