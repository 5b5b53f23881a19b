package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// The archive of AURORA (Grillotti and Cully 2022) has no predefined cells. Its n slots hold solutions
// that keep a distance l from each other, so that a learned descriptor space with unknown limits is
// covered evenly.
//
// Distances are Euclidean, in float32. Empty slots are never neighbours.

// winners decides the insertion of a batch, given the threshold l, a float32 scalar (QDax,
// containers/unstructured_repertoire.py, except for rule 1). Candidates that are not [Batch.Valid]
// are ignored. The others follow these rules:
//
//  1. Of candidates with equal descriptors only the fittest counts, the first among equally fit
//     ones. It takes the turn of the first of them; the others are rejected. If a slot has the same
//     descriptor, the candidate replaces its occupant before the rest of the batch is inserted if it
//     is strictly fitter, and is ignored otherwise.
//  2. A candidate with two filled slots within a distance of l is rejected, because there is no
//     space between them.
//  3. A candidate with a fitter candidate at a distance below l is rejected (see below).
//  4. A candidate with exactly one filled slot within a distance of l competes for it. A candidate
//     with none is a newcomer: the first newcomer of the batch gets the first empty slot, the
//     second the second, and so on. Newcomers beyond the empty slots are lost. Slots of rejected
//     newcomers stay empty.
//  5. Of the candidates that compete for a slot, only the fittest of all can enter: it enters if it
//     was not rejected and is strictly fitter than the occupant. Among equally fit ones, the first
//     that was not rejected enters.
//
// Two details follow the published code. First, a candidate that rules 2 and 3 reject still counts as
// one of the batch in rules 3 and 5. Second, if all fitnesses of the batch are equal, rule 3 compares the
// order instead: a candidate is rejected because of a later one, where newcomers come before all
// others, and the others are in slot order.
//
// The published code has no rule 1. It compares candidates with equal descriptors by the fitness of
// the first one: in ascending order of fitness none of them enters, in descending order all do.
//
// index is int32 [n], the candidate of each slot (0 where accepted is false); accepted is bool [n].
func (c Cells) winners(l *Node, batch Batch) (index, accepted *Node) {
	g := c.Fitness.Graph()
	n, p := c.Fitness.Shape().Dimensions[0], batch.Fitness.Shape().Dimensions[0]
	filled, valid, between := c.filled(), batch.Valid(), batch.between()
	distance := distances(coordinates(batch.Descriptors, valid),
		coordinates(c.Descriptors, filled)) // [P, n]
	copied := LogicalAny(Equal(distance, ZerosLike(distance)), 1) // an individual in the archive
	replacing := And(between.Counts, copied)
	between.Counts = And(between.Counts, LogicalNot(copied))

	near := ReduceSum(ConvertDType(LessOrEqual(distance, l), dtypes.Int32), 1)
	newcomer := And(And(valid, LogicalNot(copied)), Equal(near, ZerosLike(near)))
	crowded := GreaterThan(near, OnesLike(near))

	nowhere := Const(g, int32(n)) // one past the last slot
	empty, vacancies := xla.Nonzero(LogicalNot(filled))
	flags := ConvertDType(newcomer, dtypes.Int32)
	rank := Sub(CumSum(flags, 0), flags) // rank among the newcomers
	rank = Gather(rank, InsertAxes(between.First, -1))
	free := Gather(empty, InsertAxes(MinScalar(rank, int32(n-1)), -1))
	slot := Where(newcomer, Where(LessThan(rank, vacancies), free, nowhere), nearest(distance))

	group := Where(newcomer, ScalarOne(g, dtypes.Int32), AddScalar(slot, 2))
	order := Add(MulScalar(group, int32(p)), Iota(g, shapes.Make(dtypes.Int32, p), 0))
	refused := Or(crowded, between.dominated(order, l))

	// An extra slot takes the candidates without a slot; its occupant cannot be beaten.
	occupants := Concatenate([]*Node{c.Fitness, BroadcastToDims(Infinity(g, dtypes.Float32, 1), 1)}, 0)
	at := InsertAxes(slot, -1)
	compete := func(who *Node) (best, wins *Node) { // best of occupant and candidates
		fitness := Where(who, batch.Fitness, lowest(batch.Fitness))
		best = ScatterMax(occupants, at, fitness, false, false)
		return best, And(Equal(fitness, Gather(best, at)), GreaterThan(fitness, Gather(occupants, at)))
	}
	occupants, replaces := compete(replacing)
	_, enters := compete(between.Counts)
	enters = And(enters, LogicalNot(refused))
	// a candidate that enters counts more than a copy of the occupant that it beat
	number := Iota(g, shapes.Make(dtypes.Int32, p), 0)
	choice := Where(enters, number, Where(replaces, AddScalar(number, p), Const(g, int32(2*p))))
	none := BroadcastToDims(Const(g, int32(2*p)), n+1)
	index = Slice(ScatterMin(none, at, choice, false, false), AxisRange(0, n))
	accepted = LessThan(index, ConstAs(index, int32(2*p)))
	index = Where(LessThan(index, ConstAs(index, int32(p))), index, AddScalar(index, -p))
	return Where(accepted, index, ZerosLike(index)), accepted
}

