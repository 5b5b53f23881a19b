package protocol_test

import (
	"slices"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
)

func TestMethods(t *testing.T) {
	for _, c := range []struct{ got, want []string }{
		{protocol.With("pga"), []string{"pga-map-elites", "pga-aurora"}},
		{protocol.With("aurora"), []string{"aurora", "pga-aurora"}},
		{protocol.With("-reward"), []string{"diayn-reward", "dads-reward"}},
		{protocol.RewardMethods(), []string{"diayn", "diayn-reward", "smerl-diayn", "dads",
			"dads-reward", "smerl-dads"}},
		{protocol.Gaits(), []string{"ant-uni", "walker-uni", "halfcheetah-uni"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	names := []string{"b", "sac", "a", "dads", "map-elites"}
	slices.SortFunc(names, protocol.CompareMethods)
	if want := []string{"map-elites", "dads", "sac", "a", "b"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if got := protocol.Name("smerl-dads") + protocol.Name("mine"); got != "SMERL(DADS)mine" {
		t.Error(got)
	}
}

// The paper trains in all environments of the catalog that have a descriptor.
func TestEnvironments(t *testing.T) {
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
