package algebra

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Num is a quantity with a value per row (body, joint or contact) in each of the B copies of a
// system. Rows that are known when the graph is built (masses, offsets, the pose of the ground) are
// Constants on the host and folded there: a product with 0 vanishes, a product with 1 adds no
// operation. So a robot that only moves in a plane gets planar equations from the same code.
type Num struct {
	Rows  int
	Known []float64 // a value per row, or nil
	// Node is [Rows * B]: the copies of a row are contiguous, so that loops over them are long.
	Node *Node
	// Split holds each row as a Num of its own, known or [B], in place of Known and Node; see
	// [Num.SplitRows].
	Split []Num
}

// SplitRows returns the rows of a Num as nums of their own.
func (a Num) SplitRows() Num {
	return ByRow(func(rows []Num) Num { return rows[0] }, a)
}

// ByRow applies an operation to each row of nums.
func ByRow(op func(rows []Num) Num, of ...Num) Num {
	out := Num{Rows: of[0].Rows}
	for row := range out.Rows {
		operands := make([]Num, len(of))
		for i, a := range of {
			operands[i] = a.Take(row)
		}
		out.Split = append(out.Split, op(operands))
	}
	return out
}

// Known makes known rows.
func Known(rows ...float64) Num { return Num{Rows: len(rows), Known: rows} }

// ColumnOf is a known row for each item of a list.
func ColumnOf[T any](list []T, f func(T) float64) Num {
	column := make([]float64, len(list))
	for row, item := range list {
		column[row] = f(item)
	}
	return Known(column...)
}

// Constant has the same value in all rows.
func Constant(rows int, value float64) Num {
	return Known(slices.Repeat([]float64{value}, rows)...)
}

// Is reports whether every row is known and equal to value.
func (a Num) Is(value float64) bool {
	if a.Split != nil {
		return !slices.ContainsFunc(a.Split, func(row Num) bool { return !row.Is(value) })
	}
	return a.Node == nil && !slices.ContainsFunc(a.Known, func(k float64) bool { return k != value })
}

// Any reports whether a known row is not 0.
func (a Num) Any() bool { return slices.ContainsFunc(a.Known, func(k float64) bool { return k != 0 }) }

// maxLiteral is the size up to which known rows become a literal with all copies. Larger ones are
// broadcast by the backend.
const maxLiteral = 8192

// Like returns the value as a tensor that combines elementwise with x.
func (a Num) Like(x *Node) *Node {
	if a.Node != nil {
		return a.Node
	}
	dtype := x.DType()
	if dtype == dtypes.Bool {
		dtype = dtypes.Float32
	}
	if a.Is(a.Known[0]) {
		return Scalar(x.Graph(), dtype, a.Known[0])
	}
	return ConvertDType(a.Spread(x.Graph(), x.Shape().Size()/a.Rows), dtype)
}

// Spread returns the value as a tensor [rows * batch].
func (a Num) Spread(g *Graph, batch int) *Node {
	if a.Split != nil {
		var rows []*Node
		for _, row := range a.Split {
			rows = append(rows, row.Spread(g, batch))
		}
		return Join(rows)
	}
	if a.Node != nil {
		return a.Node
	}
	if a.Is(a.Known[0]) {
		return BroadcastToDims(Scalar(g, dtypes.Float32, a.Known[0]), a.Rows*batch)
	}
	column := make([]float32, a.Rows)
	for i, k := range a.Known {
		column[i] = float32(k)
	}
	if a.Rows*batch > maxLiteral {
		return Reshape(BroadcastToDims(Reshape(Const(g, column), a.Rows, 1), a.Rows, batch), a.Rows*batch)
	}
	flat := make([]float32, 0, a.Rows*batch)
	for _, k := range column {
		flat = append(flat, slices.Repeat([]float32{k}, batch)...)
	}
	return ConstTensor(g, tensors.FromFlatDataAndDimensions(flat, len(flat))) // Const inspects each number
}

// combine applies the binary operation op, on the host if both operands are known, else in the graph,
// and row by row if the rows are split.
func combine(op func(a, b Num) Num, a, b Num, host func(a, b float64) float64, build func(a, b *Node) *Node) Num {
	switch {
	case a.Split != nil || b.Split != nil:
		return ByRow(func(rows []Num) Num { return op(rows[0], rows[1]) }, a, b)
	case a.Node != nil:
		return Num{Rows: a.Rows, Node: build(a.Node, b.Like(a.Node))}
	case b.Node != nil:
		return Num{Rows: a.Rows, Node: build(a.Like(b.Node), b.Node)}
	}
	out := make([]float64, a.Rows)
	for i := range out {
		out[i] = host(a.Known[i], b.Known[i])
	}
	return Known(out...)
}

func (a Num) Apply(host func(float64) float64, build func(*Node) *Node) Num {
	return combine(func(a, _ Num) Num { return a.Apply(host, build) }, a, a,
		func(a, _ float64) float64 { return host(a) }, func(a, _ *Node) *Node { return build(a) })
}

