package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Unstructured is AURORA's archive (Grillotti and Cully 2022): no cells are drawn beforehand, n
// slots hold solutions that keep a distance l from each other, so that a learned descriptor space
// whose limits nobody knows is covered evenly. It is a tree.
//
// Whatever else belongs to a solution, its genotype and what it observed, the caller moves by the
// decisions of [Unstructured.Winners] and [Unstructured.Survivors]. Distances are Euclidean, in
// float32. Slots that are empty are no one's neighbours.
type Unstructured struct {
	Fitness     *Node // [n], -Inf where a slot is empty
	Descriptors *Node // [n, d], 0 where empty
}

// Winners decides the insertion of a batch, given the threshold l, a float32 scalar (QDax,
// containers/ unstructured_repertoire.py). Candidates that are not [Batch.Valid] are as if they
// were not there; of the others:
//
//  1. A candidate with two filled slots at a distance of l or less is refused: there is no room between them.
//  2. A candidate with a fitter one of the batch at a distance below l is refused (see below).
//  3. A candidate with one filled slot at a distance of l or less competes for it. The others are newcomers: the first of the
//     batch is for the first empty slot, the second for the second, and so on; those for whom there is none are lost. Slots of
//     newcomers that are refused stay empty.
//  4. Of those who compete for a slot only the fittest of all takes it, if it was not refused and is strictly fitter than the
//     occupant; of several equally fit ones the first that was not refused.
//
// Three details are the published code's. A refused candidate still counts as one of the batch in 2
// and 4. Where all fitnesses of the batch are equal, the order decides 2 instead: a candidate is
// refused for a later one, newcomers coming before all others and these in the order of their
// slots. And in 2 the fitness (or place) of a candidate is that of the first one with the same
// descriptor: of two copies the first is refused if the second is fitter, but not the second if the
// first is.
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

	nowhere := Const(g, int32(n)) // one beyond the slots
	empty, room := Compact(LogicalNot(filled))
	flags := ConvertDType(newcomer, dtypes.Int32)
	rank := Sub(CumSum(flags, 0), flags) // among the newcomers
	free := Gather(empty, InsertAxes(MinScalar(rank, int32(n-1)), -1))
	slot := Where(newcomer, Where(LessThan(rank, room), free, nowhere), nearest(distance))

	group := Where(newcomer, ScalarOne(g, dtypes.Int32), AddScalar(slot, 2))
	order := Add(MulScalar(group, int32(p)), Iota(g, shapes.Make(dtypes.Int32, p), 0))
	refused := Or(crowded, dominated(candidates, batch.Fitness, valid, order, l))

	// One slot more is for those without one; its occupant cannot be beaten.
	fitness := Where(valid, batch.Fitness, lowest(batch.Fitness))
	occupants := Concatenate([]*Node{u.Fitness, BroadcastToDims(Infinity(g, dtypes.Float32, 1), 1)}, 0)
	at := InsertAxes(slot, -1)
	best := ScatterMax(occupants, at, fitness, false, false) // of occupant and candidates
	enters := And(LogicalNot(refused), And(Equal(fitness, Gather(best, at)),
		GreaterThan(fitness, Gather(occupants, at))))
	none := BroadcastToDims(Const(g, int32(p)), n+1)
	index = ScatterMin(none, at, Where(enters, Iota(g, shapes.Make(dtypes.Int32, p), 0),
		Const(g, int32(p))), false, false)
	index = Slice(index, AxisRange(0, n))
	accepted = LessThan(index, ConstAs(index, int32(p)))
	return Where(accepted, index, ZerosLike(index)), accepted
}

// Survivors decides a re-insertion, after the descriptors or the threshold l (a float32 scalar)
// have changed: all slots are offered, as one batch, to an empty archive. So only rule 2 of
// [Unstructured.Winners] acts. Survivors keep their slots.
//
// kept is bool [n]; it is false for slots that are empty or whose descriptor is NaN.
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

// Maintain applies the decision of [Unstructured.Survivors]: the slots that are not kept become
// empty.
func (u Unstructured) Maintain(kept *Node) Unstructured {
	wide := BroadcastToDims(InsertAxes(kept, -1), u.Descriptors.Shape().Dimensions...)
	return Unstructured{Where(kept, u.Fitness, lowest(u.Fitness)),
		Where(wide, u.Descriptors, ZerosLike(u.Descriptors))}
}

// Filled is true for the slots that hold a solution, bool [n].
func (u Unstructured) Filled() *Node { return GreaterThan(u.Fitness, lowest(u.Fitness)) }

// Size is the number of filled slots, an int32 scalar.
func (u Unstructured) Size() *Node { return ReduceAllSum(ConvertDType(u.Filled(), dtypes.Int32)) }

// lowest is -Inf, a scalar.
func lowest(like *Node) *Node { return ConstAs(like, math.Inf(-1)) }

// coordinates gives the components of descriptors [m, d], each [m]; those that do not exist are
// infinitely far from all that do.
func coordinates(descriptors, exist *Node) []*Node {
	xs := components(descriptors)
	for k, x := range xs {
		xs[k] = Where(exist, x, ConstAs(x, math.Inf(1)))
	}
	return xs
}

// distances gives the Euclidean distance from each of m points to each of P others, [m, P]. Between
// two points that do not exist it is NaN.
func distances(from, to []*Node) *Node { return Sqrt(squaredDistances(from, to)) }

// nearest gives for each row of distances [P, m] the first of the least, int32 [P]; any column for
// rows of NaN.
func nearest(distance *Node) *Node {
	return xla.FirstTrue(Equal(distance, InsertAxes(ReduceMin(distance, 1), 1)), 1)
}

// dominated tells which of a batch are refused for another one of it, bool [P]: rule 2 of
// [Unstructured.Winners]. at holds the coordinates of the batch; order, int32 [P], decides where
// all fitnesses are equal.
func dominated(at []*Node, fitness, valid, order, l *Node) *Node {
	g, p := fitness.Graph(), fitness.Shape().Dimensions[0]
	distance := distances(at, at) // [P, others]
	column := Iota(g, shapes.Make(dtypes.Int32, p, p), 1)
	self := Equal(column, Iota(g, shapes.Make(dtypes.Int32, p, p), 0))
	// with the same descriptor
	first := InsertAxes(xla.FirstTrue(Or(self, Equal(distance, ZerosLike(distance))), 1), -1)

	// The order counts where the fitnesses of all that exist are equal; elsewhere it is 0, which
	// nothing exceeds.
	most := ReduceAllMax(Where(valid, fitness, lowest(fitness)))
	least := ReduceAllMin(Where(valid, fitness, ConstAs(fitness, math.Inf(1))))
	order = Mul(order, ConvertDType(Equal(most, least), dtypes.Int32))
	exceeded := func(x *Node) *Node {
		return LessThan(InsertAxes(Gather(x, first), 1),
			InsertAxes(x, 0))
	}
	fitter := Or(exceeded(fitness), exceeded(order))
	return LogicalAny(And(And(LessThan(distance, l), fitter), LogicalNot(self)), 1)
}
