package hierarchy

import (
	"testing"

	"example.com/qdnb/xla"
)

// Environments are stepped in slices of the same size with any number of workers on CPUs: it
// decides about the last bits.
func TestSlicesDoNotDependOnWorkers(t *testing.T) {
	for _, n := range []int{1, 2, 8, 9, 16, 64, 2048} {
		for workers := 1; workers <= 4; workers++ {
			s := share(&xla.Platform{Kind: xla.CPU, Workers: workers}, n, 0)
			if s.slice != min(n, sliceOnCPU) || s.turns()*s.workers*s.slice < n {
				t.Errorf("%d environments on %d workers: %d turns of slices of %d", n, workers, s.turns(),
					s.slice)
			}
		}
	}
}
