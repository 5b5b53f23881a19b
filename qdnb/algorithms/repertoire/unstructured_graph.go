package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Unstructured is AURORA's archive (Grillotti and Cully 2022): a pytree. It has no predefined
// cells. Its n slots hold solutions that keep a distance l from each other, so that a learned
// descriptor space with unknown limits is covered evenly.
//
// The caller moves whatever else belongs to a solution, its genotype and observations, according to
// the decisions of [Unstructured.Winners] and [Unstructured.Survivors]. Distances are Euclidean, in
// float32. Empty slots are never neighbours.
type Unstructured struct {
	Fitness     *Node // [n], -Inf where empty
	Descriptors *Node // [n, d], 0 where empty
}

// Winners decides the insertion of a batch, given the threshold l, a float32 scalar (QDax,
// containers/unstructured_repertoire.py). Candidates that are not [Batch.Valid] are ignored. The
// others follow these rules:
//
//  1. A candidate with two filled slots within a distance of l is rejected, because there is no
//     room between them.
//  2. A candidate with a fitter candidate at a distance below l is rejected (see below).
//  3. A candidate with exactly one filled slot within a distance of l competes for it. A candidate
//     with none is a newcomer: the first newcomer of the batch gets the first empty slot, the
//     second the second, and so on. Newcomers beyond the empty slots are lost. Slots of rejected
//     newcomers stay empty.
//  4. Of the candidates that compete for a slot, only the fittest of all can enter: it enters if it
//     was not rejected and is strictly fitter than the occupant. Among equals, the first that was
//     not rejected enters.
//
// Three details follow the published code. First, a rejected candidate still counts as a member of
// the batch in rules 2 and 4. Second, if all fitnesses of the batch are equal, rule 2 compares the
// order instead: a candidate is rejected because of a later one, where newcomers come before all
// others, and the others are in slot order. Third, rule 2 uses the fitness (or the order) of the
// first candidate with the same descriptor: of two copies, the first is rejected if the second is
// fitter, but the second is not rejected if the first is fitter.
//
// index is int32 [n], the candidate of each slot (0 where accepted is false); accepted is bool [n].
func (u Unstructured) Winners(l *Node, batch Batch) (index, accepted *Node) {
	g := u.Fitness.Graph()
	n, p := u.Fitness.Shape().Dimensions[0], batch.Fitness.Shape().Dimensions[0]
	filled, valid := u.Filled(), batch.Valid()
	candidates := coordinates(batch.Descriptors, valid)

	distance := distances(candidates, coordinates(u.Descriptors, filled)) // [P, n]
	near := ReduceSum(ConvertDType(LessOrEqual(distance, l), dtypes.Int32), 1)
	newcomer, crowded := And(valid, Equal(near, ZerosLike(near))), GreaterThan(near, OnesLike(near))

	nowhere := Const(g, int32(n)) // one past the last slot
	empty, room := Compact(LogicalNot(filled))
	flags := ConvertDType(newcomer, dtypes.Int32)
	rank := Sub(CumSum(flags, 0), flags) // rank among the newcomers
	free := Gather(empty, InsertAxes(MinScalar(rank, int32(n-1)), -1))
	slot := Where(newcomer, Where(LessThan(rank, room), free, nowhere), nearest(distance))

	group := Where(newcomer, ScalarOne(g, dtypes.Int32), AddScalar(slot, 2))
	order := Add(MulScalar(group, int32(p)), Iota(g, shapes.Make(dtypes.Int32, p), 0))
	refused := Or(crowded, dominated(candidates, batch.Fitness, valid, order, l))

	// An extra slot takes the candidates without a slot; its occupant cannot be beaten.
	fitness := Where(valid, batch.Fitness, lowest(batch.Fitness))
	occupants := Concatenate([]*Node{u.Fitness, BroadcastToDims(Infinity(g, dtypes.Float32, 1), 1)}, 0)
	at := InsertAxes(slot, -1)
	best := ScatterMax(occupants, at, fitness, false, false) // best of occupant and candidates
	enters := And(LogicalNot(refused), And(Equal(fitness, Gather(best, at)),
		GreaterThan(fitness, Gather(occupants, at))))
	none := BroadcastToDims(Const(g, int32(p)), n+1)
	index = ScatterMin(none, at, Where(enters, Iota(g, shapes.Make(dtypes.Int32, p), 0),
		Const(g, int32(p))), false, false)
	index = Slice(index, AxisRange(0, n))
	accepted = LessThan(index, ConstAs(index, int32(p)))
	return Where(accepted, index, ZerosLike(index)), accepted
}

