package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Fronts is the archive of MOME (Pierrot et al. 2022). Each cell has as many slots as a Pareto front
// may have solutions, m; those of cell c are c m to c m + m - 1. They hold solutions of the cell
// none of which dominates another one: is at least as good in all objectives and better in one.
type Fronts struct {
	FrontSize  int   `json:"front_size" limits:"1,4096"` // solutions per cell, at most; its publication: 50
	Elites     Cells // of the slots: Fitness [slots], Descriptors [slots, d]; Centroids [cells, d]
	Objectives *Node // [slots, objectives], -Inf where empty
}

var _ Measurer = Fronts{}

// Empty implements [Archive].
func (a Fronts) Empty(task scoring.Task, key random.Key) Archive {
	g := key.Hi.Graph()
	a.Elites = emptyCells(g, task, a.FrontSize)
	a.Objectives = unfilled(g, task.Centroids.Shape[0]*a.FrontSize, task.Env.Spec().Rewards())
	return a
}

// Add implements [Archive]. An individual improves the fronts by 1 if it enters, else by 0.
func (a Fronts) Add(found Evaluated) (Archive, Insertion) {
	batch := found.Batch
	finite := LogicalAll(LessThan(Abs(found.Objectives), ConstAs(found.Objectives, math.Inf(1))), 1)
	batch.Fitness = Where(finite, batch.Fitness, lowest(batch.Fitness))
	in := Insertion{Valid: batch.Valid()}
	var kept *Node
	in.Index, in.Accepted, kept = a.winners(batch, found.Objectives)
	in.Improvement = ConvertDType(in.Entered(), dtypes.Float32)
	in.Improvement = Where(in.Valid, in.Improvement, lowest(in.Improvement))
	return a.update(batch, found.Objectives, in.Index, in.Accepted, kept), in
}

// Cells implements [Archive].
func (a Fronts) Cells() Cells {
	cells := a.Elites
	cells.Objectives = a.Objectives
	return cells
}

// Slots implements [Measurer].
func (a Fronts) Slots() int { return a.FrontSize }

// Columns implements [Measurer].
func (Fronts) Columns() []string {
	return []string{"moqd_score", "max_hypervolume", "global_hypervolume", "archive_size"}
}

// Measure implements [Measurer]: the sum and the maximum over the cells of the hypervolume of a
// front, the hypervolume of the front of all solutions, and their number.
func (a Fronts) Measure(task scoring.Task, objectives npz.Array) ([]float64, error) {
	flat, err := objectives.Float32s()
	if err != nil {
		return nil, err
	}
	reference := task.Env.Spec().ReferencePoint(task.Length)
	var sum, most float64
	var all [][]float64
	for cell := range pareto.Fronts(flat, a.FrontSize, len(reference)) {
		volume := pareto.Hypervolume(cell, reference)
		sum, most, all = sum+volume, max(most, volume), append(all, cell...)
	}
	return []float64{sum, most, pareto.Hypervolume(pareto.Front(all), reference), float64(len(all))}, nil
}

// winners decides the insertion of a batch of P candidates with the given objectives [P,
// objectives], one after the other (QDax, containers/mome_repertoire.py). A candidate enters the
// front of its cell unless a solution in it dominates it, and replaces the solutions that it dominates.
// A full front only takes candidates that dominate a solution, or replace a copy: a solution with the
// same objectives as another one, which QDax keeps. A candidate that leaves again has not entered.
//
// index is int32 [slots], the candidate of each slot (0 where accepted is false); accepted is bool
// [slots]; kept is bool [slots], true for former solutions that stay.
func (a Fronts) winners(batch Batch, objectives *Node) (index, accepted, kept *Node) {
	g := a.Elites.Fitness.Graph()
	n, p := a.Elites.cells(), batch.Fitness.Shape().Dimensions[0]
	type state struct {
		Round      round
		Holder     *Node   // int32 [cells, m]: a candidate, p for former solutions, or empty
		Objectives []*Node // [cells, m] each
		Copies     *Node   // bool [cells, m], true for copies of other solutions
		Candidates []*Node // [P] each
	}
	start := state{Holder: Reshape(a.holders(p), n, -1), Candidates: components(objectives)}
	for _, x := range components(a.Objectives) {
		start.Objectives = append(start.Objectives, Reshape(x, n, -1))
	}
	start.Copies = copies(start.Holder, start.Objectives)
	var rounds *Node
	start.Round, rounds = rounded(a.Elites.cellOf(batch.Descriptors), batch.Valid())
	end := xla.Repeat(xla.Turns(rounds, p), start, func(number *Node, s state) state {
		candidate := s.Round.of(number, n)
		exists := LessThan(candidate, ConstAs(candidate, int32(p)))
		row := InsertAxes(MinScalar(candidate, int32(p-1)), -1)
		filled := GreaterOrEqual(s.Holder, ZerosLike(s.Holder))
		worse, better := filled, filled // than the candidate, or equal
		var entering []*Node
		for k, solutions := range s.Objectives {
			x := BroadcastToDims(InsertAxes(Gather(s.Candidates[k], row), -1), solutions.Shape().Dimensions...)
			worse, better = And(worse, LessOrEqual(solutions, x)), And(better, GreaterOrEqual(solutions, x))
			entering = append(entering, x)
		}
		wide := func(x *Node) *Node { return BroadcastToDims(InsertAxes(x, -1), s.Holder.Shape().Dimensions...) }
		dominated, duplicate := And(worse, LogicalNot(better)), LogicalAny(And(worse, better), 1)
		vacant := Or(LogicalNot(filled), dominated)
		vacant = Where(wide(Or(LogicalAny(vacant, 1), duplicate)), vacant, s.Copies)
		enters := And(And(exists, LogicalAny(vacant, 1)), LogicalNot(LogicalAny(And(better, LogicalNot(worse)), 1)))
		slot := InsertAxes(xla.FirstTrue(vacant, 1), -1)
		here := And(wide(enters), Equal(Iota(s.Holder.Graph(), s.Holder.Shape(), 1), slot))
		s.Copies = Where(here, wide(duplicate), And(s.Copies, LogicalNot(And(wide(enters), dominated))))
		s.Holder = Where(And(wide(enters), dominated), ConstAs(s.Holder, int32(nobody)), s.Holder)
		s.Holder = Where(here, wide(candidate), s.Holder)
		for k, x := range entering {
			s.Objectives[k] = Where(here, x, s.Objectives[k])
		}
		return s
	})
	holder := Reshape(end.Holder, -1)
	former := Const(g, int32(p))
	accepted = And(GreaterOrEqual(holder, ZerosLike(holder)), LessThan(holder, former))
	return Where(accepted, holder, ZerosLike(holder)), accepted, Equal(holder, former)
}

