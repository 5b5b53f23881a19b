package repertoire

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Grid is the archive of MAP-Elites: one cell per centroid, which holds the fittest individual
// found there, see [Winners]. An individual improves an empty cell by its fitness plus the task's
// offset, so that new cells rank above better ones.
type Grid struct {
	Centroids npz.Array // float32 [cells, d]
	Elites    Cells
	Offset    float64 // of the task, see [scoring.Task.QDOffset]
}

// Empty implements [Archive].
func (a Grid) Empty(task scoring.Task, key xla.Key) Archive {
	a.Offset, a.Elites = task.QDOffset(), emptyCells(key.Hi.Graph(), a.Centroids, 1)
	return a
}

// emptyCells returns empty cells around centroids, with a number of slots each.
func emptyCells(g *Graph, centroids npz.Array, slots int) Cells {
	cells, d := centroids.Shape[0], centroids.Shape[1]
	flat, err := centroids.Float32s()
	if err != nil {
		panic(err)
	}
	empty := EmptySlots(g, cells*slots, d)
	empty.Centroids = Reshape(Const(g, flat), cells, d)
	return empty
}

// Add implements [Archive].
func (a Grid) Add(found Evaluated) (Archive, Insertion) {
	in := Insertion{Valid: found.Valid()}
	in.Index, in.Accepted = Winners(a.Elites, found.Batch)
	occupant := Gather(a.Elites.Fitness, InsertAxes(CellOf(a.Elites.Centroids, found.Descriptors), -1))
	in.Improvement = found.improvement(occupant, a.Offset)
	a.Elites = a.Elites.Update(found.Batch, in.Index, in.Accepted)
	return a, in
}

// improvement returns the fitness of each candidate above that of the occupant of its slot, [P], or
// above -offset if the slot is empty; -Inf for candidates that are not valid.
func (b Batch) improvement(occupant *Node, offset float64) *Node {
	empty := Equal(occupant, lowest(occupant))
	gain := Where(empty, AddScalar(b.Fitness, offset), Sub(b.Fitness, occupant))
	return Where(b.Valid(), gain, lowest(gain))
}

// Cells implements [Archive].
func (a Grid) Cells() Cells { return a.Elites }
