package qdnb

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/qdnb/runs"
)

// The bar's remaining time does not count an hour of compilation, or an hour of earlier sessions,
// as work of this session.
func TestTimeLeftIsOfThisSessionsWork(t *testing.T) {
	for _, budget := range []runs.Budget{{Generations: 100}, {Time: 10 * time.Hour}} {
		config, err := runs.NewConfig("map-elites", "pointmaze", 0, map[string]int{"batch": 1})
		if err != nil {
			t.Fatal(err)
		}
		s := session{from: -1}
		if _, err := s.open(t.TempDir(), config, true); err != nil {
			t.Fatal(err)
		}
		defer s.close()
		s.status.Generation, s.status.Seconds = 20, 3600
		s.start = s.start.Add(-time.Hour)
		if err := s.begin(budget, 3600, "generation"); err != nil {
			t.Fatal(err)
		}
		// a little time has passed since
		if left, known := s.bar.Left(0.2); known && left < 10*time.Hour {
			t.Errorf("%v: %v is left before any progress", budget, left)
		}
		// The elapsed time is to 0.1 as the remaining time is to 0.7.
		if left, known := s.bar.Left(0.3); !known || left > time.Hour {
			t.Errorf("%v: %v is left (%v), extrapolated from more than this session's work", budget, left, known)
		}
	}
}

// The bar's metrics come in the order in which a narrow line keeps them.
func TestProgressShowsFitnessFirst(t *testing.T) {
	var c controlling
	c.status.MaxFitness, c.last = 12, []string{"hurdles 0.50"}
	var tr training
	tr.status.MaxFitness, tr.status.Coverage, tr.status.QDScore = -128.3, 73.74, 2.514e5
	var early training
	early.status.MaxFitness = math.Inf(-1)
	a := adapting{settings: adaptation{Perturbation: "gravity"}}
	before := a.metrics([]float64{0.5})
	a.status.Evaluations, a.status.MaxFitness = 10, 3
	for _, c := range []struct{ got, want []string }{
		{tr.metrics(), []string{"max fitness -128.3", "coverage 73.7 %", "QD score 2.514e+05"}},
		{c.metrics(), []string{"max fitness 12", "hurdles 0.50"}},
		{early.metrics(), []string{"nothing evaluated yet"}},
		{before, []string{"gravity [0.5]"}},
		{a.metrics([]float64{0.5}), []string{"best median 3", "gravity [0.5]"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if s := tr.summary(); !strings.HasPrefix(s, "generation 0  max fitness") {
		t.Error(s)
	}
}
