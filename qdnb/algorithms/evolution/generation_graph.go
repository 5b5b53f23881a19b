package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// generation is the program of one generation, as every worker runs it.
type generation struct {
	task    Task
	emitter Emitter // nil: the members of another archive, as they are
	archive Archive // where offspring go
	observe Archive // what is recorded of episodes; nil: nothing
	learns  bool    // whether transitions are recorded
	batch   int     // individuals, P
	slice   int     // individuals that are rolled out together
	workers int
}

// contents is the state of an archive on the device: a tree.
type contents struct {
	Genotypes *Node   // [cells, N]
	Scratch   *Node   // [min(cells, P), N], room for the offspring that enter
	Fields    []*Node // see [Archive]
}

// The purposes of an individual's random streams.
const (
	streamEmit = iota
	streamReset
)

// Streams of a run beside its generations, which are named by their numbers from 0 on.
const (
	streamStart   = -1 - iota // the initial state that evaluations share
	streamPassive             // the one of the passive repertoire
	streamLearner             // of generation: what the learner draws
	streamPropose             // of generation: what it draws when it proposes
	streamUpkeep              // of generation
	streamEmpty               // of an archive that is made
	streamFirst               // of what a learner knows at first
	streamRefill              // of episodes for a replay buffer that was dropped
)

// turns is the number of slices that each worker evaluates.
func (gen generation) turns() int {
	perTurn := gen.slice * gen.workers
	return (gen.batch + perTurn - 1) / perTurn
}

// source is where offspring come from: a tree.
type source struct {
	Parents  Parents
	Key      xla.Key // of the generation
	Number   *Node   // of the generation, int32: 0 is the initial population
	Start    xla.Key // of the initial state, where all evaluations share one
	Numbers  []*Node // of the emitter, see [xla.Params]
	Proposed *Node   // [n, N], the first offspring, which a learner made; nil if there is no learner
}

// build returns the archive after the generation, the number of candidates with a fitness or
// descriptor that is not a number, and the transitions of the evaluations, or nil.
func (gen generation) build(before contents, from source, worker *Node) (after contents, invalid,
	transitions *Node) {
	found := gen.evaluate(from, worker)
	if gen.emitter == nil {
		empty := Equal(from.Parents.Cells.Fitness, ConstAs(from.Parents.Cells.Fitness, math.Inf(-1)))
		found.Fitness = Where(empty, from.Parents.Cells.Fitness, found.Fitness)
	}
	var index, accepted, valid *Node
	after.Fields, index, accepted, valid = gen.insert(before.Fields, found)
	cells, count := repertoire.Compact(accepted)
	after.Scratch = gen.emitAgain(from, before.Scratch, Gather(index, InsertAxes(cells, -1)), count)
	after.Genotypes = repertoire.SetGenotypes(before.Genotypes, after.Scratch, nil, cells, count)
	invalid = ReduceAllSum(ConvertDType(LogicalNot(valid), dtypes.Int32))
	return after, invalid, found.Transitions
}

// insert is the archive's Insert, of whose results the shapes are checked.
func (gen generation) insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	after, index, accepted, valid = gen.archive.Insert(fields, found)
	cells := fields[0].Shape().Dimensions[0]
	checkFields(gen.archive, "Insert", after, fields)
	xla.CheckShape(gen.archive, "Insert", "indices", index, dtypes.Int32, cells)
	xla.CheckShape(gen.archive, "Insert", "accepted cells", accepted, dtypes.Bool, cells)
	xla.CheckShape(gen.archive, "Insert", "valid individuals", valid, dtypes.Bool, gen.batch)
	return after, index, accepted, valid
}

// evaluate emits and rolls out the batch, slice by slice, and joins what the workers found.
func (gen generation) evaluate(from source, worker *Node) Evaluated {
	type state struct {
		From                 source
		Worker               *Node
		Children             *Node   // [slice, N]
		Fitness, Descriptors *Node   // [turns, slice], [turns, slice, d]
		Records              []*Node // [turns, slice, rows * width]
	}
	g := worker.Graph()
	env, recorders := gen.observed()
	turns, d := gen.turns(), len(env.Spec().Descriptor.Lower)
	start := state{From: from, Worker: worker,
		Children:    Zeros(g, shapes.Make(dtypes.Float32, gen.slice, gen.task.Policy.Params())),
		Fitness:     Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice)),
		Descriptors: Zeros(g, shapes.Make(dtypes.Float32, turns, gen.slice, d))}
	for _, r := range recorders {
		start.Records = append(start.Records, Zeros(g,
			shapes.Make(dtypes.Float32, turns, gen.slice, r.Rows(gen.task.Length)*r.Width)))
	}
	local := xla.ForSlices(turns, worker, start, func(turn *Node, s state) state {
		first := MulScalar(Add(MulScalar(turn, gen.workers), s.Worker), gen.slice)
		individuals := Add(Iota(g, shapes.Make(dtypes.Int32, gen.slice), 0), first)
		keys := s.From.Key.FoldInEach(individuals)
		s.Children = gen.emit(s.From, individuals, s.Children)
		resets := keys.FoldIn(streamReset)
		if s.From.Start.Hi != nil {
			resets = xla.Key{Hi: BroadcastToDims(s.From.Start.Hi, gen.slice),
				Lo: BroadcastToDims(s.From.Start.Lo, gen.slice)}
		}
		fitness, descriptors, records := envs.Record(env, gen.task.Policy.View(s.Children),
			envs.Reset(env, resets), gen.task.Length, recorders...)
		s.Fitness = xla.SetRows(s.Fitness, turn, InsertAxes(fitness, 0))
		s.Descriptors = xla.SetRows(s.Descriptors, turn, InsertAxes(descriptors, 0))
		for i, record := range records {
			s.Records[i] = xla.SetRows(s.Records[i], turn, Reshape(record, 1, gen.slice, -1))
		}
		return s
	})
	// [workers, turns, slice, ...] in the order of the individuals, without those beyond the batch.
	ordered := func(x *Node, tail ...int) *Node {
		all := xla.AllGather(x, worker, gen.workers)
		axes := []int{1, 0, 2, 3}[:all.Rank()]
		flat := Reshape(TransposeAllAxes(all, axes...),
			append([]int{turns * gen.workers * gen.slice}, tail...)...)
		return Slice(flat, AxisRange(0, gen.batch))
	}
	found := Evaluated{Fitness: ordered(local.Fitness), Descriptors: ordered(local.Descriptors, d)}
	for i, r := range recorders {
		rows := r.Rows(gen.task.Length)
		record := ordered(local.Records[i], rows*r.Width)
		if gen.learns && i == len(recorders)-1 {
			found.Transitions = Reshape(record, gen.batch*rows, r.Width)
		} else {
			found.Sequences = Reshape(record, gen.batch, rows, r.Width)
		}
	}
	return found
}

