package evolution

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// store is an archive and the programs that fill it. Evaluations only read the archive, so workers
// on a CPU share one copy of it. The insertion writes it.
type store struct {
	name     string // of the programs
	archive  Archive
	contents xla.State[contents]
	members  *store  // the archive whose members are the offspring; nil if they come from this one
	learner  Learner // sees the evaluations; nil if there is none
	proposed int     // offspring per generation that the learner proposes
	gen      generation
	programs map[int]*generationPrograms // by the number of searches
}

// generationPrograms are the programs of a generation: on accelerators a single one, since each
// device has a copy of the archive anyway, and one launch is cheaper than two.
type generationPrograms struct {
	whole    *xla.Program[generationIn, insertionOut]
	evaluate *xla.Program[evaluationIn, xla.State[[]Evaluated]]
	insert   *xla.Program[insertionIn, insertionOut]
}

// nodes are a node of each search.
type nodes = []*graph.Node

// offspringIn are the inputs that the offspring of one or several searches are made from, besides
// their parents.
type offspringIn struct {
	Seed     xla.State[nodes]
	Number   xla.Array
	Numbers  xla.Array            // parameters of the emitter, see [xla.Params]
	Members  xla.State[[]members] // the offspring, if they are those of another archive
	Proposed xla.State[nodes]     // [n, N], the first offspring, from the learner
}

// generationIn are the inputs of a whole generation.
type generationIn struct {
	Seed           xla.State[nodes]
	Worker, Number xla.Array
	Numbers        xla.Array
	Members        xla.State[[]members]
	Archive        xla.State[[]contents] `xla:"donate"`
	Proposed       xla.State[nodes]
}

// evaluationIn are the inputs of the evaluation of a generation.
type evaluationIn struct {
	offspringIn
	Worker  xla.Array
	Archive xla.State[[]stored] // the parents; none if the offspring are members of another archive
}

// insertionIn are the inputs of the insertion of a generation.
type insertionIn struct {
	offspringIn
	Found   xla.State[[]Evaluated] `xla:"donate"`
	Archive xla.State[[]contents]  `xla:"donate"`
}

// insertionOut are its outputs.
type insertionOut struct {
	Archive xla.State[[]contents]
	Counts  xla.State[nodes]        // see [scoring.Count]
	Seen    xla.State[[]Evaluation] // what the learners see
}

// members are the individuals of an archive: a pytree.
type members struct{ Genotypes, Fitness, Descriptors *graph.Node }

func membersOf(c contents) members { return members{c.Genotypes, c.Fields[0], c.Fields[1]} }

