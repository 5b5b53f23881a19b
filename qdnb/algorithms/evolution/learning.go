package evolution

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// learning is a learner on the first device, with its replay buffer and its programs. The learner's
// matrix products are large, so XLA parallelises each over the cores. Proposals consist of many
// products for many policies, which are divided among all workers.
type learning struct {
	learner  Learner
	start    *xla.Program
	absorb   *xla.Program // inserts the transitions into the buffer and learns
	prepare  *xla.Program // extracts what proposals need from the buffer
	proposal *xla.Program
	known    []xla.Sharded
	buffer   replay.Store
	form     replay.Buffer
}

// learningMemory is the memory of a learner in bytes: its buffer, and the transitions of a
// generation as recorded and as gathered.
func learningMemory(task scoring.Task, learner Learner, batch int) int64 {
	width := int64(layoutOf(task).Width())
	return 4 * width * (int64(learner.Capacity()) + 3*int64(batch)*int64(task.Length))
}

// layoutOf is the layout of a task's transitions.
func layoutOf(task scoring.Task) replay.Layout {
	spec := task.Env.Spec()
	return replay.Transitions(spec.Observations, spec.Actions)
}

// transitions records every step of episodes that restart automatically.
func transitions(episodes envs.Episodes) envs.Recorder {
	spec := episodes.Spec()
	layout := replay.Transitions(spec.Observations, spec.Actions)
	return envs.Recorder{Every: 1, Width: layout.Width(),
		Row: func(before envs.State, action *graph.Node, after envs.State) *graph.Node {
			return layout.Join(replay.Batch{
				Obs: before.Observation, NextObs: after.Observation, Action: action,
				Reward: after.Reward, Done: after.Done, Truncation: episodes.Truncation(after),
			})
		}}
}

// newLearning initialises the learner's state and compiles its programs.
func (s *Search) newLearning() (*learning, error) {
	l := &learning{learner: s.method.Learner, buffer: replay.Store{Platform: s.platform}}
	steps := s.settings.Batch * s.task.Length
	if l.learner.Capacity() < steps {
		return nil, errors.Errorf("a replay buffer of %d transitions is too small for the %d of a "+
			"generation: raise its capacity or lower the batch", l.learner.Capacity(), steps)
	}
	layout := layoutOf(s.task)
	var err error
	l.start, err = s.platform.Compile("start of the learner",
		[]xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}}, func(in []*graph.Node) []*graph.Node {
			g, root := in[0].Graph(), xla.KeyOf(in[0])
			individual := root.FoldIn(0).FoldInEach(graph.Iota(g, shapes.Make(dtypes.Int32, 1), 0))
			known := start(l.learner, s.task, s.task.Policy.Init(individual.FoldIn(streamEmit)),
				root.FoldIn(streamFirst))
			l.form = replay.NewBuffer(g, layout, l.learner.Capacity())
			return append(known, xla.Flatten(l.form)...)
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	out, err := l.start.Run(s.seed[:1])
	if err != nil {
		return nil, err
	}
	n := len(l.learner.Fields())
	l.known, l.buffer.Leaves = out[:n], out[n:]

	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)},
		{Shape: shapes.Make(dtypes.Float32, steps, layout.Width())}}
	inputs = append(inputs, l.inputs(true)...)
	l.absorb, err = s.platform.Compile("learner", inputs, func(in []*graph.Node) []*graph.Node {
		known, buffer := l.read(in[3:])
		buffer = buffer.Insert(in[2])
		after, losses := l.learner.Learn(s.task, known, buffer,
			xla.KeyOf(in[0]).FoldIn(streamLearner).FoldInEach(in[1]))
		xla.CheckLike(l.learner, "Learn", "the state", after, known)
		xla.CheckCount(l.learner, "Learn", "the losses", losses, len(l.learner.Losses()))
		for i, name := range l.learner.Losses() {
			xla.CheckShape(l.learner, "Learn", name, losses[i], dtypes.Float32)
		}
		return append(append(after, xla.Flatten(buffer)...), losses...)
	}, s.axes()...)
	if err != nil {
		return nil, err
	}
	if n := l.learner.Proposals(s.settings.Batch); n < 0 || n > s.settings.Batch {
		return nil, errors.Errorf("the learner proposes %d of %d offspring, which is not possible", n,
			s.settings.Batch)
	} else if n > 0 {
		err = l.compileProposal(s, n)
	}
	return l, err
}

// start returns the initial state of a learner.
func start(learner Learner, task scoring.Task, first *graph.Node, key xla.Key) []*graph.Node {
	known, names := learner.Start(task, first, key), learner.Fields()
	xla.CheckCount(learner, "Start", fmt.Sprintf("the fields %v", names), known, len(names))
	return known
}