// copies reports which solutions [cells, m] have the objectives of an earlier one in their cell.
func copies(holder *Node, objectives []*Node) *Node {
	cells, m := holder.Shape().Dimensions[0], holder.Shape().Dimensions[1]
	slot := func(axis int) *Node {
		return Iota(holder.Graph(), shapes.Make(dtypes.Int32, cells, m, m), axis)
	}
	same := LessThan(slot(2), slot(1))
	pairs := func(x *Node) *Node { return Equal(InsertAxes(x, 2), InsertAxes(x, 1)) }
	for _, x := range objectives {
		same = And(same, pairs(x))
	}
	return And(GreaterOrEqual(holder, ZerosLike(holder)), LogicalAny(same, 2))
}

// nobody is the holder of an empty slot.
const nobody = -1

// holders returns former for the filled slots and nobody for the others, int32 [slots].
func (a Fronts) holders(former int) *Node {
	filled := GreaterThan(a.Elites.Fitness, lowest(a.Elites.Fitness))
	like := ConvertDType(filled, dtypes.Int32)
	return Where(filled, BroadcastToShape(ConstAs(like, int32(former)), like.Shape()),
		BroadcastToShape(ConstAs(like, int32(nobody)), like.Shape()))
}

// update applies the decision of winners.
func (a Fronts) update(batch Batch, objectives, index, accepted, kept *Node) Fronts {
	a.Elites = a.Elites.Update(batch, index, accepted)
	a.Elites.Fitness = Where(Or(accepted, kept), a.Elites.Fitness, lowest(a.Elites.Fitness))
	wide := func(flags *Node) *Node {
		return BroadcastToDims(InsertAxes(flags, -1), a.Objectives.Shape().Dimensions...)
	}
	a.Objectives = Where(wide(accepted), Gather(objectives, InsertAxes(index, -1)),
		Where(wide(kept), a.Objectives, lowest(a.Objectives)))
	return a
}

// round divides a batch into rounds, in which at most one candidate enters each cell: a pytree.
type round struct{ Cell, Number *Node } // int32 [P] each; the number of invalid candidates is -1

// rounded returns the rounds of a batch, and how many there are. The candidates of a cell keep
// their order.
func rounded(cell, valid *Node) (round, *Node) {
	p := cell.Shape().Dimensions[0]
	order := Iota(cell.Graph(), shapes.Make(dtypes.Int32, p), 0)
	earlier := And(LessThan(InsertAxes(order, 0), InsertAxes(order, 1)), And(InsertAxes(valid, 0),
		Equal(InsertAxes(cell, 0), InsertAxes(cell, 1)))) // [P, others]
	number := ReduceSum(ConvertDType(earlier, dtypes.Int32), 1)
	number = Where(valid, number, ConstAs(number, int32(-1)))
	return round{cell, number}, AddScalar(ReduceAllMax(number), 1)
}

// of returns the candidate of each cell in a round, int32 [cells]; P if there is none.
func (r round) of(number *Node, cells int) *Node {
	p := r.Cell.Shape().Dimensions[0]
	none := Const(r.Cell.Graph(), int32(p))
	order := Iota(r.Cell.Graph(), shapes.Make(dtypes.Int32, p), 0)
	return ScatterMin(BroadcastToDims(none, cells), InsertAxes(r.Cell, -1),
		Where(Equal(r.Number, number), order, none), false, false)
}
