package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// DominatedNovelty is the archive of Dominated Novelty Search (Bahlous-Boldi et al. 2025): a
// population without cells, limits or distance threshold. Its slots hold the solutions with the
// greatest dominated novelty: those that are fitter than the solutions near them, or far from all
// that are at least as fit. Descriptors are the task's; a passive repertoire measures it.
type DominatedNovelty struct {
	Capacity   int   `json:"capacity" limits:"2,16384"` // solutions of the population; its publication: 1024
	K          int   `json:"k" limits:"1,64"`           // nearest fitter solutions that count; its publication: 3
	Population Cells // [capacity], without centroids
}

// Empty implements [Archive].
func (a DominatedNovelty) Empty(task scoring.Task, key random.Key) Archive {
	limited := task.Env.Spec().Descriptor
	a.Population = EmptySlots(key.Hi.Graph(), a.Capacity, len(limited.Lower))
	a.Population.Scale = limits.Scale(limited.Lower, limited.Upper)
	return a
}

// EmptySlots returns n empty slots for descriptors of d components, without centroids.
func EmptySlots(g *Graph, n, d int) Cells {
	return Cells{Fitness: unfilled(g, n), Descriptors: Zeros(g, shapes.Make(dtypes.Float32, n, d))}
}

// Cells implements [Archive].
func (a DominatedNovelty) Cells() Cells { return a.Population }

// Add implements [Archive]. An individual improves the population by its dominated novelty.
func (a DominatedNovelty) Add(found Evaluated) (Archive, Insertion) {
	in := Insertion{Valid: found.Valid()}
	var novelty *Node
	in.Index, in.Accepted, novelty = a.winners(found.Batch)
	in.Improvement = Slice(novelty, AxisRange(a.Capacity))
	a.Population = a.Population.Update(found.Batch, in.Index, in.Accepted)
	return a, in
}

// winners decides the insertion of a batch (QDax 0.5.1, containers/dns_repertoire.py): of the population and
// candidates, the solutions with the greatest dominated novelty stay, see [Truncate]. It also returns
// their dominated novelty, the population first.
func (a DominatedNovelty) winners(batch Batch) (index, accepted, novelty *Node) {
	s := a.Population
	all := Batch{Concatenate([]*Node{s.Fitness, batch.Fitness}, 0), Concatenate([]*Node{s.Descriptors, batch.Descriptors}, 0)}
	novelty = all.dominatedNovelty(a.K, s)
	index, accepted = Truncate(novelty, s.Fitness.Shape().Dimensions[0])
	return index, accepted, novelty
}

// Truncate decides an insertion by truncation selection, for archives without cells. Of n individuals and
// P candidates, in this order, the n with the greatest scores stay. Ties go to the earlier one, and
// scores of -Inf never stay. Individuals that stay keep their slots. The candidates that stay fill the
// other slots in order.
//
// index is int32 [n], the candidate of each slot (0 where accepted is false); accepted is bool [n].
func Truncate(scores *Node, n int) (index, accepted *Node) {
	p := scores.Shape().Dimensions[0] - n
	rank := xla.Ranks(scores)
	stays := And(GreaterThan(scores, lowest(scores)), LessThan(rank, ConstAs(rank, int32(n))))

	entering, count := xla.Nonzero(Slice(stays, AxisRange(n, n+p)))
	vacant := LogicalNot(Slice(stays, AxisRange(0, n)))
	flags := ConvertDType(vacant, dtypes.Int32)
	turn := Sub(CumSum(flags, 0), flags) // rank of each vacant slot among the vacant ones
	accepted = And(vacant, LessThan(turn, count))
	index = Gather(entering, InsertAxes(MinScalar(turn, int32(p-1)), -1))
	return Where(accepted, index, ZerosLike(index)), accepted
}

// noveltyRows is the number of solutions that XLA:CPU compares with all others at a time, so that
// their distances stay in the cache.
const noveltyRows = 32

// dominatedNovelty returns the mean distance of each solution to the k nearest among those that are
// at least as fit, [P], or to all of them if there are fewer. It is +Inf for a solution that is
// fitter than all others, and -Inf for one that is not [Batch.Valid]. Of solutions with equal
// fitness and descriptors only the earlier count for the later; in the published code each counts
// for the others, so that all of them may be lost, even if they are the fittest. Distances are those of
// the components times the Scale of the population.
func (b Batch) dominatedNovelty(k int, population Cells) *Node {
	type running struct {
		At             []*Node
		Fitness, Valid *Node
		Novelty        *Node
	}
	g, p := b.Fitness.Graph(), b.Fitness.Shape().Dimensions[0]
	rows := p
	if xla.KindOf(g) == backend.CPU {
		rows = min(p, noveltyRows)
	}
	valid := b.Valid()
	run := running{population.scaled(coordinates(b.Descriptors, valid)), b.Fitness, valid, ZerosLike(b.Fitness)}
	return xla.For(g, (p+rows-1)/rows, run, func(step *Node, r running) running {
		first := MinScalar(MulScalar(step, int32(rows)), int32(p-rows))
		of := func(x *Node) *Node { return xla.Rows(x, first, rows) }
		var at []*Node
		for _, x := range r.At {
			at = append(at, of(x))
		}
		column := Iota(first.Graph(), shapes.Make(dtypes.Int32, rows, p), 1)
		self := Add(Iota(first.Graph(), shapes.Make(dtypes.Int32, rows, p), 0), first)
		distance, own, other := distances(at, r.At), InsertAxes(of(r.Fitness), 1),
			InsertAxes(r.Fitness, 0)
		copies := And(Equal(own, other), Equal(distance, ZerosLike(distance)))
		dominates := And(And(GreaterOrEqual(other, own), InsertAxes(r.Valid, 0)),
			And(NotEqual(column, self), Or(LogicalNot(copies), LessThan(column, self))))
		mean := meanOfLeast(k, distance, dominates)
		r.Novelty = xla.SetRows(r.Novelty, first, Where(of(r.Valid), mean, lowest(mean)))
		return r
	}).Novelty
}

// meanOfLeast returns the mean of the k smallest chosen numbers of each row of x [rows, P], or of
// all chosen ones if there are fewer; +Inf if there is none.
func meanOfLeast(k int, x, chosen *Node) *Node {
	g, rows, p := x.Graph(), x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	infinity := ConstAs(x, math.Inf(1))
	without := func(gone *Node) *Node { return Where(gone, BroadcastToDims(infinity, rows, p), x) }
	x = without(LogicalNot(chosen))
	column := Iota(g, shapes.Make(dtypes.Int32, rows, p), 1)
	zero := Zeros(g, shapes.Make(dtypes.Float32, rows))
	sum, count := zero, zero
	for range min(k, p) {
		next := ReduceMin(x, 1)
		exists := LessThan(next, infinity)
		sum = Add(sum, Where(exists, next, zero))
		count = Add(count, ConvertDType(exists, dtypes.Float32))
		taken := xla.ArgminOf(x, next, 1)
		x = without(Equal(column, InsertAxes(taken, 1)))
	}
	return Where(GreaterThan(count, zero), Div(sum, count), infinity)
}
