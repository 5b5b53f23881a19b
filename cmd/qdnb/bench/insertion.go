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

// InsertionTiming is what [Insertion] measures.
type InsertionTiming struct {
	Backend        string  `json:"backend"`
	Batch          int     `json:"batch"`   // candidates
	Cells          int     `json:"cells"`   // of the repertoire
	Params         int     `json:"params"`  // numbers of a genotype
	Better         int     `json:"better"`  // candidates that are fitter than any occupant
	Entered        int     `json:"entered"` // those of them that are the fittest of their cell
	BestSeconds    float64 `json:"best_s"`  // best of the repeats
	CompileSeconds float64 `json:"compile_seconds"`
}

// InsertionSpec says what [Insertion] times.
type InsertionSpec struct {
	Batch   int
	Better  int
	Repeats int
	Backend string // see [xla.Open]
}

// insertionCells is how many cells a repertoire of [Insertion] has, the paper's number.
const insertionCells = 1024

// Insertion times the insertion of candidates, whose genotypes are stored, into a full
// repertoire of the paper's size on ant-uni: 1024 cells, policies of two hidden layers of 256
// units. Each insertion is into what the one before has left, and of its candidates as many are
// better than all occupants: in a search that has been going on for a while some 50 of 1000 are.
func Insertion(s InsertionSpec) (InsertionTiming, error) {
	if s.Batch < 1 || s.Better < 0 || s.Better > s.Batch {
		return InsertionTiming{},
			errors.Errorf("of a batch of 1 or more all may be better at most, not %d of %d", s.Better,
				s.Batch)
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
	for i := range max(1, s.Repeats) + 1 { // the first one warms up
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

// startInsertion makes a full repertoire (genotypes, fitness, descriptors), its centroids, and
// candidates (genotypes, descriptors, and a number of 0 to 1 that orders those which are better).
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

// compileInsertion builds the insertion with the number n: the fitness of candidates is beyond n
// for those that are better, -1 for others.
func compileInsertion(p *xla.Platform, s InsertionSpec, stored []xla.Sharded) (*xla.Program,
	error) {
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Float32)}}
	for i, v := range stored {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: i < 3})
	}
	return p.Compile("insertion", inputs, func(in []*graph.Node) []*graph.Node {
		genotypes, order := in[1], in[7]
		cells := repertoire.Cells{Fitness: in[2], Descriptors: in[3], Centroids: in[4]}
		// Spread over the batch, as they are in a search.
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
