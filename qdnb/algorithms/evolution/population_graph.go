package evolution

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// projectionIn are the inputs of the projection of an archive without centroids onto the task's cells.
type projectionIn struct {
	Seed       xla.Array
	Population xla.State[repertoire.Batch]
}

// describes reports whether descriptors of the archive have as many components as the task's.
func (s *search) describes() bool {
	descriptors := xla.Part(s.contents, func(c archiveState) *graph.Node { return c.Archive.Cells().Descriptors })
	return descriptors.Dims()[1] == len(s.task.Env.Spec().Descriptor.Lower)
}

// projected are the inputs of the projection.
func (s *search) projected() projectionIn {
	return projectionIn{s.seed.First(), xla.Part(s.contents, func(c archiveState) repertoire.Batch {
		cells := c.Archive.Cells()
		return repertoire.Batch{Fitness: cells.Fitness, Descriptors: cells.Descriptors}
	}).First()}
}

// project returns the fitness of the fittest individual in each cell, -Inf in empty ones.
func (s *search) project(in projectionIn) xla.Array {
	grid, _ := repertoire.Grid{}.Empty(s.task, random.KeyOf(in.Seed.Tree)).Add(repertoire.Evaluated{
		Batch: in.Population.Tree})
	return xla.Out(grid.Cells().Fitness)
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
