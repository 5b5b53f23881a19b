package evolution

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// reproducible checks that a search ends with the same bytes on all workers, on one, and if it is
// saved halfway and restored.
func reproducible(t *testing.T, p *xla.Platform, generations int, start func(p *xla.Platform) *search) {
	t.Helper()
	whole, few, resumed := start(p), start(xlatest.WithWorkers(p, 1)), start(p)
	steps(t, whole, generations/2)
	steps(t, resumed, 1) // its earlier state does not matter
	must.Do(resumed.Restore(0, stateOf(t, whole)))
	if buffer, total := resumed.Replay(); buffer != nil {
		from, rows := replayOf(t, whole)
		at := len(rows) / buffer.Width / 3
		must.Do(buffer.Set(total, func(put func(int64, []float32) error) error {
			return errors.Join(put(from, rows[:buffer.Width*at]), put(from+int64(at), rows[buffer.Width*at:]))
		}))
	}
	steps(t, whole, generations/2)
	steps(t, few, generations)
	steps(t, resumed, generations/2)
	for what, s := range map[string]*search{"on one worker": few, "restored": resumed} {
		if !reflect.DeepEqual(stateOf(t, s), stateOf(t, whole)) {
			t.Errorf("%s it ends with another state", what)
		}
		if buffer, _ := s.Replay(); buffer != nil {
			_, got := replayOf(t, s)
			if _, want := replayOf(t, whole); !slices.Equal(got, want) {
				t.Errorf("%s it ends with another replay buffer", what)
			}
		}
	}
}

func TestSearchesAreReproducible(t *testing.T) {
	mega, maega := smallMEGA(envs.Sphere(20).Spec())
	parts.Change(mega, func(s *ArborescenceSettings) { s.GradOpt = adamName })
	gradients := func(h *MapElites) func(*testing.T, *xla.Platform) *search {
		return func(t *testing.T, p *xla.Platform) *search {
			return searchOn(t, p, h, envs.Sphere(20), map[bool]int{true: 5, false: 48}[p.Workers == 1])
		}
	}
	cases := map[string]func(*testing.T, *xla.Platform) *search{
		"mega": gradients(mega), "maega": gradients(maega),
		"map-elites": func(t *testing.T, p *xla.Platform) *search {
			return startSearch(t, p, mazeTask(), isoline, mazeSettings(4))
		},
		"learner": func(t *testing.T, p *xla.Platform) *search { // more rows than its buffer has
			return newLearningSearch(t, p, honest, settings{Batch: 12, Slice: 4, Centroids: line(9), Seed: 1})
		},
		"ascii-me": func(t *testing.T, p *xla.Platform) *search { // the share of one of two workers is one individual
			return searchOf(t, p, mazeTask(), defaultASCIIME(mazeTask().Env.Spec()).Parts,
				settings{Batch: 4, Slice: 1, Centroids: mazeSettings(0).Centroids, Seed: 3})
		},
		"ppga": func(t *testing.T, p *xla.Platform) *search {
			return searchOf(t, p, legs(2).task(), partsOf(smallPPGA(), aims()), mazeSettings(3))
		},
		"aurora-xcon": func(t *testing.T, p *xla.Platform) *search {
			return searchOf(t, p, mazeTask(), Parts{Mix: Mix{{defaultIsoLine, 1}}, Archive: smallXCon()}, mazeSettings(3))
		},
	}
	for _, strategy := range strategyNames {
		cases[strategy] = func(t *testing.T, p *xla.Platform) *search { return cmamae(t, p, strategy, 20, 3, 30, 4) }
	}
	for name, start := range cases {
		each := xlatest.Logic
		if name == "map-elites" || name == "learner" || name == openAIESName { // how workers share is up to XLA
			each = xlatest.Each
		}
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, p *xla.Platform) {
				reproducible(t, p, map[bool]int{true: 10, false: 6}[name == "learner"],
					func(p *xla.Platform) *search { return start(t, p) })
			})
		})
	}
}

// If each of several workers has one slice, a single worker runs them all in sequence: a loop of
// one iteration compared with a loop of several. XLA must not round their physics differently.
func TestOneTurnIsTheSameCode(t *testing.T) {
	p := xlatest.Best(t)
	if p.Workers == 1 {
		t.Skipf("SKIPPED: %s has one worker", p)
	}
	env := must.Get(envs.Make("ant-uni"))
	centroids := npz.Of([]float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.4, 0.3, 0.2, 0.1}, 3, 4)
	var fitnesses [][]float32
	var states []map[string]npz.Array
	for _, workers := range []int{p.Workers, 1} {
		s := startSearch(t, xlatest.WithWorkers(p, workers), scoring.NewTask(env, []int{8, 8}, 20), isoline,
			settings{Batch: 2 * p.Workers, Slice: 2, Seed: 1, Centroids: centroids})
		fitnesses = append(fitnesses, steps(t, s, 1)[0].Fitnesses)
		states = append(states, stateOf(t, s))
	}
	if !reflect.DeepEqual(states[0], states[1]) {
		t.Errorf("%d workers end with fitness %v, one with %v", p.Workers, fitnesses[0], fitnesses[1])
	}
}

// On a CPU the archive is in memory once, however many workers read it.
func TestWorkersShareTheArchive(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		if p.Kind.Accelerator() {
			t.Skipf("SKIPPED: each device of %s keeps a copy", p)
		}
		s := startSearch(t, p, unlimited.task(), isoline,
			settings{Batch: 8, Slice: 2, Seed: 1, Centroids: line(20)})
		for round := range 3 {
			for i, leaf := range s.contents.Leaves() {
				if n := len(leaf.Value()); n != 1 {
					t.Errorf("round %d: tensor %d of the archive is in memory %d times", round, i, n)
				}
			}
			if round == 1 {
				must.Do(s.Restore(s.generation, stateOf(t, s)))
			} else {
				steps(t, s, 2)
			}
		}
	})
}