// occupant returns the fitness of the individual nearest to each candidate, [P]; -Inf if none is within a
// distance of l.
func (c Cells) occupant(l *Node, batch Batch) *Node {
	distance := distances(coordinates(batch.Descriptors, batch.Valid()), coordinates(c.Descriptors, c.filled()))
	fitness := Gather(c.Fitness, InsertAxes(nearest(distance), -1))
	return Where(LessOrEqual(ReduceMin(distance, 1), l), fitness, lowest(fitness))
}

// survivors decides a re-insertion, after the descriptors or the threshold l (a float32 scalar)
// have changed. All slots are inserted, as one batch, into an empty archive, so only the rules 1 and
// 3 of [Cells.winners] apply. Survivors keep their slots.
//
// kept is bool [n]; it is false for slots that are empty or have a NaN descriptor.
func (c Cells) survivors(l *Node) (kept *Node) {
	between := Batch{c.Fitness, c.Descriptors}.between()
	order := Iota(c.Fitness.Graph(), shapes.Make(dtypes.Int32, c.Fitness.Shape().Dimensions[0]), 0)
	return And(between.Counts, LogicalNot(between.dominated(order, l)))
}

// size is the number of filled slots, an int32 scalar.
func (c Cells) size() *Node { return ReduceAllSum(ConvertDType(c.filled(), dtypes.Int32)) }

// lowest is -Inf, a scalar.
func lowest(like *Node) *Node { return ConstAs(like, math.Inf(-1)) }

// coordinates returns the components of descriptors [m, d], each [m]. Descriptors that do not exist
// are infinitely far from all that do.
func coordinates(descriptors, exist *Node) []*Node {
	xs := components(descriptors)
	for k, x := range xs {
		xs[k] = Where(exist, x, ConstAs(x, math.Inf(1)))
	}
	return xs
}

// distances returns the Euclidean distance from each of m points to each of P others, [m, P].
// Between two points that do not exist it is NaN.
func distances(from, to []*Node) *Node { return Sqrt(squaredDistances(from, to)) }

// nearest returns, for each row of distances [P, m], the first column with the minimum, int32 [P];
// any column for rows of NaN.
func nearest(distance *Node) *Node { return xla.Argmin(distance, 1) }

// betweenCandidates is how the candidates of a batch relate to each other.
type betweenCandidates struct {
	Fitness  *Node // [P]
	Distance *Node // [P, others]
	First    *Node // int32 [P], the first candidate with the same descriptor
	Counts   *Node // bool [P]: valid, and the fittest with its descriptor
}

// between applies rule 1 of [Cells.winners] within a batch.
func (b Batch) between() betweenCandidates {
	valid := b.Valid()
	at := coordinates(b.Descriptors, valid)
	distance := distances(at, at)
	shape := shapes.Make(dtypes.Int32, distance.Shape().Dimensions...)
	row, column := Iota(distance.Graph(), shape, 0), Iota(distance.Graph(), shape, 1)
	same := Or(Equal(row, column), Equal(distance, ZerosLike(distance)))
	own, other := InsertAxes(b.Fitness, 1), InsertAxes(b.Fitness, 0)
	better := Or(GreaterThan(other, own), And(Equal(other, own), LessThan(column, row)))
	beaten := LogicalAny(And(same, better), 1)
	return betweenCandidates{b.Fitness, distance, xla.FirstTrue(same, 1), And(valid, LogicalNot(beaten))}
}

// dominated returns which candidates are rejected because of another one, bool [P]: rule 3 of
// [Cells.winners]. order, int32 [P], decides if all fitnesses are equal.
func (b betweenCandidates) dominated(order, l *Node) *Node {
	// The order counts only if the fitnesses of all candidates are equal; otherwise it is 0, which
	// nothing exceeds.
	best := ReduceAllMax(Where(b.Counts, b.Fitness, lowest(b.Fitness)))
	worst := ReduceAllMin(Where(b.Counts, b.Fitness, ConstAs(b.Fitness, math.Inf(1))))
	order = Mul(order, ConvertDType(Equal(best, worst), dtypes.Int32))
	exceeded := func(x *Node) *Node { return LessThan(InsertAxes(x, 1), InsertAxes(x, 0)) }
	fitter := And(InsertAxes(b.Counts, 0), Or(exceeded(b.Fitness), exceeded(order)))
	return LogicalAny(And(LessThan(b.Distance, l), fitter), 1)
}
