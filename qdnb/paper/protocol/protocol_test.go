package protocol_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/paper/protocol"
)

// The paper trains in all environments of the catalog that have a descriptor.
func TestEnvironments(t *testing.T) {
	errtest.Equal(t, "gaits", protocol.Gaits(), []string{"ant-uni", "walker-uni", "halfcheetah-uni"})
	for _, name := range catalog.Names() {
		task, _ := catalog.Find(name)
		errtest.Equal(t, name, slices.Contains(protocol.Environments(), name), task.Descriptor.Kind != catalog.None)
		errtest.Equal(t, fmt.Sprintf("%s: episodes of", name), protocol.EpisodeLength(name), task.Length)
	}
}