// observed is the environment as it is evaluated, and what is recorded: the archive's sequences and
// the learner's transitions, in this order. What is recorded goes on after the end of an episode.
func (gen generation) observed() (envs.Env, []envs.Recorder) {
	var recorders []envs.Recorder
	if gen.observe != nil {
		if r, ok := gen.observe.Sequence(gen.task); ok {
			recorders = append(recorders, r)
		}
	}
	if !gen.learns && len(recorders) == 0 {
		return gen.task.Env, nil
	}
	episodes := envs.AutoReset(gen.task.Env, gen.task.Length)
	if gen.learns {
		recorders = append(recorders, transitions(episodes))
	}
	return episodes, recorders
}

// emit writes the offspring of a slice over children, [slice, N]: random policies in generation 0,
// later what the learner and the emitter propose. Each is a loop of one turn or none, whose number
// XLA cannot know: a wall behind which the offspring are computed once and whole, and not again for
// every layer that is cut out of them. The turn, which is 0, goes into the keys: what is the same
// at every turn XLA would move out of the loop, computed for those of no turn too, and copy into
// it.
func (gen generation) emit(from source, individuals, children *Node) *Node {
	type state struct {
		From                  source
		Individuals, Children *Node
	}
	later := MinScalar(from.Number, 1)
	if gen.emitter != nil {
		children = xla.Repeat(OneMinus(later), state{from, individuals, children},
			func(turn *Node, s state) state {
				s.Children = gen.task.Policy.Init(s.From.Key.FoldInEach(Add(s.Individuals,
					turn)).FoldIn(streamEmit))
				return s
			}).Children
	}
	return xla.Repeat(later, state{from, individuals, children}, func(turn *Node, s state) state {
		which := Add(s.Individuals, turn)
		if gen.emitter == nil {
			s.Children = member(s.From.Parents.Genotypes, which)
			return s
		}
		emitter := xla.Bind(gen.emitter, s.From.Numbers)
		s.Children = emitter.Offspring(s.From.Parents, s.From.Key.FoldInEach(which).FoldIn(streamEmit))
		xla.CheckShape(emitter, "Offspring", "children", s.Children, dtypes.Float32, gen.slice,
			gen.task.Policy.Params())
		if s.From.Proposed != nil {
			proposed := LessThan(which, ConstAs(which, int32(s.From.Proposed.Shape().Dimensions[0])))
			wide := BroadcastToDims(InsertAxes(proposed, -1), s.Children.Shape().Dimensions...)
			s.Children = Where(wide, member(s.From.Proposed, which), s.Children)
		}
		return s
	}).Children
}

// member gives rows by their numbers, the last one for those beyond.
func member(rows, which *Node) *Node {
	return Gather(rows, InsertAxes(MinScalar(which, int32(rows.Shape().Dimensions[0]-1)), -1))
}

// emitAgain writes the children individuals[i], i < count, to the rows of the scratch matrix.
func (gen generation) emitAgain(from source, scratch, individuals, count *Node) *Node {
	type state struct {
		From                           source
		Children, Individuals, Scratch *Node
	}
	rows, params := scratch.Shape().Dimensions[0], gen.task.Policy.Params()
	start := state{from, Zeros(scratch.Graph(), shapes.Make(dtypes.Float32, gen.slice, params)),
		Slice(individuals, AxisRange(0, rows)), scratch}
	turns := Div(AddScalar(count, int32(gen.slice-1)), ConstAs(count, int32(gen.slice)))
	return xla.Repeat(turns, start, func(turn *Node, s state) state {
		first := MulScalar(turn, gen.slice) // Rows and SetRows both move the last slice back inside
		s.Children = gen.emit(s.From, xla.Rows(s.Individuals, first, gen.slice), s.Children)
		s.Scratch = xla.SetRows(s.Scratch, first, s.Children)
		return s
	}).Scratch
}
