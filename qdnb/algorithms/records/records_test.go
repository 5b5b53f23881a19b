package records_test

import (
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/algorithms/records"
)

func TestMethods(t *testing.T) {
	for _, c := range []struct{ got, want []string }{
		{records.Compared("pga"), []string{"pga-map-elites", "pga-aurora"}},
		{records.Compared("aurora"), []string{"aurora", "pga-aurora"}},
		{records.Compared("-reward"), []string{"diayn-reward", "dads-reward"}},
	} {
		errtest.Equal(t, "names", c.got, c.want)
	}
	names := []string{"b", "sac", "a", "dads", "map-elites"}
	slices.SortFunc(names, records.Compare)
	errtest.Equal(t, "names in order", names, []string{"map-elites", "dads", "sac", "a", "b"})
}
