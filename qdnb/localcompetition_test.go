package qdnb_test

import (
	"context"
	"fmt"
	"math"
	"os"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// LocalCompetition is novelty search with local competition (Lehman and Stanley 2011, "Evolving a diversity of virtual
// creatures through novelty search and local competition"). The solutions that stay are those that few others beat in
// both their novelty, the mean distance to the K nearest ones, and the number of these that are less fit. Neighbours
// are also found in a memory of past individuals.
type LocalCompetition struct {
	Slots, K     int
	Past, Recall int              // individuals in memory, and those of a generation that enter it
	Population   repertoire.Cells // [Slots]
	Memory       repertoire.Batch // [Past], the newest first
}

func (a LocalCompetition) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	d := len(task.Env.Spec().Descriptor.Lower)
	a.Population = repertoire.EmptySlots(key.Hi.Graph(), a.Slots, d)
	memory := repertoire.EmptySlots(key.Hi.Graph(), a.Past, d)
	a.Memory = repertoire.Batch{Fitness: memory.Fitness, Descriptors: memory.Descriptors}
	return a
}

func (a LocalCompetition) Cells() repertoire.Cells { return a.Population }

func (a LocalCompetition) Add(of repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	before := repertoire.Batch{Fitness: a.Population.Fitness, Descriptors: a.Population.Descriptors}
	score := a.score(joined(before, of.Batch))
	in := repertoire.Insertion{Valid: of.Valid(), Improvement: Slice(score, AxisRange(a.Slots))}
	in.Index, in.Accepted = repertoire.Truncate(score, a.Slots)
	a.Population = a.Population.Update(of.Batch, in.Index, in.Accepted)
	a.Memory = part(joined(part(of.Batch, a.Recall), a.Memory), a.Past)
	return a, in
}

// score returns minus the number of solutions that dominate each one, [P]; -Inf if it is not valid.
func (a LocalCompetition) score(all repertoire.Batch) *Node {
	around := joined(all, a.Memory)
	distance := Sqrt(ReduceSum(Square(Sub(column(all.Descriptors), row(around.Descriptors))), 2))
	number := Iota(distance.Graph(), distance.Shape(), 1)
	self := Equal(number, Iota(distance.Graph(), distance.Shape(), 0))
	leave := func(out *Node) { distance = Where(out, ConstAs(distance, math.Inf(1)), distance) }
	leave(Or(self, LogicalNot(BroadcastToShape(row(around.Valid()), self.Shape()))))
	novelty, beaten := ZerosLike(all.Fitness), ZerosLike(all.Fitness)
	for range a.K {
		nearest := column(ArgMin(distance, 1))
		less := LessThan(Gather(around.Fitness, nearest), all.Fitness)
		novelty = Add(novelty, ReduceMin(distance, 1))
		beaten = Add(beaten, ConvertDType(less, beaten.DType()))
		leave(Equal(number, ConvertDType(nearest, number.DType())))
	}
	lowest := ConstAs(novelty, math.Inf(-1))
	novelty = Where(all.Valid(), novelty, lowest) // dominates nothing
	no := Or(LessThan(row(novelty), column(novelty)), LessThan(row(beaten), column(beaten)))
	better := Or(GreaterThan(row(novelty), column(novelty)), GreaterThan(row(beaten), column(beaten)))
	dominates := ConvertDType(And(better, LogicalNot(no)), novelty.DType())
	return Where(all.Valid(), Neg(ReduceSum(dominates, 1)), lowest)
}

func row(x *Node) *Node    { return InsertAxes(x, 0) }
func column(x *Node) *Node { return InsertAxes(x, 1) }

// joined appends a batch to another one.
func joined(a, b repertoire.Batch) repertoire.Batch {
	return xla.Map2(a, b, func(a, b *Node) *Node { return Concatenate([]*Node{a, b}, 0) })
}

// part returns the first n solutions of a batch.
func part(b repertoire.Batch, n int) repertoire.Batch {
	return xla.Map(b, func(x *Node) *Node { return Slice(x, AxisRange(0, n)) })
}

// competing keeps solutions by local competition.
var competing = qdnb.Tune(func(h *evolution.MapElites) {
	h.Archive = LocalCompetition{Slots: 24, K: 3, Past: 16, Recall: 4}
})

// A custom archive with state: its population is measured by MAP-Elites' grid.
func Example_archive() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	run := nb.Must(qdnb.Train(context.Background(), variant(folder, "local-competition", "map-elites", competing)))
	fmt.Println(nb.Must(run.Metrics()).Columns[8:13])
	// Output: [archive_size archive_max_fitness evaluation_steps archive_coverage archive_qd_score]
}
