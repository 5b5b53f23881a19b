package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// generation builds the graphs of one generation: the evaluation of the offspring, which every worker
// runs, and their insertion.
type generation struct {
	task        scoring.Task
	env         envs.Env       // in which offspring are evaluated: it records what follows
	sequences   *envs.Recorder // what the archive sees of episodes; nil if it sees nothing
	transitions *envs.Recorder // what emitters see; nil if they see nothing
	objectives  bool           // whether returns by objective are scored
	starts      Starts
	slices      xla.Slices
}

// newGeneration returns the generations of an archive, with transitions if emitters learn from them.
// Recording continues after the end of an episode.
func newGeneration(task scoring.Task, archive repertoire.Archive, transitions bool, starts Starts,
	slices xla.Slices) generation {
	gen := generation{task: task, env: task.Env, starts: starts, slices: slices}
	_, gen.objectives = archive.(repertoire.Measurer)
	if a, ok := archive.(repertoire.SequenceRecorder); ok {
		r := a.Record(task)
		gen.sequences = &r
	}
	if episodes := envs.AutoReset(task.Env, task.Length); transitions || gen.sequences != nil {
		gen.env = episodes
		if transitions {
			r := recordTransitions(layoutOf(task), episodes)
			gen.transitions = &r
		}
	}
	return gen
}

// archiveState is the state of an archive on the device: a pytree.
type archiveState struct {
	Genotypes *Node // [cells, N]
	Scratch   *Node // [min(cells, P), N], space for the accepted offspring
	Origins   *Node // int32 [cells, 2], the generation and number of each cell's individual
	Archive   repertoire.Archive
	Emitters  []assignment // except those that are a [Proposer]
}

// archiveView is what evaluations read of an archive: a pytree.
type archiveView struct {
	Genotypes *Node
	Cells     repertoire.Cells
	Emitters  []assignment
}

func (c archiveState) view() archiveView {
	cells := c.Archive.Cells()
	cells.Objectives = nil
	return archiveView{c.Genotypes, cells, c.Emitters}
}

// Random streams of an individual.
const (
	streamEmit  = iota // draws its genotype
	streamReset        // draws its initial state
)

// Random streams of a run. Non-negative numbers are its generations.
const (
	streamStart    = -1 - iota // fixed initial states of evaluations
	streamPassive              // initial state of the passive repertoire
	streamUpdate               // per generation: updates of proposers
	streamPropose              // per generation: draws of the proposals
	streamMaintain             // per generation: maintenance
	streamEmpty                // empty archive
	streamFirst                // initial state of proposers
	_                          // is not used; the number of the next one stays
	streamInit                 // initial state of other emitters
)

// streamLearn is the random stream of a generation for the updates of emitters. Non-negative numbers
// are its individuals.
const streamLearn = -1

// source is everything that offspring are made from: a pytree.
type source struct {
	Parents  Parents
	Key      random.Key   // key of the generation
	Number   *Node        // number of the generation, int32: 0 is the initial population
	Start    random.Key   // key of the fixed initial states; the zero Key if every evaluation has its own
	Emitters []assignment // in the order of their individuals; Emitter is nil for proposers
	Proposed *Node        // [n, N], the offspring of proposers; nil without one
	// Given is the initial population, [P, N], with random policies for rows of NaN; nil: all are random.
	Given *Node
	// Evaluated are the offspring that the host has evaluated, [P, N]; nil if the device does.
	Evaluated *Node
}

