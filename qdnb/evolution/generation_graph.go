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

// source is where offspring come from: a tree.
type source struct {
	Parents Parents
	Key     xla.Key // of the generation
	Number  *Node   // of the generation, int32: 0 is the initial population
}

// build returns the archive after the generation and the number of candidates with a fitness or descriptor that is not a
// number.
func (gen generation) build(before archive, key xla.Key, number, worker *Node) (after archive, invalid *Node) {
	from := source{NewParents(before.Genotypes, before.Cells), key, number}
	batch := gen.evaluate(from, worker)
	index, accepted := repertoire.Winners(before.Cells, batch)
	after.Cells = before.Cells.Update(batch, index, accepted)
	cells, count := repertoire.Compact(accepted)
	after.Scratch = gen.emitAgain(from, before.Scratch, Gather(index, InsertAxes(cells, -1)), count)
	after.Genotypes = repertoire.SetGenotypes(before.Genotypes, after.Scratch, cells, count)
	invalid = ReduceAllSum(ConvertDType(LogicalNot(batch.Valid()), dtypes.Int32))
	return after, invalid
}

// evaluate emits and rolls out the batch, slice by slice, and joins what the workers found.
func (gen generation) evaluate(from source, worker *Node) repertoire.Batch {
	type state struct {
		From                 source
		Worker               *Node
		Children             *Node // [slice, N]
		Fitness, Descriptors *Node // [turns, slice], [turns, slice, d]
	}
	g := worker.Graph()
	turns, d := gen.turns(), len(gen.task.Env.Spec().Descriptor.Lower)
	start := state{from, worker, Zeros(g, shapes.Make(dtypes.Float32, gen.slice, gen.task.Policy.Params())),
		Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice)), Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice, d))}
	local := xla.For(g, turns, start, func(turn *Node, s state) state {
		first := MulScalar(Add(MulScalar(turn, gen.workers), s.Worker), gen.slice)
		keys := s.From.Key.Fold(Add(Iota(g, shapes.Make(dtypes.Int32, gen.slice), 0), first))
		s.Children = gen.emit(s.From, keys, s.Children)
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

// emit writes the offspring of a slice over children, [slice, N]: random policies in generation 0, later what the emitter
// proposes. Each is a loop of one turn or none, whose number XLA cannot know: a wall behind which the offspring are computed
// once and whole, and not again for every layer that is cut out of them. The turn, which is 0, goes into the keys: what is the
// same at every turn XLA would move out of the loop, computed for those of no turn too, and copy into it.
func (gen generation) emit(from source, keys xla.Key, children *Node) *Node {
	type state struct {
		Parents  Parents
		Keys     xla.Key
		Children *Node
	}
	keys = keys.FoldInt(streamEmit)
	later := MinScalar(from.Number, 1)
	children = xla.Repeat(OneMinus(later), state{Keys: keys, Children: children}, func(turn *Node, s state) state {
		s.Children = gen.task.Policy.Init(varying(s.Keys, turn))
		return s
	}).Children
	return xla.Repeat(later, state{from.Parents, keys, children}, func(turn *Node, s state) state {
		s.Children = gen.emitter.Offspring(s.Parents, varying(s.Keys, turn))
		return s
	}).Children
}

// varying are the keys, if turn is 0.
func varying(keys xla.Key, turn *Node) xla.Key {
	return xla.Key{Hi: keys.Hi, Lo: Add(keys.Lo, ConvertDType(turn, dtypes.Uint32))}
}

// emitAgain writes the children individuals[i], i < count, to the rows of the scratch matrix.
func (gen generation) emitAgain(from source, scratch, individuals, count *Node) *Node {
	type state struct {
		From                           source
		Children, Individuals, Scratch *Node
	}
	rows, params := scratch.Shape().Dimensions[0], gen.task.Policy.Params()
	start := state{from, Zeros(scratch.Graph(), shapes.Make(dtypes.Float32, gen.slice, params)), Slice(individuals, AxisRange(0, rows)), scratch}
	turns := Div(AddScalar(count, int32(gen.slice-1)), ConstAs(count, int32(gen.slice)))
	return xla.Repeat(turns, start, func(turn *Node, s state) state {
		first := MulScalar(turn, gen.slice) // Rows and SetRows both move the last slice back inside
		s.Children = gen.emit(s.From, s.From.Key.Fold(xla.Rows(s.Individuals, first, gen.slice)), s.Children)
		s.Scratch = xla.SetRows(s.Scratch, first, s.Children)
		return s
	}).Scratch
}
