package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Annealed are the acceptance thresholds of CMA-MAE's archive (Fontaine and Nikolaidis 2023): a
// pytree. A candidate is accepted if it is fitter than the threshold of its cell. Accepted
// candidates raise the threshold slowly, so that a cell stays attractive for a while.
type Annealed struct {
	Centroids  *Node // [cells, d]
	Thresholds *Node // [cells]
}

// Improvement returns the fitness of each candidate minus the threshold of its cell, [P]: above 0
// if it is accepted, -Inf if it is not [Batch.Valid].
func (a Annealed) Improvement(batch Batch) *Node {
	cell := InsertAxes(CellOf(a.Centroids, batch.Descriptors), -1)
	improvement := Sub(batch.Fitness, Gather(a.Thresholds, cell))
	return Where(batch.Valid(), improvement, lowest(improvement))
}

// Update returns the thresholds t after a batch. With k accepted candidates of mean fitness m in a
// cell,
//
//	t = (1 - rate)^k t + (1 - (1 - rate)^k) m
//
// (the publication's appendix; pyribs, archives/_grid_archive.py). A rate of 0 keeps thresholds.
func (a Annealed) Update(batch Batch, rate float64) *Node {
	improvement := a.Improvement(batch)
	cells, p := a.Thresholds.Shape().Dimensions[0], batch.Fitness.Shape().Dimensions[0]
	accepted := GreaterThan(improvement, ZerosLike(improvement))
	cell := CellOf(a.Centroids, batch.Descriptors)
	number := Iota(cell.Graph(), shapes.Make(dtypes.Int32, cells, p), 0)
	here := And(Equal(number, InsertAxes(cell, 0)), InsertAxes(accepted, 0)) // [cells, P]
	wide := BroadcastToDims(InsertAxes(batch.Fitness, 0), cells, p)
	count := ReduceSum(ConvertDType(here, dtypes.Float32), 1)
	some := MaxScalar(count, 1)
	mean := Div(ReduceSum(Where(here, wide, ZerosLike(wide)), 1), some)
	kept := Exp(MulScalar(some, math.Log1p(-rate))) // (1 - rate)^k
	next := Add(Mul(kept, a.Thresholds), Mul(OneMinus(kept), mean))
	return Where(GreaterThan(count, ZerosLike(count)), next, a.Thresholds)
}
