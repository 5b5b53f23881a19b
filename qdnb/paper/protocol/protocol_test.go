package protocol_test

import (
	"slices"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
)

// The paper trains in all environments of the catalog that have a descriptor.
func TestEnvironments(t *testing.T) {
	if got := protocol.Gaits(); !slices.Equal(got, []string{"ant-uni", "walker-uni", "halfcheetah-uni"}) {
		t.Errorf("gaits %q", got)
	}
	for _, name := range catalog.Names() {
		task, _ := catalog.Find(name)
		if slices.Contains(protocol.Environments(), name) != (task.Descriptor.Kind != catalog.None) {
			t.Errorf("%s: the descriptor is of kind %d", name, task.Descriptor.Kind)
		}
		if protocol.EpisodeLength(name) != task.Length {
			t.Errorf("%s: episodes of %d steps", name, protocol.EpisodeLength(name))
		}
	}
}
