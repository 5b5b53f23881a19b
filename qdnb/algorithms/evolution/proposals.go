package evolution

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// proposing is the emitters that are a [Proposer], on the first device, with their replay buffer and
// their programs. Their updates are large matrix products, so XLA parallelises each over the cores.
// Proposals consist of many products for many policies, which are divided among all workers.
type proposing struct {
	layout  replay.Layout // of the transitions in the buffer
	state   xla.State[[]assignment]
	buffer  replay.Store
	update  *xla.Program[updateIn, updateOut]                // inserts the transitions and updates the emitters
	prepare *xla.Program[prepareIn, xla.State[[]assignment]] // extracts what proposals need
	propose *xla.Program[proposeIn, xla.Array]
	losses  []string // names of the losses
}

// Inputs and outputs of the programs.
type (
	proposingOut struct {
		State  xla.State[[]assignment]
		Buffer xla.State[replay.Buffer]
	}
	updateIn struct {
		Seed, Number xla.Array
		Feedback     xla.State[feedback]
		Archive      xla.State[archiveView]   // after the generation
		State        xla.State[[]assignment]  `xla:"donate"`
		Buffer       xla.State[replay.Buffer] `xla:"donate"`
	}
	updateOut struct {
		proposingOut
		Losses xla.State[[]*graph.Node]
	}
	prepareIn struct {
		Seed, Number xla.Array
		proposingOut
	}
	proposeIn struct {
		Seed, Number, Worker xla.Array
		Archive              xla.State[archiveView]
		Prepared             xla.State[[]assignment]
	}
)

// initialised returns the proposers among the emitters, or the others, before the first generation,
// given the archive's number of slots and the keys of the run and of the initial states.
func (s *search) initialised(proposers bool, slots int, root, key random.Key) (list []assignment) {
	number := graph.Iota(root.Hi.Graph(), shapes.Make(dtypes.Int32, 1), 0)
	start := Start{Task: s.task, Slots: slots, Batch: s.settings.Batch, First: s.task.Init(childKeys(root.FoldIn(0), number))}
	for _, a := range s.assigned {
		if _, ok := a.Emitter.(Proposer); ok == proposers {
			start.Count = a.count
			a.Emitter = xla.CheckSame(a.Emitter, "Init", a.Emitter.Init(start, a.key(key)))
			list = append(list, a)
		}
	}
	return list
}

// newProposing initialises the state of the proposers and compiles the programs that propose.
func (s *search) newProposing() (*proposing, error) {
	p := &proposing{layout: layoutOf(s.task)}
	if a := observer(s.assigned); a != nil {
		p.layout.More = a.Emitter.(Observer).Columns(s.task)
	}
	p.buffer = replay.Store{Programs: s.programs, Width: p.layout.Width()}
	rows, steps := s.capacity(), s.replayStep()
	if rows < steps && rows != 0 {
		return nil, fmt.Errorf("a replay buffer of %d transitions is too small for the %d of a "+
			"generation: raise its capacity or lower the batch", rows, steps)
	}
	// the buffer, and a generation's rows, recorded and gathered
	if err := s.programs.CheckMemory(4*int64(rows)*int64(p.layout.StoredWidth(s.programs.Kind)),
		4*int64(p.buffer.Width)*3*int64(min(rows, steps))); err != nil {
		return nil, err
	}
	init, err := xla.Compile(s.programs, "start of the proposers", s.seed.First(), func(seed xla.Array) proposingOut {
		root := random.KeyOf(seed.Tree)
		state := s.initialised(true, s.slots(), root, root.FoldIn(streamFirst))
		buffer := p.layout.NewBuffer(seed.Tree.Graph(), max(1, rows))
		return proposingOut{xla.Out(state), xla.Out(buffer)}
	}, s.axes()...)
	if err != nil {
		return nil, err
	}
	out, err := init.Run(s.seed.First())
	if err != nil {
		return nil, err
	}
	p.state, p.buffer.State = out.State, out.Buffer
	if s.proposed() == 0 { // they only learn
		return p, nil
	}
	return p, p.compile(s)
}