// occupant returns the fitness of the member nearest to each candidate, [P]; -Inf if none is within a
// distance of l.
func (u Unstructured) occupant(l *Node, batch Batch) *Node {
	distance := distances(coordinates(batch.Descriptors, batch.Valid()),
		coordinates(u.Descriptors, u.Filled()))
	fitness := Gather(u.Fitness, InsertAxes(nearest(distance), -1))
	return Where(LessOrEqual(ReduceMin(distance, 1), l), fitness, lowest(fitness))
}

// Survivors decides a re-insertion, after the descriptors or the threshold l (a float32 scalar)
// have changed. All slots are inserted, as one batch, into an empty archive, so only rule 2 of
// [Unstructured.Winners] applies. Survivors keep their slots.
//
// kept is bool [n]; it is false for slots that are empty or have a NaN descriptor.
func (u Unstructured) Survivors(l *Node) (kept *Node) {
	valid := Batch(u).Valid()
	order := Iota(u.Fitness.Graph(), shapes.Make(dtypes.Int32, u.Fitness.Shape().Dimensions[0]), 0)
	return And(valid, LogicalNot(dominated(coordinates(u.Descriptors, valid), u.Fitness, valid, order,
		l)))
}

// Update applies the decision of [Unstructured.Winners].
func (u Unstructured) Update(batch Batch, index, accepted *Node) Unstructured {
	after := Cells{Fitness: u.Fitness, Descriptors: u.Descriptors}.Update(batch, index, accepted)
	return Unstructured{after.Fitness, after.Descriptors}
}

// Maintain applies the decision of [Unstructured.Survivors]: slots that are not kept become empty.
func (u Unstructured) Maintain(kept *Node) Unstructured {
	wide := BroadcastToDims(InsertAxes(kept, -1), u.Descriptors.Shape().Dimensions...)
	return Unstructured{Where(kept, u.Fitness, lowest(u.Fitness)),
		Where(wide, u.Descriptors, ZerosLike(u.Descriptors))}
}

// Filled is bool [n], true for slots that hold a solution.
func (u Unstructured) Filled() *Node { return GreaterThan(u.Fitness, lowest(u.Fitness)) }

// Size is the number of filled slots, an int32 scalar.
func (u Unstructured) Size() *Node { return ReduceAllSum(ConvertDType(u.Filled(), dtypes.Int32)) }

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
func nearest(distance *Node) *Node {
	return xla.FirstTrue(Equal(distance, InsertAxes(ReduceMin(distance, 1), 1)), 1)
}

// dominated returns which of a batch are rejected because of another candidate, bool [P]: rule 2 of
// [Unstructured.Winners]. at holds the coordinates of the batch. order, int32 [P], decides if all
// fitnesses are equal.
func dominated(at []*Node, fitness, valid, order, l *Node) *Node {
	g, p := fitness.Graph(), fitness.Shape().Dimensions[0]
	distance := distances(at, at) // [P, others]
	column := Iota(g, shapes.Make(dtypes.Int32, p, p), 1)
	self := Equal(column, Iota(g, shapes.Make(dtypes.Int32, p, p), 0))
	// first candidate with the same descriptor
	first := InsertAxes(xla.FirstTrue(Or(self, Equal(distance, ZerosLike(distance))), 1), -1)

	// The order counts only if the fitnesses of all valid candidates are equal; otherwise it is 0,
	// which nothing exceeds.
	most := ReduceAllMax(Where(valid, fitness, lowest(fitness)))
	least := ReduceAllMin(Where(valid, fitness, ConstAs(fitness, math.Inf(1))))
	order = Mul(order, ConvertDType(Equal(most, least), dtypes.Int32))
	exceeded := func(x *Node) *Node {
		return LessThan(InsertAxes(Gather(x, first), 1), InsertAxes(x, 0))
	}
	fitter := Or(exceeded(fitness), exceeded(order))
	return LogicalAny(And(And(LessThan(distance, l), fitter), LogicalNot(self)), 1)
}
