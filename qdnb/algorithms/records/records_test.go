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
}
