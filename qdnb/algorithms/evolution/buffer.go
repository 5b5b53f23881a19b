package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// ReplayShape describes the replay buffer of the search's learner: its capacity in rows, the
// numbers per row, and the number of rows written so far. Without a learner all are 0.
func (s *Search) ReplayShape() (capacity int64, width int, total int64) {
	if s.learning == nil {
		return 0, 0, 0
	}
	capacity, width = s.learning.buffer.Shape()
	return capacity, width, (s.generation + 1) * s.replayStep()
}

// replayStep is the number of transitions per generation.
func (s *Search) replayStep() int64 { return int64(s.settings.Batch) * int64(s.task.Length) }

// ReplayRows reads rows of the replay buffer, see [replay.Store.Rows].
func (s *Search) ReplayRows(from, to int64) ([]float32, error) {
	_, _, total := s.ReplayShape()
	return s.learning.buffer.Rows(total, from, to)
}

// SetReplay restores the replay buffer as it was after the latest generation, see
// [replay.Store.Set].
func (s *Search) SetReplay(read func(put func(from int64, rows []float32) error) error) error {
	_, _, total := s.ReplayShape()
	return s.learning.buffer.Set(total, read)
}

// Refill fills the replay buffer with new episodes of policies drawn from the archive, up to the
// number of rows that it held after the latest generation. It returns the number of episodes. The
// resumed search is not bit-identical to an uninterrupted one.
func (s *Search) Refill() (episodes int64, err error) {
	gen, st := s.evaluation(), s.main
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)},
		{Shape: shapes.Make(dtypes.Int32)}, {Shape: st.genotypes[0].Shape()}}
	for _, field := range st.fields {
		inputs = append(inputs, xla.Input{Shape: field[0].Shape()})
	}
	evaluate, err := s.platform.CompileParallel("episodes for the replay buffer", inputs,
		func(in []*graph.Node) []*graph.Node {
			root := xla.KeyOf(in[0])
			from := source{Parents: NewParents(in[3], cellsOf(st.archive, in[4:])),
				Key: root.FoldIn(streamRefill).FoldInEach(in[2])}
			from.Number = graph.MaxScalar(in[2], int32(1)) // any generation after the first
			if s.method.Archive.SameStart() {
				from.Start = root.FoldIn(streamStart)
			}
			return []*graph.Node{gen.evaluate(from, in[1]).Transitions}
		}, s.axes()...)
	if err != nil {
		return 0, err
	}
	defer evaluate.Free()
	l := s.learning
	capacity, width := l.buffer.Shape()
	inputs = append([]xla.Input{{Shape: shapes.Make(dtypes.Float32, int(s.replayStep()), width)}},
		l.buffer.Inputs(true)...)
	insert, err := s.platform.Compile("filling the replay buffer", inputs,
		func(in []*graph.Node) []*graph.Node {
			return xla.Flatten(xla.Unflatten(l.form, in[1:]).Insert(in[0]))
		})
	if err != nil {
		return 0, err
	}
	defer insert.Free()

	_, _, total := s.ReplayShape()
	l.buffer.Clear()
	for filled := int64(0); filled < min(total, capacity); filled += s.replayStep() {
		number := s.number(s.generation + 1 + filled/s.replayStep())
		state := append([]xla.Sharded{s.seed, s.worker, number, st.genotypes}, st.fields...)
		out, err := evaluate.Run(state...)
		number.Free()
		if err != nil {
			return 0, err
		}
		buffer, err := insert.Run(append([]xla.Sharded{out[0][:1]}, l.buffer.Leaves...)...)
		out[0].Free()
		if err != nil {
			return 0, err
		}
		l.buffer.Leaves = buffer
		episodes += int64(s.settings.Batch)
	}
	l.buffer.Count(total)
	return episodes, nil
}
