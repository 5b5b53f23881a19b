// Package bench times the stages of training for `qdnb bench`. `make bench-peer` compares the times
// with those of the same work in JAX.
package bench

import (
	"time"

	"example.com/qdnb/xla"
)

// Benchmark is a benchmark with its settings, which are also the flags of its command: help.txt of
// the command describes them.
type Benchmark interface {
	// Measure runs the benchmark on a platform. The result is an object in JSON.
	Measure(p *xla.Platform) (any, error)
}

// best times a function: its first call, which is a warm-up, and the fastest of the repeats that
// follow, at least one, in seconds.
func best(repeats int, run func() error) (first, fastest float64, err error) {
	for i := range max(1, repeats) + 1 {
		start := time.Now()
		if err := run(); err != nil {
			return 0, 0, err
		}
		switch seconds := time.Since(start).Seconds(); {
		case i == 0:
			first = seconds
		case i == 1 || seconds < fastest:
			fastest = seconds
		}
	}
	return first, fastest, nil
}
