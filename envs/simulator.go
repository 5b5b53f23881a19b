package envs

import (
	"context"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// Simulator is a task whose genotypes a function of the host evaluates, for neuroevolution that learns
// from fitness and descriptors alone. Nothing of it is a graph: its policies cannot be rolled out on
// the device.
type Simulator struct {
	// Facts are the constants of the task. Without observations a genotype is a vector of Actions
	// numbers, at first uniform in the range Initial; else it is a policy, see [nn.Act].
	Facts Spec
	// Bounded clips vectors to Initial.
	Bounded bool
	// Evaluate returns a result for each genotype, in their order. Genotypes may not be changed, or
	// used later. It may use any number of goroutines, and should return the error of ctx when that
	// is done. A resumed run is bit-identical if results are a function of the genotype.
	Evaluate func(ctx context.Context, genotypes [][]float32) ([]Result, error)
}

// Result is the evaluation of a genotype. One with a number that is not finite counts as invalid and
// never enters a repertoire; its descriptor may be nil.
type Result struct {
	Fitness    float32
	Descriptor []float32
	Objectives []float32 // the parts of Fitness, if the task has several objectives
}

// Check returns an error unless there is a result for each of n genotypes, with as many components
// and objectives as the task has.
func (s *Simulator) Check(results []Result, n int) error {
	if len(results) != n {
		return fmt.Errorf("%d results do not fit the %d genotypes of a generation: return one for each, in their "+
			"order", len(results), n)
	}
	d, several := len(s.Facts.Descriptor.Lower), len(s.Facts.Objectives)
	for i, r := range results {
		if r.Finite() && (len(r.Descriptor) != d || len(r.Objectives) != several) {
			return fmt.Errorf("result %d has %d descriptor components and %d objectives, but %s has %d and %d", i,
				len(r.Descriptor), len(r.Objectives), s.Facts.Name, d, several)
		}
	}
	return nil
}

// Finite reports whether all numbers of a result are finite.
func (r Result) Finite() bool {
	sum := r.Fitness - r.Fitness
	for _, x := range slices.Concat(r.Descriptor, r.Objectives) {
		sum += x - x
	}
	return sum == 0
}

// Spec implements [Env].
func (s *Simulator) Spec() Spec { return s.Facts }

// Unwrap returns s, so that [Inner] finds it in a struct that embeds it.
func (s *Simulator) Unwrap() Env { return s }

// Reset implements [Env]. It panics: there is no graph.
func (s *Simulator) Reset(random.Key) State { panic(s.onHost()) }

// Step implements [Env]. It panics: there is no graph.
func (s *Simulator) Step(State, *Node) State { panic(s.onHost()) }

func (s *Simulator) onHost() error {
	return fmt.Errorf("%s is simulated on the host: its policies cannot be rolled out on the device; "+
		"export them, and play them in the simulator", s.Facts.Name)
}
