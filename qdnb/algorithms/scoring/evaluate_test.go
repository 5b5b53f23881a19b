package scoring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Every policy starts from the same initial states, independent of the other policies and the number of workers.
func TestCrossedEvaluator(t *testing.T) {
	const policies, states = 3, 5
	task := NewTask(envs.Pointmaze{}, []int{8, 8}, 20)
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
			e := must.Get(task.Evaluator(p, Plan{Policies: n, States: states, Slice: 2}))
			defer e.Free()
			value := p.Replicated(func() *tensors.Tensor {
				return tensors.FromFlatDataAndDimensions(slices.Clone(rows), n, params)
			})
			defer value.Free()
			found := must.Get(e.Evaluate(value, 3, nil))
			return found.Fitnesses, found.Descriptors
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
		less, _ := evaluate(xlatest.WithWorkers(p, 1), genotypes)
		xlatest.Close(t, "the fitness on one device", less, all, 0)
		errtest.Want(t, errtest.Of(task.Evaluator(p, Plan{Policies: 2, States: -1, Slice: 1})))
	})
}

func TestSlicesSuitTheBackend(t *testing.T) {
	solutions := NewTask(envs.Sphere(10), nil, 1)
	errtest.Equal(t, "slices without observations", solutions.DefaultSlice(backend.CPU, 540), 540)
	for _, c := range []struct {
		kind                backend.Kind
		batch, params, want int
	}{{backend.CPU, 1000, 67074, 4}, {backend.CPU, 1000, 10, 8}, {backend.CPU, 1000, 1 << 24, 2},
		{backend.CPU, 1, 10, 1}, {backend.CUDA, 1000, 67074, 1000}, {backend.Go, 50, 10, 50}} {
		errtest.Equal(t, fmt.Sprintf("slices of %+v", c), defaultSlice(c.kind, c.batch, c.params), c.want)
	}
}
