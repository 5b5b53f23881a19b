package qdnb_test

import (
	"fmt"
	"os"
	"testing"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

func train(t *testing.T, spec qdnb.Spec) *runs.Run {
	t.Helper()
	spec.Algorithm, spec.Env, spec.Runs, spec.Quiet = "map-elites", "pointmaze", t.TempDir(), true
	run, err := qdnb.Train(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Status
	t.Logf("seed %d: generation %d, max fitness %.1f, coverage %.1f %%, QD score %.4g, %.0f s on %s",
		spec.Seed, s.Generation, s.MaxFitness, s.Coverage, s.QDScore, s.Seconds, s.Backend)
	return run
}

// Twenty generations of a hundred policies find most of what lies before the second wall; a hundred random policies fill a
// twentieth of the cells.
func TestMapElitesLearnsPointmaze(t *testing.T) {
	first := train(t, qdnb.Spec{Set: []string{"batch=100", "hidden=[64,64]"}, Budget: runs.Budget{Generations: 1}}).Status
	last := train(t, qdnb.Spec{Set: []string{"batch=100", "hidden=[64,64]"}, Budget: runs.Budget{Generations: 40}}).Status
	if last.Coverage < 30 || last.Coverage < 3*first.Coverage {
		t.Errorf("coverage went from %.1f to %.1f %%", first.Coverage, last.Coverage)
	}
	if last.QDScore < 3*first.QDScore {
		t.Errorf("QD score went from %.4g to %.4g", first.QDScore, last.QDScore)
	}
}

// long skips tests that take minutes, unless they are asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("QDNB_LONG") == "" {
		t.Skip("SKIPPED: it trains for minutes; `make test-long`, or QDNB_LONG=1, runs it")
	}
}

// QDax's implementation at generation 100 of 1000 policies: -128, 73.7 %, 2.51e5 with one seed.
func TestMapElitesMatchesQDaxAtGeneration100(t *testing.T) {
	long(t)
	for seed := range int64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := train(t, qdnb.Spec{Seed: seed, Budget: qdnb.Generations(100)}).Status
			if s.MaxFitness < -170 || s.Coverage < 68 || s.QDScore < 2.25e5 {
				t.Errorf("below what QDax's runs reach: %+v", s)
			}
		})
	}
}

// The paper's level on pointmaze: max fitness about -25, QD score about 4.2e5.
func TestMapElitesReachesThePaperOnPointmaze(t *testing.T) {
	long(t)
	s := train(t, qdnb.Spec{Seed: 0, Budget: qdnb.Generations(1500)}).Status
	if s.MaxFitness < -30 || s.QDScore < 3.9e5 {
		t.Errorf("below the paper's level: %+v", s)
	}
}
