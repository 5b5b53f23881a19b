package evolution

import (
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/repertoire"
	"example.com/qdnb/xla"
)

// Timing is what the stages of a generation take, in seconds: the median of several.
type Timing struct {
	Generation float64 // all of it
	Evaluation float64 // rolling out as many stored policies, without variation and insertion
}

// Measure times generations of a search, which goes on by as many, and evaluations alone.
func (s *Search) Measure(generations int) (Timing, error) {
	evaluate, err := s.compileEvaluation()
	if err != nil {
		return Timing{}, err
	}
	defer evaluate.Free()
	var all, evaluation []float64
	for i := range generations + 1 { // in turns, so that a machine whose speed drifts is fair to both; the first pair warms up
		start := time.Now()
		out, err := evaluate.Run(s.genotypes, s.fitness, s.descriptor, s.fixed[0], s.fixed[1], s.fixed[2])
		if err != nil {
			return Timing{}, err
		}
		if _, err := download(out[0]); err != nil {
			return Timing{}, err
		}
		out[0].Free()
		out[1].Free()
		seconds := time.Since(start).Seconds()
		outcome, err := s.Step()
		if err != nil {
			return Timing{}, err
		}
		if i > 0 {
			all, evaluation = append(all, outcome.Seconds), append(evaluation, seconds)
		}
	}
	return Timing{Generation: median(all), Evaluation: median(evaluation)}, nil
}

// compileEvaluation builds a generation without variation and insertion: its offspring are copies of stored policies.
func (s *Search) compileEvaluation() (*xla.Program, error) {
	stored := EmitterFunc(func(parents Parents, keys xla.Key) *graph.Node { return parents.Sample(keys) })
	gen := generation{s.task, stored, s.settings.Batch, s.settings.Slice, s.platform.Workers}
	cells, d := s.settings.Centroids.Shape[0], s.settings.Centroids.Shape[1]
	inputs := []xla.Input{
		{Shape: shapes.Make(dtypes.Float32, cells, s.task.Policy.Params())},
		{Shape: shapes.Make(dtypes.Float32, cells)},
		{Shape: shapes.Make(dtypes.Float32, cells, d)},
		{Shape: shapes.Make(dtypes.Float32, cells, d)},
		{Shape: shapes.Make(dtypes.Uint32, 2)},
		{Shape: shapes.Make(dtypes.Int32)},
	}
	return s.platform.CompileParallel("evaluation", inputs, func(in []*graph.Node) []*graph.Node {
		parents := NewParents(in[0], repertoire.Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[3]})
		later := graph.AddScalar(in[5], 1) // some generation after the first, without XLA's knowing which
		batch := gen.evaluate(source{parents, xla.KeyOf(in[4]), later}, in[5])
		return []*graph.Node{batch.Fitness, batch.Descriptors} // both, or XLA leaves out what makes the other
	})
}

func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
