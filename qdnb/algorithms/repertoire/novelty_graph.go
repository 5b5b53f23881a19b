package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// DominatedNovelty is the population of Dominated Novelty Search (Bahlous-Boldi et al. 2025): a
// pytree. It has no cells, limits or distance threshold. Its n slots hold the solutions with the
// greatest dominated novelty: those that are fitter than the solutions near them, or far from all
// that are at least as fit.
type DominatedNovelty struct {
	Fitness     *Node // [n], -Inf where empty
	Descriptors *Node // [n, d], 0 where empty
}

// Winners decides the insertion of a batch of P candidates (QDax 0.5.1,
// containers/dns_repertoire.py). Of the members and valid candidates, the n solutions with the
// greatest dominated novelty stay. Ties go to members, then to the earlier solution. Members that
// stay keep their slots. The candidates that stay fill the other slots in order.
//
// The caller moves whatever else belongs to a solution. index is int32 [n], the candidate of each
// slot (0 where accepted is false); accepted is bool [n].
func (s DominatedNovelty) Winners(k int, batch Batch) (index, accepted *Node) {
	g := s.Fitness.Graph()
	n, p := s.Fitness.Shape().Dimensions[0], batch.Fitness.Shape().Dimensions[0]
	all := Batch{Concatenate([]*Node{s.Fitness, batch.Fitness}, 0),
		Concatenate([]*Node{s.Descriptors, batch.Descriptors}, 0)}

	novelty := all.dominatedNovelty(k)
	row := func(x *Node) *Node { return InsertAxes(x, 0) }
	order := Iota(g, shapes.Make(dtypes.Int32, n+p), 0)
	ahead := Or(GreaterThan(row(novelty), InsertAxes(novelty, 1)),
		And(Equal(row(novelty), InsertAxes(novelty, 1)), LessThan(row(order), InsertAxes(order, 1))))
	rank := ReduceSum(ConvertDType(ahead, dtypes.Int32), 1)
	stays := And(all.Valid(), LessThan(rank, ConstAs(rank, int32(n))))

	entering, count := Compact(Slice(stays, AxisRange(n, n+p)))
	vacant := LogicalNot(Slice(stays, AxisRange(0, n)))
	flags := ConvertDType(vacant, dtypes.Int32)
	turn := Sub(CumSum(flags, 0), flags) // rank of each vacant slot among the vacant ones
	accepted = And(vacant, LessThan(turn, count))
	index = Gather(entering, InsertAxes(MinScalar(turn, int32(p-1)), -1))
	return Where(accepted, index, ZerosLike(index)), accepted
}

// dominatedNovelty returns the mean distance of each solution to the k nearest among those that are
// at least as fit, [P], or to all of them if there are fewer. It is +Inf for a solution that is
// fitter than all others, and -Inf for one that is not [Batch.Valid].
func (b Batch) dominatedNovelty(k int) *Node {
	g, p := b.Fitness.Graph(), b.Fitness.Shape().Dimensions[0]
	valid := b.Valid()
	at := coordinates(b.Descriptors, valid)
	column := Iota(g, shapes.Make(dtypes.Int32, p, p), 1)
	dominates := And(NotEqual(column, Iota(g, shapes.Make(dtypes.Int32, p, p), 0)),
		And(InsertAxes(valid, 0), GreaterOrEqual(InsertAxes(b.Fitness, 0), InsertAxes(b.Fitness, 1))))
	infinity := ConstAs(b.Fitness, math.Inf(1))
	distance := distances(at, at)
	distance = Where(dominates, distance, BroadcastToDims(infinity, p, p))

	sum, count := ZerosLike(b.Fitness), ZerosLike(b.Fitness)
	for range min(k, p) {
		next := ReduceMin(distance, 1)
		exists := LessThan(next, infinity)
		sum = Add(sum, Where(exists, next, ZerosLike(next)))
		count = Add(count, ConvertDType(exists, dtypes.Float32))
		taken := xla.FirstTrue(Equal(distance, InsertAxes(next, 1)), 1)
		distance = Where(Equal(column, InsertAxes(taken, 1)), BroadcastToDims(infinity, p, p), distance)
	}
	mean := Where(GreaterThan(count, ZerosLike(count)), Div(sum, count),
		BroadcastToDims(infinity, p))
	return Where(valid, mean, lowest(mean))
}

// Update applies the decision of [DominatedNovelty.Winners].
func (s DominatedNovelty) Update(batch Batch, index, accepted *Node) DominatedNovelty {
	return DominatedNovelty(Unstructured(s).Update(batch, index, accepted))
}
