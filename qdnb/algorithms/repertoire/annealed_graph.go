package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla/random"
)

// Annealed is a [Grid] with the acceptance thresholds of CMA-MAE (Fontaine and Nikolaidis 2023). A
// candidate is accepted if it is fitter than the threshold of its cell. Accepted candidates raise
// the threshold slowly, so that a cell stays attractive for a while. The thresholds decide how
// solutions are ranked; the cells keep the fittest ones, as MAP-Elites' do.
type Annealed struct {
	Grid
	// LearningRate is the share alpha by which accepted solutions move the threshold of their cell. With 1
	// it becomes their mean fitness, with 0 it stays.
	LearningRate float64 `json:"archive_learning_rate" limits:"0,1"`
	// ThresholdMin is the threshold of empty cells; NaN: minus the QD offset of an episode.
	ThresholdMin float64 `json:"threshold_min" limits:"-1e30,1e30"`
	Thresholds   *Node   // [cells]
}

// Empty implements [Archive].
func (a Annealed) Empty(task scoring.Task, key random.Key) Archive {
	a.Grid = a.Grid.Empty(task, key).(Grid)
	a.Thresholds = BroadcastToShape(ConstAs(a.Elites.Fitness, a.ThresholdMin), a.Elites.Fitness.Shape())
	return a
}

// Add implements [Archive].
func (a Annealed) Add(found Evaluated) (Archive, Insertion) {
	grid, in := a.Grid.Add(found)
	in.Improvement = a.improvement(found.Batch)
	a.Thresholds = a.update(found.Batch)
	a.Grid = grid.(Grid)
	return a, in
}

// improvement returns the fitness of each candidate minus the threshold of its cell, [P]: above 0
// if it is accepted, -Inf if it is not [Batch.Valid].
func (a Annealed) improvement(batch Batch) *Node {
	cell := InsertAxes(a.Elites.cellOf(batch.Descriptors), -1)
	improvement := Sub(batch.Fitness, Gather(a.Thresholds, cell))
	return Where(batch.Valid(), improvement, lowest(improvement))
}

// update returns the thresholds t after a batch. With k accepted candidates of mean fitness m in a
// cell,
//
//	t = (1 - rate)^k t + (1 - (1 - rate)^k) m
//
// (the publication's appendix; pyribs, archives/_grid_archive.py). A rate of 0 keeps thresholds.
func (a Annealed) update(batch Batch) *Node {
	rate := a.LearningRate
	improvement := a.improvement(batch)
	cells, p := a.Thresholds.Shape().Dimensions[0], batch.Fitness.Shape().Dimensions[0]
	accepted := GreaterThan(improvement, ZerosLike(improvement))
	cell := a.Elites.cellOf(batch.Descriptors)
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
