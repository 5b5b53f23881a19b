package evolution

import (
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Timing holds median durations of the stages of a generation, in seconds.
type Timing struct {
	Generation float64 // a whole generation
	Evaluation float64 // the rollout of as many stored policies, without variation and insertion
}

// Measure times evaluations alone and whole generations, by which the search advances.
func (s *Search) Measure(generations int) (Timing, error) {
	evaluate, err := s.compileEvaluation()
	if err != nil {
		return Timing{}, err
	}
	defer evaluate.Free()
	var all, evaluation []float64
	// alternate, so that a drift in machine speed affects both equally; the first pair warms up
	for i := range generations + 1 {
		start := time.Now()
		inputs := append([]xla.Sharded{s.main.genotypes}, s.main.fields...)
		out, err := evaluate.Run(append(inputs, s.seed, s.worker)...)
		if err != nil {
			return Timing{}, err
		}
		if _, err := xla.Floats(out[0]); err != nil {
			return Timing{}, err
		}
		for _, value := range out {
			value.Free()
		}
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

// compileEvaluation builds a generation without variation and insertion: its offspring are copies
// of stored policies.
func (s *Search) compileEvaluation() (*xla.Program, error) {
	gen := s.evaluation()
	st := s.main
	inputs := []xla.Input{{Shape: st.genotypes[0].Shape()}}
	for _, field := range st.fields {
		inputs = append(inputs, xla.Input{Shape: field[0].Shape()})
	}
	inputs = append(inputs, xla.Input{Shape: shapes.Make(dtypes.Uint32, 2)},
		xla.Input{Shape: shapes.Make(dtypes.Int32)})
	return s.platform.CompileParallel("evaluation", inputs, func(in []*graph.Node) []*graph.Node {
		n := len(in) - 2
		root, worker := xla.KeyOf(in[n]), in[n+1]
		from := source{Parents: NewParents(in[0], cellsOf(st.archive, in[1:n])), Key: root}
		// any generation after the first, as a value that XLA cannot fold
		from.Number = graph.AddScalar(worker, 1)
		if s.method.Archive.SameStart() {
			from.Start = root.FoldIn(streamStart)
		}
		// return all of it, or XLA eliminates the code for the rest
		return xla.Flatten(gen.evaluate(from, worker))
	}, s.axes()...)
}

// evaluation is a generation whose offspring are copies of stored policies.
func (s *Search) evaluation() generation {
	stored := EmitterFunc(func(parents Parents,
		keys xla.Key) *graph.Node {
		return parents.Sample(keys)
	})
	return generation{s.task, stored, s.method.Archive, s.method.Archive, s.method.Learner != nil,
		s.settings.Batch, s.settings.Slice, s.platform.Workers}
}

func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
