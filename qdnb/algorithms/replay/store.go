package replay

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
)

// Store is a [Buffer] on the first device, as the host sees it. Rows are numbered from the first
// row ever written; the buffer holds the last ones.
type Store struct {
	Programs *xla.Scope
	Width    int // numbers per row of the layout
	State    xla.State[Buffer]

	download *xla.Program[windowIn, xla.Array]
}

// windowIn are the inputs of the program that reads a window of rows.
type windowIn struct{ Rows, First xla.Array }

// rows is the array of the rows.
func (s *Store) rows() xla.Array { return xla.Part(s.State, rowsOf) }

func rowsOf(b Buffer) *graph.Node { return b.Rows }

// Shape returns the capacity in rows and the numbers per row.
func (s *Store) Shape() (capacity int64, width int) { return int64(s.rows().Dims()[0]), s.Width }

// downloadRows is the number of rows downloaded at once.
const downloadRows = 1 << 13

// Rows returns rows [to - from, width] of a buffer into which total rows were written. They must
// still be in the buffer.
func (s *Store) Rows(total, from, to int64) ([]float32, error) {
	capacity, width := s.Shape()
	if from < max(0, total-capacity) || to > total || from > to {
		return nil, fmt.Errorf("the replay buffer does not hold the rows %d to %d", from, to)
	}
	n := min(capacity, downloadRows)
	in := windowIn{s.rows(), xla.Declare(dtypes.Int32)}
	if s.download == nil {
		var err error
		s.download, err = xla.Compile(s.Programs, "rows of the replay buffer", in, func(in windowIn) xla.Array {
			rows := xla.Rows(in.Rows.Tree, in.First.Tree, int(n))
			if rows.Shape().Dimensions[1] != width {
				rows = graph.Slice(rows, graph.AxisRange(), graph.AxisRange(0, width))
			}
			return xla.Out(rows)
		})
		if err != nil {
			return nil, err
		}
	}
	rows := make([]float32, 0, (to-from)*int64(width))
	for from < to {
		at := from % capacity
		start := min(at, capacity-n) // a window does not extend past the end
		count := min(to-from, n-(at-start))
		in.First = xla.Single(tensors.FromScalar(int32(start)))
		out, err := s.download.Run(in)
		in.First.Free()
		if err != nil {
			return nil, err
		}
		err = tensors.ConstFlatData(out.Value()[0], func(flat []float32) {
			rows = append(rows, flat[(at-start)*int64(width):][:count*int64(width)]...)
		})
		out.Free()
		if err != nil {
			return nil, err
		}
		from += count
	}
	return rows, nil
}

// Set restores the buffer as it was after total rows. read receives a function that takes rows,
// starting at a row number, and must call it for all rows that the buffer held.
func (s *Store) Set(total int64, read func(put func(from int64, rows []float32) error) error) error {
	capacity, width := s.Shape()
	stored := int64(s.rows().Dims()[1])
	flat := make([]float32, capacity*stored)
	err := read(func(from int64, rows []float32) error {
		for ; len(rows) > 0; from, rows = from+1, rows[width:] {
			copy(flat[from%capacity*stored:], rows[:width])
		}
		return nil
	})
	if err != nil {
		return err
	}
	xla.Set(&s.State, rowsOf, xla.Single(tensors.FromFlatDataAndDimensions(flat, s.rows().Dims()...)))
	number := func(x int64) xla.Array { return xla.Single(tensors.FromScalar(int32(x))) }
	xla.Set(&s.State, func(b Buffer) *graph.Node { return b.Size }, number(min(total, capacity)))
	xla.Set(&s.State, func(b Buffer) *graph.Node { return b.Position }, number(total%capacity))
	return nil
}
