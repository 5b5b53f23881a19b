package bench

import (
	"context"
	"math"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// InsertionTiming is the result of [Insertion].
type InsertionTiming struct {
	Backend        string  `json:"backend"`
	Batch          int     `json:"batch"`   // candidates
	Cells          int     `json:"cells"`   // of the repertoire
	Params         int     `json:"params"`  // per genotype
	Better         int     `json:"better"`  // candidates fitter than every occupant
	Entered        int     `json:"entered"` // accepted candidates
	BestSeconds    float64 `json:"best_s"`  // best of the repeats
	CompileSeconds float64 `json:"compile_seconds"`
}

// InsertionSpec configures [Insertion].
type InsertionSpec struct {
	Batch   int
	Better  int
	Repeats int
	Backend string // see [xla.Open]
}

// insertionCells is the number of cells of the repertoire of [Insertion], as in the paper.
const insertionCells = 1024

// Insertion times the insertion of a batch of stored candidates into a full repertoire of the
// paper's size on ant-uni: 1024 cells, policies with two hidden layers of 256 units. Each insertion
// starts from the result of the one before. s.Better of its candidates are fitter than all
// occupants; in an advanced search these are about 50 of 1000.
func Insertion(s InsertionSpec) (InsertionTiming, error) {
	if s.Batch < 1 || s.Better < 0 || s.Better > s.Batch {
		return InsertionTiming{},
			errors.Errorf("batch must be 1 or more and better between 0 and batch, not %d and %d", s.Batch,
				s.Better)
	}
	platform, err := xla.Open(context.Background(), s.Backend)
	if err != nil {
		return InsertionTiming{}, err
	}
	params := nn.Policy(87, []int{256, 256}, 8).Params()
	if err := platform.CheckMemory(4 * int64(params) * int64(insertionCells+s.Batch)); err != nil {
		return InsertionTiming{}, err
	}
	t := InsertionTiming{Backend: platform.Name(), Batch: s.Batch, Cells: insertionCells,
		Params: params, Better: s.Better}
	in, err := startInsertion(platform, s.Batch, params)
	if err != nil {
		return t, err
	}
	defer func() { xla.Free(&in.Cells, &in.Candidates, &in.Centroids) }()
	in.Number = xla.Declare(dtypes.Float32)
	program, err := compileInsertion(platform, s, in)
	if err != nil {
		return t, err
	}
	defer program.Free()
	t.CompileSeconds, t.BestSeconds = program.CompileTime.Seconds(), math.Inf(1)
	for i := range max(1, s.Repeats) + 1 { // the first repeat is a warm-up
		in.Number = xla.Single(tensors.FromScalar(float32(i + 1)))
		start := time.Now()
		out, err := program.Run(in)
		in.Number.Free()
		if err != nil {
			return t, err
		}
		in.Cells = out.Cells
		t.Entered = int(out.Count.Scalars()[0]) // waits for the device
		t.BestSeconds = min(t.BestSeconds, time.Since(start).Seconds())
	}
	return t, nil
}

// cells are a repertoire, and candidates the individuals that may enter it: pytrees.
type (
	cells      struct{ Genotypes, Fitness, Descriptors *graph.Node }
	candidates struct {
		Genotypes, Descriptors *graph.Node
		Order                  *graph.Node // [batch], a value in [0, 1) that ranks the better ones
	}
)

// Inputs and outputs of the insertion.
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

// startInsertion makes a full repertoire and the candidates.
func startInsertion(p *xla.Platform, batch, params int) (insertionIn, error) {
	seed := p.Seed(0).First()
	defer seed.Free()
	first, err := xla.Compile(p, "start", seed, func(seed xla.Array) insertionIn {
		key, g := xla.KeyOf(seed.Tree), seed.Tree.Graph()
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
func compileInsertion(p *xla.Platform, s InsertionSpec,
	in insertionIn) (*xla.Program[insertionIn, insertionOut], error) {
	return xla.Compile(p, "insertion", in, func(in insertionIn) insertionOut {
		held, found := in.Cells.Tree, in.Candidates.Tree
		repertoireCells := repertoire.Cells{Fitness: held.Fitness, Descriptors: held.Descriptors,
			Centroids: in.Centroids.Tree}
		// The better candidates are spread over the batch, as in a search.
		place := graph.ModScalar(graph.MulScalar(graph.Iota(found.Order.Graph(),
			shapes.Make(dtypes.Int32, s.Batch), 0), 7919), int32(s.Batch))
		better := graph.LessThan(place, graph.ConstAs(place, int32(s.Better)))
		batch := repertoire.Batch{Fitness: graph.Where(better, graph.Add(found.Order, in.Number.Tree),
			graph.ConstAs(found.Order, -1)), Descriptors: found.Descriptors}
		index, accepted := repertoire.Winners(repertoireCells, batch)
		after := repertoireCells.Update(batch, index, accepted)
		to, count := repertoire.Compact(accepted)
		winners := graph.Gather(index, graph.InsertAxes(to, -1))
		genotypes := repertoire.SetGenotypes(held.Genotypes, found.Genotypes, winners, to, count)
		return insertionOut{xla.Out(cells{genotypes, after.Fitness, after.Descriptors}), xla.Out(count)}
	})
}
