package evolution

import (
	"fmt"

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
	known    xla.State[[]*graph.Node]
	buffer   replay.Store
	absorb   *xla.Program[absorbIn, absorbOut] // inserts the transitions into the buffer and learns
	prepare  *xla.Program[prepareIn, prepared] // extracts what proposals need from the buffer
	proposal *xla.Program[proposalIn, xla.Array]
}

// prepared is what proposals need; see [Learner.Prepare].
type prepared = xla.State[[]*graph.Node]

// Inputs and outputs of the programs.
type (
	startOut struct {
		Known  xla.State[[]*graph.Node]
		Buffer xla.State[replay.Buffer]
	}
	absorbIn struct {
		Seed, Number, Proposed xla.Array
		Seen                   xla.State[Evaluation]
		Known                  xla.State[[]*graph.Node] `xla:"donate"`
		Buffer                 xla.State[replay.Buffer] `xla:"donate"`
	}
	absorbOut struct {
		startOut
		Losses xla.State[[]*graph.Node]
	}
	prepareIn struct {
		Seed, Number xla.Array
		startOut
	}
	proposalIn struct {
		Seed, Number, Worker xla.Array
		Archive              xla.State[stored]
		Prepared             prepared
	}
)

// layoutOf is the layout of a task's transitions.
func layoutOf(task scoring.Task) replay.Layout {
	spec := task.Env.Spec()
	return replay.Layout{Obs: spec.Observations, Actions: spec.Actions}
}

// transitions records every step of episodes that restart automatically.
func transitions(layout replay.Layout, episodes envs.Episodes) envs.Recorder {
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
	width := rowLayout(s.method.Learner, s.task).Width()
	l := &learning{learner: s.method.Learner,
		buffer: replay.Store{Programs: s.programs, Width: width}}
	steps := s.settings.Batch * s.task.Length
	if l.learner.Capacity() < steps && l.learner.Capacity() != 0 {
		return nil, errors.Errorf("a replay buffer of %d transitions is too small for the %d of a "+
			"generation: raise its capacity or lower the batch", l.learner.Capacity(), steps)
	}
	n := l.learner.Proposals(s.settings.Batch)
	if n < 0 || n > s.settings.Batch {
		return nil, errors.Errorf("the learner proposes %d of %d offspring, which is not possible", n,
			s.settings.Batch)
	}
	if _, adapts := s.method.Emitter.(Strategy); adapts && n > 0 {
		return nil, errors.Errorf("%T makes all offspring itself, but the learner proposes %d: use "+
			"another emitter, or a learner without proposals", s.method.Emitter, n)
	}
	first, err := xla.Compile(s.programs, "start of the learner", s.seed.First(),
		func(seed xla.Array) startOut {
			g, root := seed.Tree.Graph(), xla.KeyOf(seed.Tree)
			individual := root.FoldIn(0).FoldInEach(graph.Iota(g, shapes.Make(dtypes.Int32, 1), 0))
			known := start(l.learner, s.task, s.task.Policy.Init(individual.FoldIn(streamEmit)),
				root.FoldIn(streamFirst))
			buffer := replay.NewBuffer(g, width, max(1, l.learner.Capacity()))
			return startOut{xla.Out(known), xla.Out(buffer)}
		}, s.axes()...)
	if err != nil {
		return nil, err
	}
	out, err := first.Run(s.seed.First())
	if err != nil {
		return nil, err
	}
	l.known, l.buffer.State = out.Known, out.Buffer
	if n > 0 {
		err = l.compileProposal(s, n)
	}
	return l, err
}

// compile builds the program that learns from what the insertion of a generation returns.
func (l *learning) compile(s *Search, seen xla.State[Evaluation]) (err error) {
	var proposed xla.Array
	if l.proposal != nil {
		proposed = l.proposal.Out
	}
	in := l.absorbing(s, xla.Declare(dtypes.Int32), proposed, seen)
	l.absorb, err = xla.Compile(s.programs, "learner", in, func(in absorbIn) absorbOut {
		seen, root := in.Seen.Tree, xla.KeyOf(in.Seed.Tree)
		seen.Number, seen.Proposed = in.Number.Tree, in.Proposed.Tree
		known, rows := observe(l.learner, s.task, in.Known.Tree, seen,
			root.FoldIn(streamPropose).FoldInEach(in.Number.Tree))
		buffer := in.Buffer.Tree
		if rows != nil {
			buffer = buffer.Insert(rows)
		}
		after, losses := l.learner.Learn(s.task, known, buffer,
			root.FoldIn(streamLearner).FoldInEach(in.Number.Tree))
		xla.CheckLike(l.learner, "Learn", "the state", after, known)
		xla.CheckCount(l.learner, "Learn", "the losses", losses, len(l.learner.Losses()))
		for i, name := range l.learner.Losses() {
			xla.CheckShape(l.learner, "Learn", name, losses[i], dtypes.Float32)
		}
		return absorbOut{startOut{xla.Out(after), xla.Out(buffer)}, xla.Out(losses)}
	}, s.axes()...)
	return err
}

