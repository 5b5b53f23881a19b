package evolution

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// passive measures an archive without centroids: at intervals its population is evaluated again, and enters
// a grid of the task's cells, which keeps the best of all times. Each evaluation starts in a state of
// its own, or all of a run in the same one, see [repertoire.OneStart].
type passive struct {
	*algorithms.Collection
	evaluator *scoring.Evaluator // nil if the host evaluates: then results are kept
}

// newPassive compiles the evaluation of the archive's population and its insertion.
func (s *search) newPassive() (p *passive, err error) {
	p, slots := &passive{}, s.slots()
	if p.Collection, err = algorithms.NewCollection(s.programs, s.task, s.settings.Centroids, slots, slots); err != nil ||
		s.simulator() != nil {
		return p, err
	}
	p.evaluator, err = scoring.NewEvaluator(s.programs.Platform, s.task, scoring.Plan{Policies: slots,
		OneStart: s.oneStart(), Slice: s.settings.Slice})
	if err == nil {
		s.programs.Own(p.evaluator)
	}
	return p, err
}

// fill evaluates the archive's population of the latest generation and inserts it.
func (p *passive) fill(s *search) error {
	archive := xla.Part(s.contents, archiveState.view)
	genotypes := xla.Part(archive, func(a archiveView) *graph.Node { return a.Genotypes })
	fitnesses, err := s.fitnesses().Floats()
	if err != nil {
		return err
	}
	found := scoring.Results{Fitnesses: fitnesses}
	if p.evaluator == nil {
		found.Descriptors, err = xla.Part(archive, func(a archiveView) *graph.Node { return a.Cells.Descriptors }).Floats()
	} else {
		seed := random.NewStream(s.settings.Seed).FoldIn(streamPassive)
		if !s.oneStart() {
			seed = seed.FoldIn(int(s.number(s.generation)))
		}
		found, err = p.evaluator.Evaluate(genotypes.Value(), seed.Seed(), nil)
	}
	if err != nil {
		return err
	}
	for i, fitness := range fitnesses { // empty slots have policies, too
		if math.IsInf(float64(fitness), -1) {
			found.Fitnesses[i] = fitness
		}
	}
	return p.Add(genotypes, found, &scoring.Outcome{})
}
