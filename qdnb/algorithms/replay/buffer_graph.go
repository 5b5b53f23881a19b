package replay

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Buffer is a ring of the latest rows: a tree. The rows below Size are filled, in the order of
// their insertion until the ring is full; then those from Position on are the oldest. Both counters
// are bounded by the capacity, and so never overflow.
type Buffer struct {
	Rows     *Node // [capacity, width]
	Size     *Node // int32: rows that are filled
	Position *Node // int32: where the next row goes, below the capacity
}

// NewBuffer is an empty buffer for rows of a layout.
func NewBuffer(g *Graph, layout Layout, capacity int) Buffer {
	return Buffer{Zeros(g, shapes.Make(dtypes.Float32, capacity, layout.Width())), Const(g, int32(0)),
		Const(g, int32(0))}
}

// Insert writes rows [n, width] over the oldest ones, in their order. Of more rows than the
// capacity only the last stay. A buffer that is donated to the program, or carried by a loop, is
// written in place: an insertion costs what its rows cost, whatever the capacity.
//
// The published code (QDax, buffers/buffer.py) shifts the whole content where a batch would reach
// over the end; the set of rows is the same.
func (b Buffer) Insert(rows *Node) Buffer {
	capacity := b.Rows.Shape().Dimensions[0]
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != b.Rows.Shape().Dimensions[1] {
		panic(errors.Errorf("rows of shape %s do not fit a buffer of shape %s", rows.Shape(),
			b.Rows.Shape()))
	}
	n := rows.Shape().Dimensions[0]
	if n > capacity {
		rows, n = Slice(rows, AxisRange(n-capacity)), capacity
	}

	// A window of n rows ends where the buffer ends, at the latest; over is how many rows reach
	// over the end. They go to the beginning, a second window. Both take the rows turned round by
	// over, each its part, and leave the rest as it is.
	over := MaxScalar(AddScalar(b.Position, int32(n-capacity)), int32(0))
	turned := xla.Rows(Concatenate([]*Node{rows, rows}, 0), Sub(ConstAs(over, int32(n)), over), n)
	inside := GreaterOrEqual(Iota(rows.Graph(), shapes.Make(dtypes.Int32, n, 1), 0), over)
	inside = BroadcastToDims(inside, rows.Shape().Dimensions...)
	first, zero := Sub(b.Position, over), ZerosLike(b.Position)
	into := xla.SetRows(b.Rows, first, Where(inside, turned, xla.Rows(b.Rows, first, n)))
	into = xla.SetRows(into, zero, Where(inside, xla.Rows(into, zero, n), turned))

	position := AddScalar(b.Position, int32(n))
	return Buffer{
		Rows: into,
		Size: MinScalar(AddScalar(b.Size, int32(n)), int32(capacity)),
		Position: Where(GreaterOrEqual(position, ConstAs(position, int32(capacity))),
			AddScalar(position, int32(-capacity)), position),
	}
}

// Draw gives the indices of n of the filled rows, uniformly and with replacement: int32 [n, 1]. Of
// an empty buffer it draws the first row.
func (b Buffer) Draw(key xla.Key, n int) *Node {
	// The remainder of a 32-bit word by Size is uniform to Size / 2^32.
	filled := ConvertDType(MaxScalar(b.Size, int32(1)), dtypes.Uint32)
	return ConvertDType(Mod(key.Bits(n, 1), filled), dtypes.Int32)
}

// At is the rows of given indices [n, 1], [n, width].
func (b Buffer) At(index *Node) *Node { return Gather(b.Rows, index) }

// Sample draws n of the filled rows uniformly and with replacement, [n, width]. An empty buffer
// gives rows of zeros.
func (b Buffer) Sample(key xla.Key, n int) *Node { return b.At(b.Draw(key, n)) }