// preparing are the inputs of the program that prepares proposals.
func (p *proposing) preparing(s *search, number xla.Array) prepareIn {
	return prepareIn{s.seed.First(), number.First(), proposingOut{p.state, p.buffer.State}}
}

// compile builds the two programs that propose. The first runs on the first device, which has the
// buffer, and all workers read its outputs. In the second each worker makes a share of the offspring
// of each emitter, and an all-gather gives every worker all of them.
func (p *proposing) compile(s *search) (err error) {
	number := xla.Declare(dtypes.Int32)
	key := func(seed, number xla.Array) random.Key {
		return random.KeyOf(seed.Tree).FoldIn(streamPropose).FoldInEach(number.Tree)
	}
	p.prepare, err = xla.Compile(s.programs, "preparation", p.preparing(s, number),
		func(in prepareIn) xla.State[[]assignment] {
			prepared := slices.Clone(in.State.Tree)
			for i, a := range prepared {
				prepared[i].Emitter = xla.CheckSame(a.Emitter, "Prepare", a.Emitter.(Proposer).Prepare(in.Buffer.Tree,
					a.key(key(in.Seed, in.Number)).FoldIn(1)))
			}
			return xla.Out(prepared)
		}, s.axes()...)
	if err != nil {
		return err
	}
	axes := s.axes()
	for _, a := range s.assigned {
		if a.table >= 0 {
			axes = append(axes, xla.Axis{Size: a.share(s), Meaning: "proposals of a worker"},
				xla.Axis{Size: a.count, Meaning: "proposals of an emitter"})
		}
	}
	in := proposeIn{s.seed, number, s.worker, s.parents(), p.prepare.Out}
	p.propose, err = xla.CompileParallel(s.programs, "proposals", in, func(in proposeIn) xla.Array {
		from := in.Archive.Tree
		parents := s.gen.parents(from.Genotypes, from.Cells, random.KeyOf(in.Seed.Tree).FoldInEach(in.Number.Tree))
		var all []*graph.Node
		for _, a := range in.Prepared.Tree {
			if a.count > 0 {
				all = append(all, a.proposed(s, parents.of(a), in.Worker.Tree, a.key(key(in.Seed, in.Number)).FoldIn(0)))
			}
		}
		return xla.Out(graph.Concatenate(all, 0))
	}, axes...)
	return err
}

// share is the number of offspring that a worker proposes.
func (a assignment) share(s *search) int {
	return (a.count + s.programs.Workers - 1) / s.programs.Workers
}

// proposed returns the offspring of an emitter, [count, N], of which this worker makes its share.
func (a assignment) proposed(s *search, parents Parents, worker *graph.Node, key random.Key) *graph.Node {
	workers, share := s.programs.Workers, a.share(s)
	which := graph.Add(graph.MulScalar(worker, int32(share)), graph.Iota(worker.Graph(), shapes.Make(dtypes.Int32, share), 0))
	which = graph.MinScalar(which, int32(a.count-1)) // the last share may be smaller
	rows := a.Emitter.Offspring(parents, which, key.FoldInEach(which))
	xla.CheckShape(a.Emitter, "Offspring", "children", rows, dtypes.Float32, share, s.task.Policy.Params())
	all := graph.Reshape(xla.AllGather(rows, worker, workers), workers*share, -1)
	return graph.Slice(all, graph.AxisRange(0, a.count))
}

// offspring makes the proposals of a generation, on all workers. Before the initial population there
// are no parents, so it returns zeros.
func (p *proposing) offspring(s *search, number xla.Array) (xla.Array, error) {
	if s.generation+1 < s.starting() {
		shape := shapes.Make(dtypes.Float32, s.proposals().Dims()...)
		return xla.Value(s.programs.Replicated(func() *tensors.Tensor {
			return tensors.FromShape(shape)
		})), nil
	}
	ready, err := p.prepare.Run(p.preparing(s, number))
	if err != nil {
		return xla.Array{}, err
	}
	defer ready.Free()
	return p.propose.Run(proposeIn{s.seed, number, s.worker, s.parents(), ready})
}
