package evolution

import (
	"slices"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// turns counts the runs of this test in a process: with -count, the programs of earlier runs stay
// cached, so each run needs other constants.
var turns int

// Searches that differ only in sigmas and seed are compiled once, and each gives the result of an
// emitter with its parameters as constants.
func TestSigmasAndSeedsAreInputs(t *testing.T) {
	p := xlatest.Best(t)
	if p.Kind == xla.Go {
		t.Skip("SKIPPED: the pure Go backend compiles every program")
	}
	evolve := func(emitter Emitter, seed int64) (genotypes []float32, compiled int64) {
		before := xla.Compilations()
		s := newSearch(t, p, unlimited.task(), emitter,
			Settings{Batch: 64, Slice: 8, Seed: seed, Centroids: line(20)})
		steps(t, s, 3)
		return floats(t, stateOf(t, s), "genotypes"), xla.Compilations() - before
	}
	small, seed := IsoLineEmitter{IsoSigma: 0.013, LineSigma: 0.3}, int64(7)
	evolve(small, seed)
	turns++
	large := IsoLineEmitter{IsoSigma: 0.7 + 0.001*float64(turns), LineSigma: 0.9}
	var all [][]float32
	for _, c := range []struct {
		emitter IsoLineEmitter
		seed    int64
	}{{small, seed}, {IsoLineEmitter{large.IsoSigma, small.LineSigma}, seed},
		{IsoLineEmitter{small.IsoSigma, large.LineSigma}, seed}, {small, seed + 1}, {large, seed}} {
		got, compiled := evolve(c.emitter, c.seed)
		if compiled != 0 {
			t.Errorf("%+v: %d programs were compiled", c, compiled)
		}
		if slices.ContainsFunc(all, func(other []float32) bool { return slices.Equal(got, other) }) {
			t.Errorf("%+v makes no difference", c)
		}
		all = append(all, got)
	}
	fixed, compiled := evolve(EmitterFunc(large.Offspring), seed)
	if compiled != 2 { // the evaluation and the insertion make offspring
		t.Errorf("an emitter that is not Parametric: %d programs were compiled, want 2", compiled)
	}
	xlatest.Close(t, "children by constants", fixed, all[len(all)-1], 1e-6)
}

// A learner's proposals do not disturb the emitter's parameters.
func TestSigmasBesideALearnerAreInputs(t *testing.T) {
	p := xlatest.Best(t)
	if p.Kind == xla.Go {
		t.Skip("SKIPPED: the pure Go backend compiles every program")
	}
	var compiled []int64
	turns++
	for _, sigma := range []float64{0.01, 0.02} {
		h := DefaultPGAMapElites(mazeTask().Env.Spec())
		h.IsoSigma, h.ReplayBufferSize, h.NumCriticTrainingSteps, h.NumPGTrainingSteps = sigma,
			1<<10+turns, 1, 1
		before := xla.Compilations()
		s, err := New(p, mazeTask(), h.Method(mazeSettings(1).Centroids), mazeSettings(1))
		if err != nil {
			t.Fatal(err)
		}
		steps(t, s, 2)
		s.Close()
		compiled = append(compiled, xla.Compilations()-before)
	}
	if compiled[0] == 0 || compiled[1] != 0 {
		t.Errorf("%d programs were compiled", compiled)
	}
}
