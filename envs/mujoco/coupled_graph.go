package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file solves the Newton system of constraints that couple links: the factor of links alone with rank-one updates.

// update holds the rank-one updates of a factorized matrix by constraints that couple links: it adds
// U' diag(D) U. Rows that may act come first.
type update struct{ U, D *Node } // [n, nv, B] and [n, B]

// coupling returns the updates by equalities.
func (s *System) coupling(c constraints, r response) (rows, slopes []*Node) {
	next := 0
	for _, r := range s.rows {
		next += r.weight.Rows
	}
	if n := s.equalities(); n > 0 {
		rows, slopes = c.Equal, []*Node{r.slope.Slice(next, n).Matrix()}
	}
	return rows, slopes
}

// updates returns the update by a contact: its rows [dim, nv, B] and their factors [dim, B].
func (k contactSlope) updates(by *Node) update {
	shape := by.Shape().Dimensions
	dim, nv, batch := shape[0], shape[1], shape[2]
	lower, diagonal := k.factorized(dim)
	var u, d []*Node
	for i := range dim {
		row := Reshape(Slice(by, AxisElem(i)), nv, batch)
		for j := i + 1; j < dim; j++ {
			share := BroadcastToDims(Reshape(lower[[2]int{i, j}].Spread(by.Graph(), batch), 1, batch), nv, batch)
			row = Add(row, Mul(share, Reshape(Slice(by, AxisElem(j)), nv, batch)))
		}
		u, d = append(u, row), append(d, Reshape(diagonal[i].Spread(by.Graph(), batch), batch))
	}
	return update{xla.Store(Stack(u, 0)), xla.Store(Stack(d, 0))}
}

// factorized returns L and D of slopes L diag(D) L' of contacts of a dimension: the entries (i, j), i < j, are of row j
// of L.
func (k contactSlope) factorized(dim int) (lower contactSlope, diagonal []algebra.Num) {
	const rounding = 1e-6
	lower = contactSlope{}
	n := k[[2]int{}].Rows
	zero := algebra.Constant(n, 0)
	for i := range dim {
		least := zero
		for j := i; j < dim; j++ {
			entry := k[[2]int{i, j}]
			for m := range i {
				by := lower[[2]int{m, i}]
				if m == 0 {
					by = by.Times(k[[2]int{0, j}])
				} else {
					by = by.Times(lower[[2]int{m, j}]).Times(diagonal[m])
				}
				entry = entry.Minus(by)
			}
			if j > i {
				if i > 0 {
					entry = entry.Materialize()
				}
				over := entry.Over(diagonal[i].Max(algebra.Constant(n, 1e-30)))
				lower[[2]int{i, j}] = least.Less(diagonal[i]).Choose(over, diagonal[i].Zero()).Materialize()
				continue
			}
			if i > 0 {
				entry, least = entry.Max(zero).Materialize(), k[[2]int{i, i}].Scale(rounding)
			}
			diagonal = append(diagonal, entry)
		}
	}
	return lower, diagonal
}

// together is the number of rows of an update that are solved at once. With the right side they are the
// lanes of tensors [nv, lanes, B].
const (
	together = 3
	lanes    = 1 + together
)

// coupled is the state of [System.solveCoupled]. The inverse of the updated matrix is that of the factor less
// Z' diag(C) Z.
type coupled struct {
	U, D     *Node // [n/3, nv, 3, B] and [n/3, 3, B]
	Z, C     *Node // likewise
	Right, X *Node // [nv, 1, B]
	// The axes and the factor, with a copy for each lane, flat and one after the other: a loop that carries one
	// tensor compiles faster than one of many.
	Factor *Node
}

// factored is what [System.solve] reads.
type factored struct {
	Axes   []spatial
	Arms   []algebra.Vector
	Factor factor
}

// padded returns the rows in blocks that are solved at once, and [together] more than the last row that acts in a copy.
func (u update) padded() (update, *Node) {
	if missing := (together - u.D.Shape().Dimensions[0]%together) % together; missing > 0 {
		none := func(x *Node) *Node {
			return Zeros(x.Graph(), shapes.Make(x.DType(), append([]int{missing}, x.Shape().Dimensions[1:]...)...))
		}
		u.U, u.D = Concatenate([]*Node{u.U, none(u.U)}, 0), Concatenate([]*Node{u.D, none(u.D)}, 0)
	}
	number := Iota(u.D.Graph(), shapes.Make(dtypes.Int32, u.D.Shape().Dimensions...), 0)
	return u, ReduceAllMax(Where(GreaterThan(u.D, ZerosLike(u.D)), AddScalar(number, together), ZerosLike(number)))
}

