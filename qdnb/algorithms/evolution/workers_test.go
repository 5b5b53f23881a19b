package evolution

import (
	"reflect"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

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
		few := *p
		few.Workers = workers
		s := startSearch(t, &few, scoring.NewTask(env, []int{8, 8}, 20), isoline,
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
			for i, leaf := range s.main.contents.Leaves() {
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
