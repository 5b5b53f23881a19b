package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// Replay returns the replay buffer of the learner and the number of rows written so far. The buffer
// is nil if no learner has one.
func (s *Search) Replay() (buffer *replay.Store, total int64) {
	if !records(s.method.Learner) {
		return nil, 0
	}
	return &s.learning.buffer, (s.generation + 1) * s.replayStep()
}

// replayStep is the number of transitions per generation.
func (s *Search) replayStep() int64 { return int64(s.settings.Batch) * int64(s.task.Length) }

// Refill fills the replay buffer with new episodes of policies drawn from the archive, up to the
// number of rows that it held after the latest generation. It returns the number of episodes. The
// resumed search is not bit-identical to an uninterrupted one.
func (s *Search) Refill() (episodes int64, err error) {
	type refillIn struct {
		Seed, Worker, Number xla.Array
		Archive              xla.State[stored]
	}
	in := refillIn{s.seed, s.worker, xla.Declare(dtypes.Int32), s.main.parents()}
	evaluate, err := xla.CompileParallel(s.programs.Platform, "episodes for the replay buffer", in,
		func(in refillIn) xla.State[Evaluation] {
			root, number, archive := xla.KeyOf(in.Seed.Tree), in.Number.Tree, in.Archive.Tree
			found := s.evaluateStored(archive, root, root.FoldIn(streamRefill).FoldInEach(number),
				graph.MaxScalar(number, int32(1)), // any generation after the first
				in.Worker.Tree)
			none := graph.ZerosLike(archive.Fields[0])
			return xla.Out(visible(s.method.Learner, Evaluation{Evaluated: found, Before: archive.Fields,
				Index: graph.ConvertDType(none, dtypes.Int32), Accepted: graph.NotEqual(none, none)}))
		}, s.axes()...)
	if err != nil {
		return 0, err
	}
	defer evaluate.Free()
	type insertIn struct {
		Seen   xla.State[Evaluation]
		Known  xla.State[[]*graph.Node]
		Buffer xla.State[replay.Buffer] `xla:"donate"`
	}
	buffer, total := s.Replay()
	capacity, _ := buffer.Shape()
	insert, err := xla.Compile(s.programs.Platform, "filling the replay buffer",
		insertIn{evaluate.Out, s.learning.known, buffer.State},
		func(in insertIn) xla.State[replay.Buffer] {
			seen, learner := in.Seen.Tree, s.method.Learner
			g := in.Buffer.Tree.Rows.Graph()
			seen.Number = graph.Const(g, int32(0))
			seen.Proposed = graph.Zeros(g, shapes.Make(dtypes.Float32, learner.Proposals(s.settings.Batch),
				s.task.Policy.Params()))
			_, rows := observe(learner, s.task, in.Known.Tree, seen, xla.NewKey(g, 0))
			return xla.Out(in.Buffer.Tree.Insert(rows))
		})
	if err != nil {
		return 0, err
	}
	defer insert.Free()

	buffer.Count(0)
	for filled := int64(0); filled < min(total, capacity); filled += s.replayStep() {
		in.Number = s.programs.Number(s.generation + 1 + filled/s.replayStep())
		seen, err := evaluate.Run(in)
		in.Number.Free()
		if err != nil {
			return 0, err
		}
		buffer.State, err = insert.Run(insertIn{seen.First(), s.learning.known, buffer.State})
		seen.Free()
		if err != nil {
			return 0, err
		}
		episodes += int64(s.settings.Batch)
	}
	buffer.Count(total)
	return episodes, nil
}