// enter inserts the evaluated offspring. It returns the archive after the generation, the counts of
// its candidates, see [scoring.Task.Count], what proposers see, and the losses of the other emitters.
func (gen generation) enter(before archiveState, from source, found repertoire.Evaluated) (after archiveState,
	counts *Node, feedback feedback, losses []Metric) {
	cells := before.view().Cells
	archive, in := before.Archive.Add(found)
	in.Check(before.Archive, archive, gen.slices.N)
	accepted, count := xla.Nonzero(in.Accepted)
	after.Archive = archive
	after.Scratch = gen.emitAgain(from, before.Scratch, Gather(in.Index, InsertAxes(accepted, -1)), count)
	after.Genotypes = xla.SetRowsAt(before.Genotypes, after.Scratch, nil, accepted, count)
	entered := Stack([]*Node{BroadcastToDims(from.Number, in.Index.Shape().Dimensions...), in.Index}, 1)
	after.Origins = Where(wide(in.Accepted, before.Origins), entered, before.Origins)
	g := Generation{Task: gen.task, Number: from.Number, Found: found, Insertion: in, Before: cells,
		Parents: gen.parents(after.Genotypes, archive.Cells(), from.Key)}
	if from.Given != nil {
		g.Given = Equal(from.Number, ZerosLike(from.Number))
	}
	for _, a := range before.Emitters {
		var more []Metric
		a, more = a.update(g, from.Key.FoldIn(streamLearn))
		after.Emitters, losses = append(after.Emitters, a), append(losses, more...)
	}
	counts = gen.task.Count(found.Fitness, found.Descriptors, found.Objectives, in.Valid)
	feedback.Found, feedback.Insertion, feedback.Before = found, in, cells
	return after, counts, feedback, losses
}

// parents prepares an archive for sampling, in a generation with a key.
func (gen generation) parents(genotypes *Node, cells repertoire.Cells, key random.Key) Parents {
	p := newParents(genotypes, cells)
	p.Key, p.Batch, p.Count = key, gen.slices.N, gen.slices.N
	return p
}

// feedback is what proposers see of a generation: a pytree.
type feedback struct {
	Found repertoire.Evaluated
	repertoire.Insertion
	Before repertoire.Cells
}

// update updates the emitter with the key of all emitters, and checks the result.
func (a assignment) update(g Generation, key random.Key) (assignment, []Metric) {
	before := a.Emitter
	g.Parents = g.Parents.of(a)
	after, losses := before.Update(g, a.key(key))
	xla.CheckSame(before, "Update", after)
	xla.CheckLike(before, "Update", "the emitter", xla.Flatten(after), xla.Flatten(before))
	for _, l := range losses {
		xla.CheckShape(before, "Update", l.Name, l.Value, dtypes.Float32)
	}
	a.Emitter = after
	return a, losses
}

// evaluate emits and rolls out a batch slice by slice, and gathers the results of all workers.
func (gen generation) evaluate(from source, worker *Node) (found repertoire.Evaluated) {
	type carried struct {
		From     source
		Worker   *Node
		Children *Node // [slice, N]
	}
	task, slices := gen.task, gen.slices
	task.Env = gen.env
	var recorders []envs.Recorder
	for _, r := range []*envs.Recorder{gen.sequences, gen.transitions} {
		if r != nil {
			recorders = append(recorders, *r)
		}
	}
	start := carried{From: from, Worker: worker, Children: Zeros(worker.Graph(),
		shapes.Make(dtypes.Float32, slices.Size, task.Policy.Params()))}
	reset := func(turn *Node, c carried) envs.State {
		return envs.Reset(task.Env, gen.resets(c.From, slices.Numbers(turn, c.Worker)))
	}
	batch := scoring.Rollout{Task: task, Recorders: recorders, Objectives: gen.objectives, Slices: slices}
	local := scoring.Score(batch, worker, start, reset, func(turn *Node, c carried) (carried, nn.Policy) {
		c.Children = gen.emit(c.From, slices.Numbers(turn, c.Worker), c.Children)
		return c, task.View(c.Children)
	})
	join := func(x *Node) *Node { return slices.Join(x, worker) }
	found.Fitness, found.Descriptors = join(local.Fitness), join(local.Descriptors)
	if gen.objectives {
		found.Objectives = join(local.Objectives)
	}
	records := local.Records
	if r := gen.sequences; r != nil {
		found.Sequences = Reshape(join(records[0]), slices.N, r.Rows(task.Length), r.Width)
		records = records[1:]
	}
	if r := gen.transitions; r != nil {
		found.Transitions = Reshape(join(records[0]), slices.N*r.Rows(task.Length), r.Width)
	}
	return found
}