func (a Num) Plus(b Num) Num {
	switch {
	case b.Is(0):
		return a
	case a.Is(0):
		return b
	}
	return combine(Num.Plus, a, b, func(a, b float64) float64 { return a + b }, Add)
}

func (a Num) Minus(b Num) Num {
	switch {
	case b.Is(0):
		return a
	case a.Is(0):
		return b.Neg()
	case a.Node != nil && a.Node == b.Node:
		return Constant(a.Rows, 0)
	}
	return combine(Num.Minus, a, b, func(a, b float64) float64 { return a - b }, Sub)
}

func (a Num) Times(b Num) Num {
	switch {
	case a.Is(0) || b.Is(1):
		return a
	case b.Is(0) || a.Is(1):
		return b
	case a.Is(-1):
		return b.Neg()
	case b.Is(-1):
		return a.Neg()
	}
	return combine(Num.Times, a, b, func(a, b float64) float64 { return a * b }, Mul)
}

func (a Num) Over(b Num) Num {
	switch {
	case a.Is(0):
		return a
	case b.Known != nil:
		return a.Times(b.Apply(func(k float64) float64 { return 1 / k }, nil))
	}
	return combine(Num.Over, a, b, nil, Div)
}

func (a Num) Min(b Num) Num { return combine(Num.Min, a, b, math.Min, Min) }
func (a Num) Max(b Num) Num { return combine(Num.Max, a, b, math.Max, Max) }

func (a Num) Neg() Num   { return a.Apply(func(k float64) float64 { return -k }, Neg) }
func (a Num) Abs() Num   { return a.Apply(math.Abs, Abs) }
func (a Num) Sqrt() Num  { return a.Apply(math.Sqrt, Sqrt) }
func (a Num) Floor() Num { return a.Apply(math.Floor, Floor) }
func (a Num) Sin() Num   { return a.Apply(math.Sin, Sin) }
func (a Num) Cos() Num   { return a.Apply(math.Cos, Cos) }

func (a Num) Sign() Num {
	return a.Above(0).Choose(Constant(a.Rows, 1), a.Below(0).Choose(Constant(a.Rows, -1), a.Zero()))
}

func (a Num) Square() Num { return a.Times(a) }

func (a Num) Scale(k float64) Num { return a.Times(Constant(a.Rows, k)) }
func (a Num) Add(k float64) Num   { return a.Plus(Constant(a.Rows, k)) }
func (a Num) Zero() Num           { return Constant(a.Rows, 0) }

// Mask is a condition on rows.
type Mask struct{ Num } // 1 or 0 where known, else booleans

func (a Num) Less(b Num) Mask {
	return Mask{combine(func(a, b Num) Num { return a.Less(b).Num }, a, b, func(a, b float64) float64 {
		if a < b {
			return 1
		}
		return 0
	}, LessThan)}
}

func (a Num) Below(k float64) Mask { return a.Less(Constant(a.Rows, k)) }
func (a Num) Above(k float64) Mask { return Constant(a.Rows, k).Less(a) }

// Count is the mask as a number, materialized.
func (m Mask) Count() Num { return Mask{m.Materialize()}.Number() }

func (m Mask) And(o Mask) Mask { return m.logical(o, 0, math.Min, And) }
func (m Mask) Or(o Mask) Mask  { return m.logical(o, 1, math.Max, Or) }

// logical combines masks by an operation for which one value decides the result.
func (m Mask) logical(o Mask, decisive float64, host func(a, b float64) float64, build func(a, b *Node) *Node) Mask {
	switch {
	case m.Is(decisive) || o.Is(1-decisive):
		return m
	case o.Is(decisive) || m.Is(1-decisive):
		return o
	case m.Split != nil || o.Split != nil || m.Node == nil && o.Node == nil:
		return Mask{combine(func(a, b Num) Num { return Mask{a}.logical(Mask{b}, decisive, host, build).Num },
			m.Num, o.Num, host, nil)}
	}
	return Mask{Num{Rows: m.Rows, Node: build(m.booleans(o.Node), o.booleans(m.Node))}}
}

// booleans returns the Mask as a tensor of the shape of x.
func (m Mask) booleans(x *Node) *Node {
	if m.Node != nil {
		return m.Node
	}
	flat := make([]bool, 0, x.Shape().Size())
	for _, k := range m.Known {
		flat = append(flat, slices.Repeat([]bool{k == 1}, x.Shape().Size()/m.Rows)...)
	}
	return Const(x.Graph(), flat)
}

// Number is 1 where the Mask is true, else 0.
func (m Mask) Number() Num {
	return m.Apply(func(k float64) float64 { return k }, func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) })
}

// Choose returns a where the Mask is true, else b.
func (m Mask) Choose(a, b Num) Num {
	if m.Split != nil || a.Split != nil || b.Split != nil {
		return ByRow(func(rows []Num) Num { return Mask{rows[0]}.Choose(rows[1], rows[2]) }, m.Num, a, b)
	}
	switch {
	case m.Is(1) || a.Node == nil && b.Node == nil && slices.Equal(a.Known, b.Known):
		return a
	case m.Is(0):
		return b
	}
	x := m.Node
	for _, other := range []Num{a, b} {
		if x == nil {
			x = other.Node
		}
	}
	if x == nil {
		chosen := slices.Clone(b.Known)
		for i, k := range m.Known {
			if k == 1 {
				chosen[i] = a.Known[i]
			}
		}
		return Known(chosen...)
	}
	like := x
	for _, other := range []Num{a, b} {
		if other.Node != nil {
			like = other.Node
		}
	}
	return Num{Rows: a.Rows, Node: Where(m.booleans(x), a.Like(like), b.Like(like))}
}

