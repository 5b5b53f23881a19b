package evolution

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// tracedChildren is the number of offspring that a traced emitter makes at once.
const tracedChildren = 2

// tracedGenerations is the number of generations whose maintenance is traced.
const tracedGenerations = 10_000

// Fingerprints hashes the graphs that user-supplied parts of a search build, see [xla.Trace]. own
// holds these parts, and the keys of the result are "emitter", "learner" and "archive". method is
// the complete method that they belong to. The hashes do not depend on the backend, the slice size
// or the number of workers. They cover the graphs and the parameters of a part, and everything that
// its other methods return. They do not cover the maintenance of an archive after generation 10
// 000, nor state that the methods change.
func Fingerprints(task scoring.Task, method, own Method, batch int) (map[string]string, error) {
	prints := map[string]string{}
	if own.Emitter == nil && own.Learner == nil && own.Archive == nil {
		return prints, nil
	}
	f := fingerprinter{task: task, method: method, batch: batch}
	archive := xla.NewTrace()
	err := f.empty(archive)
	if err == nil && own.Archive != nil {
		err = f.archive(archive)
		prints["archive"] = archive.Sum()
	}
	if err == nil && own.Emitter != nil {
		t := xla.NewTrace()
		err = errors.WithMessage(f.emitter(t), "cannot build the emitter")
		prints["emitter"] = t.Sum()
	}
	if err == nil && own.Learner != nil {
		t := xla.NewTrace()
		err = errors.WithMessage(f.learner(t), "cannot build the learner")
		prints["learner"] = t.Sum()
	}
	return prints, err
}

// fingerprinter traces the parts of a method.
type fingerprinter struct {
	task   scoring.Task
	method Method
	batch  int
	stored xla.State[stored] // declares what evaluations read of the archive
}

// arrays are a list of tensors, such as the state of a part.
type arrays = xla.State[[]*Node]

var seed, number = xla.Declare(dtypes.Uint32, 2), xla.Declare(dtypes.Int32)

func float(dims ...int) xla.Array { return xla.Declare(dtypes.Float32, dims...) }

// empty traces the empty archive, which defines the shapes of the fields.
func (f *fingerprinter) empty(t *xla.Trace) error {
	fields, err := xla.TraceGraph(t, seed, func(seed xla.Array) arrays {
		return xla.Out(empty(f.method.Archive, f.task, xla.KeyOf(seed.Tree)))
	})
	if err != nil {
		return errors.WithMessage(err, "cannot build the archive")
	}
	leaves := fields.Leaves()
	genotypes := float(leaves[0].Dims()[0], f.task.Policy.Params())
	f.stored = xla.Pack(func(in []*Node) stored { return stored{in[0], in[1:], nil} },
		append([]xla.Array{genotypes}, leaves...)...)
	return nil
}

// fields declares the fields of the archive.
func (f *fingerprinter) fields() arrays {
	return xla.Part(f.stored, func(s stored) []*Node { return s.Fields })
}

// recorded declares what evaluations record besides fitness and descriptors, see [Evaluated].
func (f *fingerprinter) recorded() (sequences, transitions, objectives xla.Array) {
	if recorder, ok := f.method.Archive.Sequence(f.task); ok {
		sequences = float(f.batch, recorder.Rows(f.task.Length), recorder.Width)
	}
	if records(f.method.Learner) {
		transitions = float(f.batch*f.task.Length, layoutOf(f.task).Width())
	}
	if _, ok := f.method.Archive.(MultiObjective); ok {
		objectives = float(f.batch, f.task.Env.Spec().Rewards())
	}
	return sequences, transitions, objectives
}

