package evolution

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// An archive with fewer slots than a slice has policies works on every backend, and only its slots
// limit a slice.
func TestArchiveSmallerThanASlice(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		novelty := func(capacity int) repertoire.Archive {
			return repertoire.DominatedNovelty{Capacity: capacity, K: 1}
		}
		for capacity, want := range map[int]int{30: 12, 7: 7} { // the passive grid has 3 cells
			s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: novelty(capacity)},
				settings{Batch: 12, Slice: 12, Centroids: line(3)})
			steps(t, s, 2)
			cells := floats(t, stateOf(t, s), "passive_fitnesses")
			if s.settings.Slice != want || slices.Max(cells) == float32(math.Inf(-1)) {
				t.Errorf("capacity %d: slices of %d, want %d; cells %v", capacity, s.settings.Slice, want, cells)
			}
		}
		fronts := repertoire.Fronts{FrontSize: 5}
		if s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: fronts},
			settings{Batch: 12, Slice: 12, Centroids: line(3)}); s.settings.Slice != 12 {
			t.Errorf("fronts with 15 slots: slices of %d, want 12", s.settings.Slice)
		}
		small := repertoire.DominatedNovelty{Capacity: 2, K: 1}
		s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: small},
			settings{Batch: 12, Slice: 5, Centroids: line(20)})
		steps(t, s, 2)
		members, cells := floats(t, stateOf(t, s), "fitnesses"), floats(t, stateOf(t, s),
			"passive_fitnesses")
		empty := float32(math.Inf(-1))
		if len(members) != 2 || slices.Min(members) == empty || slices.Max(cells) == empty {
			t.Errorf("members %v, cells %v", members, cells)
		}
	})
}
