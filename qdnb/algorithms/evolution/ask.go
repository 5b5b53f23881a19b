package evolution

import (
	"context"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// simulator returns the simulator of the host that evaluates the offspring; nil without one.
func (s *search) simulator() *envs.Simulator {
	simulator, _ := envs.Inner(s.task.Env).(*envs.Simulator)
	return simulator
}

// starting is the number of generations that evaluate the initial population, at least 1.
func (s *search) starting() int64 {
	batch := s.settings.Batch
	return int64(max(1, (len(s.parts.Initial)+batch-1)/batch))
}

// individuals declares the genotypes of a generation.
func (s *search) individuals() xla.Array {
	return xla.Declare(dtypes.Float32, s.settings.Batch, s.task.Policy.Params())
}

// next prepares the next generation. It returns its number in programs, which is 0 for all that
// evaluate the initial population.
func (s *search) next() (number xla.Array, err error) {
	next, starting := s.generation+1, s.starting()
	if chunk := min(next, starting-1); len(s.parts.Initial) > 0 && s.chunk != chunk {
		params := s.task.Policy.Params()
		rows := slices.Repeat([]float32{float32(math.NaN())}, s.settings.Batch*params)
		for i, row := range s.parts.Initial[int(chunk)*s.settings.Batch:] {
			if i == s.settings.Batch {
				break
			}
			copy(rows[i*params:], row)
		}
		value, err := xla.Uploads(npz.Of(rows, s.settings.Batch, params), s.programs.Copies())
		if err != nil {
			return number, err
		}
		s.given.Free()
		s.given, s.chunk = xla.Value(value), chunk
	}
	return s.programs.Number(s.number(next)), nil
}

// number is the number of a generation in programs.
func (s *search) number(generation int64) int64 { return max(0, generation-s.starting()+1) }

// asking are the inputs of the program that makes offspring for the host.
func (s *search) asking(from offspringIn) askIn {
	return askIn{offspringIn{Seed: from.Seed.First(), Number: from.Number.First(), Given: from.Given.First()},
		s.parents().First()}
}

// simulate inserts the offspring of a generation, which the simulator evaluates on the host. After
// an error of the simulator, the search is as before.
func (s *search) simulate(simulator *envs.Simulator, number xla.Array) (out insertionOut, err error) {
	from := offspringIn{Seed: s.seed, Number: number, Given: s.given}
	asked, err := s.ask.Run(s.asking(from))
	if err != nil {
		return out, err
	}
	defer func() { asked.Free() }()
	flat, err := asked.Floats()
	if err != nil {
		return out, err
	}
	genotypes := slices.Collect(slices.Chunk(flat, s.task.Policy.Params()))
	results, err := simulator.Evaluate(context.Background(), genotypes)
	if err != nil {
		return out, err
	}
	found, err := s.found(simulator, results)
	if err != nil {
		return out, err
	}
	if asked, err = asked.Spread(s.programs.Platform); err != nil {
		return out, err
	}
	from.Evaluated = asked
	return s.enter(from, found)
}

// found copies results to the devices. Those with a number that is not finite have fitness NaN.
func (s *search) found(simulator *envs.Simulator, results []envs.Result) (
	found xla.State[repertoire.Evaluated], err error) {
	if err := simulator.Check(results, s.settings.Batch); err != nil {
		return found, err
	}
	spec := s.task.Env.Spec()
	d, several := len(spec.Descriptor.Lower), len(spec.Objectives)
	var fitness, descriptors, objectives []float32
	for _, r := range results {
		if !r.Finite() {
			r = envs.Result{Fitness: float32(math.NaN()), Descriptor: make([]float32, d), Objectives: make([]float32, several)}
		}
		if several == 0 {
			r.Objectives = []float32{r.Fitness}
		}
		fitness, descriptors = append(fitness, r.Fitness), append(descriptors, r.Descriptor...)
		objectives = append(objectives, r.Objectives...)
	}
	var arrays []xla.Array
	for i, flat := range [][]float32{fitness, descriptors, objectives} {
		leaf := s.results().Leaves()
		if i == len(leaf) {
			break
		}
		value, err := xla.Uploads(npz.Of(flat, leaf[i].Dims()...), s.programs.Copies())
		if err != nil {
			return found, err
		}
		arrays = append(arrays, xla.Value(value))
	}
	return pack(arrays), nil
}

// results declares the results of a generation.
func (s *search) results() xla.State[repertoire.Evaluated] {
	spec, batch := s.task.Env.Spec(), s.settings.Batch
	arrays := []xla.Array{xla.Declare(dtypes.Float32, batch), xla.Declare(dtypes.Float32, batch, len(spec.Descriptor.Lower))}
	if _, ok := s.parts.Archive.(repertoire.Measurer); ok {
		arrays = append(arrays, xla.Declare(dtypes.Float32, batch, spec.Rewards()))
	}
	return pack(arrays)
}

// pack combines fitness, descriptors and perhaps objectives.
func pack(arrays []xla.Array) xla.State[repertoire.Evaluated] {
	return xla.Pack(func(nodes []*graph.Node) (found repertoire.Evaluated) {
		found.Fitness, found.Descriptors = nodes[0], nodes[1]
		if len(nodes) > 2 {
			found.Objectives = nodes[2]
		}
		return found
	}, arrays...)
}
