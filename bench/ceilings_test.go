package bench

import (
	"math"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla"
)

const (
	ceilingRows       = 256 // of a matrix, like a batch of transitions
	ceilingProduct    = 2 * ceilingRows * ceilingRows * ceilingRows
	ceilingProducts   = 512
	ceilingChain      = 32      // multiply-adds of a value per iteration
	ceilingNumbers    = 4 << 10 // values of the multiply-adds, per worker
	ceilingWeights    = 1 << 20 // bytes of the arrays that fit into a cache, per worker
	ceilingLarge      = 1 << 29 // bytes of the arrays that do not, per worker
	ceilingIterations = 1 << 14 // of the loops of Arithmetic and Cache
)

// BenchmarkCeilings measures the highest rates that XLA programs reach on this machine, with five small
// programs, each by its best of three runs, summed over all workers. They bound the times of the other
// benchmarks: GFLOP/s of matrix products with 256 rows, of the same if all cores share each, and of
// multiply-adds in registers; GB/s of reading two arrays and writing one, 1 MB per worker, and with arrays
// larger than the caches.
func BenchmarkCeilings(b *testing.B) {
	defer failing(b)
	square := shapes.Make(dtypes.Float32, ceilingRows, ceilingRows)
	for _, of := range []struct {
		unit  string
		work  float64 // GFLOP or GB
		alone bool    // one program for all cores instead of one per worker
		build func(x *graph.Node) *graph.Node
		shape shapes.Shape
	}{
		{"products-gflops", ceilingProducts * ceilingProduct, false, products, square},
		{"shared-gflops", ceilingProducts * ceilingProduct, true, products, square},
		{"arithmetic-gflops", 2 * ceilingChain * ceilingNumbers * ceilingIterations, false,
			func(x *graph.Node) *graph.Node {
				return xla.For(x.Graph(), ceilingIterations, x, func(_, x *graph.Node) *graph.Node {
					y := x
					for range ceilingChain {
						y = graph.Add(graph.Mul(y, x), x)
					}
					return y
				})
			}, shapes.Make(dtypes.Float32, ceilingNumbers)},
		{"cache-GB/s", 3 * ceilingWeights / 2 * ceilingIterations, false, func(x *graph.Node) *graph.Node {
			return damped(x, ceilingIterations)
		}, shapes.Make(dtypes.Float32, ceilingWeights/2/4)},
		{"memory-GB/s", 3 * ceilingLarge / 2 * 8, false, func(x *graph.Node) *graph.Node {
			return damped(x, 8)
		}, shapes.Make(dtypes.Float32, ceilingLarge/2/4)},
	} {
		workers := float64(platform.Workers)
		if of.alone {
			workers = 1
		}
		b.ReportMetric(workers*of.work/timeProgram(of.alone, of.shape, of.build)/1e9, of.unit)
	}
}

// products repeats y = y x, with rows of x that sum up to 1, so that y neither grows nor vanishes. A loop
// would be compiled into one function, without XLA's products.
func products(x *graph.Node) *graph.Node {
	x = graph.Div(x, graph.ReduceAndKeep(x, graph.ReduceSum, 1))
	y := x
	for range ceilingProducts {
		y = graph.Dot(y, x).Product()
	}
	return y
}

// damped repeats sums = sums/2 + x. The compiler cannot hoist anything out of this loop.
func damped(x *graph.Node, times int) *graph.Node {
	type state struct{ X, Sums *graph.Node }
	return xla.For(x.Graph(), times, state{x, graph.OneMinus(x)}, func(_ *graph.Node, s state) state {
		s.Sums = graph.Add(graph.MulScalar(s.Sums, 0.5), s.X)
		return s
	}).Sums
}

// timeProgram returns the shortest time, in seconds, of three runs of a program on an array of small values.
func timeProgram(alone bool, shape shapes.Shape, build func(x *graph.Node) *graph.Node) float64 {
	compile, workers := xla.CompileParallel[xla.Array, xla.Array], platform.Workers
	if alone {
		compile, workers = xla.Compile[xla.Array, xla.Array], 1
	}
	numbers := make([]float32, shape.Size())
	for i := range numbers {
		numbers[i] = 1 / float32(1024+i%1024)
	}
	input := xla.Sharded{}
	for range workers {
		input = append(input, tensors.FromFlatDataAndDimensions(numbers, shape.Dimensions...))
	}
	defer input.Free()
	program := must.Get(compile(platform, "ceiling", xla.Value(input), func(x xla.Array) xla.Array {
		return xla.Out(graph.ReduceAllMax(build(x.Tree)))
	}))
	defer program.Free()
	fastest := math.Inf(1)
	for range 4 {
		start := time.Now()
		out := must.Get(program.Run(xla.Value(input)))
		for _, result := range out.Value() {
			tensors.ToScalar[float32](result) // waits for the device
		}
		fastest = min(fastest, time.Since(start).Seconds())
		out.Free()
	}
	return fastest
}
