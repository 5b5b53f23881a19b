package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// Replay returns the replay buffer of the learner and the number of rows written so far. The buffer
// is nil without a learner.
func (s *Search) Replay() (buffer *replay.Store, total int64) {
	if s.learning == nil {
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
		func(in refillIn) xla.Array {
			root, number := xla.KeyOf(in.Seed.Tree), in.Number.Tree
			return xla.Out(s.evaluateStored(in.Archive.Tree, root,
				root.FoldIn(streamRefill).FoldInEach(number),
				graph.MaxScalar(number, int32(1)), // any generation after the first
				in.Worker.Tree).Transitions)
		}, s.axes()...)
	if err != nil {
		return 0, err
	}
	defer evaluate.Free()
	type insertIn struct {
		Rows   xla.Array
		Buffer xla.State[replay.Buffer] `xla:"donate"`
	}
	buffer, total := s.Replay()
	capacity, _ := buffer.Shape()
	insert, err := xla.Compile(s.programs.Platform, "filling the replay buffer",
		insertIn{evaluate.Out, buffer.State}, func(in insertIn) xla.State[replay.Buffer] {
			return xla.Out(in.Buffer.Tree.Insert(in.Rows.Tree))
		})
	if err != nil {
		return 0, err
	}
	defer insert.Free()

	buffer.Count(0)
	for filled := int64(0); filled < min(total, capacity); filled += s.replayStep() {
		in.Number = s.programs.Number(s.generation + 1 + filled/s.replayStep())
		rows, err := evaluate.Run(in)
		in.Number.Free()
		if err != nil {
			return 0, err
		}
		buffer.State, err = insert.Run(insertIn{rows.First(), buffer.State})
		rows.Free()
		if err != nil {
			return 0, err
		}
		episodes += int64(s.settings.Batch)
	}
	buffer.Count(total)
	return episodes, nil
}
