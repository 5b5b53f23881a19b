package evolution

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// generation builds the programs of one generation of one or several searches: the evaluation of
// their offspring, which every worker runs, and their insertion.
type generation struct {
	task    scoring.Task
	emitter Emitter    // nil: the offspring are the members of another archive, unchanged
	archive Archive    // the archive that offspring enter
	observe Archive    // defines the recorded sequences; nil: none are recorded
	learns  bool       // whether transitions are recorded
	slices  xla.Slices // of each search
	starts  Starts
}

// contents is the state of an archive on the device: a pytree.
type contents struct {
	Genotypes *Node   // [cells, N]
	Scratch   *Node   // [min(cells, P), N], space for the accepted offspring
	Origins   *Node   // int32 [cells, 2], the generation and number of each cell's individual
	Fields    []*Node // see [Archive]
	Strategy  []*Node // state of the emitter if it is a [Strategy]
}

// stored is what evaluations read of an archive: a pytree.
type stored struct {
	Genotypes        *Node
	Fields, Strategy []*Node
}

func (c contents) stored() stored { return stored{c.Genotypes, c.Fields, c.Strategy} }

// streamEmit is the random stream of an individual that draws its genotype; see
// [scoring.StreamReset] for the other one.
const streamEmit = 0

// Random streams of a run. Non-negative numbers are its generations.
const (
	streamStart    = -1 - iota // fixed initial states of evaluations
	streamPassive              // initial state of the passive repertoire
	streamLearner              // per generation: draws of the learner
	streamPropose              // per generation: draws of the learner's proposals
	streamMaintain             // per generation: maintenance
	streamEmpty                // empty archive
	streamFirst                // initial state of the learner
	streamRefill               // episodes that refill a dropped replay buffer
	streamAdapt                // initial state of a strategy
)

// source is everything that offspring are made from: a pytree.
type source struct {
	Parents Parents
	Key     xla.Key // key of the generation
	Number  *Node   // number of the generation, int32: 0 is the initial population
	// key of the fixed initial states; the zero Key if every evaluation has its own
	Start    xla.Key
	Numbers  []*Node // parameters of the emitter, see [xla.Params]
	Proposed *Node   // [n, N], the first offspring, from the learner; nil without a learner
}

// enter inserts the evaluated offspring of a search. It returns the archive after the generation,
// the counts of its candidates, see [scoring.Count], and the evaluations.
func (gen generation) enter(before contents, from source, found Evaluated) (after contents,
	counts *Node, seen Evaluation) {
	if gen.emitter == nil {
		empty := Equal(from.Parents.Cells.Fitness, ConstAs(from.Parents.Cells.Fitness, math.Inf(-1)))
		found.Fitness = Where(empty, from.Parents.Cells.Fitness, found.Fitness)
	}
	var index, accepted, valid *Node
	after.Fields, index, accepted, valid = gen.insert(before.Fields, found)
	cells, count := repertoire.Compact(accepted)
	after.Scratch = gen.emitAgain(from, before.Scratch, Gather(index, InsertAxes(cells, -1)), count)
	after.Genotypes = repertoire.SetGenotypes(before.Genotypes, after.Scratch, nil, cells, count)
	after.Strategy = gen.adapt(from, before.Fields, found, after)
	after.Origins = origins(before.Origins, from.Number, index, accepted)
	counts = scoring.Count(gen.task.Env.Spec(), found.Fitness, found.Descriptors,
		found.Objectives, valid)
	return after, counts, Evaluation{Evaluated: found, Before: before.Fields, Index: index,
		Accepted: accepted}
}

// origins replaces the origins of the accepted cells by a generation and the individuals' numbers.
func origins(before, generation, index, accepted *Node) *Node {
	entered := Stack([]*Node{BroadcastToDims(generation, index.Shape().Dimensions...), index}, 1)
	return Where(BroadcastToDims(InsertAxes(accepted, -1), before.Shape().Dimensions...), entered,
		before)
}

