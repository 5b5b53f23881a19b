package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// FrontSettings are the hyperparameters of [FrontArchive] (Pierrot et al. 2022).
type FrontSettings struct {
	FrontSize int `json:"front_size"` // solutions per cell; its publication: 50
}

// FrontArchive is the archive of MOME: a [Grid] whose cells hold Pareto fronts, see
// [repertoire.Fronts].
type FrontArchive struct {
	Grid
	FrontSettings
}

var _ MultiObjective = FrontArchive{}

// Fields implements [Archive].
func (a FrontArchive) Fields() []string { return append(a.Grid.Fields(), "objectives") }

// Empty implements [Archive].
func (a FrontArchive) Empty(task scoring.Task, key xla.Key) []*Node {
	g, spec := key.Hi.Graph(), task.Env.Spec()
	slots := a.Centroids.Shape[0] * a.FrontSize
	return []*Node{unfilled(g, slots),
		Zeros(g, shapes.Make(dtypes.Float32, slots, len(spec.Descriptor.Lower))),
		a.Grid.Empty(task, key)[2], unfilled(g, slots, spec.Rewards())}
}

// Insert implements [Archive] by [repertoire.Fronts].
func (a FrontArchive) Insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	fronts := repertoire.Fronts{Cells: cellsOf(a, fields), Objectives: fields[3]}
	batch := repertoire.Batch{Fitness: found.Fitness, Descriptors: found.Descriptors}
	finite := LogicalAll(LessThan(Abs(found.Objectives), ConstAs(found.Objectives, math.Inf(1))), 1)
	batch.Fitness = Where(finite, batch.Fitness, ConstAs(batch.Fitness, math.Inf(-1)))
	index, accepted, kept := fronts.Winners(batch, found.Objectives)
	fronts = fronts.Update(batch, found.Objectives, index, accepted, kept)
	return xla.Flatten(fronts), index, accepted, batch.Valid()
}

// Slots implements [MultiObjective].
func (a FrontArchive) Slots() int { return a.FrontSize }

// Columns implements [MultiObjective].
func (FrontArchive) Columns() []string {
	return []string{"moqd_score", "max_hypervolume", "global_hypervolume", "archive_size"}
}

// Measure implements [MultiObjective]: the sum and the maximum over the cells of the hypervolume of
// a front, the hypervolume of the front of all solutions, and their number.
func (a FrontArchive) Measure(task scoring.Task, fields map[string]npz.Array) ([]float64, error) {
	flat, err := fields["objectives"].Float32s()
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
	return []float64{sum, most, pareto.Hypervolume(pareto.Front(all), reference),
		float64(len(all))}, nil
}
