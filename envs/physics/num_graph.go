package physics

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// num is a quantity with a value per row (body, joint or contact) in each of the B copies of a
// system. Rows that are known when the graph is built (masses, offsets, the pose of the ground) are
// constants on the host and folded there: a product with 0 vanishes, a product with 1 adds no
// operation. So a robot that only moves in a plane gets planar equations from the same code.
type num struct {
	rows  int
	known []float64 // a value per row, or nil
	// node is [rows * B]: the copies of a row are contiguous, so that loops over them are long.
	node *Node
	// split holds each row as a num of its own, known or [B], in place of known and node; see
	// [System.splits].
	split []num
}

// splitRows returns the rows of a num as nums of their own.
func (a num) splitRows() num {
	return byRow(func(rows []num) num { return rows[0] }, a)
}

// byRow applies an operation to each row of nums.
func byRow(op func(rows []num) num, of ...num) num {
	out := num{rows: of[0].rows}
	for row := range out.rows {
		operands := make([]num, len(of))
		for i, a := range of {
			operands[i] = a.take(row)
		}
		out.split = append(out.split, op(operands))
	}
	return out
}

func known(rows ...float64) num { return num{rows: len(rows), known: rows} }

// columnOf is a known row for each item of a list.
func columnOf[T any](list []T, f func(T) float64) num {
	column := make([]float64, len(list))
	for row, item := range list {
		column[row] = f(item)
	}
	return known(column...)
}

// constant has the same value in all rows.
func constant(rows int, value float64) num {
	return known(slices.Repeat([]float64{value}, rows)...)
}

// is reports whether every row is known and equal to value.
func (a num) is(value float64) bool {
	if a.split != nil {
		return !slices.ContainsFunc(a.split, func(row num) bool { return !row.is(value) })
	}
	return a.node == nil && !slices.ContainsFunc(a.known, func(k float64) bool { return k != value })
}

// any reports whether a known row is not 0.
func (a num) any() bool { return slices.ContainsFunc(a.known, func(k float64) bool { return k != 0 }) }

// maxLiteral is the size up to which known rows become a literal with all copies. Larger ones are
// broadcast by the backend.
const maxLiteral = 8192

// like returns the value as a tensor that combines elementwise with x.
func (a num) like(x *Node) *Node {
	if a.node != nil {
		return a.node
	}
	if a.is(a.known[0]) {
		return Scalar(x.Graph(), dtypes.Float32, a.known[0])
	}
	return a.spread(x.Graph(), x.Shape().Size()/a.rows)
}

// spread returns the value as a tensor [rows * batch].
func (a num) spread(g *Graph, batch int) *Node {
	if a.split != nil {
		var rows []*Node
		for _, row := range a.split {
			rows = append(rows, row.spread(g, batch))
		}
		return join(rows)
	}
	if a.node != nil {
		return a.node
	}
	if a.is(a.known[0]) {
		return BroadcastToDims(Scalar(g, dtypes.Float32, a.known[0]), a.rows*batch)
	}
	column := make([]float32, a.rows)
	for i, k := range a.known {
		column[i] = float32(k)
	}
	if a.rows*batch > maxLiteral {
		return Reshape(BroadcastToDims(Reshape(Const(g, column), a.rows, 1), a.rows, batch), a.rows*batch)
	}
	flat := make([]float32, 0, a.rows*batch)
	for _, k := range column {
		flat = append(flat, slices.Repeat([]float32{k}, batch)...)
	}
	return Const(g, flat)
}

// combine applies the binary operation op, on the host if both operands are known, else in the graph,
// and row by row if the rows are split.
func combine(op func(a, b num) num, a, b num, host func(a, b float64) float64,
	build func(a, b *Node) *Node) num {
	switch {
	case a.split != nil || b.split != nil:
		return byRow(func(rows []num) num { return op(rows[0], rows[1]) }, a, b)
	case a.node != nil:
		return num{rows: a.rows, node: build(a.node, b.like(a.node))}
	case b.node != nil:
		return num{rows: a.rows, node: build(a.like(b.node), b.node)}
	}
	out := make([]float64, a.rows)
	for i := range out {
		out[i] = host(a.known[i], b.known[i])
	}
	return known(out...)
}

func (a num) apply(host func(float64) float64, build func(*Node) *Node) num {
	return combine(func(a, _ num) num { return a.apply(host, build) }, a, a,
		func(a, _ float64) float64 { return host(a) }, func(a, _ *Node) *Node { return build(a) })
}

func (a num) plus(b num) num {
	switch {
	case b.is(0):
		return a
	case a.is(0):
		return b
	}
	return combine(num.plus, a, b, func(a, b float64) float64 { return a + b }, Add)
}

func (a num) minus(b num) num {
	switch {
	case b.is(0):
		return a
	case a.is(0):
		return b.neg()
	case a.node != nil && a.node == b.node:
		return constant(a.rows, 0)
	}
	return combine(num.minus, a, b, func(a, b float64) float64 { return a - b }, Sub)
}

func (a num) times(b num) num {
	switch {
	case a.is(0) || b.is(1):
		return a
	case b.is(0) || a.is(1):
		return b
	case a.is(-1):
		return b.neg()
	case b.is(-1):
		return a.neg()
	}
	return combine(num.times, a, b, func(a, b float64) float64 { return a * b }, Mul)
}

func (a num) over(b num) num {
	switch {
	case a.is(0):
		return a
	case b.known != nil:
		return a.times(b.apply(func(k float64) float64 { return 1 / k }, nil))
	}
	return combine(num.over, a, b, nil, Div)
}

