package evolution

import (
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
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
		out, err := evaluate.Run(measureIn{s.main.parents(), s.seed, s.worker})
		if err != nil {
			return Timing{}, err
		}
		fitness := func(e repertoire.Evaluated) *graph.Node { return e.Fitness }
		if _, err := xla.Part(out, fitness).Floats(); err != nil {
			return Timing{}, err
		}
		out.Free()
		seconds := time.Since(start).Seconds()
		start = time.Now()
		if _, err := s.Step(); err != nil {
			return Timing{}, err
		}
		if i > 0 {
			all = append(all, time.Since(start).Seconds())
			evaluation = append(evaluation, seconds)
		}
	}
	return Timing{Generation: median(all), Evaluation: median(evaluation)}, nil
}

// measureIn are the inputs of an evaluation alone.
type measureIn struct {
	Archive      xla.State[stored]
	Seed, Worker xla.Array
}

// compileEvaluation builds a generation without variation and insertion: its offspring are copies
// of stored policies. It returns all results, or XLA would eliminate the code for the rest.
func (s *Search) compileEvaluation() (*xla.Program[measureIn, xla.State[repertoire.Evaluated]], error) {
	in := measureIn{s.main.parents(), s.seed, s.worker}
	return xla.CompileParallel(s.programs.Platform, "evaluation", in,
		func(in measureIn) xla.State[repertoire.Evaluated] {
			// any generation after the first, as a value that XLA cannot fold
			number := graph.AddScalar(in.Worker.Tree, 1)
			root := random.KeyOf(in.Seed.Tree)
			return xla.Out(s.evaluateStored(in.Archive.Tree, root, root, number, in.Worker.Tree))
		}, s.axes()...)
}

// evaluateStored evaluates copies of stored policies. key is the key of the generation, root that
// of the run.
func (s *Search) evaluateStored(archive stored, root, key random.Key, number,
	worker *graph.Node) repertoire.Evaluated {
	sample := Stateless(func(parents Parents, keys random.Key) *graph.Node { return parents.Sample(keys) })
	from := source{Key: key, Number: number, Parents: s.main.gen.parents(archive.Genotypes, archive.Cells, key),
		Emitters: []member{{Emitter: sample, count: s.settings.Batch, table: -1}}}
	if s.fixedStarts() {
		from.Start = root.FoldIn(streamStart)
	}
	return s.main.gen.evaluate(from, worker)
}

func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
