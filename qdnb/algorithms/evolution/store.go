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

// store is an archive, which every worker holds in full, and the program that fills it.
type store struct {
	archive  Archive
	contents xla.State[contents]
	members  *store // the archive whose members are the offspring; nil if they come from this one
	proposed int    // offspring per generation that the learner proposes
	program  *xla.Program[generationIn, generationOut]
}

// generationIn are the inputs of a generation.
type generationIn struct {
	Seed, Worker, Number xla.Array
	Numbers              xla.Array           // parameters of the emitter, see [xla.Params]
	Members              xla.State[members]  // the offspring, if they are those of another archive
	Archive              xla.State[contents] `xla:"donate"`
	Proposed             xla.Array           // [n, N], the first offspring, from the learner
}

// generationOut are its outputs.
type generationOut struct {
	Archive xla.State[contents]
	Invalid xla.Array             // evaluations with a NaN fitness or descriptor
	Seen    xla.State[Evaluation] // what the learner sees
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
	st := &store{archive: archive}
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

// inputs are the inputs of the program in a generation.
func (st *store) inputs(s *Search, number, proposed xla.Array) generationIn {
	in := generationIn{Seed: s.seed, Worker: s.worker, Number: number, Archive: st.contents}
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

// compile builds the program of a generation. Its offspring come from the archive itself, or are
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
	st.program, err = xla.CompileParallel(s.programs, name, in, func(in generationIn) generationOut {
		after, invalid, seen := gen.build(in.Archive.Tree, st.source(s, in), in.Worker.Tree)
		return generationOut{xla.Out(after), xla.Out(invalid), xla.Out(visible(learner, seen))}
	}, gen.task.Axes(gen.slices.N, gen.slices.Size, st.cells())...)
	return err
}

// source says what the offspring are made from.
func (st *store) source(s *Search, in generationIn) source {
	root := xla.KeyOf(in.Seed.Tree)
	from := source{Number: in.Number.Tree, Proposed: in.Proposed.Tree}
	from.Key = root.FoldInEach(from.Number)
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamStart)
	}
	if st.members == nil {
		from.Numbers = xla.Scalars(in.Numbers.Tree)
		before := in.Archive.Tree
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
	found := in.Members.Tree
	from.Parents = NewParents(found.Genotypes, cellsOf(st.members.archive,
		[]*graph.Node{found.Fitness, found.Descriptors}))
	return from
}

// run runs the program and makes its outputs the new state.
func (st *store) run(s *Search, number, proposed xla.Array) (invalid int,
	seen xla.State[Evaluation], err error) {
	out, err := st.program.Run(st.inputs(s, number, proposed))
	if err != nil {
		return 0, seen, err
	}
	st.contents = out.Archive
	return int(out.Invalid.Scalars()[0]), out.Seen, nil
}
