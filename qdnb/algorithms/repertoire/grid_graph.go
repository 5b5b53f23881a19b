package repertoire

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla/random"
)

// Grid is the archive of MAP-Elites: one cell per centroid of the task, which holds the fittest individual
// found there, see [Winners].
type Grid struct{ Elites Cells }

// Empty implements [Archive].
func (a Grid) Empty(task scoring.Task, key random.Key) Archive {
	a.Elites = emptyCells(key.Hi.Graph(), task, 1)
	return a
}

// emptyCells returns empty cells around the task's centroids, with a number of slots each.
func emptyCells(g *Graph, task scoring.Task, slots int) Cells {
	cells, d := task.Centroids.Shape[0], task.Centroids.Shape[1]
	flat, err := task.Centroids.Float32s()
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
	in.Improvement = found.improvement(occupant)
	a.Elites = a.Elites.Update(found.Batch, in.Index, in.Accepted)
	return a, in
}

// improvement returns the fitness of each candidate above that of the occupant of its slot, [P];
// -Inf for candidates that are not valid. Those whose slot is empty rank above all others, by fitness,
// as in CMA-ME (Fontaine et al. 2020; pyribs, emitters/rankers.py, TwoStageImprovementRanker).
func (b Batch) improvement(occupant *Node) *Node {
	valid := b.Valid()
	fills := And(valid, Equal(occupant, lowest(occupant)))
	gain := Where(And(valid, LogicalNot(fills)), Sub(b.Fitness, occupant), lowest(b.Fitness))
	least := ReduceAllMin(Where(fills, b.Fitness, ConstAs(b.Fitness, math.MaxFloat32)))
	above := AddScalar(MaxScalar(ReduceAllMax(gain), 0), 1)
	return Where(fills, Add(Sub(b.Fitness, least), above), gain)
}

// Cells implements [Archive].
func (a Grid) Cells() Cells { return a.Elites }
