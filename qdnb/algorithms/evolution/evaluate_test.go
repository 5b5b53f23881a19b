package evolution

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Every policy is rolled out once and keeps its position, for all slice sizes and numbers of
// workers. A NaN policy has fitness -Inf.
func TestEvaluator(t *testing.T) {
	const batch = 7
	genotypes := make([]float32, 4*batch)
	for i := range genotypes {
		genotypes[i] = float32(i%9) / 8
	}
	genotypes[4*5] = float32(math.NaN())
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, slice := range []int{1, 3, 7, 20} {
			e, err := scoring.NewEvaluator(p, unlimited.task(), batch, slice)
			if err != nil {
				t.Fatal(err)
			}
			value := p.Replicated(func() *tensors.Tensor {
				return tensors.FromFlatDataAndDimensions(
					genotypes, batch, 4)
			})
			fitness, descriptors, err := e.Evaluate(value, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(fitness) != batch || len(descriptors) != batch {
				t.Fatalf("%d fitnesses and %d descriptors of %d policies", len(fitness), len(descriptors),
					batch)
			}
			for i := range batch {
				want, _ := evaluateScripted(genotypes[4*i : 4*i+4])
				if i == 5 {
					want = float32(math.Inf(-1))
				}
				// The descriptor is that of the state before the last step: the second component of the first
				// action.
				if descriptor := genotypes[4*i+1] + genotypes[4*i+3]; fitness[i] != want || i !=
					5 && descriptors[i] != descriptor {
					t.Errorf("slices of %d: policy %d has fitness %g and descriptor %g, want %g and %g", slice, i,
						fitness[i], descriptors[i], want, descriptor)
				}
			}
			value.Free()
			e.Free()
		}
		for _, bad := range [][2]int{{0, 1}, {3, -1}, {-1, 0}} {
			if _, err := scoring.NewEvaluator(p, unlimited.task(), bad[0], bad[1]); err == nil {
				t.Errorf("%d policies in slices of %d were accepted", bad[0], bad[1])
			}
		}
	})
}

// Every policy starts from the same initial states, independent of the other policies and the
// number of workers.
func TestCrossedEvaluator(t *testing.T) {
	const policies, states = 3, 5
	task := mazeTask()
	params := task.Policy.Params()
	random := rand.New(rand.NewPCG(1, 1))
	genotypes := make([]float32, params*policies)
	for i := range genotypes {
		genotypes[i] = float32(random.NormFloat64())
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		evaluate := func(p *xla.Platform, rows []float32) (fitness, descriptors []float32) {
			t.Helper()
			n := len(rows) / params
			e, err := scoring.NewCrossedEvaluator(p, task, n, states, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Free()
			value := p.Replicated(func() *tensors.Tensor {
				return tensors.FromFlatDataAndDimensions(
					slices.Clone(rows), n, params)
			})
			defer value.Free()
			if fitness, descriptors, err = e.Evaluate(value, 3); err != nil {
				t.Fatal(err)
			}
			return fitness, descriptors
		}
		all, where := evaluate(p, genotypes)
		if len(all) != policies*states || len(where) != 2*policies*states {
			t.Fatalf("%d fitnesses and %d descriptors", len(all), len(where))
		}
		for k := range policies {
			alone, there := evaluate(p, genotypes[params*k:params*(k+1)])
			xlatest.Close(t, "a policy's fitness alone", alone, all[k*states:(k+1)*states], 0)
			xlatest.Close(t, "a policy's descriptor alone", there, where[2*k*states:2*(k+1)*states], 0)
		}
		if all[0] == all[1] || all[0] == all[states] {
			t.Errorf("all states or all policies give the same result: %v", all)
		}
		single := *p
		single.Workers = 1
		less, _ := evaluate(&single, genotypes)
		xlatest.Close(t, "the fitness on one device", less, all, 0)
		if _, err := scoring.NewCrossedEvaluator(p, task, 2, 0, 1); err == nil {
			t.Error("an evaluator with 0 initial states was accepted")
		}
	})
}
