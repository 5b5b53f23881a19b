package evolution

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/collection"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// passive measures an archive without centroids: at intervals its population is evaluated again, and enters
// a grid of the task's cells, which keeps the best of all times. Each evaluation starts in a state of
// its own, or all of a run in the same one, see [repertoire.OneStart].
type passive struct {
	*collection.Collection
	evaluator *scoring.Evaluator // nil if the host evaluates: then results are kept
}

// newPassive compiles the evaluation of the archive's population and its insertion.
func (s *search) newPassive() (p *passive, err error) {
	p, slots := &passive{}, s.slots()
	if p.Collection, err = collection.New(s.programs, s.task, slots, slots); err != nil ||
		s.simulator() != nil {
		return p, err
	}
	p.evaluator, err = s.task.Evaluator(s.programs.Platform, scoring.Plan{Policies: slots,
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

// projectionIn are the inputs of the projection of an archive without centroids onto the task's cells.
type projectionIn struct {
	Seed       xla.Array
	Population xla.State[repertoire.Batch]
}

// projected are the inputs of the projection.
func (s *search) projected() projectionIn {
	return projectionIn{s.seed.First(), xla.Part(s.contents, func(c archiveState) repertoire.Batch {
		cells := c.Archive.Cells()
		return repertoire.Batch{Fitness: cells.Fitness, Descriptors: cells.Descriptors}
	}).First()}
}

// population returns the metrics of an archive that is not measured itself, see Columns.
func (s *search) population() ([]float64, error) {
	fitnesses, err := s.fitnesses().Floats()
	if err == nil {
		err = s.defined(fitnesses)
	}
	if err != nil {
		return nil, err
	}
	size, best, _ := s.summary(fitnesses)
	passes := s.generation/s.measureEvery() + 1
	if s.simulator() != nil { // the host's results are copied
		passes = 0
	}
	extra := []float64{size, best, float64(passes * int64(s.slots()*s.task.Length))}
	if s.projection == nil {
		return extra, nil
	}
	out, err := s.projection.Run(s.projected())
	if err != nil {
		return nil, err
	}
	defer out.Free()
	if fitnesses, err = out.Floats(); err != nil {
		return nil, err
	}
	filled, _, score := s.summary(fitnesses)
	return append(extra, 100*filled/float64(len(fitnesses)), score), nil
}

// summary returns the number of filled slots, their maximum fitness and their QD score.
func (s *search) summary(fitnesses []float32) (filled, best, score float64) {
	best = math.Inf(-1)
	for _, f := range fitnesses {
		if !math.IsInf(float64(f), -1) {
			filled, best, score = filled+1, max(best, float64(f)), score+float64(f)
		}
	}
	return filled, best, score + filled*s.task.QDOffset()
}
