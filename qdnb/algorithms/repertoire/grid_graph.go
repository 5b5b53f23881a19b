package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla/random"
)

// Grid is the archive of MAP-Elites: one cell per centroid of the task, which holds the fittest
// individual found there.
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
	limited := task.Env.Spec().Descriptor
	empty.Centroids, empty.Scale = Reshape(Const(g, flat), cells, d), limits.Scale(limited.Lower, limited.Upper)
	return empty
}

// Add implements [Archive]. A candidate enters its cell if it is the fittest of the batch there (the
// lowest index among equals) and strictly fitter than the occupant (QDax,
// containers/mapelites_repertoire.py, where the order of equals depends on the backend).
func (a Grid) Add(found Evaluated) (Archive, Insertion) {
	in, g := Insertion{Valid: found.Valid()}, found.Fitness.Graph()
	n, p := a.Elites.Fitness.Shape().Dimensions[0], found.Fitness.Shape().Dimensions[0]
	fitness := Where(in.Valid, found.Fitness, lowest(found.Fitness))
	cell := InsertAxes(a.Elites.cellOf(found.Descriptors), -1)
	occupant := Gather(a.Elites.Fitness, cell)
	best := ScatterMax(a.Elites.Fitness, cell, fitness, false, false) // of occupant and candidates
	enters := And(Equal(fitness, Gather(best, cell)), GreaterThan(fitness, occupant))
	none := BroadcastToDims(Const(g, int32(p)), n)
	order := Iota(g, shapes.Make(dtypes.Int32, p), 0)
	first := ScatterMin(none, cell, Where(enters, order, Const(g, int32(p))), false, false)
	in.Accepted = LessThan(first, none)
	in.Index = Where(in.Accepted, first, ZerosLike(first))
	in.Improvement = found.improvement(occupant)
	a.Elites = a.Elites.Update(found.Batch, in.Index, in.Accepted)
	return a, in
}

// improvement returns by how much each candidate is fitter than the occupant of its slot, [P];
// -Inf for candidates that are not valid. Those whose slot is empty rank above all others, by fitness,
// as in CMA-ME (Fontaine et al. 2020; pyribs, emitters/rankers.py, TwoStageImprovementRanker).
func (b Batch) improvement(occupant *Node) *Node {
	valid := b.Valid()
	fills := And(valid, Equal(occupant, lowest(occupant)))
	gain := Where(And(valid, LogicalNot(fills)), Sub(b.Fitness, occupant), lowest(b.Fitness))
	worst := ReduceAllMin(Where(fills, b.Fitness, ConstAs(b.Fitness, math.MaxFloat32)))
	above := AddScalar(MaxScalar(ReduceAllMax(gain), 0), 1)
	return Where(fills, Add(Sub(b.Fitness, worst), above), gain)
}

// Cells implements [Archive].
func (a Grid) Cells() Cells { return a.Elites }
