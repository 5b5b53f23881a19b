package envs

import (
	"context"
	"fmt"

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

// Spec implements [Env].
func (s *Simulator) Spec() Spec { return s.Facts }

// Reset implements [Env]. It panics: there is no graph.
func (s *Simulator) Reset(random.Key) State { panic(s.onHost()) }

// Step implements [Env]. It panics: there is no graph.
func (s *Simulator) Step(State, *Node) State { panic(s.onHost()) }

func (s *Simulator) onHost() error {
	return fmt.Errorf("%s is simulated on the host: its policies cannot be rolled out on the device; "+
		"export them, and play them in the simulator", s.Facts.Name)
}