// archive traces the rest of the archive.
func (f *fingerprinter) archive(t *xla.Trace) error {
	a := f.method.Archive
	t.Note(a.Fields(), a.SameStart(), a.PassiveEvery())
	type insertIn struct {
		Fitness, Descriptors, Sequences, Transitions xla.Array
		Fields                                       arrays
		Objectives                                   xla.Array
	}
	in := insertIn{Fitness: float(f.batch), Fields: f.fields(),
		Descriptors: float(f.batch, len(f.task.Env.Spec().Descriptor.Lower))}
	in.Sequences, in.Transitions, in.Objectives = f.recorded()
	if recorder, records := a.Sequence(f.task); records {
		if err := envs.TraceRecorder(t, envs.AutoReset(f.task.Env, f.task.Length), recorder); err != nil {
			return errors.WithMessage(err, "cannot build the sequences of the archive")
		}
	}
	if several, ok := a.(MultiObjective); ok {
		t.Note(several.Slots(), several.Columns())
	}
	_, err := xla.TraceGraph(t, in, func(in insertIn) arrays {
		found := Evaluated{Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree,
			Sequences: in.Sequences.Tree, Transitions: in.Transitions.Tree,
			Objectives: in.Objectives.Tree}
		after, index, accepted, valid := a.Insert(in.Fields.Tree, found)
		out := append(after, index, accepted, valid)
		if improver, ok := a.(Improver); ok {
			out = append(out, improver.Improvement(in.Fields.Tree, found))
		}
		return xla.Out(out)
	})
	if err != nil {
		return errors.WithMessage(err, "cannot build the insertion of the archive")
	}
	var names []string
	for generation := range int64(tracedGenerations) {
		name := a.Maintenance(generation)
		t.Note(name)
		if name == "" || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		_, err := xla.TraceGraph(t, maintainIn{seed, number, f.fields()}, func(in maintainIn) arrays {
			return xla.Out(a.Maintain(name, in.Fields.Tree, in.Number.Tree, xla.KeyOf(in.Seed.Tree)))
		})
		if err != nil {
			return errors.WithMessagef(err, "cannot build the maintenance %q of the archive", name)
		}
	}
	return nil
}

func (f *fingerprinter) parents(from xla.State[stored]) Parents {
	return NewParents(from.Tree.Genotypes, cellsOf(f.method.Archive, from.Tree.Fields))
}

func (f *fingerprinter) emitter(t *xla.Trace) error {
	numbers := xla.ParamsOf(f.method.Emitter)
	t.Note([]float64(numbers))
	type emitIn struct {
		Hi, Lo, Numbers xla.Array
		Parents         xla.State[stored]
	}
	words := xla.Declare(dtypes.Uint32, tracedChildren)
	_, err := xla.TraceGraph(t, emitIn{words, words, numbers.Array(1), f.stored},
		func(in emitIn) xla.Array {
			emitter := xla.Bind(f.method.Emitter, xla.Scalars(in.Numbers.Tree))
			keys, parents := xla.Key{Hi: in.Hi.Tree, Lo: in.Lo.Tree}, f.parents(in.Parents)
			if strategy, ok := emitter.(Strategy); ok {
				return xla.Out(f.strategy(strategy, parents, keys))
			}
			return xla.Out(emitter.Offspring(parents, keys))
		})
	return err
}

// strategy builds offspring of a strategy's adapted initial state.
func (f *fingerprinter) strategy(strategy Strategy, parents Parents, keys xla.Key) *Node {
	g := keys.Hi.Graph()
	numbers := func(n int) *Node { return Iota(g, shapes.Make(dtypes.Int32, n), 0) }
	key := xla.KeyOf(Stack([]*Node{Reshape(Slice(keys.Hi, AxisElem(0))),
		Reshape(Slice(keys.Lo, AxisElem(0)))}, 0))
	parents.State = startStrategy(strategy, f.task, key)
	parents.State = strategy.Adapt(Adaptation{Parents: parents, Key: key, Archive: parents,
		Improvement: ConvertDType(numbers(f.batch), dtypes.Float32)})
	parents.Individuals, parents.Generation = numbers(tracedChildren), key
	return strategy.Offspring(parents, keys)
}

