package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// store is an archive and the programs that fill it. Evaluations only read the archive, so workers
// on a CPU share one copy of it. The insertion writes it.
type store struct {
	name     string // of the programs
	gen      generation
	contents xla.State[contents]
	from     *store // the archive whose members are the offspring; nil if they come from this one
	sees     bool   // whether proposers see the generations

	evaluate *xla.Program[evaluationIn, xla.State[repertoire.Evaluated]]
	ask      *xla.Program[askIn, xla.Array] // in place of evaluate, if the host evaluates
	insert   *xla.Program[insertionIn, insertionOut]
	losses   []string // names of the emitters' losses
}

// offspringIn are the inputs that offspring are made from, besides their parents.
type offspringIn struct {
	Seed, Number xla.Array
	Members      xla.State[stored] // the offspring, if they are those of another archive
	Proposed     xla.Array         // [n, N], the offspring of proposers
	Given        xla.Array         // [P, N], see [source]
}

// askIn are the inputs of the program that makes offspring for the host.
type askIn struct {
	offspringIn
	Archive xla.State[stored]
}

// evaluationIn are the inputs of the evaluation of a generation.
type evaluationIn struct {
	offspringIn
	Worker  xla.Array
	Archive xla.State[stored] // the parents; none if the offspring are members of another archive
}

// insertionIn are the inputs of the insertion of a generation.
type insertionIn struct {
	offspringIn
	Found   xla.State[repertoire.Evaluated] `xla:"donate"`
	Archive xla.State[contents]             `xla:"donate"`
}

// insertionOut are its outputs.
type insertionOut struct {
	Archive xla.State[contents]
	Counts  xla.Array       // see [scoring.Task.Count]
	Seen    xla.State[seen] // what proposers see
	Losses  xla.State[[]*graph.Node]
}

