package session

import (
	"fmt"

	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/paper/protocol"
)

// usesSkills tells how to make the runs whose algorithm is not one of [Train].
var usesSkills = map[string]string{
	protocol.HierarchicalControl: "plan it with `qdnb sweep plan --experiment hurdles` and run the " +
		"plan with `qdnb sweep run`, or call qdnb.Control in a notebook",
	protocol.Adaptation: "plan it with `qdnb sweep plan --experiment adaptation` and run the plan " +
		"with `qdnb sweep run`, or call qdnb.Adapt in a notebook",
}

// Find looks up an algorithm of [Train] by name.
func Find(name string) (algorithms.Entry, error) {
	if use, ok := usesSkills[name]; ok {
		return algorithms.Entry{}, fmt.Errorf("%s needs the skills of a finished run: %s", name, use)
	}
	return registry.Find(name)
}
