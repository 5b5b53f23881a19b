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
		prints["emitter"], err = f.emitter()
	}
	if err == nil && own.Learner != nil {
		prints["learner"], err = f.learner()
	}
	return prints, err
}

// fingerprinter traces the parts of a method.
type fingerprinter struct {
	task   scoring.Task
	method Method
	batch  int
	fields []shapes.Shape // shapes of the archive's fields
}

var (
	traceSeed   = shapes.Make(dtypes.Uint32, 2)
	traceNumber = shapes.Make(dtypes.Int32)
)

// empty traces the empty archive, which defines the shapes of the fields.
func (f *fingerprinter) empty(t *xla.Trace) (err error) {
	f.fields, err = t.Graph([]shapes.Shape{traceSeed}, func(in []*Node) []*Node {
		return empty(f.method.Archive, f.task, xla.KeyOf(in[0]))
	})
	return errors.WithMessage(err, "cannot build the archive")
}

// archive traces the rest of the archive.
func (f *fingerprinter) archive(t *xla.Trace) error {
	a := f.method.Archive
	t.Note(a.Fields(), a.SameStart(), a.PassiveEvery())
	d := len(f.task.Env.Spec().Descriptor.Lower)
	found := []shapes.Shape{shapes.Make(dtypes.Float32, f.batch),
		shapes.Make(dtypes.Float32, f.batch, d)}
	recorder, records := a.Sequence(f.task)
	if records {
		if err := envs.TraceRecorder(t, envs.AutoReset(f.task.Env, f.task.Length), recorder); err != nil {
			return errors.WithMessage(err, "cannot build the sequences of the archive")
		}
		found = append(found, shapes.Make(dtypes.Float32, f.batch, recorder.Rows(f.task.Length),
			recorder.Width))
	}
	learns := f.method.Learner != nil
	if learns {
		found = append(found, shapes.Make(dtypes.Float32, f.batch*f.task.Length,
			layoutOf(f.task).Width()))
	}
	n := len(f.fields)
	_, err := t.Graph(append(found, f.fields...), func(in []*Node) []*Node {
		fields := in[len(found):]
		e := Evaluated{Fitness: in[0], Descriptors: in[1]}
		if records {
			e.Sequences = in[2]
		}
		if learns {
			e.Transitions = in[len(found)-1]
		}
		after, index, accepted, valid := a.Insert(fields, e)
		return append(after, index, accepted, valid)
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
		_, err := t.Graph(slices.Concat([]shapes.Shape{traceSeed, traceNumber}, f.fields),
			func(in []*Node) []*Node {
				return a.Maintain(name, in[2:2+n], in[1], xla.KeyOf(in[0]))
			})
		if err != nil {
			return errors.WithMessagef(err, "cannot build the maintenance %q of the archive", name)
		}
	}
	return nil
}

// parents are the shapes of the inputs of [fingerprinter.readParents].
func (f *fingerprinter) parents() []shapes.Shape {
	genotypes := shapes.Make(dtypes.Float32, f.fields[0].Dimensions[0], f.task.Policy.Params())
	return append([]shapes.Shape{genotypes}, f.fields...)
}

func (f *fingerprinter) readParents(in []*Node) Parents {
	return NewParents(in[0], cellsOf(f.method.Archive, in[1:1+len(f.fields)]))
}

func (f *fingerprinter) emitter() (string, error) {
	t := xla.NewTrace()
	numbers := xla.ParamsOf(f.method.Emitter)
	t.Note([]float64(numbers))
	words := shapes.Make(dtypes.Uint32, tracedChildren)
	inputs := []shapes.Shape{words, words}
	for _, input := range numbers.Inputs() {
		inputs = append(inputs, input.Shape)
	}
	_, err := t.Graph(append(inputs, f.parents()...), func(in []*Node) []*Node {
		keys := xla.Key{Hi: in[0], Lo: in[1]}
		scalars, rest := numbers.Cut(in[2:])
		return []*Node{xla.Bind(f.method.Emitter, scalars).Offspring(f.readParents(rest), keys)}
	})
	return t.Sum(), errors.WithMessage(err, "cannot build the emitter")
}

func (f *fingerprinter) learner() (string, error) {
	t, l := xla.NewTrace(), f.method.Learner
	proposals := l.Proposals(f.batch)
	t.Note(l.Fields(), l.Losses(), l.Capacity(), proposals)
	failed := func(err error) (string, error) {
		return "",
			errors.WithMessage(err, "cannot build the learner")
	}
	individual := shapes.Make(dtypes.Float32, 1, f.task.Policy.Params())
	known, err := t.Graph([]shapes.Shape{traceSeed, individual}, func(in []*Node) []*Node {
		return start(l, f.task, in[1], xla.KeyOf(in[0]))
	})
	if err != nil {
		return failed(err)
	}
	var form replay.Buffer
	buffer, err := xla.NewTrace().Graph([]shapes.Shape{traceSeed}, func(in []*Node) []*Node {
		form = replay.NewBuffer(in[0].Graph(), layoutOf(f.task), l.Capacity())
		return xla.Flatten(form)
	})
	if err != nil {
		return failed(err)
	}
	n := len(known)
	state := slices.Concat([]shapes.Shape{traceSeed}, known, buffer)
	read := func(in []*Node) (known []*Node, buffer replay.Buffer, key xla.Key) {
		return in[1 : 1+n], xla.Unflatten(form, in[1+n:]), xla.KeyOf(in[0])
	}
	_, err = t.Graph(state, func(in []*Node) []*Node {
		known, buffer, key := read(in)
		after, losses := l.Learn(f.task, known, buffer, key)
		return append(after, losses...)
	})
	if err != nil || proposals < 1 {
		return t.Sum(), errors.WithMessage(err, "cannot build the learner")
	}
	prepared, err := t.Graph(state, func(in []*Node) []*Node {
		known, buffer, key := read(in)
		return l.Prepare(f.task, known, buffer, key)
	})
	if err != nil {
		return failed(err)
	}
	which := shapes.Make(dtypes.Int32, proposals)
	_, err = t.Graph(slices.Concat([]shapes.Shape{traceSeed, which}, f.parents(), prepared),
		func(in []*Node) []*Node {
			rest := in[2+len(f.parents()):]
			return []*Node{l.Propose(f.task, rest, f.readParents(in[2:]), in[1], f.batch, xla.KeyOf(in[0]))}
		})
	return t.Sum(), errors.WithMessage(err, "cannot build the learner")
}
