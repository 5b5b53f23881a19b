package evolution

import (
	"math"
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
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, slice := range []int{1, 3, 7, 20} {
			e, err := scoring.NewEvaluator(p, unlimited.task(),
				scoring.Plan{Policies: batch, Slice: slice})
			if err != nil {
				t.Fatal(err)
			}
			value := p.Replicated(func() *tensors.Tensor {
				return tensors.FromFlatDataAndDimensions(genotypes, batch, 4)
			})
			found, err := e.Evaluate(value, 0, nil)
			fitness, descriptors := found.Fitnesses, found.Descriptors
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
				if descriptor := genotypes[4*i+1] + genotypes[4*i+3]; fitness[i] != want || i != 5 &&
					descriptors[i] != descriptor {
					t.Errorf("slices of %d: policy %d has fitness %g and descriptor %g, want %g and %g", slice, i,
						fitness[i], descriptors[i], want, descriptor)
				}
			}
			value.Free()
			e.Free()
		}
		for _, bad := range [][2]int{{0, 1}, {3, -1}, {-1, 0}} {
			if _, err := scoring.NewEvaluator(p, unlimited.task(),
				scoring.Plan{Policies: bad[0], Slice: bad[1]}); err == nil {
				t.Errorf("%d policies in slices of %d were accepted", bad[0], bad[1])
			}
		}
	})
}
