// Package collection inserts solutions that were evaluated elsewhere into a grid: the repertoires of all
// searches whose archive is not measured itself.
package collection

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Collection is a repertoire of solutions that were evaluated elsewhere: a [repertoire.Grid] and the
// genotypes of its cells, on the first device.
type Collection struct {
	task   scoring.Task
	held   xla.State[collected]
	insert *xla.Program[collectIn, collectOut]
}

// collected is a pytree.
type collected struct {
	Genotypes *graph.Node // [cells, N]
	Grid      repertoire.Grid
}

// collectIn are the inputs of an insertion.
type collectIn struct {
	Held                 xla.State[collected] `xla:"donate"`
	Genotypes            xla.Array            // [rows, N]
	Fitness, Descriptors xla.Array            // [n], [n, d]
}

// collectOut are its outputs.
type collectOut struct {
	Held   xla.State[collected]
	Counts xla.Array // see [scoring.Task.Count]
}

// collectionNames are the names of the tensors in files.
var collectionNames = []string{"genotypes", "fitnesses", "descriptors", "centroids"}

// New returns an empty collection in the cells of a task and compiles the insertion of
// n candidates with rows genotypes: candidate i has genotype i mod rows.
func New(c *xla.Scope, task scoring.Task, rows, n int) (*Collection, error) {
	cells, d, params := task.Centroids.Shape[0], task.Centroids.Shape[1], task.Policy.Params()
	at, err := task.Centroids.Float32s()
	if err != nil {
		return nil, err
	}
	none := slices.Repeat([]float32{float32(math.Inf(-1))}, cells)
	limited := task.Env.Spec().Descriptor
	held := xla.Pack(func(in []*graph.Node) collected {
		elites := repertoire.Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[3],
			Scale: limits.Scale(limited.Lower, limited.Upper)}
		return collected{in[0], repertoire.Grid{Elites: elites}}
	}, xla.Single(c.Zeros(cells, params)), xla.FromFloats(none, cells), xla.Single(c.Zeros(cells, d)),
		xla.FromFloats(at, cells, d))
	in := collectIn{held, xla.Declare(dtypes.Float32, rows, params), xla.Declare(dtypes.Float32, n),
		xla.Declare(dtypes.Float32, n, d)}
	insert, err := xla.Compile(c, "insertion", in, func(in collectIn) collectOut {
		held, batch := in.Held.Tree, repertoire.Batch{Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree}
		grid, entering := held.Grid.Add(repertoire.Evaluated{Batch: batch})
		cells, count := xla.Nonzero(entering.Accepted)
		from := graph.ModScalar(graph.Gather(entering.Index, graph.InsertAxes(cells, -1)), int32(rows))
		held.Genotypes = xla.SetRowsAt(held.Genotypes, in.Genotypes.Tree, from, cells, count)
		held.Grid = grid.(repertoire.Grid)
		return collectOut{xla.Out(held), xla.Out(task.Count(batch.Fitness, batch.Descriptors, nil, entering.Valid))}
	})
	return &Collection{task, held, insert}, err
}

// Add inserts candidates with genotypes [rows, N] and adds the fitnesses of the cells and the tally to
// an outcome.
func (c *Collection) Add(genotypes xla.Array, found scoring.Results, o *scoring.Outcome) error {
	n := len(found.Fitnesses)
	in := collectIn{c.held, genotypes.First(),
		xla.FromFloats(found.Fitnesses, n),
		xla.FromFloats(found.Descriptors, n, len(found.Descriptors)/n)}
	out, err := c.insert.Run(in)
	xla.Free(&in.Fitness, &in.Descriptors)
	if err != nil {
		return err
	}
	c.held = out.Held
	counts, err := out.Counts.Floats()
	out.Counts.Free()
	if err != nil {
		return err
	}
	o.Tally(counts, c.task)
	o.Fitnesses, err = c.Fitnesses()
	return err
}

// Fitnesses are those of the cells.
func (c *Collection) Fitnesses() ([]float32, error) {
	return xla.Part(c.held, func(c collected) *graph.Node { return c.Grid.Elites.Fitness }).Floats()
}

// Arrays copies the repertoire to the host: fitnesses, descriptors, centroids and, on request,
// genotypes.
func (c *Collection) Arrays(genotypes bool) (map[string]npz.Array, error) {
	names := slices.Clone(collectionNames)
	if !genotypes {
		names[0] = ""
	}
	list := &xla.Checkpoint{}
	list.Add(&c.held, 1, "", names...)
	list.Sparse("genotypes", "fitnesses")
	return list.Arrays()
}

// Store lists the repertoire in a checkpoint, under names with a prefix.
func (c *Collection) Store(to *xla.Checkpoint, prefix string) {
	to.Add(&c.held, 1, prefix, collectionNames...)
	to.Sparse(prefix+"genotypes", prefix+"fitnesses")
}

// Free releases the memory on the device.
func (c *Collection) Free() { c.held.Free() }
