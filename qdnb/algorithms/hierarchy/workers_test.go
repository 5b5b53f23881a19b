package hierarchy

import (
	"testing"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// On CPUs, the slice size does not depend on the number of workers, because it affects the last
// bits.
func TestSlicesDoNotDependOnWorkers(t *testing.T) {
	for _, n := range []int{1, 2, 8, 9, 16, 64, 2048} {
		for workers := 1; workers <= 4; workers++ {
			s := share(&xla.Platform{Platform: &backend.Platform{Kind: backend.CPU, Workers: workers}}, n, 0)
			if s.Size != min(n, sliceOnCPU) || s.Turns()*s.Workers*s.Size < n {
				t.Errorf("%d environments on %d workers: %d turns of slices of %d", n, workers, s.Turns(),
					s.Size)
			}
		}
	}
}