// compileProposal builds the two programs that propose n offspring. The first runs on the first
// device, which has the buffer, and its outputs are copied to all workers. In the second each
// worker makes a share of the offspring, and an all-gather gives every worker all of them.
func (l *learning) compileProposal(s *Search, n int) (err error) {
	drawing := []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)}}
	key := func(in []*graph.Node) xla.Key {
		return xla.KeyOf(in[0]).FoldIn(streamPropose).FoldInEach(
			in[1])
	}
	var prepared []shapes.Shape
	l.prepare, err = s.platform.Compile("study", append(drawing, l.inputs(false)...),
		func(in []*graph.Node) []*graph.Node {
			known, buffer := l.read(in[2:])
			out := l.learner.Prepare(s.task, known, buffer, key(in))
			prepared = nil
			xla.CheckCount(l.learner, "Prepare", "the inputs of proposals", out, len(out))
			for _, x := range out {
				xla.CheckShape(l.learner, "Prepare", "the inputs of proposals", x, dtypes.Float32,
					x.Shape().Dimensions...)
				prepared = append(prepared, x.Shape())
			}
			return out
		}, s.axes()...)
	if err != nil {
		return err
	}
	inputs := append(slices.Clone(drawing), xla.Input{Shape: shapes.Make(dtypes.Int32)},
		xla.Input{Shape: s.main.genotypes[0].Shape()})
	for _, field := range s.main.fields {
		inputs = append(inputs, xla.Input{Shape: field[0].Shape()})
	}
	for _, shape := range prepared {
		inputs = append(inputs, xla.Input{Shape: shape})
	}
	workers := s.platform.Workers
	share := (n + workers - 1) / workers
	l.proposal, err = s.platform.CompileParallel("proposals", inputs,
		func(in []*graph.Node) []*graph.Node {
			worker, fields, prepared := in[2], in[4:4+len(s.main.fields)], in[4+len(s.main.fields):]
			which := graph.Add(graph.MulScalar(worker, int32(share)),
				graph.Iota(worker.Graph(), shapes.Make(dtypes.Int32, share), 0))
			which = graph.MinScalar(which, int32(n-1)) // the last share may be smaller
			rows := l.learner.Propose(s.task, prepared, NewParents(in[3], cellsOf(s.main.archive, fields)),
				which, s.settings.Batch, key(in))
			xla.CheckShape(l.learner, "Propose", "offspring", rows, dtypes.Float32, share,
				s.task.Policy.Params())
			all := graph.Reshape(xla.AllGather(rows, worker, workers), workers*share, -1)
			return []*graph.Node{graph.Slice(all, graph.AxisRange(0, n))}
		}, append(s.axes(), xla.Axis{Size: share, Meaning: "proposals of a worker"},
			xla.Axis{Size: n, Meaning: "proposals of the learner"})...)
	return err
}

// inputs declares the learner's state and its buffer.
func (l *learning) inputs(donate bool) []xla.Input {
	var inputs []xla.Input
	for _, v := range l.state() {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: donate})
	}
	return inputs
}

func (l *learning) state() []xla.Sharded {
	return append(append([]xla.Sharded{}, l.known...), l.buffer.Leaves...)
}

func (l *learning) read(in []*graph.Node) (known []*graph.Node, buffer replay.Buffer) {
	return in[:len(l.known)], xla.Unflatten(l.form, in[len(l.known):])
}

// propose makes the first offspring of a generation, on all workers. Before the initial population
// there are no parents, so it returns zeros.
func (l *learning) propose(s *Search, number xla.Sharded) (xla.Sharded, error) {
	if l.proposal == nil {
		return nil, nil
	}
	if s.generation < 0 {
		n := l.learner.Proposals(s.settings.Batch)
		return s.platform.Replicated(func() *tensors.Tensor {
			return tensors.FromShape(shapes.Make(dtypes.Float32, n, s.task.Policy.Params()))
		}), nil
	}
	prepared, err := l.prepare.Run(append([]xla.Sharded{s.seed[:1], number[:1]}, l.state()...)...)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, v := range prepared {
			v.Free()
		}
	}()
	for i := range prepared {
		if prepared[i], err = s.spread(prepared[i]); err != nil {
			return nil, err
		}
	}
	inputs := append([]xla.Sharded{s.seed, number, s.worker, s.main.genotypes}, s.main.fields...)
	out, err := l.proposal.Run(append(inputs, prepared...)...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// learn inserts the transitions of a generation into the buffer, trains the learner, and returns
// the losses.
func (l *learning) learn(s *Search, transitions, number xla.Sharded) ([]float64, error) {
	out, err := l.absorb.Run(append([]xla.Sharded{s.seed[:1], number[:1], transitions[:1]},
		l.state()...)...)
	if err != nil {
		return nil, err
	}
	n, m := len(l.known), len(l.known)+len(l.buffer.Leaves)
	l.known, l.buffer.Leaves = out[:n:n], out[n:m:m]
	var losses []float64
	for i, value := range out[m:] {
		loss := float64(tensors.ToScalar[float32](value[0]))
		value.Free()
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return nil, errors.Errorf("%s is %v in generation %d: the last checkpoint is good; lower a "+
				"learning rate, or look at the environment's rewards",
				l.learner.Losses()[i], loss, s.generation)
		}
		losses = append(losses, loss)
	}
	return losses, nil
}

func (l *learning) programs() []*xla.Program {
	return append([]*xla.Program{l.start, l.absorb, l.prepare, l.proposal}, l.buffer.Programs()...)
}

func (l *learning) free() {
	for _, v := range l.state() {
		v.Free()
	}
}