// emit returns the offspring of a slice, [slice, N]: random policies in generation 0, later those
// of the emitters. children provides the memory.
//
// Each case is an [xla.When], so that the offspring are computed once as a whole, not again for every
// layer that is sliced out of them.
func (gen generation) emit(from source, individuals, children *Node) *Node {
	type state struct {
		From                  source
		Individuals, Children *Node
	}
	if from.Evaluated != nil {
		return row(from.Evaluated, individuals)
	}
	started, random := false, false // whether generation 0 has offspring of emitters, random policies
	for _, a := range from.Emitters {
		starts := from.startsItself(a)
		started, random = started || starts, random || !starts
	}
	first := Equal(from.Number, ZerosLike(from.Number))
	emits := LogicalNot(first)
	if started {
		emits = GreaterThan(AddScalar(from.Number, 1), ZerosLike(from.Number)) // true
	}
	end := xla.When(emits, state{from, individuals, children}, func(turn *Node, s state) state {
		s.Children = gen.offspring(s.From, Add(s.Individuals, turn))
		return s
	})
	if !random {
		return end.Children
	}
	return xla.When(first, end, func(turn *Node, s state) state {
		which := Add(s.Individuals, turn)
		policies := gen.task.Init(s.From.Key.FoldInEach(which).FoldIn(streamEmit))
		if s.From.Given != nil {
			given := row(s.From.Given, which)
			policies = Where(Equal(given, given), given, policies)
		}
		for _, a := range s.From.Emitters {
			if from.startsItself(a) {
				own, _ := a.own(which)
				policies = Where(wide(own, policies), s.Children, policies)
			}
		}
		s.Children = policies
		return s
	}).Children
}

// startsItself reports whether an emitter makes its share of generation 0.
func (from source) startsItself(a assignment) bool {
	_, starts := a.Emitter.(Starter)
	return starts && from.Given == nil
}

// ask returns the offspring of a generation that the host evaluates, [P, N].
func (gen generation) ask(from source) *Node {
	g, n := from.Number.Graph(), gen.slices.N
	rows := gen.emitAgain(from, Zeros(g, shapes.Make(dtypes.Float32, n, gen.task.Policy.Params())),
		Iota(g, shapes.Make(dtypes.Int32, n), 0), Const(g, int32(n)))
	if s := envs.Inner(gen.task.Env).(*envs.Simulator); s.Bounded {
		clipped := ClipScalar(rows, s.Facts.Initial[0], s.Facts.Initial[1])
		rows = Where(Equal(rows, rows), clipped, rows) // XLA:CPU may turn NaN into a limit
	}
	return rows
}

// wide broadcasts a flag of each row to the row.
func wide(flags, like *Node) *Node {
	return BroadcastToDims(InsertAxes(flags, -1), like.Shape().Dimensions...)
}

// offspring returns the offspring of the individuals of these numbers, int32 [k], after generation 0.
func (gen generation) offspring(from source, individuals *Node) (children *Node) {
	for _, a := range from.Emitters {
		if a.count == 0 {
			continue
		}
		own, which := a.own(individuals)
		var rows *Node
		if a.table >= 0 {
			rows = row(from.Proposed, AddScalar(which, int32(a.table)))
		} else {
			parents := from.Parents.of(a)
			rows = a.Emitter.Offspring(parents, which, childKeys(from.Key, individuals))
			xla.CheckShape(a.Emitter, "Offspring", "children", rows, dtypes.Float32,
				individuals.Shape().Dimensions[0], gen.task.Policy.Params())
		}
		if children == nil {
			children = rows
		} else {
			children = Where(wide(own, rows), rows, children)
		}
	}
	return children
}

// row returns rows by their numbers; numbers beyond the end return the last row.
func row(rows, which *Node) *Node {
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
	size := gen.slices.Size
	turns := Div(AddScalar(count, int32(size-1)), ConstAs(count, int32(size)))
	return xla.Repeat(xla.Turns(turns, (rows+size-1)/size), start, func(turn *Node, s state) state {
		// Rows and SetRows both shift the last slice back inside
		first := MulScalar(turn, gen.slices.Size)
		s.Children = gen.emit(s.From, xla.Rows(s.Individuals, first, gen.slices.Size), s.Children)
		s.Scratch = xla.SetRows(s.Scratch, first, s.Children)
		return s
	}).Scratch
}

// project returns the fitness of the fittest individual in each cell, -Inf in empty ones.
func (s *search) project(in projectionIn) xla.Array {
	grid, _ := repertoire.Grid{}.Empty(s.task, random.KeyOf(in.Seed.Tree)).Add(repertoire.Evaluated{
		Batch: in.Population.Tree})
	return xla.Out(grid.Cells().Fitness)
}
