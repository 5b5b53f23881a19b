package bench

import (
	"errors"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Ceilings measures the highest rates that XLA programs reach on this machine, with four small
// programs, each by its best of three runs. They bound the times of the other benchmarks. The pure
// Go backend is an error.
type Ceilings struct{}

// CeilingRates is the result of [Ceilings]: rates summed over all workers.
type CeilingRates struct {
	Backend    string  `json:"backend"`
	Workers    int     `json:"workers"`
	Products   float64 `json:"products_gflops"`   // GFLOP/s of matrix products with 256 rows
	Shared     float64 `json:"shared_gflops"`     // GFLOP/s of the same if all cores share each
	Arithmetic float64 `json:"arithmetic_gflops"` // GFLOP/s of multiply-adds in registers
	// GB/s of reading two arrays and writing one, 1 MB per worker
	Cache  float64 `json:"cache_gbs"`
	Memory float64 `json:"memory_gbs"` // GB/s of the same with arrays larger than the caches
}

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

// Measure implements [Benchmark].
func (Ceilings) Measure(p *xla.Platform) (any, error) {
	if p.Kind == backend.Go {
		return nil, errors.New("the pure Go backend has no ceilings worth measuring: install a plugin " +
			"with `qdnb doctor --install`")
	}
	square := shapes.Make(dtypes.Float32, ceilingRows, ceilingRows)
	r := CeilingRates{Backend: p.Name(), Workers: p.Workers}
	for _, of := range []struct {
		rate  *float64
		work  float64 // GFLOP or GB
		alone bool    // one program for all cores instead of one per worker
		build func(x *graph.Node) *graph.Node
		shape shapes.Shape
	}{
		{&r.Products, ceilingProducts * ceilingProduct, false, products, square},
		{&r.Shared, ceilingProducts * ceilingProduct, true, products, square},
		{&r.Arithmetic, 2 * ceilingChain * ceilingNumbers * ceilingIterations, false,
			func(x *graph.Node) *graph.Node {
				return xla.For(x.Graph(), ceilingIterations, x, func(_, x *graph.Node) *graph.Node {
					y := x
					for range ceilingChain {
						y = graph.Add(graph.Mul(y, x), x)
					}
					return y
				})
			}, shapes.Make(dtypes.Float32, ceilingNumbers)},
		{&r.Cache, 3 * ceilingWeights / 2 * ceilingIterations, false, func(x *graph.Node) *graph.Node {
			return damped(x, ceilingIterations)
		}, shapes.Make(dtypes.Float32, ceilingWeights/2/4)},
		{&r.Memory, 3 * ceilingLarge / 2 * 8, false, func(x *graph.Node) *graph.Node {
			return damped(x, 8)
		}, shapes.Make(dtypes.Float32, ceilingLarge/2/4)},
	} {
		seconds, err := timeProgram(p, of.alone, of.shape, of.build)
		if err != nil {
			return nil, err
		}
		workers := float64(p.Workers)
		if of.alone {
			workers = 1
		}
		*of.rate = math.Round(10*workers*of.work/seconds/1e9) / 10
	}
	return r, nil
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

// timeProgram returns the shortest time, in seconds, of a program on an array of small values.
func timeProgram(p *xla.Platform, alone bool, shape shapes.Shape,
	build func(x *graph.Node) *graph.Node) (float64, error) {
	compile, workers := xla.CompileParallel[xla.Array, xla.Array], p.Workers
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
	program, err := compile(p, "ceiling", xla.Value(input), func(x xla.Array) xla.Array {
		return xla.Out(graph.ReduceAllMax(build(x.Tree)))
	})
	if err != nil {
		return 0, err
	}
	defer program.Free()
	_, fastest, err := best(3, func() error {
		out, err := program.Run(xla.Value(input))
		if err != nil {
			return err
		}
		for _, result := range out.Value() {
			tensors.ToScalar[float32](result) // waits for the device
		}
		out.Free()
		return nil
	})
	return fastest, err
}