// newStore makes an empty archive for batches of the given size, whose offspring an emitter makes,
// or another archive if it is nil.
func (s *Search) newStore(archive Archive, emitter Emitter, batch int) (*store, error) {
	program, err := xla.CompileCopies(s.programs, "empty archive", s.kept(s.seed),
		func(seed xla.Array) xla.State[contents] {
			fields := empty(archive, s.task, xla.KeyOf(seed.Tree).FoldIn(streamEmpty))
			g, cells := seed.Tree.Graph(), fields[0].Shape().Dimensions[0]
			zeros := func(rows int) *graph.Node {
				return graph.Zeros(g, shapes.Make(dtypes.Float32, rows, s.task.Policy.Params()))
			}
			none := graph.BroadcastToDims(graph.Const(g, int32(noOrigin)), cells, 2)
			state := startStrategy(emitter, s.task, xla.KeyOf(seed.Tree).FoldIn(streamAdapt))
			return xla.Out(contents{zeros(cells), zeros(min(cells, batch)), none, fields, state})
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	st := &store{archive: archive, programs: map[int]*generationPrograms{}}
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

// running is a search in a generation's programs.
type running struct {
	*Search
	*store
	proposed xla.Array // see [offspringIn]

	tally scoring.Tally
	seen  xla.State[Evaluation]
}

// offspring are what the offspring of a generation are made from.
func offspring(all []*running, number xla.Array) offspringIn {
	first := all[0]
	in := offspringIn{Number: number}
	var seeds, proposed []xla.Array
	var others []xla.State[members]
	for _, m := range all {
		seeds, proposed = append(seeds, m.seed), append(proposed, m.proposed)
		if m.members != nil {
			others = append(others, xla.Part(m.members.contents, membersOf))
		}
	}
	in.Seed, in.Members = xla.List(seeds...), xla.List(others...)
	if first.members != nil {
		return in
	}
	in.Numbers = first.tuning
	if first.store.proposed > 0 {
		in.Proposed = xla.List(proposed...)
	}
	return in
}

// evaluation are the inputs of the evaluation of offspring.
func evaluation(all []*running, from offspringIn) evaluationIn {
	in := evaluationIn{offspringIn: from, Worker: all[0].worker}
	if all[0].members == nil {
		var parents []xla.State[stored]
		for _, m := range all {
			parents = append(parents, m.parents())
		}
		in.Archive = xla.List(parents...)
	}
	return in
}

// insertion are the inputs of the insertion of evaluated offspring.
func insertion(all []*running, from offspringIn, found xla.State[[]Evaluated]) insertionIn {
	copies := all[0].Search.programs.Copies()
	return insertionIn{offspringIn{from.Seed.On(copies), from.Number.On(copies),
		from.Numbers.On(copies), from.Members, from.Proposed.On(copies)}, found.On(copies),
		archivesOf(all)}
}

// archivesOf returns the archives of searches.
func archivesOf(all []*running) xla.State[[]contents] {
	var list []xla.State[contents]
	for _, m := range all {
		list = append(list, m.contents)
	}
	return xla.List(list...)
}

// whole are the inputs of a whole generation.
func whole(all []*running, from offspringIn) generationIn {
	return generationIn{from.Seed, all[0].worker, from.Number, from.Numbers, from.Members,
		archivesOf(all), from.Proposed}
}

// kept returns an input of the programs that run where the archive is kept.
func (s *Search) kept(a xla.Array) xla.Array { return a.On(s.programs.Copies()) }

// compile returns the programs of a generation of searches like s.
func (st *store) compile(s *Search, searches int) (*generationPrograms, error) {
	if programs, ok := st.programs[searches]; ok {
		return programs, nil
	}
	like := &running{Search: s, store: st,
		proposed: xla.Declare(dtypes.Float32, st.proposed, s.task.Policy.Params())}
	all := slices.Repeat([]*running{like}, searches)
	in := offspring(all, xla.Declare(dtypes.Int32))
	axes := st.gen.task.Axes(st.gen.slices.N, st.gen.slices.Size, st.cells())
	sources := func(in offspringIn, before func(i int) stored) []source {
		from := make([]source, searches)
		for i := range from {
			from[i] = st.source(s, in, i, before)
		}
		return from
	}
	insert := func(archives []contents, from []source, found []Evaluated) insertionOut {
		after, counts, seen := make([]contents, searches), make(nodes, searches),
			make([]Evaluation, searches)
		for i, before := range archives {
			after[i], counts[i], seen[i] = st.gen.enter(before, from[i], found[i])
			seen[i] = visible(st.learner, seen[i])
		}
		return insertionOut{xla.Out(after), xla.Out(counts), xla.Out(seen)}
	}
	programs := &generationPrograms{}
	var err error
	if s.programs.Kind.Accelerator() {
		programs.whole, err = xla.CompileParallel(s.programs, st.name, whole(all, in),
			func(in generationIn) insertionOut {
				archives := in.Archive.Tree
				from := sources(offspringIn{in.Seed, in.Number, in.Numbers, in.Members, in.Proposed},
					func(i int) stored { return archives[i].stored() })
				return insert(archives, from, st.gen.evaluate(from, in.Worker.Tree))
			}, axes...)
		st.programs[searches] = programs
		return programs, err
	}
	programs.evaluate, err = xla.CompileParallel(s.programs, st.name, evaluation(all, in),
		func(in evaluationIn) xla.State[[]Evaluated] {
			from := sources(in.offspringIn, func(i int) stored { return in.Archive.Tree[i] })
			return xla.Out(st.gen.evaluate(from, in.Worker.Tree))
		}, axes...)
	if err != nil {
		return nil, err
	}
	programs.insert, err = xla.CompileCopies(s.programs, "insertion of the "+st.name,
		insertion(all, in, programs.evaluate.Out), func(in insertionIn) insertionOut {
			archives := in.Archive.Tree
			return insert(archives, sources(in.offspringIn,
				func(i int) stored { return archives[i].stored() }), in.Found.Tree)
		}, axes...)
	st.programs[searches] = programs
	return programs, err
}

// out are the outputs of the last program.
func (p *generationPrograms) out() insertionOut {
	if p.whole != nil {
		return p.whole.Out
	}
	return p.insert.Out
}

// run runs the programs.
func (p *generationPrograms) run(all []*running, from offspringIn) (insertionOut, error) {
	if p.whole != nil {
		return p.whole.Run(whole(all, from))
	}
	found, err := p.evaluate.Run(evaluation(all, from))
	if err != nil {
		return insertionOut{}, err
	}
	defer found.Free() // on the devices that do not insert
	return p.insert.Run(insertion(all, from, found))
}

// source says what the offspring of search i are made from.
func (st *store) source(s *Search, in offspringIn, i int, archive func(i int) stored) source {
	root := xla.KeyOf(in.Seed.Tree[i])
	from := source{Number: in.Number.Tree}
	if in.Proposed.Tree != nil {
		from.Proposed = in.Proposed.Tree[i]
	}
	from.Key = root.FoldInEach(from.Number)
	if st.members == nil {
		if s.fixedStarts() {
			from.Start = root.FoldIn(streamStart)
		}
		from.Numbers = xla.Scalars(in.Numbers.Tree)
		before := archive(i)
		from.Parents = NewParents(before.Genotypes, cellsOf(st.archive, before.Fields))
		from.Parents.State = before.Strategy
		return from
	}
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamPassive)
	}
	from.Key = root.FoldIn(streamPassive).FoldInEach(from.Number)
	// the other archive has members from the initial population on
	from.Number = graph.MaxScalar(from.Number, int32(1))
	found := in.Members.Tree[i]
	from.Parents = NewParents(found.Genotypes, cellsOf(st.members.archive,
		[]*graph.Node{found.Fitness, found.Descriptors}))
	return from
}

// seenBy is what the learner of search i sees.
func seenBy(out insertionOut, i int) xla.State[Evaluation] {
	return xla.Part(out.Seen, func(e []Evaluation) Evaluation { return e[i] })
}

// run evaluates and inserts the offspring of a generation of all searches.
func run(all []*running, number xla.Array) error {
	programs, err := all[0].compile(all[0].Search, len(all))
	if err != nil {
		return err
	}
	out, err := programs.run(all, offspring(all, number))
	if err != nil {
		return err
	}
	counts, err := out.Counts.Lists()
	if err != nil {
		return err
	}
	out.Counts.Free()
	for i := range counts {
		m := all[i]
		m.contents = xla.Part(out.Archive, func(c []contents) contents { return c[i] })
		m.seen, m.tally = seenBy(out, i), scoring.TallyOf(counts[i])
	}
	return nil
}