func (f *fingerprinter) learner(t *xla.Trace) error {
	l := f.method.Learner
	proposals := l.Proposals(f.batch)
	t.Note(l.Fields(), l.Losses(), l.Capacity(), proposals)
	type startIn struct{ Seed, Individual xla.Array }
	type stateIn struct {
		Seed xla.Array
		startOut
	}
	type proposeIn struct {
		Seed, Which xla.Array
		Parents     xla.State[stored]
		Prepared    arrays
	}
	known, err := xla.TraceGraph(t, startIn{seed, float(1, f.task.Policy.Params())},
		func(in startIn) arrays {
			return xla.Out(start(l, f.task, in.Individual.Tree, xla.KeyOf(in.Seed.Tree)))
		})
	if err != nil {
		return err
	}
	buffer, err := xla.TraceGraph(xla.NewTrace(), seed, func(seed xla.Array) xla.State[replay.Buffer] {
		width := rowLayout(l, f.task).Width()
		return xla.Out(replay.NewBuffer(seed.Tree.Graph(), width, max(1, l.Capacity())))
	})
	if err != nil {
		return err
	}
	if observer, ok := l.(Observer); ok {
		t.Note(observer.Columns(f.task))
		if err = f.observer(t, observer, known); err != nil {
			return err
		}
	}
	state := stateIn{seed, startOut{known, buffer}}
	_, err = xla.TraceGraph(t, state, func(in stateIn) arrays {
		after, losses := l.Learn(f.task, in.Known.Tree, in.Buffer.Tree, xla.KeyOf(in.Seed.Tree))
		return xla.Out(append(after, losses...))
	})
	if err != nil || proposals < 1 {
		return err
	}
	prepared, err := xla.TraceGraph(t, state, func(in stateIn) arrays {
		return xla.Out(l.Prepare(f.task, in.Known.Tree, in.Buffer.Tree, xla.KeyOf(in.Seed.Tree)))
	})
	if err != nil {
		return err
	}
	in := proposeIn{seed, xla.Declare(dtypes.Int32, proposals), f.stored, prepared}
	_, err = xla.TraceGraph(t, in, func(in proposeIn) xla.Array {
		return xla.Out(l.Propose(f.task, in.Prepared.Tree, f.parents(in.Parents), in.Which.Tree, f.batch,
			xla.KeyOf(in.Seed.Tree)))
	})
	return err
}

// observer traces what a learner makes of evaluations.
func (f *fingerprinter) observer(t *xla.Trace, l Observer, known arrays) error {
	type observeIn struct {
		Seed, Number, Proposed, Fitness, Descriptors, Transitions, Index, Accepted xla.Array
		Known, Before                                                              arrays
		Sequences, Objectives                                                      xla.Array
	}
	cells := f.fields().Leaves()[0].Dims()[0]
	in := observeIn{Seed: seed, Number: number, Fitness: float(f.batch), Known: known,
		Proposed:    float(l.Proposals(f.batch), f.task.Policy.Params()),
		Descriptors: float(f.batch, len(f.task.Env.Spec().Descriptor.Lower)), Before: f.fields(),
		Index: xla.Declare(dtypes.Int32, cells), Accepted: xla.Declare(dtypes.Bool, cells)}
	in.Sequences, in.Transitions, in.Objectives = f.recorded()
	_, err := xla.TraceGraph(t, in, func(in observeIn) arrays {
		after, rows := observe(l, f.task, in.Known.Tree, Evaluation{
			Evaluated: Evaluated{Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree,
				Sequences: in.Sequences.Tree, Transitions: in.Transitions.Tree,
				Objectives: in.Objectives.Tree},
			Number: in.Number.Tree, Proposed: in.Proposed.Tree, Before: in.Before.Tree,
			Index: in.Index.Tree, Accepted: in.Accepted.Tree}, xla.KeyOf(in.Seed.Tree))
		return xla.Out(append(after, rows))
	})
	return err
}
