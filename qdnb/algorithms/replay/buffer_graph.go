package replay

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Buffer is a ring of the latest rows: a pytree. The first Size rows are filled, in insertion order
// until the ring is full. After that, the oldest row is the one at Position. Both counters are
// bounded by the capacity, so they never overflow.
type Buffer struct {
	Rows     *Node // [capacity, width], wider than the layout on TPUs: see [Layout.StoredWidth]
	Size     *Node // int32: number of filled rows
	Position *Node // int32: index of the next row to write, below the capacity
}

// NewBuffer returns an empty buffer for rows of the layout.
func (l Layout) NewBuffer(g *Graph, capacity int) Buffer {
	width := l.StoredWidth(xla.KindOf(g))
	return Buffer{Zeros(g, shapes.Make(dtypes.Float32, capacity, width)), Const(g, int32(0)), Const(g, int32(0))}
}

// Insert writes rows [n, width of the layout] over the oldest rows, in order. They should be finite,
// see [Buffer.KeepFinite]. If n exceeds the
// capacity, only the last rows are kept. A buffer that is donated to the program or carried by a
// loop is updated in place, so the cost depends on n, not on the capacity.
//
// The published code (QDax, buffers/buffer.py) shifts the whole content if a batch would extend
// past the end. The set of rows is the same.
func (b Buffer) Insert(rows *Node) Buffer {
	capacity, width := b.Rows.Shape().Dimensions[0], b.Rows.Shape().Dimensions[1]
	kind := xla.KindOf(rows.Graph())
	if rows.Rank() != 2 || storedWidth(kind, rows.Shape().Dimensions[1]) != width {
		panic(fmt.Errorf("rows of shape %s do not fit a buffer of shape %s", rows.Shape(), b.Rows.Shape()))
	}
	n := rows.Shape().Dimensions[0]
	if more := width - rows.Shape().Dimensions[1]; more > 0 {
		rows = Concatenate([]*Node{rows, Zeros(rows.Graph(), shapes.Make(dtypes.Float32, n, more))}, 1)
	}
	if n > capacity {
		rows, n = Slice(rows, AxisRange(n-capacity)), capacity
	}

	// Rows are written through windows of n rows, which cannot extend past the end of the buffer.
	// over is the number of rows that would; they wrap to the beginning, in a second window. Both
	// windows take the rows rotated by over, write their own part and keep the rest.
	over := MaxScalar(AddScalar(b.Position, int32(n-capacity)), int32(0))
	turned := xla.Rows(Concatenate([]*Node{rows, rows}, 0), Sub(ConstAs(over, int32(n)), over), n)
	inside := GreaterOrEqual(Iota(rows.Graph(), shapes.Make(dtypes.Int32, n, 1), 0), over)
	inside = BroadcastToDims(inside, rows.Shape().Dimensions...)
	first, zero := Sub(b.Position, over), ZerosLike(b.Position)
	into := xla.SetRows(b.Rows, first, Where(inside, turned, xla.Rows(b.Rows, first, n)))
	kept := xla.Rows(into, zero, n)
	if kind == backend.TPU { // read before the write, which is then in place
		kept = OptimizationBarrier(kept)
	}
	into = xla.SetRows(into, zero, Where(inside, kept, turned))

	position := AddScalar(b.Position, int32(n))
	return Buffer{
		Rows: into,
		Size: MinScalar(AddScalar(b.Size, int32(n)), int32(capacity)),
		Position: Where(GreaterOrEqual(position, ConstAs(position, int32(capacity))),
			AddScalar(position, int32(-capacity)), position),
	}
}

// Draw draws the indices of n filled rows, uniformly with replacement: int32 [n, 1]. In an empty
// buffer it draws the first row.
func (b Buffer) Draw(key random.Key, n int) *Node {
	// A 32-bit word modulo Size deviates from uniform by at most Size / 2^32.
	filled := ConvertDType(MaxScalar(b.Size, int32(1)), dtypes.Uint32)
	return ConvertDType(Mod(key.Bits(n, 1), filled), dtypes.Int32)
}

// KeepFinite replaces the rows [n, width] that are not finite, see [xla.KeepFinite]: in a batch
// without a finite row by the row written last. It returns how many there were, an int32 scalar.
func (b Buffer) KeepFinite(rows *Node) (kept, replaced *Node) {
	capacity := b.Rows.Shape().Dimensions[0]
	last := AddScalar(b.Position, int32(-1))
	last = Where(LessThan(last, ZerosLike(last)), AddScalar(last, int32(capacity)), last)
	newest := Slice(xla.Rows(b.Rows, last, 1), AxisRange(), AxisRange(0, rows.Shape().Dimensions[1]))
	return xla.KeepFinite(rows, newest)
}

// At returns the rows with the given indices [n, 1], [n, width].
func (b Buffer) At(index *Node) *Node { return Gather(b.Rows, index) }

// Sample draws n filled rows uniformly with replacement, [n, width]. An empty buffer returns rows
// of zeros.
func (b Buffer) Sample(key random.Key, n int) *Node { return b.At(b.Draw(key, n)) }
