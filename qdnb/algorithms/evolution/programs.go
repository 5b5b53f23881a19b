package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// compiled are the programs of a generation. Evaluations only read the archive, so workers on a CPU share one
// copy of it. The insertion writes it.
type compiled struct {
	evaluate *xla.Program[evaluationIn, xla.State[repertoire.Evaluated]]
	ask      *xla.Program[askIn, xla.Array] // in place of evaluate, if the host evaluates
	insert   *xla.Program[insertionIn, insertionOut]
	reported []string // names of the emitters' losses
}

// offspringIn are the inputs that offspring are made from, besides their parents.
type offspringIn struct {
	Seed, Number xla.Array
	// Proposed, Given and Evaluated are those of a [source]; empty where that is nil.
	Proposed, Given, Evaluated xla.Array
}

// askIn are the inputs of the program that makes offspring for the host.
type askIn struct {
	offspringIn
	Archive xla.State[archiveView]
}

// evaluationIn are the inputs of the evaluation of a generation.
type evaluationIn struct {
	offspringIn
	Worker  xla.Array
	Archive xla.State[archiveView] // the parents
}

// insertionIn are the inputs of the insertion of a generation.
type insertionIn struct {
	offspringIn
	Found   xla.State[repertoire.Evaluated] `xla:"donate"`
	Archive xla.State[archiveState]         `xla:"donate"`
}

// insertionOut are its outputs.
type insertionOut struct {
	Archive  xla.State[archiveState]
	Counts   xla.Array           // see [scoring.Task.Count]
	Feedback xla.State[feedback] // what proposers see
	Losses   xla.State[[]*graph.Node]
}

// empty makes the empty archive, with the emitters that fill it.
func (s *search) empty() error {
	archive := s.parts.Archive
	program, err := xla.CompileCopies(s.programs, "empty archive", s.kept(s.seed),
		func(seed xla.Array) xla.State[archiveState] {
			root := random.KeyOf(seed.Tree)
			empty := xla.CheckSame(archive, "Empty", archive.Empty(s.task, root.FoldIn(streamEmpty)))
			cells := empty.Cells()
			slots := cells.Fitness.Shape().Size()
			xla.CheckShape(archive, "Empty", "fitnesses", cells.Fitness, dtypes.Float32, slots)
			xla.CheckShape(archive, "Empty", "descriptors", cells.Descriptors, dtypes.Float32, slots,
				cells.Descriptors.Shape().Size()/max(1, slots))
			g := seed.Tree.Graph()
			zeros := func(rows int) *graph.Node {
				return graph.Zeros(g, shapes.Make(dtypes.Float32, rows, s.task.Policy.Params()))
			}
			none := graph.BroadcastToDims(graph.Const(g, int32(noOrigin)), slots, 2)
			emitters := s.initialised(false, slots, root, root.FoldIn(streamInit))
			return xla.Out(archiveState{zeros(slots), zeros(min(slots, s.settings.Batch)), none, empty, emitters})
		}, s.axes()...)
	if err != nil {
		return err
	}
	var bytes int64
	for _, leaf := range program.Out.Leaves() {
		bytes += 4 * int64(shapes.Make(dtypes.Float32, leaf.Dims()...).Size())
	}
	children := 4 * int64(s.task.Policy.Params()) * int64(s.settings.Slice)
	if err := s.programs.CheckMemory(bytes, children); err != nil {
		return err
	}
	s.contents, err = program.Run(s.kept(s.seed))
	return err
}

// noOrigin marks empty cells.
const noOrigin = -1

// cells returns what the search reads of the archive.
func (s *search) cells() repertoire.Cells { return s.contents.Tree.Archive.Cells() }

// fitnesses are those of the cells.
func (s *search) fitnesses() xla.Array {
	return xla.Part(s.contents, func(c archiveState) *graph.Node { return c.Archive.Cells().Fitness })
}

// parents are what evaluations read of the archive.
func (s *search) parents() xla.State[archiveView] { return xla.Part(s.contents, archiveState.view) }

// slots is the number of solutions that the archive has room for.
func (s *search) slots() int { return s.fitnesses().Dims()[0] }