// insert is the archive's Insert with a check of the result's shapes.
func (gen generation) insert(fields []*Node, found Evaluated) (after []*Node, index, accepted,
	valid *Node) {
	after, index, accepted, valid = gen.archive.Insert(fields, found)
	cells := fields[0].Shape().Dimensions[0]
	checkFields(gen.archive, "Insert", after, fields)
	xla.CheckShape(gen.archive, "Insert", "indices", index, dtypes.Int32, cells)
	xla.CheckShape(gen.archive, "Insert", "accepted cells", accepted, dtypes.Bool, cells)
	xla.CheckShape(gen.archive, "Insert", "valid individuals", valid, dtypes.Bool, gen.slices.N)
	return after, index, accepted, valid
}

// evaluate emits and rolls out the batches of all searches slice by slice, and gathers the results
// of all workers. A slice of every search is rolled out at once.
func (gen generation) evaluate(from []source, worker *Node) []Evaluated {
	type carried struct {
		From     []source
		Worker   *Node
		Children []*Node // [slice, N] of each search
	}
	task, slices := gen.task, gen.slices
	var recorders []envs.Recorder
	task.Env, recorders = gen.observed()
	start := carried{From: from, Worker: worker}
	for range from {
		start.Children = append(start.Children, Zeros(worker.Graph(), shapes.Make(dtypes.Float32,
			slices.Size, task.Policy.Params())))
	}
	all := slices
	all.N, all.Size = all.N*len(from), all.Size*len(from)
	reset := func(turn *Node, c carried) envs.State {
		individuals := slices.Numbers(turn, c.Worker)
		var his, los []*Node
		for _, from := range c.From {
			resets := gen.resets(from, individuals)
			his, los = append(his, resets.Hi), append(los, resets.Lo)
		}
		return envs.Reset(task.Env, xla.Key{Hi: Concatenate(his, 0), Lo: Concatenate(los, 0)})
	}
	_, objectives := gen.archive.(MultiObjective)
	batch := scoring.Batch{Task: task, Recorders: recorders, Objectives: objectives, Slices: all}
	local := scoring.Score(batch, worker, start, reset, func(turn *Node, c carried) (carried, nn.Net) {
		individuals := slices.Numbers(turn, c.Worker)
		for i, from := range c.From {
			c.Children[i] = gen.emit(from, individuals, c.Children[i])
		}
		return c, task.View(Concatenate(c.Children, 0))
	})
	found := make([]Evaluated, len(from))
	for i := range found {
		join := func(x *Node) *Node {
			if len(from) > 1 {
				x = Slice(x, AxisRange(), AxisRange(i*slices.Size, (i+1)*slices.Size))
			}
			return slices.Join(x, worker)
		}
		found[i] = Evaluated{Fitness: join(local.Fitness), Descriptors: join(local.Descriptors)}
		if objectives {
			found[i].Objectives = join(local.Objectives)
		}
		for k, r := range recorders {
			rows, record := r.Rows(task.Length), join(local.Records[k])
			if gen.learns && k == len(recorders)-1 {
				found[i].Transitions = Reshape(record, slices.N*rows, r.Width)
			} else {
				found[i].Sequences = Reshape(record, slices.N, rows, r.Width)
			}
		}
	}
	return found
}

// observed returns the environment for the evaluation and the recorders: the archive's sequences
// and the learner's transitions, in this order. Recording continues after the end of an episode.
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
		recorders = append(recorders, transitions(layoutOf(gen.task), episodes))
	}
	return episodes, recorders
}

