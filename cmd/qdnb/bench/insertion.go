package bench

import (
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
	platform, err := xla.Open(s.Backend)
	if err != nil {
		return InsertionTiming{}, err
	}
	params := nn.Policy(87, []int{256, 256}, 8).Params()
	if err := platform.CheckMemory(4 * int64(params) * int64(insertionCells+s.Batch)); err != nil {
		return InsertionTiming{}, err
	}
	t := InsertionTiming{Backend: platform.Name(), Batch: s.Batch, Cells: insertionCells,
		Params: params, Better: s.Better}
	stored, err := startInsertion(platform, s.Batch, params)
	if err != nil {
		return t, err
	}
	defer func() {
		for _, v := range stored {
			v.Free()
		}
	}()
	program, err := compileInsertion(platform, s, stored)
	if err != nil {
		return t, err
	}
	defer program.Free()
	t.CompileSeconds, t.BestSeconds = program.CompileTime.Seconds(), math.Inf(1)
	for i := range max(1, s.Repeats) + 1 { // the first repeat is a warm-up
		number := xla.Sharded{tensors.FromScalar(float32(i + 1))}
		start := time.Now()
		out, err := program.Run(append([]xla.Sharded{number}, stored...)...)
		number.Free()
		if err != nil {
			return t, err
		}
		copy(stored, out[:3])
		t.Entered = int(tensors.ToScalar[int32](out[3][0])) // waits for the device
		out[3].Free()
		t.BestSeconds = min(t.BestSeconds, time.Since(start).Seconds())
	}
	return t, nil
}

// startInsertion makes a full repertoire (genotypes, fitness, descriptors), its centroids, and the
// candidates (genotypes, descriptors, and a value in [0, 1) that ranks the better ones).
func startInsertion(p *xla.Platform, batch, params int) ([]xla.Sharded, error) {
	first, err := p.Compile("start", []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}},
		func(in []*graph.Node) []*graph.Node {
			key, g := xla.KeyOf(in[0]), in[0].Graph()
			return []*graph.Node{
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, params)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, 2)),
				key.FoldIn(0).Uniform(-1, 1, insertionCells, 2),
				key.FoldIn(1).Uniform(-1, 1, batch, params),
				key.FoldIn(2).Uniform(-1, 1, batch, 2),
				key.FoldIn(3).Uniform(0, 1, batch),
			}
		})
	if err != nil {
		return nil, err
	}
	defer first.Free()
	seed := xla.Sharded{tensors.FromValue(xla.SeedWords(0))}
	defer seed.Free()
	return first.Run(seed)
}

// compileInsertion compiles the insertion. Its first input is the number n of the insertion: the
// better candidates have a fitness from n to n+1, the others -1.
func compileInsertion(p *xla.Platform, s InsertionSpec, stored []xla.Sharded) (*xla.Executable,
	error) {
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32)}}
	for i, v := range stored {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: i < 3})
	}
	return p.Compile("insertion", inputs, func(in []*graph.Node) []*graph.Node {
		genotypes, order := in[1], in[7]
		cells := repertoire.Cells{Fitness: in[2], Descriptors: in[3], Centroids: in[4]}
		// The better candidates are spread over the batch, as in a search.
		place := graph.ModScalar(graph.MulScalar(graph.Iota(order.Graph(),
			shapes.Make(dtypes.Int32, s.Batch), 0), 7919), int32(s.Batch))
		better := graph.LessThan(place, graph.ConstAs(place, int32(s.Better)))
		batch := repertoire.Batch{Fitness: graph.Where(better, graph.Add(order, in[0]),
			graph.ConstAs(order, -1)), Descriptors: in[6]}
		index, accepted := repertoire.Winners(cells, batch)
		after := cells.Update(batch, index, accepted)
		to, count := repertoire.Compact(accepted)
		winners := graph.Gather(index, graph.InsertAxes(to, -1))
		return []*graph.Node{repertoire.SetGenotypes(genotypes, in[5], winners, to, count), after.Fitness,
			after.Descriptors, count}
	})
}
