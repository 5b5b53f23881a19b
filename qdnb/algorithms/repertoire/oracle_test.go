package repertoire

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// contents is a repertoire on the host whose genotypes are one number each.
type contents struct {
	dims                               int
	centroids                          []float32 // [cells, dims]
	fitnesses, descriptors, identities []float32 // [cells], [cells, dims], [cells]
}

// candidates is a batch for insertion on the host.
type candidates struct{ fitnesses, descriptors, identities []float32 }

func emptyContents(centroids []float32, dims int) contents {
	cells := len(centroids) / dims
	c := contents{dims, centroids, make([]float32, cells), make([]float32, cells*dims),
		make([]float32, cells)}
	for i := range c.fitnesses {
		c.fitnesses[i] = float32(math.Inf(-1))
	}
	return c
}

func (c contents) clone() contents {
	c.fitnesses, c.descriptors, c.identities = slices.Clone(c.fitnesses), slices.Clone(c.descriptors),
		slices.Clone(c.identities)
	return c
}

// cellOf is [cellOf] in plain Go, also in float32.
func (c contents) cellOf(descriptor []float32) int {
	best, nearest := float32(math.Inf(1)), 0
	for cell := range c.fitnesses {
		var distance float32
		for k, x := range descriptor {
			difference := c.centroids[cell*c.dims+k] - x
			distance += float32(difference * difference)
		}
		if distance < best {
			best, nearest = distance, cell
		}
	}
	return nearest
}

// insert is the insertion in plain Go: one candidate after the other, and only a strictly fitter
// one enters a cell. With nanBlocks, a NaN fitness keeps the whole batch out of its cell, as in the
// published code; otherwise it is skipped.
func (c contents) insert(batch candidates, nanBlocks bool) contents {
	blocked := map[int]bool{}
	before := c.clone()
	c = c.clone()
	for i, fitness := range batch.fitnesses {
		descriptor := batch.descriptors[i*c.dims : (i+1)*c.dims]
		cell := c.cellOf(descriptor)
		switch hasNaN := slices.ContainsFunc(descriptor, func(x float32) bool { return x != x }); {
		case fitness != fitness:
			blocked[cell] = true
		case !hasNaN && fitness > c.fitnesses[cell]:
			c.fitnesses[cell], c.identities[cell] = fitness, batch.identities[i]
			copy(c.descriptors[cell*c.dims:], descriptor)
		}
	}
	for cell := range blocked {
		if nanBlocks {
			c.fitnesses[cell], c.identities[cell] = before.fitnesses[cell], before.identities[cell]
			copy(c.descriptors[cell*c.dims:], before.descriptors[cell*c.dims:(cell+1)*c.dims])
		}
	}
	return c
}

// insertOn is the insertion on a backend, as in a generation of package evolution. It also returns
// the cells of the candidates.
func (c contents) insertOn(t *testing.T, p *xla.Platform, batch candidates) (after contents,
	cells []int32) {
	t.Helper()
	n, m := len(c.fitnesses), len(batch.fitnesses)
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		before := Cells{Fitness: in[0], Descriptors: in[1], Centroids: in[2]}
		batch := Batch{Fitness: in[4], Descriptors: in[5]}
		archive, entering := Grid{before}.Add(Evaluated{Batch: batch})
		after := archive.Cells()
		compact, count := xla.Nonzero(entering.Accepted)
		winners := Gather(entering.Index, InsertAxes(compact, -1))
		genotypes := xla.SetRowsAt(in[3], in[6], winners, compact, count)
		return []*Node{after.Fitness, after.Descriptors, genotypes,
			before.cellOf(batch.Descriptors)}
	}, xlatest.Tensor(c.fitnesses, n), xlatest.Tensor(c.descriptors, n, c.dims),
		xlatest.Tensor(c.centroids, n, c.dims),
		xlatest.Tensor(c.identities, n, 1),
		xlatest.Tensor(batch.fitnesses, m), xlatest.Tensor(batch.descriptors, m, c.dims),
		xlatest.Tensor(batch.identities, m, 1))
	after = contents{c.dims, c.centroids, xlatest.Flat[float32](t, out[0]),
		xlatest.Flat[float32](t, out[1]), xlatest.Flat[float32](t, out[2])}
	return after, xlatest.Flat[int32](t, out[3])
}

// same compares the fitnesses of all cells, and the identities and descriptors of all but the
// excluded cells.
func same(t *testing.T, what string, got, want contents, leftOut []int32) {
	t.Helper()
	for cell := range want.fitnesses {
		if got.fitnesses[cell] != want.fitnesses[cell] {
			t.Errorf("%s: the fitness of cell %d is %g, want %g", what, cell, got.fitnesses[cell],
				want.fitnesses[cell])
		}
		if leftOut != nil && leftOut[cell] != 0 {
			continue
		}
		if got.identities[cell] != want.identities[cell] {
			t.Errorf("%s: cell %d is held by %g, want %g", what, cell, got.identities[cell],
				want.identities[cell])
		}
		if at, end := cell*want.dims, (cell+1)*want.dims; !slices.Equal(got.descriptors[at:end],
			want.descriptors[at:end]) {
			t.Errorf("%s: the descriptor of cell %d is %g, want %g", what, cell, got.descriptors[at:end],
				want.descriptors[at:end])
		}
	}
}

// keysOf returns n keys from a seed.
func keysOf(g *Graph, seed int64, n int) random.Key {
	return random.NewKey(g, seed).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, n), 0))
}
