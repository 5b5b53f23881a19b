package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/repertoire"
	"example.com/qdnb/xla"
)

// generation is the program of one generation, as every worker runs it.
type generation struct {
	task    Task
	emitter Emitter
	batch   int // individuals, P
	slice   int // individuals that are rolled out together
	workers int
}

// archive is the state of a search on the device: a tree.
type archive struct {
	Genotypes *Node // [cells, N]
	Scratch   *Node // [min(cells, P), N], room for the offspring that enter
	Cells     repertoire.Cells
}

// The purposes of an individual's random streams.
const (
	streamEmit = iota
	streamReset
)

// turns is the number of slices that each worker evaluates.
func (gen generation) turns() int {
	perTurn := gen.slice * gen.workers
	return (gen.batch + perTurn - 1) / perTurn
}

// build returns the archive after the generation and the number of candidates with a NaN fitness or descriptor.
func (gen generation) build(before archive, key xla.Key, worker *Node) (after archive, invalid *Node) {
	parents := NewParents(before.Genotypes, before.Cells)
	batch := gen.evaluate(parents, key, worker)
	index, accepted := repertoire.Winners(before.Cells, batch)
	after.Cells = before.Cells.Update(batch, index, accepted)
	cells, count := repertoire.Compact(accepted)
	after.Scratch = gen.emitAgain(before, parents, key, Gather(index, InsertAxes(cells, -1)), count)
	after.Genotypes = repertoire.SetGenotypes(before.Genotypes, after.Scratch, cells, count)
	invalid = ReduceAllSum(ConvertDType(LogicalNot(batch.Valid()), dtypes.Int32))
	return after, invalid
}

// evaluate emits and rolls out the batch, slice by slice, and joins what the workers found.
func (gen generation) evaluate(parents Parents, key xla.Key, worker *Node) repertoire.Batch {
	type state struct {
		Parents              Parents
		Key                  xla.Key
		Worker               *Node
		Children             *Node // [slice, N]
		Fitness, Descriptors *Node // [turns, slice], [turns, slice, d]
	}
	g := worker.Graph()
	turns, d := gen.turns(), len(gen.task.Env.Spec().Descriptor.Lower)
	start := state{parents, key, worker, Zeros(g, shapes.Make(dtypes.Float32, gen.slice, gen.task.Policy.Params())),
		Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice)), Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice, d))}
	local := xla.For(g, turns, start, func(turn *Node, s state) state {
		first := MulScalar(Add(MulScalar(turn, gen.workers), s.Worker), gen.slice)
		keys := s.Key.Fold(Add(Iota(g, shapes.Make(dtypes.Int32, gen.slice), 0), first))
		s.Children = gen.emit(s.Parents, keys, s.Children, MinScalar(AddScalar(turn, 1), 1))
		env := gen.task.Env
		fitness, descriptors := envs.Rollout(env, gen.task.Policy.View(s.Children), env.Reset(keys.FoldInt(streamReset)), gen.task.Length)
		s.Fitness = xla.SetRows(s.Fitness, turn, InsertAxes(fitness, 0))
		s.Descriptors = xla.SetRows(s.Descriptors, turn, InsertAxes(descriptors, 0))
		return s
	})
	// [workers, turns, slice, ...] in the order of the individuals, without those beyond the batch.
	ordered := func(x *Node, tail ...int) *Node {
		all := xla.Gathered(x, worker, gen.workers)
		axes := []int{1, 0, 2, 3}[:all.Rank()]
		flat := Reshape(TransposeAllAxes(all, axes...), append([]int{turns * gen.workers * gen.slice}, tail...)...)
		return Slice(flat, AxisRange(0, gen.batch))
	}
	return repertoire.Batch{Fitness: ordered(local.Fitness), Descriptors: ordered(local.Descriptors, d)}
}

// emit writes the offspring of a slice over children, [slice, N]. It is a loop of one turn, whose number XLA cannot see: a wall
// behind which the offspring are computed once and whole, and not again for every layer that is cut out of them.
func (gen generation) emit(parents Parents, keys xla.Key, children, one *Node) *Node {
	type state struct {
		Parents  Parents
		Keys     xla.Key
		Children *Node
	}
	return xla.Repeat(one, state{parents, keys, children}, func(_ *Node, s state) state {
		s.Children = gen.emitter.Offspring(s.Parents, s.Keys.FoldInt(streamEmit))
		return s
	}).Children
}

// emitAgain writes the children individuals[i], i < count, to the rows of the scratch matrix.
func (gen generation) emitAgain(before archive, parents Parents, key xla.Key, individuals, count *Node) *Node {
	type state struct {
		Parents              Parents
		Key                  xla.Key
		Individuals, Scratch *Node
	}
	rows := before.Scratch.Shape().Dimensions[0]
	start := state{parents, key, Slice(individuals, AxisRange(0, rows)), before.Scratch}
	turns := Div(AddScalar(count, int32(gen.slice-1)), ConstAs(count, int32(gen.slice)))
	return xla.Repeat(turns, start, func(turn *Node, s state) state {
		first := MulScalar(turn, gen.slice) // Rows and SetRows both move the last slice back inside
		keys := s.Key.Fold(xla.Rows(s.Individuals, first, gen.slice))
		s.Scratch = xla.SetRows(s.Scratch, first, gen.emitter.Offspring(s.Parents, keys.FoldInt(streamEmit)))
		return s
	}).Scratch
}
