package evolution

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// store is an archive and the two programs that fill it. Evaluations only read the archive, so
// workers on a CPU share one copy of it. The insertion writes it.
type store struct {
	archive  Archive
	contents xla.State[contents]
	members  *store // the archive whose members are the offspring; nil if they come from this one
	proposed int    // offspring per generation that the learner proposes
	evaluate *xla.Program[evaluationIn, xla.State[Evaluated]]
	insert   *xla.Program[insertionIn, insertionOut]
}

// offspringIn are the inputs that offspring are made from, besides their parents.
type offspringIn struct {
	Seed, Number xla.Array
	Numbers      xla.Array          // parameters of the emitter, see [xla.Params]
	Members      xla.State[members] // the offspring, if they are those of another archive
	Proposed     xla.Array          // [n, N], the first offspring, from the learner
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
	Found   xla.State[Evaluated] `xla:"donate"`
	Archive xla.State[contents]  `xla:"donate"`
}

// insertionOut are its outputs.
type insertionOut struct {
	Archive xla.State[contents]
	Invalid xla.Array             // evaluations with a NaN fitness or descriptor
	Seen    xla.State[Evaluation] // what the learner sees
}

// members are the individuals of an archive: a pytree.
type members struct{ Genotypes, Fitness, Descriptors *graph.Node }

func membersOf(c contents) members { return members{c.Genotypes, c.Fields[0], c.Fields[1]} }