// emit returns the offspring of a slice, [slice, N]: random policies in generation 0, later those
// of the learner and the emitter. children provides the memory.
//
// Each case is a loop of zero or one iterations, a count that XLA cannot know. The loop is a
// barrier: the offspring are computed once as a whole, not again for every layer that is sliced out
// of them. The iteration number, always 0, is added to the keys. Otherwise XLA would move the
// loop-invariant computation out of the loop, where it would also run for zero iterations, and copy
// its result in. GPUs and TPUs select: such a loop would wait for the host.
func (gen generation) emit(from source, individuals, children *Node) *Node {
	type state struct {
		From                  source
		Individuals, Children *Node
	}
	later := MinScalar(from.Number, 1)
	_, adapts := gen.emitter.(Strategy)
	if adapts { // it makes generation 0, too
		later = MinScalar(AddScalar(from.Number, 1), 1)
	}
	first := func(turn *Node, s state) state {
		s.Children = gen.task.Policy.Init(s.From.Key.FoldInEach(Add(s.Individuals,
			turn)).FoldIn(streamEmit))
		return s
	}
	offspring := func(turn *Node, s state) state {
		which := Add(s.Individuals, turn)
		if gen.emitter == nil {
			s.Children = member(s.From.Parents.Genotypes, which)
			return s
		}
		emitter := xla.Bind(gen.emitter, s.From.Numbers)
		parents := s.From.Parents
		parents.Individuals, parents.Generation = which, s.From.Key
		s.Children = emitter.Offspring(parents, ChildKeys(s.From.Key, which))
		xla.CheckShape(emitter, "Offspring", "children", s.Children, dtypes.Float32, gen.slices.Size,
			gen.task.Policy.Params())
		if s.From.Proposed != nil {
			proposed := LessThan(which, ConstAs(which, int32(s.From.Proposed.Shape().Dimensions[0])))
			wide := BroadcastToDims(InsertAxes(proposed, -1), s.Children.Shape().Dimensions...)
			s.Children = Where(wide, member(s.From.Proposed, which), s.Children)
		}
		return s
	}
	start := state{from, individuals, children}
	if xla.KindOf(later.Graph()).Accelerator() {
		zero := ZerosLike(later)
		children = offspring(zero, start).Children
		if gen.emitter != nil && !adapts {
			initial := BroadcastToDims(Equal(later, zero), children.Shape().Dimensions...)
			children = Where(initial, first(zero, start).Children, children)
		}
		return children
	}
	if gen.emitter != nil && !adapts {
		start.Children = xla.Repeat(OneMinus(later), start, first).Children
	}
	return xla.Repeat(later, start, offspring).Children
}

// member returns rows by their numbers; numbers beyond the end return the last row.
func member(rows, which *Node) *Node {
	return Gather(rows, InsertAxes(MinScalar(which, int32(rows.Shape().Dimensions[0]-1)), -1))
}

// emitAgain recomputes the children individuals[i], i < count, into the rows of the scratch matrix.
func (gen generation) emitAgain(from source, scratch, individuals, count *Node) *Node {
	type state struct {
		From                           source
		Children, Individuals, Scratch *Node
	}
	rows, params := scratch.Shape().Dimensions[0], gen.task.Policy.Params()
	start := state{from, Zeros(scratch.Graph(), shapes.Make(dtypes.Float32, gen.slices.Size, params)),
		Slice(individuals, AxisRange(0, rows)), scratch}
	turns := Div(AddScalar(count, int32(gen.slices.Size-1)), ConstAs(count, int32(gen.slices.Size)))
	if xla.KindOf(count.Graph()).Accelerator() { // all of them: the device need not report the count
		turns = Const(count.Graph(), int32((rows+gen.slices.Size-1)/gen.slices.Size))
	}
	return xla.Repeat(turns, start, func(turn *Node, s state) state {
		// Rows and SetRows both shift the last slice back inside
		first := MulScalar(turn, gen.slices.Size)
		s.Children = gen.emit(s.From, xla.Rows(s.Individuals, first, gen.slices.Size), s.Children)
		s.Scratch = xla.SetRows(s.Scratch, first, s.Children)
		return s
	}).Scratch
}