// insertion are the inputs of the insertion of evaluated offspring.
func (s *search) insertion(from offspringIn, found xla.State[repertoire.Evaluated]) insertionIn {
	kept := offspringIn{s.kept(from.Seed), s.kept(from.Number), s.kept(from.Proposed), s.kept(from.Given),
		s.kept(from.Evaluated)}
	return insertionIn{kept, found.On(s.programs.Copies()), s.contents}
}

// kept returns an input of the programs that run where the archive is kept.
func (s *search) kept(a xla.Array) xla.Array { return a.On(s.programs.Copies()) }

// compile compiles the programs of a generation.
func (s *search) compile() (err error) {
	in := offspringIn{Seed: s.seed, Number: xla.Declare(dtypes.Int32), Proposed: s.proposals(), Given: s.given}
	axes := s.task.Axes(s.settings.Batch, s.settings.Slice, s.slots())
	if s.simulator() != nil {
		s.ask, err = xla.Compile(s.programs, "offspring", s.asking(in), func(in askIn) xla.Array {
			return xla.Out(s.gen.ask(s.source(in.offspringIn, in.Archive.Tree)))
		}, axes...)
		if err != nil {
			return err
		}
		in.Evaluated = s.individuals()
		return s.compileInsert(in, s.results(), axes)
	}
	s.evaluate, err = xla.CompileParallel(s.programs, "generation", evaluationIn{in, s.worker, s.parents()},
		func(in evaluationIn) xla.State[repertoire.Evaluated] {
			return xla.Out(s.gen.evaluate(s.source(in.offspringIn, in.Archive.Tree), in.Worker.Tree))
		}, axes...)
	if err != nil {
		return err
	}
	return s.compileInsert(in, s.evaluate.Out, axes)
}

// compileInsert compiles the insertion of evaluated offspring.
func (s *search) compileInsert(in offspringIn, found xla.State[repertoire.Evaluated], axes []xla.Axis) (err error) {
	s.insert, err = xla.CompileCopies(s.programs, "insertion of the generation", s.insertion(in, found),
		func(in insertionIn) insertionOut {
			before := in.Archive.Tree
			after, counts, feedback, losses := s.gen.enter(before, s.source(in.offspringIn, before.view()), in.Found.Tree)
			out := insertionOut{Archive: xla.Out(after), Counts: xla.Out(counts)}
			if s.proposing != nil {
				out.Feedback = xla.Out(feedback)
			}
			var values []*graph.Node
			s.reported, values = split(losses)
			out.Losses = xla.Out(values)
			return out
		}, axes...)
	return err
}

// split returns the names and the values of losses.
func split(losses []Metric) (names []string, values []*graph.Node) {
	for _, l := range losses {
		names, values = append(names, l.Name), append(values, l.Value)
	}
	return names, values
}

// run makes, evaluates and inserts the offspring of a generation.
func (s *search) run(number xla.Array) (out insertionOut, err error) {
	from := offspringIn{Seed: s.seed, Number: number, Given: s.given}
	if s.proposed() > 0 {
		if from.Proposed, err = s.proposing.offspring(s, number); err != nil {
			return out, err
		}
		defer from.Proposed.Free()
	}
	found, err := s.evaluate.Run(evaluationIn{from, s.worker, s.parents()})
	if err != nil {
		return out, err
	}
	defer found.Free() // on the devices that do not insert
	return s.enter(from, found)
}

// enter inserts evaluated offspring.
func (s *search) enter(from offspringIn, found xla.State[repertoire.Evaluated]) (out insertionOut, err error) {
	if out, err = s.insert.Run(s.insertion(from, found)); err == nil {
		s.contents = out.Archive
	}
	return out, err
}

// source says what the offspring are made from.
func (s *search) source(in offspringIn, archive archiveView) source {
	root := random.KeyOf(in.Seed.Tree)
	from := source{Number: in.Number.Tree, Proposed: in.Proposed.Tree, Given: in.Given.Tree,
		Evaluated: in.Evaluated.Tree, Key: root.FoldInEach(in.Number.Tree)}
	if s.oneStart() || s.settings.Starts > 0 {
		from.Start = root.FoldIn(streamStart)
	}
	from.Parents = s.gen.parents(archive.Genotypes, archive.Cells, from.Key)
	from.Emitters = s.emitters(archive.Emitters)
	return from
}