// solveCoupled returns the solution x of the updated matrix times x = b. It updates the inverse row by row
// (Sherman and Morrison), up to the last row that acts in a copy.
func (s *System) solveCoupled(k kinematics, f factor, u update, b []algebra.Num) []algebra.Num {
	g, batch := sizeOf(b)
	nv := s.model.Sizes.NV
	u, last := u.padded()
	c := coupled{U: xla.Store(Transpose(Reshape(u.U, -1, together, nv, batch), 1, 2)),
		D: Reshape(u.D, -1, together, batch), Right: Reshape(s.stack(g, batch, b), nv, 1, batch)}
	c.Z, c.C, c.X = ZerosLike(c.U), ZerosLike(c.D), ZerosLike(c.Right)
	own := factored{k.Axis, k.Arm, f}
	if parts := xla.Flatten(own); len(parts) > 0 { // else all is known, as of masses on slide joints
		all := Reshape(xla.Join(parts), -1, 1, batch)
		n := all.Shape().Dimensions[0]
		// Stored before it is flat, and as it is, for the same reason as in unstack.
		c.Factor = xla.Store(Reshape(xla.Store(BroadcastToDims(all, n, lanes, batch)), n*lanes*batch))
	}
	// At least once, for the right side.
	blocks := Max(Div(last, ConstAs(last, int32(together))), ConstAs(last, int32(1)))
	x := xla.Repeat(blocks, c, func(i *Node, c coupled) coupled {
		next := 0
		return s.solveBlock(i, c, xla.Map(own, func(x *Node) *Node {
			next += lanes * x.Shape().Size()
			return Slice(c.Factor, AxisRange(next-lanes*x.Shape().Size(), next))
		}))
	}).X
	return s.unstack(xla.Store(Reshape(x, nv, batch)))
}

// solveBlock updates the inverse by the next rows, and the solution.
func (s *System) solveBlock(i *Node, c coupled, f factored) coupled {
	g, nv, batch := i.Graph(), c.Right.Shape().Dimensions[0], c.Right.Shape().Dimensions[2]
	own := xla.Store(Concatenate([]*Node{c.Right, xla.Store(xla.Row(c.U, i))}, 1))
	solved := s.solve(kinematics{Axis: f.Axes, Arm: f.Arms}, f.Factor, s.unstack(Reshape(own, nv, lanes*batch)))
	z := Reshape(s.stack(g, lanes*batch, solved), nv, lanes, batch)
	lane := func(x *Node, j int) *Node { return Slice(x, AxisRange(), AxisElem(j)) }
	first := BroadcastToShape(Equal(i, Const(g, int32(0))), c.X.Shape())
	z = xla.Store(Concatenate([]*Node{Where(first, lane(z, 0), c.X), Slice(z, AxisRange(), AxisRange(1))}, 1))

	type previous struct{ Z, C, Own, Next *Node }
	z = xla.Repeat(i, previous{c.Z, c.C, own, z}, func(k *Node, p previous) previous {
		zs, cs := xla.Row(p.Z, k), xla.Row(p.C, k)
		for j := range together {
			by := lane(zs, j)
			p.Next = without(p.Next, by, Mul(along(by, p.Own), Reshape(Slice(cs, AxisElem(j)), 1, 1, batch)), 0)
		}
		return p
	}).Next
	var all []*Node
	d := Reshape(xla.Row(c.D, i), 1, together, batch)
	for j := range together {
		by := xla.Store(lane(z, 1+j))
		shares := along(by, own)
		weight := Div(lane(d, j), AddScalar(Mul(lane(d, j), lane(shares, 1+j)), 1))
		all = append(all, weight)
		// The right side, and the rows to come.
		done := make([]int, j+1)
		for l := range done {
			done[l] = 1 + l
		}
		z = without(z, by, Mul(shares, weight), done...)
	}
	c.X = lane(z, 0)
	c.Z = xla.SetRow(c.Z, i, Slice(z, AxisRange(), AxisRange(1)))
	c.C = xla.SetRow(c.C, i, Reshape(Concatenate(all, 1), together, batch))
	return c
}

// along returns the products of a vector [nv, 1, B] with the lanes of x, [1, lanes, B].
func along(by, x *Node) *Node {
	return xla.Store(algebra.SumRows(Mul(BroadcastToShape(by, x.Shape()), x)))
}

// without subtracts shares [1, lanes, B] of a vector [nv, 1, B] from the lanes of x but some.
func without(x, by, shares *Node, but ...int) *Node {
	mask := make([][]float32, lanes)
	for i := range mask {
		mask[i] = []float32{1 - float32(number(slices.Contains(but, i)))}
	}
	shares = Mul(shares, BroadcastToShape(Const(x.Graph(), [][][]float32{mask}), shares.Shape()))
	return xla.Store(Sub(x, Mul(BroadcastToShape(by, x.Shape()), BroadcastToShape(shares, x.Shape()))))
}
