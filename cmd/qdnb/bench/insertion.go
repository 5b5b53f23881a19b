package bench

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Insertion times the insertion of a batch of stored candidates into a full repertoire of the
// paper's size on ant-uni: 1024 cells, policies with two hidden layers of 256 units. Each insertion
// starts from the result of the one before. Better of its candidates are fitter than all occupants;
// in an advanced search these are about 50 of 1000.
type Insertion struct {
	Batch   int `json:"batch" default:"1000"`
	Better  int `json:"better" default:"50"`
	Repeats int `json:"-" default:"20"`
}

// InsertionTiming is the result of [Insertion].
type InsertionTiming struct {
	Insertion
	Backend        string  `json:"backend"`
	Cells          int     `json:"cells"`   // of the repertoire
	Params         int     `json:"params"`  // per genotype
	Entered        int     `json:"entered"` // accepted candidates
	BestSeconds    float64 `json:"best_s"`  // best of the repeats
	CompileSeconds float64 `json:"compile_seconds"`
}

// insertionCells is the number of cells of the repertoire of [Insertion], as in the paper.
const insertionCells = 1024

// Measure implements [Benchmark].
func (b Insertion) Measure(p *xla.Platform) (any, error) {
	if b.Batch < 1 || b.Better < 0 || b.Better > b.Batch {
		return nil, fmt.Errorf("batch must be 1 or more and better between 0 and batch, not %d and "+
			"%d", b.Batch, b.Better)
	}
	params := nn.NewPolicy(87, []int{256, 256}, 8).Params()
	if err := p.CheckMemory(4*int64(params)*int64(insertionCells+b.Batch), 0); err != nil {
		return nil, err
	}
	in, err := startInsertion(p, b.Batch, params)
	if err != nil {
		return nil, err
	}
	defer func() { xla.Free(&in.Cells, &in.Candidates, &in.Centroids) }()
	in.Number = xla.Declare(dtypes.Float32)
	program, err := compileInsertion(p, b, in)
	if err != nil {
		return nil, err
	}
	defer program.Free()
	entered, number := 0, float32(0)
	_, fastest, err := best(b.Repeats, func() error {
		number++
		in.Number = xla.Single(tensors.FromScalar(number))
		defer in.Number.Free()
		out, err := program.Run(in)
		if err != nil {
			return err
		}
		in.Cells = out.Cells
		entered = int(out.Count.Scalars()[0]) // waits for the device
		return nil
	})
	if err != nil {
		return nil, err
	}
	return InsertionTiming{Insertion: b, Backend: p.Name(), Cells: insertionCells, Params: params,
		Entered: entered, BestSeconds: fastest, CompileSeconds: program.CompileTime.Seconds()}, nil
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

func startInsertion(p *xla.Platform, batch, params int) (insertionIn, error) {
	seed := p.Seed(0).First()
	defer seed.Free()
	first, err := xla.Compile(p, "start", seed, func(seed xla.Array) insertionIn {
		key, g := random.KeyOf(seed.Tree), seed.Tree.Graph()
		return insertionIn{
			Cells: xla.Out(cells{
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, params)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, 2))}),
			Centroids: xla.Out(key.FoldIn(0).Uniform(-1, 1, insertionCells, 2)),
			Candidates: xla.Out(candidates{
				key.FoldIn(1).Uniform(-1, 1, batch, params),
				key.FoldIn(2).Uniform(-1, 1, batch, 2),
				key.FoldIn(3).Uniform(0, 1, batch)}),
		}
	})
	if err != nil {
		return insertionIn{}, err
	}
	defer first.Free()
	return first.Run(seed)
}

// compileInsertion compiles the insertion. In insertion n the better candidates have a fitness from
// n to n+1, the others -1.
func compileInsertion(p *xla.Platform, b Insertion,
	in insertionIn) (*xla.Program[insertionIn, insertionOut], error) {
	return xla.Compile(p, "insertion", in, func(in insertionIn) insertionOut {
		held, found := in.Cells.Tree, in.Candidates.Tree
		repertoireCells := repertoire.Cells{Fitness: held.Fitness, Descriptors: held.Descriptors,
			Centroids: in.Centroids.Tree}
		// The better candidates are spread over the batch, as in a search.
		position := graph.ModScalar(graph.MulScalar(graph.Iota(found.Order.Graph(),
			shapes.Make(dtypes.Int32, b.Batch), 0), 7919), int32(b.Batch))
		better := graph.LessThan(position, graph.ConstAs(position, int32(b.Better)))
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
