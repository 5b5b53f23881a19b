package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// ReplayShape is that of the replay buffer of the search's learner: its rows, the numbers in a row, and how many rows were ever written
// to it up to now. Without a learner all are 0.
func (s *Search) ReplayShape() (capacity int64, width int, total int64) {
	if s.learning == nil {
		return 0, 0, 0
	}
	dims := s.learning.buffer[0][0].Shape().Dimensions
	return int64(dims[0]), dims[1], (s.generation + 1) * s.replayStep()
}

// replayStep is how many transitions a generation has.
func (s *Search) replayStep() int64 { return int64(s.settings.Batch) * int64(s.task.Length) }

// downloadRows is how many rows are cut out of the buffer at once.
const downloadRows = 1 << 13

// ReplayRows reads rows of the replay buffer, numbered from the first that was ever written, [to - from, width]. They must still be in it.
func (s *Search) ReplayRows(from, to int64) ([]float32, error) {
	capacity, width, total := s.ReplayShape()
	if from < max(0, total-capacity) || to > total || from > to {
		return nil, errors.Errorf("the replay buffer does not hold the rows %d to %d", from, to)
	}
	l, n := s.learning, min(capacity, downloadRows)
	if l.download == nil {
		inputs := []xla.Input{{Shape: l.buffer[0][0].Shape()}, {Shape: shapes.Make(dtypes.Int32)}}
		var err error
		l.download, err = s.platform.Compile("rows of the replay buffer", inputs, func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{xla.Rows(in[0], in[1], int(n))}
		})
		if err != nil {
			return nil, err
		}
	}
	rows := make([]float32, 0, (to-from)*int64(width))
	for from < to {
		at := from % capacity
		start := min(at, capacity-n) // a window does not reach over the end
		count := min(to-from, n-(at-start))
		first := xla.Value{tensors.FromScalar(int32(start))}
		out, err := l.download.Run(l.buffer[0], first)
		first.Free()
		if err != nil {
			return nil, err
		}
		err = tensors.ConstFlatData(out[0][0], func(flat []float32) {
			rows = append(rows, flat[(at-start)*int64(width):][:count*int64(width)]...)
		})
		out[0].Free()
		if err != nil {
			return nil, err
		}
		from += count
	}
	return rows, nil
}

// SetReplay fills the replay buffer as it was after the newest generation: read is given a function that takes rows from a row number
// on, and calls it for all that the buffer held.
func (s *Search) SetReplay(read func(put func(from int64, rows []float32) error) error) error {
	capacity, width, total := s.ReplayShape()
	flat := make([]float32, capacity*int64(width))
	err := read(func(from int64, rows []float32) error {
		for len(rows) > 0 {
			n := copy(flat[(from%capacity)*int64(width):], rows)
			from, rows = from+int64(n/width), rows[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.setReplay(flat, total)
	return nil
}

// setReplay puts rows, [capacity * width], into the buffer, of which total were ever written.
func (s *Search) setReplay(flat []float32, total int64) {
	dims := s.learning.buffer[0][0].Shape().Dimensions
	for _, old := range s.learning.buffer {
		old.Free()
	}
	s.learning.buffer = []xla.Value{{tensors.FromFlatDataAndDimensions(flat, dims...)}, nil, nil}
	s.countReplay(total)
}

// countReplay says how many rows were ever written.
func (s *Search) countReplay(total int64) {
	capacity := int64(s.learning.buffer[0][0].Shape().Dimensions[0])
	for i, x := range []int64{min(total, capacity), total % capacity} {
		s.learning.buffer[1+i].Free()
		s.learning.buffer[1+i] = xla.Value{tensors.FromScalar(int32(x))}
	}
}

// Refill fills the replay buffer anew, as far as it was filled after the newest generation, with episodes of policies drawn from the
// archive. It returns the number of episodes. What a search learns then is not what it would have learnt.
func (s *Search) Refill() (episodes int64, err error) {
	gen, st := s.evaluation(), s.main
	inputs := []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}, {Shape: shapes.Make(dtypes.Int32)}, {Shape: shapes.Make(dtypes.Int32)}, {Shape: st.genotypes[0].Shape()}}
	for _, field := range st.fields {
		inputs = append(inputs, xla.Input{Shape: field[0].Shape()})
	}
	evaluate, err := s.platform.CompileParallel("episodes for the replay buffer", inputs, func(in []*graph.Node) []*graph.Node {
		root := xla.KeyOf(in[0])
		from := source{Parents: NewParents(in[3], cellsOf(st.archive, in[4:])), Key: root.FoldInt(streamRefill).Fold(in[2])}
		from.Number = graph.MaxScalar(in[2], int32(1)) // some generation after the first
		if s.method.Archive.SameStart() {
			from.Start = root.FoldInt(streamStart)
		}
		return []*graph.Node{gen.evaluate(from, in[1]).Transitions}
	})
	if err != nil {
		return 0, err
	}
	defer evaluate.Free()
	l := s.learning
	width := l.buffer[0][0].Shape().Dimensions[1]
	inputs = append([]xla.Input{{Shape: shapes.Make(dtypes.Float32, int(s.replayStep()), width)}}, l.inputs(true)[len(l.known):]...)
	insert, err := s.platform.Compile("filling the replay buffer", inputs, func(in []*graph.Node) []*graph.Node {
		return xla.Leaves(xla.WithLeaves(l.form, in[1:]).Insert(in[0]))
	})
	if err != nil {
		return 0, err
	}
	defer insert.Free()

	capacity, _, total := s.ReplayShape()
	s.setReplay(make([]float32, capacity*int64(width)), 0)
	for filled := int64(0); filled < min(total, capacity); filled += s.replayStep() {
		number := s.number(s.generation + 1 + filled/s.replayStep())
		state := append([]xla.Value{s.seed, s.worker, number, st.genotypes}, st.fields...)
		out, err := evaluate.Run(state...)
		number.Free()
		if err != nil {
			return 0, err
		}
		buffer, err := insert.Run(append([]xla.Value{out[0][:1]}, l.buffer...)...)
		out[0].Free()
		if err != nil {
			return 0, err
		}
		l.buffer = buffer
		episodes += int64(s.settings.Batch)
	}
	s.countReplay(total)
	return episodes, nil
}
