package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file chooses rows of tensors [n, B] that differ between copies, and multiplies with jacobians [n, nv, B].

// lowest returns the rows of the lowest numbers of each column of x [n, B], as int32 [count, B]. Where fewer
// are below 0, that of the highest follows instead.
func lowest(x *Node, count int) *Node {
	type state struct{ Left, Rows *Node }
	batch := x.Shape().Dimensions[1]
	start := state{x, BroadcastToDims(lowestRow(Neg(x)), count, batch)}
	return xla.Repeat(negative(x, count), start, func(k *Node, s state) state {
		first, index := lowestRow(s.Left), Iota(s.Left.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), 0)
		s.Left = Where(Equal(index, BroadcastToShape(first, index.Shape())), MulScalar(OnesLike(s.Left), huge), s.Left)
		s.Rows = xla.SetRow(s.Rows, k, Reshape(first, batch))
		return s
	}).Rows
}

// negative returns the largest count of numbers below 0 in a column of x [n, B], at most most.
func negative(x *Node, most int) *Node {
	count := ReduceAllMax(algebra.SumRows(ConvertDType(LessThan(x, ZerosLike(x)), dtypes.Int32)))
	return xla.Turns(Min(count, ConstAs(count, int32(most))), most)
}

// lowestRow returns the first row that has the lowest number of each column of x [n, B], as int32 [1, B].
func lowestRow(x *Node) *Node {
	if xla.KindOf(x.Graph()).Accelerator() { // see [xla.Argmin]
		return InsertAxes(xla.Argmin(x, 0), 0)
	}
	index := Iota(x.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), 0)
	return leastRow(Where(LessOrEqual(x, BroadcastToShape(leastRow(x), x.Shape())), index,
		MulScalar(OnesLike(index), x.Shape().Dimensions[0]-1)))
}

// leastRow returns the least of the rows of x [n, B], as [1, B].
func leastRow(x *Node) *Node {
	const arity = 8
	for n := x.Shape().Dimensions[0]; n > 1; n = x.Shape().Dimensions[0] {
		m := (n + arity - 1) / arity
		x = xla.Store(x)
		x = reduce(min(arity, n), Min, func(i int) *Node { // windows may overlap
			start := min(i*m, n-m)
			return Slice(x, AxisRange(start, start+m))
		})
	}
	return x
}

// reduce combines n terms, by halves.
func reduce(n int, by func(a, b *Node) *Node, term func(i int) *Node) *Node {
	if n == 1 {
		return term(0)
	}
	half := n / 2
	return by(reduce(half, by, term), reduce(n-half, by, func(i int) *Node { return term(half + i) }))
}

// pick returns rows [count, B] of x, which differ between copies.
func pick(x algebra.Num, rows *Node) algebra.Num { return pickAt(x, cells{Row: rows}) }

// cells are rows of copies, int32 [count, n] each. If Copy is nil, n is the number of all copies, in order.
type cells struct{ Row, Copy *Node }

// pickAt returns the numbers in some cells.
func pickAt(x algebra.Num, at cells) algebra.Num {
	rows, count, n := at.Row, at.Row.Shape().Dimensions[0], at.Row.Shape().Dimensions[1]
	flat := x.Node
	if flat == nil {
		if x.Is(x.Known[0]) {
			return algebra.Constant(count, x.Known[0])
		}
		table := make([]float32, x.Rows)
		for i, k := range x.Known {
			table[i] = float32(k)
		}
		flat = Const(rows.Graph(), table)
	} else {
		rows = MulScalar(rows, flat.Shape().Size()/x.Rows)
		if at.Copy == nil {
			at.Copy = IotaLike(rows, 1)
		}
		rows = xla.Store(Add(rows, at.Copy))
	}
	return algebra.Num{Rows: count, Node: xla.Store(Gather(flat, xla.Store(Reshape(rows, count*n, 1))))}
}

// pickRows is [pick] of rows.
func pickRows(of, rows *Node) *Node {
	x := algebra.Num{Rows: of.Shape().Dimensions[0], Node: Reshape(of, -1)}
	return pick(x, rows).Matrix()
}

// stack returns numbers of the dofs as [nv, B], unstack is its inverse.
func (s *System) stack(g *Graph, batch int, x []algebra.Num) *Node {
	var list []algebra.Num
	for _, x := range x {
		list = append(list, computed(g, batch, x))
	}
	return materializedStack(list).Matrix()
}

func (s *System) unstack(x *Node) (out []algebra.Num) {
	// Stored as it is flat: XLA:CPU would fuse the reshape with each user, and read number by number.
	at, all := 0, algebra.Num{Rows: x.Shape().Dimensions[0], Node: xla.Store(Reshape(x, -1))}
	for _, dof := range s.dofs {
		out = append(out, all.Slice(at, len(dof.index)))
		at += len(dof.index)
	}
	return out
}

// times returns the products of the rows of a [n, m, B] with x [m, B]: [n, B].
func times(a, x *Node) *Node {
	return xla.Store(reduce(x.Shape().Dimensions[0], Add, func(j int) *Node {
		column := Slice(a, AxisRange(), AxisRange(j, j+1))
		return Mul(Reshape(column, a.Shape().Dimensions[0], -1), Slice(x, AxisRange(j, j+1)))
	}))
}

// weighted returns the sum of the rows of a [n, m, B] times x [n, B]: [m, B].
func weighted(a, x *Node) *Node {
	return xla.Store(reduce(x.Shape().Dimensions[0], Add, func(i int) *Node {
		return Mul(Reshape(Slice(a, AxisRange(i, i+1)), a.Shape().Dimensions[1:]...), Slice(x, AxisRange(i, i+1)))
	}))
}

// pushAlong adds forces along what a jacobian [n, nv, B] measures to those on the dofs.
func (s *System) pushAlong(jacobian *Node, force algebra.Num, dofs []algebra.Num) {
	for column, by := range s.unstack(weighted(jacobian, force.Materialize().Matrix())) {
		dofs[column] = dofs[column].Plus(by)
	}
}