// newStore makes an empty archive for batches of the given size, with the emitters that fill it.
func (s *search) newStore(archive repertoire.Archive, emits bool, batch int) (*store, error) {
	st := &store{}
	program, err := xla.CompileCopies(s.programs, "empty archive", s.kept(s.seed),
		func(seed xla.Array) xla.State[contents] {
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
			var emitters []member
			if emits {
				emitters = s.initialised(false, slots, root, root.FoldIn(streamInit))
			}
			return xla.Out(contents{zeros(slots), zeros(min(slots, batch)), none, empty, emitters})
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	var bytes int64
	for _, leaf := range program.Out.Leaves() {
		bytes += 4 * int64(shapes.Make(dtypes.Float32, leaf.Dims()...).Size())
	}
	children := 4 * int64(s.task.Policy.Params()) * int64(s.settings.Slice)
	if err := s.programs.CheckMemory(bytes, children); err != nil {
		return nil, err
	}
	st.contents, err = program.Run(s.kept(s.seed))
	return st, err
}

// noOrigin marks empty cells.
const noOrigin = -1

// cells returns what the search reads of the archive.
func (st *store) cells() repertoire.Cells { return st.contents.Tree.Archive.Cells() }

// fitnesses are those of the cells.
func (st *store) fitnesses() xla.Array {
	return xla.Part(st.contents, func(c contents) *graph.Node { return c.Archive.Cells().Fitness })
}

// parents are what evaluations read of the archive.
func (st *store) parents() xla.State[stored] { return xla.Part(st.contents, contents.stored) }

func (st *store) slots() int { return st.fitnesses().Dims()[0] }

// offspring are what the offspring of a generation are made from.
func (st *store) offspring(s *search, number, proposed xla.Array) offspringIn {
	in := offspringIn{Seed: s.seed, Number: number, Proposed: proposed, Given: s.given}
	if st.from != nil {
		in.Members = xla.Part(st.from.contents, contents.members)
		in.Proposed, in.Given = xla.Array{}, xla.Array{}
	}
	return in
}

// members are the individuals of an archive.
func (c contents) members() stored {
	cells := c.Archive.Cells()
	return stored{Genotypes: c.Genotypes,
		Cells: repertoire.Cells{Fitness: cells.Fitness, Descriptors: cells.Descriptors}}
}

// evaluation are the inputs of the evaluation of offspring.
func (st *store) evaluation(s *search, from offspringIn) evaluationIn {
	in := evaluationIn{offspringIn: from, Worker: s.worker}
	if st.from == nil {
		in.Archive = st.parents()
	}
	return in
}

// insertion are the inputs of the insertion of evaluated offspring.
func (st *store) insertion(s *search, from offspringIn,
	found xla.State[repertoire.Evaluated]) insertionIn {
	copies := s.programs.Copies()
	return insertionIn{offspringIn{from.Seed.On(copies), from.Number.On(copies), from.Members,
		from.Proposed.On(copies), from.Given.On(copies)}, found.On(copies), st.contents}
}

// kept returns an input of the programs that run where the archive is kept.
func (s *search) kept(a xla.Array) xla.Array { return a.On(s.programs.Copies()) }

// compile compiles the programs of a generation.
func (st *store) compile(s *search) (err error) {
	in := st.offspring(s, xla.Declare(dtypes.Int32), s.proposals())
	axes := st.gen.task.Axes(st.gen.slices.N, st.gen.slices.Size, st.slots())
	if st.gen.host && !st.gen.copies {
		if err = st.compileAsk(s, in, axes); err != nil {
			return err
		}
		in.Given = s.individuals()
		return st.compileInsert(s, in, s.results(), axes)
	}
	st.evaluate, err = xla.CompileParallel(s.programs, st.name, st.evaluation(s, in),
		func(in evaluationIn) xla.State[repertoire.Evaluated] {
			return xla.Out(st.gen.evaluate(st.source(s, in.offspringIn, in.Archive.Tree), in.Worker.Tree))
		}, axes...)
	if err != nil {
		return err
	}
	return st.compileInsert(s, in, st.evaluate.Out, axes)
}

// compileInsert compiles the insertion of evaluated offspring.
func (st *store) compileInsert(s *search, in offspringIn, found xla.State[repertoire.Evaluated],
	axes []xla.Axis) (err error) {
	st.insert, err = xla.CompileCopies(s.programs, "insertion of the "+st.name,
		st.insertion(s, in, found), func(in insertionIn) insertionOut {
			before := in.Archive.Tree
			after, counts, seen, losses := st.gen.enter(before,
				st.source(s, in.offspringIn, before.stored()), in.Found.Tree)
			out := insertionOut{Archive: xla.Out(after), Counts: xla.Out(counts)}
			if st.sees {
				out.Seen = xla.Out(seen)
			}
			var values []*graph.Node
			st.losses, values = split(losses)
			out.Losses = xla.Out(values)
			return out
		}, axes...)
	return err
}

// split returns the names and the values of losses.
func split(losses []Loss) (names []string, values []*graph.Node) {
	for _, l := range losses {
		names, values = append(names, l.Name), append(values, l.Value)
	}
	return names, values
}

// run evaluates and inserts the offspring of a generation.
func (st *store) run(s *search, number, proposed xla.Array) (out insertionOut, err error) {
	from := st.offspring(s, number, proposed)
	found, err := st.evaluate.Run(st.evaluation(s, from))
	if err != nil {
		return out, err
	}
	defer found.Free() // on the devices that do not insert
	if out, err = st.insert.Run(st.insertion(s, from, found)); err == nil {
		st.contents = out.Archive
	}
	return out, err
}

// source says what the offspring are made from.
func (st *store) source(s *search, in offspringIn, archive stored) source {
	root := random.KeyOf(in.Seed.Tree)
	from := source{Number: in.Number.Tree, Proposed: in.Proposed.Tree, Given: in.Given.Tree,
		Key: root.FoldInEach(in.Number.Tree)}
	stream, fixed := streamStart, s.fixedStarts()
	if st.from != nil {
		stream, fixed = streamPassive, s.oneStart()
		from.Key = root.FoldIn(streamPassive).FoldInEach(from.Number)
		// the other archive has members from the initial population on
		from.Number = graph.MaxScalar(from.Number, int32(1))
		archive = in.Members.Tree
	}
	if fixed {
		from.Start = root.FoldIn(stream)
	}
	from.Parents = st.gen.parents(archive.Genotypes, archive.Cells, from.Key)
	from.Emitters = s.emitters(archive.Emitters)
	return from
}