func (a num) min(b num) num { return combine(num.min, a, b, math.Min, Min) }
func (a num) max(b num) num { return combine(num.max, a, b, math.Max, Max) }

func (a num) neg() num   { return a.apply(func(k float64) float64 { return -k }, Neg) }
func (a num) abs() num   { return a.apply(math.Abs, Abs) }
func (a num) sqrt() num  { return a.apply(math.Sqrt, Sqrt) }
func (a num) floor() num { return a.apply(math.Floor, Floor) }
func (a num) sin() num   { return a.apply(math.Sin, Sin) }
func (a num) cos() num   { return a.apply(math.Cos, Cos) }

// smallSqrt is the square root, exactly 0 for numbers that are almost 0.
func (a num) smallSqrt() num {
	if a.known != nil {
		return a.sqrt()
	}
	return a.below(1e-16).choose(a.zero(), a.sqrt())
}

func (a num) sign() num {
	return a.above(0).choose(constant(a.rows, 1), a.below(0).choose(constant(a.rows, -1), a.zero()))
}

func (a num) square() num { return a.times(a) }

func (a num) scale(k float64) num { return a.times(constant(a.rows, k)) }
func (a num) add(k float64) num   { return a.plus(constant(a.rows, k)) }
func (a num) zero() num           { return constant(a.rows, 0) }

// mask is a condition on rows.
type mask struct{ num } // 1 or 0 where known, else booleans

func (a num) less(b num) mask {
	return mask{combine(func(a, b num) num { return a.less(b).num }, a, b,
		func(a, b float64) float64 {
			if a < b {
				return 1
			}
			return 0
		}, LessThan)}
}

func (a num) below(k float64) mask { return a.less(constant(a.rows, k)) }
func (a num) above(k float64) mask { return constant(a.rows, k).less(a) }

func (m mask) and(o mask) mask { return m.logical(o, 0, math.Min, And) }
func (m mask) or(o mask) mask  { return m.logical(o, 1, math.Max, Or) }

// logical combines masks by an operation for which one value decides the result.
func (m mask) logical(o mask, decisive float64, host func(a, b float64) float64,
	build func(a, b *Node) *Node) mask {
	switch {
	case m.is(decisive) || o.is(1-decisive):
		return m
	case o.is(decisive) || m.is(1-decisive):
		return o
	case m.split != nil || o.split != nil || m.node == nil && o.node == nil:
		return mask{combine(func(a, b num) num { return mask{a}.logical(mask{b}, decisive, host, build).num },
			m.num, o.num, host, nil)}
	}
	return mask{num{rows: m.rows, node: build(m.booleans(o.node), o.booleans(m.node))}}
}

// booleans returns the mask as a tensor of the shape of x.
func (m mask) booleans(x *Node) *Node {
	if m.node != nil {
		return m.node
	}
	flat := make([]bool, 0, x.Shape().Size())
	for _, k := range m.known {
		flat = append(flat, slices.Repeat([]bool{k == 1}, x.Shape().Size()/m.rows)...)
	}
	return Const(x.Graph(), flat)
}

// number is 1 where the mask is true, else 0.
func (m mask) number() num {
	return m.apply(func(k float64) float64 { return k },
		func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) })
}

// choose returns a where the mask is true, else b.
func (m mask) choose(a, b num) num {
	if m.split != nil || a.split != nil || b.split != nil {
		return byRow(func(rows []num) num { return mask{rows[0]}.choose(rows[1], rows[2]) }, m.num, a, b)
	}
	switch {
	case m.is(1) || a.node == nil && b.node == nil && slices.Equal(a.known, b.known):
		return a
	case m.is(0):
		return b
	}
	x := m.node
	for _, other := range []num{a, b} {
		if x == nil {
			x = other.node
		}
	}
	if x == nil {
		chosen := slices.Clone(b.known)
		for i, k := range m.known {
			if k == 1 {
				chosen[i] = a.known[i]
			}
		}
		return known(chosen...)
	}
	return num{rows: a.rows, node: Where(m.booleans(x), a.like(x), b.like(x))}
}

// take selects rows, in any order and with repetitions.
func (a num) take(rows ...int) num {
	if a.split != nil {
		if len(rows) == 1 {
			return a.split[rows[0]]
		}
		out := num{rows: len(rows)}
		for _, r := range rows {
			out.split = append(out.split, a.split[r])
		}
		return out
	}
	if a.node == nil {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = a.known[r]
		}
		return known(out...)
	}
	batch := a.node.Shape().Size() / a.rows
	tiled := len(rows) > a.rows && len(rows)%a.rows == 0
	for i, r := range rows {
		tiled = tiled && r == i%a.rows
	}
	if tiled {
		copies := BroadcastToDims(Reshape(a.node, 1, a.rows*batch), len(rows)/a.rows, a.rows*batch)
		return num{rows: len(rows), node: Reshape(copies, len(rows)*batch)}
	}
	var parts []*Node
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		first := rows[start]
		if end-start == a.rows {
			parts = append(parts, a.node)
		} else {
			parts = append(parts, Slice(a.node, AxisRange(first*batch, (first+end-start)*batch)))
		}
		start = end
	}
	return num{rows: len(rows), node: join(parts)}
}

func join(parts []*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 0)
}

// materialize makes the compiler compute a value once, before its uses; see [xla.Materialize].
func (a num) materialize() num {
	if a.node != nil {
		a.node = xla.Materialize(a.node)[0]
	}
	return a
}

// graph returns the graph of a num that is not known.
func (a num) graph() *Graph {
	for _, row := range a.split {
		if row.node != nil {
			return row.node.Graph()
		}
	}
	return a.node.Graph()
}
