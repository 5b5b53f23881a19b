package evolution

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// An archive with fewer slots than a slice has policies works on every backend, and only its slots
// limit a slice.
func TestArchiveSmallerThanASlice(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
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
		population, cells := floats(t, stateOf(t, s), "fitnesses"), floats(t, stateOf(t, s),
			"passive_fitnesses")
		empty := float32(math.Inf(-1))
		if len(population) != 2 || slices.Min(population) == empty || slices.Max(cells) == empty {
			t.Errorf("population %v, cells %v", population, cells)
		}
	})
}

// sampled is a population that is measured in every n-th generation.
type sampled struct {
	repertoire.DominatedNovelty
	Every int64
}

func (s sampled) MeasureEvery() int64 { return s.Every }

func (s sampled) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	s.DominatedNovelty = s.DominatedNovelty.Empty(task, key).(repertoire.DominatedNovelty)
	return s
}

func (s sampled) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	after, in := s.DominatedNovelty.Add(found)
	s.DominatedNovelty = after.(repertoire.DominatedNovelty)
	return s, in
}

// The measurement of the end of a budget is that of a run in which it is due, also of a run that
// starts from genotypes, which take several generations.
func TestConcludeMeasuresTheGeneration(t *testing.T) {
	for _, given := range []int{0, 45} {
		task := mazeTask()
		after := func(measureEvery int64) []float32 {
			parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3},
				measureEvery}, Initial: make([][]float32, given)}
			for i := range parts.Initial {
				parts.Initial[i] = slices.Repeat([]float32{float32(i) / 100}, task.Policy.Params())
			}
			s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
			last := steps(t, s, 3)[2]
			if measureEvery > 2 {
				last = must.Get(s.Conclude())
			}
			return last.Fitnesses
		}
		if got, want := after(100), after(2); !slices.Equal(got, want) {
			t.Errorf("after %d given genotypes the end is measured as %v, want %v", given, got, want)
		}
	}
}

// The population is also reported on the task's cells, and evaluations of the passive
// repertoire are counted: one of each slot in every second generation.
func TestPopulationOnTheCells(t *testing.T) {
	task := mazeTask()
	parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3}, 2}}
	s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
	outcomes := steps(t, s, 4)
	arrays := stateOf(t, s)
	fitnesses, at := floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
	centroids := must.Get(s.settings.Centroids.Float32s())
	best := map[int]float32{}
	for i, f := range fitnesses {
		cell, nearest := 0, math.Inf(1)
		for c := range len(centroids) / 2 {
			x, y := at[2*i]-centroids[2*c], at[2*i+1]-centroids[2*c+1]
			if d := float64(x*x + y*y); d < nearest {
				cell, nearest = c, d
			}
		}
		if known, ok := best[cell]; !math.IsInf(float64(f), -1) && (!ok || f > known) {
			best[cell] = f
		}
	}
	coverage, score := 100*float64(len(best))/float64(len(centroids)/2), 0.0
	for _, f := range best {
		score += float64(f) + task.QDOffset()
	}
	extra := outcomes[3].Extra
	if extra[3] != coverage || math.Abs(extra[4]-score) > 1e-6*math.Abs(score) {
		t.Errorf("%v are %v, want a coverage of %g and a QD score of %g", s.Columns(), extra, coverage, score)
	}
	for i, passes := range []int{1, 1, 2, 2} {
		if got, want := outcomes[i].Extra[2], float64(passes*24*task.Length); got != want {
			t.Errorf("generation %d: %g steps of evaluations, want %g", i, got, want)
		}
	}
}

// wideNovelty has descriptors of three components: the task's two, and their sum.
type wideNovelty struct{ repertoire.DominatedNovelty }

func (a wideNovelty) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	a.Population = repertoire.EmptySlots(key.Hi.Graph(), a.Capacity, 3)
	return a
}

func (a wideNovelty) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	sum := graph.ReduceAndKeep(found.Descriptors, graph.ReduceSum, 1)
	found.Descriptors = graph.Concatenate([]*graph.Node{found.Descriptors, sum}, 1)
	archive, in := a.DominatedNovelty.Add(found)
	a.DominatedNovelty = archive.(repertoire.DominatedNovelty)
	return a, in
}

// An archive with other descriptors than the task's is not put on the task's cells.
func TestPopulationWithOtherDescriptors(t *testing.T) {
	parts := Parts{Mix: Mix{{isoline, 1}},
		Archive: wideNovelty{repertoire.DominatedNovelty{Capacity: 24, K: 3}}}
	s := searchOf(t, xlatest.Pure(t), mazeTask(), parts, mazeSettings(1))
	extra := steps(t, s, 1)[0].Extra
	if columns := s.Columns(); len(columns) != 3 || len(extra) != 3 {
		t.Errorf("%v are %v", columns, extra)
	}
}

// A share of 0 leaves any emitter out, and the first one that makes offspring makes the rest.
func TestSharesOfZero(t *testing.T) {
	run := func(mix Mix) (fitnesses []float32) {
		s := searchOf(t, xlatest.Pure(t), unlimited.task(), Parts{Mix: mix},
			settings{Batch: 10, Slice: 4, Centroids: line(8)})
		for _, o := range steps(t, s, 3) {
			fitnesses = append(fitnesses, o.Fitnesses...)
		}
		return fitnesses
	}
	want := run(Mix{{noisy, 0.55}, {isoline, 0.45}})
	for _, idle := range []Emitter{StrategySettings{Emitters: 5, Sigma0: 1}.Emitter(), isoline, noisy} {
		if got := run(Mix{{noisy, 0.55}, {isoline, 0.45}, {idle, 0}}); !slices.Equal(got, want) {
			t.Errorf("with a share of 0 of %T the run differs", idle)
		}
	}
	for _, mix := range []Mix{{{noisy, 0}, {isoline, 0.35}, {noisy, 0.65}}, {{isoline, 0.35}, {noisy, 0.65}}} {
		all := must.Get(mix.assign(10))
		if len(all) != 2 || all[0].count != 4 || all[1].count != 6 || all[1].first != 4 {
			t.Errorf("%v", all)
		}
	}
}
