package bench

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// insertionCells is the number of cells of the repertoire of [BenchmarkInsertion], as in the paper.
const insertionCells = 1024

// BenchmarkInsertion times the insertion of a batch of stored candidates, 1000 unless -batch says
// otherwise, into a full repertoire of the paper's size on ant-uni: 1024 cells, policies with two hidden
// layers of 256 units. Each insertion starts from the result of the one before. So many as -better says
// are fitter than all occupants; in an advanced search these are about 50 of 1000.
func BenchmarkInsertion(b *testing.B) {
	defer failing(b)
	size := batchOr(1000)
	if size < 1 || *better < 0 || *better > size {
		b.Fatalf("-batch must be 1 or more and -better between 0 and -batch, not %d and %d", size, *better)
	}
	params := nn.NewPolicy(87, []int{256, 256}, 8).Params()
	must.Do(platform.CheckMemory(4*int64(params)*int64(insertionCells+size), 0))
	in := startInsertion(size, params)
	defer func() { xla.Free(&in.Cells, &in.Candidates, &in.Centroids) }()
	in.Number = xla.Declare(dtypes.Float32)
	program := must.Get(compileInsertion(size, in))
	defer program.Free()
	entered, number := 0, float32(0)
	best(b, func() {
		number++
		in.Number = xla.Single(tensors.FromScalar(number))
		defer in.Number.Free()
		out := must.Get(program.Run(in))
		in.Cells = out.Cells
		entered = int(out.Count.Scalars()[0]) // waits for the device
	})
	report(b, map[string]float64{"batch": float64(size), "params": float64(params), "entered": float64(entered),
		"compile-s": program.CompileTime.Seconds()})
}

// cells are a repertoire, and candidates the individuals that may enter it: pytrees.
type (
	cells      struct{ Genotypes, Fitness, Descriptors *graph.Node }
	candidates struct {
		Genotypes, Descriptors *graph.Node
		Order                  *graph.Node // [batch], a value in [0, 1) that ranks the better ones
	}
)

type (
	insertionIn struct {
		Number     xla.Array        // number of the insertion
		Cells      xla.State[cells] `xla:"donate"`
		Centroids  xla.Array
		Candidates xla.State[candidates]
	}
	insertionOut struct {
		Cells xla.State[cells]
		Count xla.Array // accepted candidates
	}
)

func startInsertion(size, params int) insertionIn {
	seed := platform.Seed(0).First()
	defer seed.Free()
	first := must.Get(xla.Compile(platform, "start", seed, func(seed xla.Array) insertionIn {
		key, g := random.KeyOf(seed.Tree), seed.Tree.Graph()
		return insertionIn{
			Cells: xla.Out(cells{
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, params)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, 2))}),
			Centroids: xla.Out(key.FoldIn(0).Uniform(-1, 1, insertionCells, 2)),
			Candidates: xla.Out(candidates{
				key.FoldIn(1).Uniform(-1, 1, size, params),
				key.FoldIn(2).Uniform(-1, 1, size, 2),
				key.FoldIn(3).Uniform(0, 1, size)}),
		}
	}))
	defer first.Free()
	return must.Get(first.Run(seed))
}

// compileInsertion compiles the insertion. In insertion n the better candidates have a fitness from
// n to n+1, the others -1.
func compileInsertion(size int, in insertionIn) (*xla.Program[insertionIn, insertionOut], error) {
	return xla.Compile(platform, "insertion", in, func(in insertionIn) insertionOut {
		held, found := in.Cells.Tree, in.Candidates.Tree
		repertoireCells := repertoire.Cells{Fitness: held.Fitness, Descriptors: held.Descriptors,
			Centroids: in.Centroids.Tree}
		// The better candidates are spread over the batch, as in a search.
		position := graph.ModScalar(graph.MulScalar(graph.Iota(found.Order.Graph(),
			shapes.Make(dtypes.Int32, size), 0), 7919), int32(size))
		better := graph.LessThan(position, graph.ConstAs(position, int32(*better)))
		batch := repertoire.Batch{Fitness: graph.Where(better, graph.Add(found.Order, in.Number.Tree),
			graph.ConstAs(found.Order, -1)), Descriptors: found.Descriptors}
		archive, entering := repertoire.Grid{Elites: repertoireCells}.Add(repertoire.Evaluated{Batch: batch})
		after := archive.Cells()
		to, count := xla.Nonzero(entering.Accepted)
		winners := graph.Gather(entering.Index, graph.InsertAxes(to, -1))
		genotypes := xla.SetRowsAt(held.Genotypes, found.Genotypes, winners, to, count)
		return insertionOut{xla.Out(cells{genotypes, after.Fitness, after.Descriptors}), xla.Out(count)}
	})
}
