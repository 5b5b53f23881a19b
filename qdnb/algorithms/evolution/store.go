package evolution

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// store is an archive, which every worker holds in full, and the program that fills it.
type store struct {
	archive   Archive
	params    int
	empty     *xla.Program // makes an empty archive
	program   *xla.Program // runs a generation
	genotypes xla.Sharded  // [cells, N]
	scratch   xla.Sharded  // [min(cells, P), N]
	origins   xla.Sharded  // int32 [cells, 2]; see [contents]
	fields    []xla.Sharded
	proposed  int // offspring per generation that the learner proposes
}

// newStore makes an empty archive for batches of the given size.
func (s *Search) newStore(archive Archive, batch int) (*store, error) {
	st := &store{archive: archive, params: s.task.Policy.Params()}
	var err error
	st.empty, err = s.platform.CompileParallel("empty archive",
		[]xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}}, func(in []*graph.Node) []*graph.Node {
			fields := empty(archive, s.task, xla.KeyOf(in[0]).FoldIn(streamEmpty))
			g, cells := in[0].Graph(), fields[0].Shape().Dimensions[0]
			zeros := func(rows int) *graph.Node {
				return graph.Zeros(g,
					shapes.Make(dtypes.Float32, rows, st.params))
			}
			none := graph.BroadcastToDims(graph.Const(g, int32(noOrigin)), cells, 2)
			return append([]*graph.Node{zeros(cells), zeros(min(cells, batch)), none}, fields...)
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	out, err := st.empty.Run(s.seed)
	if err != nil {
		return nil, err
	}
	st.genotypes, st.scratch, st.origins, st.fields = out[0], out[1], out[2], out[3:]
	return st, nil
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

func (st *store) cells() int { return st.genotypes[0].Shape().Dimensions[0] }

// compile builds the program of a generation. Its offspring come from the archive itself, or are
// the members of another archive.
func (st *store) compile(s *Search, name string, gen generation, members *store) (err error) {
	if members == nil && s.learning != nil {
		st.proposed = s.method.Learner.Proposals(s.settings.Batch)
	}
	st.program, err = s.platform.CompileParallel(name, st.inputs(s, members),
		func(in []*graph.Node) []*graph.Node {
			worker, from, rest := st.source(s, in, members)
			n := len(st.fields)
			before := contents{Genotypes: rest[0], Scratch: rest[1], Origins: rest[2], Fields: rest[3 : 3+n]}
			if members == nil {
				from.Parents = NewParents(before.Genotypes, cellsOf(st.archive, before.Fields))
			}
			if st.proposed > 0 {
				from.Proposed = rest[3+n]
			}
			after, invalid, transitions := gen.build(before, from, worker)
			out := append([]*graph.Node{after.Genotypes, after.Scratch, after.Origins}, after.Fields...)
			out = append(out, invalid)
			if transitions != nil {
				out = append(out, transitions)
			}
			return out
		}, gen.task.Axes(gen.batch, gen.slice, st.cells())...)
	return err
}

// inputs declares the inputs of the program, which may reuse the memory of all that it replaces.
func (st *store) inputs(s *Search, members *store) []xla.Input {
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)},
		{Shape: shapes.Make(dtypes.Int32)}}
	declare := func(v xla.Sharded, donate bool) {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: donate})
	}
	if members == nil {
		inputs = append(inputs, s.numbers.Inputs()...)
	} else {
		declare(members.genotypes, false)
		declare(members.fields[0], false)
		declare(members.fields[1], false)
	}
	declare(st.genotypes, true)
	declare(st.scratch, true)
	declare(st.origins, true)
	for _, field := range st.fields {
		declare(field, true)
	}
	if st.proposed > 0 {
		inputs = append(inputs, xla.Input{Shape: shapes.Make(dtypes.Float32, st.proposed, st.params)})
	}
	return inputs
}

// source reads the first inputs of the program and returns the others as rest.
func (st *store) source(s *Search, in []*graph.Node, members *store) (worker *graph.Node,
	from source, rest []*graph.Node) {
	root := xla.KeyOf(in[0])
	worker, from.Number = in[1], in[2]
	from.Key = root.FoldInEach(from.Number)
	if s.method.Archive.SameStart() {
		from.Start = root.FoldIn(streamStart)
	}
	if members == nil {
		from.Numbers, rest = s.numbers.Cut(in[3:])
	} else {
		if s.method.Archive.SameStart() {
			from.Start = root.FoldIn(streamPassive)
		}
		from.Key = root.FoldIn(streamPassive).FoldInEach(from.Number)
		// the other archive has members from the initial population on
		from.Number = graph.MaxScalar(from.Number, int32(1))
		cells := cellsOf(members.archive, in[4:6])
		from.Parents = Parents{Genotypes: in[3], Cells: cells, Sampler: cells.Sampler()}
		rest = in[6:]
	}
	return worker, from, rest
}

// run runs the program and makes its outputs the new state.
func (st *store) run(s *Search, number xla.Sharded, members *store,
	proposed xla.Sharded) (invalid int, transitions xla.Sharded, err error) {
	inputs := []xla.Sharded{s.seed, s.worker, number}
	if members == nil {
		inputs = append(inputs, s.tuning...)
	} else {
		inputs = append(inputs, members.genotypes, members.fields[0], members.fields[1])
	}
	inputs = append(append(inputs, st.genotypes, st.scratch, st.origins), st.fields...)
	if st.proposed > 0 {
		inputs = append(inputs, proposed)
	}
	out, err := st.program.Run(inputs...)
	if err != nil {
		return 0, nil, err
	}
	n := len(st.fields)
	st.genotypes, st.scratch, st.origins, st.fields = out[0], out[1], out[2], out[3:3+n]
	invalid = int(tensors.ToScalar[int32](out[3+n][0]))
	out[3+n].Free()
	if len(out) > 4+n {
		transitions = out[4+n]
	}
	return invalid, transitions, nil
}

func (st *store) free() {
	for _, v := range append([]xla.Sharded{st.genotypes, st.scratch, st.origins}, st.fields...) {
		v.Free()
	}
}