// Take selects rows, in any order and with repetitions.
func (a Num) Take(rows ...int) Num {
	if a.Split != nil {
		if len(rows) == 1 {
			return a.Split[rows[0]]
		}
		out := Num{Rows: len(rows)}
		for _, r := range rows {
			out.Split = append(out.Split, a.Split[r])
		}
		return out
	}
	if a.Node == nil {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = a.Known[r]
		}
		return Known(out...)
	}
	batch := a.Node.Shape().Size() / a.Rows
	tiled := len(rows) > a.Rows && len(rows)%a.Rows == 0
	for i, r := range rows {
		tiled = tiled && r == i%a.Rows
	}
	if times := len(rows) / a.Rows; tiled && xla.KindOf(a.Node.Graph()) == backend.CPU {
		// which reads a broadcast number by number
		return Num{Rows: len(rows), Node: xla.Join(slices.Repeat([]*Node{a.Node}, times))}
	} else if tiled {
		copies := BroadcastToDims(Reshape(a.Node, 1, a.Rows*batch), times, a.Rows*batch)
		return Num{Rows: len(rows), Node: Reshape(copies, len(rows)*batch)}
	}
	var parts []*Node
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		first := rows[start]
		if end-start == a.Rows {
			parts = append(parts, a.Node)
		} else {
			parts = append(parts, Slice(a.Node, AxisRange(first*batch, (first+end-start)*batch)))
		}
		start = end
	}
	return Num{Rows: len(rows), Node: Join(parts)}
}

// Join concatenates tensors along their first axis. XLA:CPU may fuse it with its users, unlike [xla.Join].
func Join(parts []*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 0)
}

// Materialize makes the compiler compute a value once, before its uses; see [xla.Materialize].
func (a Num) Materialize() Num {
	if a.Node != nil {
		a.Node = xla.Materialize(a.Node)[0]
	}
	return a
}

// Store is [Num.Materialize] of a value that may be cheap to compute; see [xla.Store].
func (a Num) Store() Num {
	if a.Node != nil {
		a.Node = xla.Store(a.Node)
	}
	return a
}

// Graph returns the graph of a Num that is not known.
func (a Num) Graph() *Graph {
	for _, row := range a.Split {
		if row.Node != nil {
			return row.Node.Graph()
		}
	}
	return a.Node.Graph()
}

// Concat returns the rows of all nums, one after the other.
func Concat(of ...Num) Num {
	var runs []rowRun
	for _, a := range of {
		runs = append(runs, rowRun{a, 1})
	}
	return stackRuns(false, runs, xla.Join)
}

// ConcatSplit is [Concat] for nums of which some may be split: then the result is.
func ConcatSplit(of ...Num) Num {
	var runs []rowRun
	split := false
	for _, a := range of {
		runs, split = append(runs, rowRun{a, 1}), split || a.Split != nil
	}
	return stackRuns(split, runs, Join)
}

// Leaves returns the rows of a split num, or the num itself.
func (a *Num) Leaves() (rows []*Num) {
	if a.Split == nil {
		return []*Num{a}
	}
	for i := range a.Split {
		rows = append(rows, &a.Split[i])
	}
	return rows
}

// Slice returns count rows from start on.
func (a Num) Slice(start, count int) Num {
	list := make([]int, count)
	for i := range list {
		list[i] = start + i
	}
	return a.Take(list...)
}

// Sum returns the sum of all rows, as one row.
func (a Num) Sum() Num {
	if a.Node == nil {
		sum := 0.0
		for _, k := range a.Known {
			sum += k
		}
		return Known(sum)
	}
	return Num{Rows: 1, Node: Reshape(SumRows(a.Matrix()), -1)}
}

// SumRows returns the sum of the rows of x, [n, B], as [1, B]. It adds halves, because XLA:CPU reduces
// one number after the other.
func SumRows(x *Node) *Node {
	if x.Shape().Dimensions[0] > 1 {
		x = xla.Store(x)
	}
	var odd *Node
	for n := x.Shape().Dimensions[0]; n > 1; n /= 2 {
		if n%2 == 1 {
			last := Slice(x, AxisElem(n-1))
			if odd != nil {
				last = Add(odd, last)
			}
			odd = last
		}
		x = Add(Slice(x, AxisRange(0, n/2)), Slice(x, AxisRange(n/2, n/2*2)))
	}
	if odd != nil {
		x = Add(x, odd)
	}
	return x
}

// Matrix returns the value as a tensor [rows, B].
func (a Num) Matrix() *Node { return Reshape(a.Node, a.Rows, a.Node.Shape().Size()/a.Rows) }
