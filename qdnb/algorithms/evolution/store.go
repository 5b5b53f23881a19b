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

// store is an archive, which every worker holds in full, and the program that fills it.
type store struct {
	name     string // of the program
	archive  Archive
	contents xla.State[contents]
	members  *store  // the archive whose members are the offspring; nil if they come from this one
	learner  Learner // sees the evaluations; nil if there is none
	proposed int     // offspring per generation that the learner proposes
	gen      generation
	programs map[int]*xla.Program[generationIn, generationOut] // by the number of searches
}

// nodes are a node of each search.
type nodes = []*graph.Node

// generationIn are the inputs of a generation of one or several searches.
type generationIn struct {
	Seed           xla.State[nodes]
	Worker, Number xla.Array
	Numbers        xla.Array             // parameters of the emitter, see [xla.Params]
	Members        xla.State[[]members]  // the offspring, if they are those of another archive
	Archive        xla.State[[]contents] `xla:"donate"`
	Proposed       xla.State[nodes]      // [n, N], the first offspring, from the learner
}

// generationOut are its outputs.
type generationOut struct {
	Archive xla.State[[]contents]
	Invalid xla.State[nodes]        // evaluations with a NaN fitness or descriptor
	Seen    xla.State[[]Evaluation] // what the learners see
}

// members are the individuals of an archive: a pytree.
type members struct{ Genotypes, Fitness, Descriptors *graph.Node }

func membersOf(c contents) members { return members{c.Genotypes, c.Fields[0], c.Fields[1]} }

// newStore makes an empty archive for batches of the given size, whose offspring an emitter makes,
// or another archive if it is nil.
func (s *Search) newStore(archive Archive, emitter Emitter, batch int) (*store, error) {
	program, err := xla.CompileParallel(s.programs, "empty archive", s.seed,
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
	st := &store{archive: archive,
		programs: map[int]*xla.Program[generationIn, generationOut]{}}
	st.contents, err = program.Run(s.seed)
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

// running is a search in a generation's program.
type running struct {
	*Search
	*store
	proposed xla.Array // see [generationIn]

	invalid int // see [generationOut]
	seen    xla.State[Evaluation]
}

// inputs are the inputs of the program in a generation.
func inputs(all []*running, number xla.Array) generationIn {
	first := all[0]
	in := generationIn{Worker: first.worker, Number: number}
	var seeds, proposed []xla.Array
	var archives []xla.State[contents]
	var others []xla.State[members]
	for _, m := range all {
		seeds, archives = append(seeds, m.seed), append(archives, m.contents)
		proposed = append(proposed, m.proposed)
		if m.members != nil {
			others = append(others, xla.Part(m.members.contents, membersOf))
		}
	}
	in.Seed, in.Archive, in.Members = xla.List(seeds...), xla.List(archives...), xla.List(others...)
	if first.members != nil {
		return in
	}
	in.Numbers = first.tuning
	if first.store.proposed > 0 {
		in.Proposed = xla.List(proposed...)
	}
	return in
}

// compile returns the program of a generation of searches like s.
func (st *store) compile(s *Search,
	searches int) (*xla.Program[generationIn, generationOut], error) {
	if program, ok := st.programs[searches]; ok {
		return program, nil
	}
	like := &running{Search: s, store: st,
		proposed: xla.Declare(dtypes.Float32, st.proposed, s.task.Policy.Params())}
	in := inputs(slices.Repeat([]*running{like}, searches), xla.Declare(dtypes.Int32))
	program, err := xla.CompileParallel(s.programs, st.name, in, func(in generationIn) generationOut {
		var from []source
		for i := range in.Archive.Tree {
			from = append(from, st.source(s, in, i))
		}
		after, invalid, seen := make([]contents, searches), make(nodes, searches),
			make([]Evaluation, searches)
		for i, found := range st.gen.evaluate(from, in.Worker.Tree) {
			after[i], invalid[i], seen[i] = st.gen.enter(in.Archive.Tree[i], from[i], found)
			seen[i] = visible(st.learner, seen[i])
		}
		return generationOut{xla.Out(after), xla.Out(invalid), xla.Out(seen)}
	}, st.gen.task.Axes(st.gen.slices.N, st.gen.slices.Size, st.cells())...)
	if err == nil {
		st.programs[searches] = program
	}
	return program, err
}

// source says what the offspring of search i are made from.
func (st *store) source(s *Search, in generationIn, i int) source {
	root := xla.KeyOf(in.Seed.Tree[i])
	from := source{Number: in.Number.Tree}
	if in.Proposed.Tree != nil {
		from.Proposed = in.Proposed.Tree[i]
	}
	from.Key = root.FoldInEach(from.Number)
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamStart)
	}
	if st.members == nil {
		from.Numbers = xla.Scalars(in.Numbers.Tree)
		before := in.Archive.Tree[i]
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
func seenBy(out generationOut, i int) xla.State[Evaluation] {
	return xla.Part(out.Seen, func(e []Evaluation) Evaluation { return e[i] })
}

// run runs the program of a generation of all searches and makes its outputs their new state.
func run(all []*running, number xla.Array) error {
	program, err := all[0].compile(all[0].Search, len(all))
	if err != nil {
		return err
	}
	out, err := program.Run(inputs(all, number))
	if err != nil {
		return err
	}
	for i, invalid := range out.Invalid.Scalars() {
		m := all[i]
		m.contents = xla.Part(out.Archive, func(c []contents) contents { return c[i] })
		m.seen, m.invalid = seenBy(out, i), int(invalid)
	}
	return nil
}
