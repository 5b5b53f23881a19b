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
			return repertoire.DominatedNovelty{NoveltySettings: repertoire.NoveltySettings{Capacity: capacity, K: 1}}
		}
		for capacity, want := range map[int]int{30: 12, 7: 7} { // the passive grid has 3 cells
			s := searchOf(t, p, unlimited.task(), Method{Emitters: Mix{{noisy, 1}}, Archive: novelty(capacity)},
				Settings{Batch: 12, Slice: 12, Centroids: line(3)})
			steps(t, s, 2)
			cells := floats(t, stateOf(t, s), "passive_fitnesses")
			if s.Slice() != want || slices.Max(cells) == float32(math.Inf(-1)) {
				t.Errorf("capacity %d: slices of %d, want %d; cells %v", capacity, s.Slice(), want, cells)
			}
		}
		fronts := repertoire.Fronts{FrontSettings: repertoire.FrontSettings{FrontSize: 5}}
		if s := searchOf(t, p, unlimited.task(), Method{Emitters: Mix{{noisy, 1}}, Archive: fronts},
			Settings{Batch: 12, Slice: 12, Centroids: line(3)}); s.Slice() != 12 {
			t.Errorf("fronts with 15 slots: slices of %d, want 12", s.Slice())
		}
		small := repertoire.DominatedNovelty{NoveltySettings: repertoire.NoveltySettings{Capacity: 2, K: 1}}
		s := searchOf(t, p, unlimited.task(), Method{Emitters: Mix{{noisy, 1}}, Archive: small},
			Settings{Batch: 12, Slice: 5, Centroids: line(20)})
		steps(t, s, 2)
		members, cells := floats(t, stateOf(t, s), "fitnesses"), floats(t, stateOf(t, s),
			"passive_fitnesses")
		empty := float32(math.Inf(-1))
		if len(members) != 2 || slices.Min(members) == empty || slices.Max(cells) == empty {
			t.Errorf("members %v, cells %v", members, cells)
		}
	})
}

// Memory is that of the archive's slots, whose number is not that of the measured cells, and of the
// passive repertoire.
func TestMemoryOfAnArchiveWithoutCells(t *testing.T) {
	task := unlimited.task()
	bytes := func(capacity int) int64 {
		archive := repertoire.DominatedNovelty{NoveltySettings: repertoire.NoveltySettings{Capacity: capacity, K: 1}}
		s := &Search{programs: &xla.Scope{Platform: xlatest.Pure(t)}, task: task,
			settings: Settings{Batch: 12, Slice: 1, Centroids: line(20)}, method: Method{Archive: archive}}
		shared, _ := s.memory()
		return shared - 4*2*int64(capacity) // fitness and descriptor of each slot
	}
	for capacity, rows := range map[int]int64{4: 4 + 4 + 20 + 4, 1000: 1000 + 12 + 20 + 20} {
		if got, want := bytes(capacity), 4*int64(task.Policy.Params())*rows; got != want {
			t.Errorf("%d slots: %d bytes, want %d", capacity, got, want)
		}
	}
}