// absorbing are the inputs of the program that learns.
func (l *learning) absorbing(s *Search, number, proposed xla.Array,
	seen xla.State[Evaluation]) absorbIn {
	if _, ok := l.learner.(Observer); !ok {
		proposed = xla.Array{}
	}
	return absorbIn{s.seed.First(), number.First(), proposed.First(), seen.First(), l.known,
		l.buffer.State}
}

// preparing are the inputs of the program that prepares proposals.
func (l *learning) preparing(s *Search, number xla.Array) prepareIn {
	return prepareIn{s.seed.First(), number.First(), startOut{l.known, l.buffer.State}}
}

// start returns the initial state of a learner.
func start(learner Learner, task scoring.Task, first *graph.Node, key xla.Key) []*graph.Node {
	known, names := learner.Start(task, first, key), learner.Fields()
	xla.CheckCount(learner, "Start", fmt.Sprintf("the fields %v", names), known, len(names))
	return known
}

// compileProposal builds the two programs that propose n offspring. The first runs on the first
// device, which has the buffer, and all workers read its outputs. In the second each worker makes a
// share of the offspring, and an all-gather gives every worker all of them.
func (l *learning) compileProposal(s *Search, n int) (err error) {
	number := xla.Declare(dtypes.Int32)
	key := func(seed, number xla.Array) xla.Key {
		return xla.KeyOf(seed.Tree).FoldIn(streamPropose).FoldInEach(number.Tree)
	}
	l.prepare, err = xla.Compile(s.programs, "preparation", l.preparing(s, number),
		func(in prepareIn) prepared {
			out := l.learner.Prepare(s.task, in.Known.Tree, in.Buffer.Tree, key(in.Seed, in.Number))
			xla.CheckCount(l.learner, "Prepare", "the inputs of proposals", out, len(out))
			for _, x := range out {
				xla.CheckShape(l.learner, "Prepare", "the inputs of proposals", x, dtypes.Float32,
					x.Shape().Dimensions...)
			}
			return xla.Out(out)
		}, s.axes()...)
	if err != nil {
		return err
	}
	workers := s.programs.Workers
	share := (n + workers - 1) / workers
	in := proposalIn{s.seed, number, s.worker, s.main.parents(), l.prepare.Out}
	l.proposal, err = xla.CompileParallel(s.programs, "proposals", in, func(in proposalIn) xla.Array {
		worker, from := in.Worker.Tree, in.Archive.Tree
		which := graph.Add(graph.MulScalar(worker, int32(share)),
			graph.Iota(worker.Graph(), shapes.Make(dtypes.Int32, share), 0))
		which = graph.MinScalar(which, int32(n-1)) // the last share may be smaller
		rows := l.learner.Propose(s.task, in.Prepared.Tree,
			NewParents(from.Genotypes, cellsOf(s.main.archive, from.Fields)), which, s.settings.Batch,
			key(in.Seed, in.Number))
		xla.CheckShape(l.learner, "Propose", "offspring", rows, dtypes.Float32, share,
			s.task.Policy.Params())
		all := graph.Reshape(xla.AllGather(rows, worker, workers), workers*share, -1)
		return xla.Out(graph.Slice(all, graph.AxisRange(0, n)))
	}, append(s.axes(), xla.Axis{Size: share, Meaning: "proposals of a worker"},
		xla.Axis{Size: n, Meaning: "proposals of the learner"})...)
	return err
}

// propose makes the first offspring of a generation, on all workers. Before the initial population
// there are no parents, so it returns zeros.
func (l *learning) propose(s *Search, number xla.Array) (xla.Array, error) {
	if l.proposal == nil {
		return xla.Array{}, nil
	}
	if s.generation < 0 {
		n := l.learner.Proposals(s.settings.Batch)
		return xla.Value(s.programs.Replicated(func() *tensors.Tensor {
			return tensors.FromShape(shapes.Make(dtypes.Float32, n, s.task.Policy.Params()))
		})), nil
	}
	ready, err := l.prepare.Run(l.preparing(s, number))
	if err != nil {
		return xla.Array{}, err
	}
	defer ready.Free()
	return l.proposal.Run(proposalIn{s.seed, number, s.worker, s.main.parents(), ready})
}

// learn inserts the transitions of a generation into the buffer, trains the learner, and returns
// the losses.
func (l *learning) learn(s *Search, number, proposed xla.Array,
	seen xla.State[Evaluation]) ([]float64, error) {
	out, err := l.absorb.Run(l.absorbing(s, number, proposed, seen))
	if err != nil {
		return nil, err
	}
	l.known, l.buffer.State = out.Known, out.Buffer
	losses := out.Losses.Scalars()
	if err := scoring.Finite(l.learner.Losses(), losses); err != nil {
		return nil, errors.Errorf("%v in generation %d: the last checkpoint is good; lower a "+
			"learning rate, or look at the environment's rewards", err, s.generation)
	}
	return losses, nil
}
