package records_test

import (
	"slices"
	"testing"

	"example.com/qdnb/qdnb/algorithms/records"
)

func TestMethods(t *testing.T) {
	for _, c := range []struct{ got, want []string }{
		{records.With("pga"), []string{"pga-map-elites", "pga-aurora"}},
		{records.With("aurora"), []string{"aurora", "pga-aurora"}},
		{records.With("-reward"), []string{"diayn-reward", "dads-reward"}},
		{records.RewardMethods(), []string{"diayn", "diayn-reward", "smerl-diayn", "dads",
			"dads-reward", "smerl-dads"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	names := []string{"b", "sac", "a", "dads", "map-elites"}
	slices.SortFunc(names, records.Compare)
	if want := []string{"map-elites", "dads", "sac", "a", "b"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if got := records.Title("smerl-dads") + records.Title("mine"); got != "SMERL(DADS)mine" {
		t.Error(got)
	}
}