// newStore makes an empty archive for batches of the given size.
func (s *Search) newStore(archive Archive, batch int) (*store, error) {
	program, err := xla.CompileCopies(s.programs, "empty archive", s.kept(s.seed),
		func(seed xla.Array) xla.State[contents] {
			fields := empty(archive, s.task, xla.KeyOf(seed.Tree).FoldIn(streamEmpty))
			g, cells := seed.Tree.Graph(), fields[0].Shape().Dimensions[0]
			zeros := func(rows int) *graph.Node {
				return graph.Zeros(g, shapes.Make(dtypes.Float32, rows, s.task.Policy.Params()))
			}
			none := graph.BroadcastToDims(graph.Const(g, int32(noOrigin)), cells, 2)
			return xla.Out(contents{zeros(cells), zeros(min(cells, batch)), none, fields})
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	st := &store{archive: archive}
	st.contents, err = program.Run(s.kept(s.seed))
	return st, err
}

// noOrigin marks cells that are empty, and those that were filled before origins were stored.
const noOrigin = -1

// empty returns the fields of an empty archive.
func empty(archive Archive, task scoring.Task, key xla.Key) []*graph.Node {
	names := archive.Fields()
	if len(names) < 2 || names[0] != "fitnesses" || names[1] != "descriptors" {
		panic(errors.Errorf("the fields of an archive must begin with fitnesses and descriptors, not %v",
			names))
	}
	fields := archive.Empty(task, key)
	xla.CheckCount(archive, "Empty", fmt.Sprintf("the fields %v", names), fields, len(names))
	cells := fields[0].Shape().Size()
	xla.CheckShape(archive, "Empty", "fitnesses", fields[0], dtypes.Float32, cells)
	xla.CheckShape(archive, "Empty", "descriptors", fields[1], dtypes.Float32, cells,
		fields[1].Shape().Size()/max(1, cells))
	return fields
}

// fitnesses are those of the cells.
func (st *store) fitnesses() xla.Array {
	return xla.Part(st.contents, func(c contents) *graph.Node { return c.Fields[0] })
}

// parents are the individuals and the fields of the archive.
func (st *store) parents() xla.State[stored] { return xla.Part(st.contents, contents.stored) }

func (st *store) cells() int { return st.fitnesses().Dims()[0] }

// inputs are what the offspring of a generation are made from.
func (st *store) inputs(s *Search, number, proposed xla.Array) offspringIn {
	in := offspringIn{Seed: s.seed, Number: number}
	if st.members != nil {
		in.Members = xla.Part(st.members.contents, membersOf)
		return in
	}
	in.Numbers = s.tuning
	if st.proposed > 0 {
		in.Proposed = proposed
	}
	return in
}

// evaluation are the inputs of the evaluation of offspring.
func (st *store) evaluation(s *Search, from offspringIn) evaluationIn {
	in := evaluationIn{offspringIn: from, Worker: s.worker}
	if st.members == nil {
		in.Archive = st.parents()
	}
	return in
}

// insertion are the inputs of the insertion of evaluated offspring.
func (st *store) insertion(s *Search, from offspringIn, found xla.State[Evaluated]) insertionIn {
	copies := s.programs.Copies()
	return insertionIn{offspringIn{s.kept(from.Seed), s.kept(from.Number), s.kept(from.Numbers),
		from.Members, s.kept(from.Proposed)}, found.On(copies), st.contents}
}

// kept returns an input of the programs that run where the archive is kept.
func (s *Search) kept(a xla.Array) xla.Array { return a.On(s.programs.Copies()) }

// compile builds the programs of a generation. Its offspring come from the archive itself, or are
// the members of another archive.
func (st *store) compile(s *Search, name string, gen generation, members *store) (err error) {
	st.members = members
	var learner Learner
	if members == nil && s.learning != nil {
		learner = s.method.Learner
		st.proposed = learner.Proposals(s.settings.Batch)
	}
	in := st.inputs(s, xla.Declare(dtypes.Int32),
		xla.Declare(dtypes.Float32, st.proposed, s.task.Policy.Params()))
	axes := gen.task.Axes(gen.slices.N, gen.slices.Size, st.cells())
	st.evaluate, err = xla.CompileParallel(s.programs, name, st.evaluation(s, in),
		func(in evaluationIn) xla.State[Evaluated] {
			return xla.Out(gen.evaluate(st.source(s, in.offspringIn, in.Archive.Tree), in.Worker.Tree))
		}, axes...)
	if err != nil {
		return err
	}
	st.insert, err = xla.CompileCopies(s.programs, "insertion of the "+name,
		st.insertion(s, in, st.evaluate.Out), func(in insertionIn) insertionOut {
			from := st.source(s, in.offspringIn, in.Archive.Tree.stored())
			after, invalid, seen := gen.fill(in.Archive.Tree, from, in.Found.Tree)
			return insertionOut{xla.Out(after), xla.Out(invalid), xla.Out(visible(learner, seen))}
		}, axes...)
	return err
}

// source says what the offspring are made from.
func (st *store) source(s *Search, in offspringIn, before stored) source {
	root := xla.KeyOf(in.Seed.Tree)
	from := source{Number: in.Number.Tree, Proposed: in.Proposed.Tree}
	from.Key = root.FoldInEach(from.Number)
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamStart)
	}
	if st.members == nil {
		from.Numbers = xla.Scalars(in.Numbers.Tree)
		from.Parents = NewParents(before.Genotypes, cellsOf(st.archive, before.Fields))
		return from
	}
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamPassive)
	}
	from.Key = root.FoldIn(streamPassive).FoldInEach(from.Number)
	// the other archive has members from the initial population on
	from.Number = graph.MaxScalar(from.Number, int32(1))
	found := in.Members.Tree
	from.Parents = NewParents(found.Genotypes, cellsOf(st.members.archive,
		[]*graph.Node{found.Fitness, found.Descriptors}))
	return from
}

// run evaluates and inserts the offspring of a generation. It returns the number of invalid
// evaluations, and what the learner sees.
func (st *store) run(s *Search, number, proposed xla.Array) (invalid int,
	seen xla.State[Evaluation], err error) {
	from := st.inputs(s, number, proposed)
	found, err := st.evaluate.Run(st.evaluation(s, from))
	if err != nil {
		return 0, seen, err
	}
	out, err := st.insert.Run(st.insertion(s, from, found))
	found.Free() // on the devices that do not insert
	if err != nil {
		return 0, seen, err
	}
	st.contents = out.Archive
	return int(out.Invalid.Scalars()[0]), out.Seen, nil
}
