package mujoco

import (
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// solveDense returns the solution x of (H + U' diag(D) U) x = b, where H is the matrix of links' stiffnesses and joints'
// blocks, and of crowded contacts between links.
func (s *System) solveDense(l linear) []algebra.Num {
	g, batch := sizeOf(l.Downhill)
	h := s.matrix(g, batch, l)
	if l.Crowd != nil {
		h = xla.Store(Add(h, l.Crowd))
	}
	if l.Update.U != nil {
		h = xla.Store(Add(h, l.Update.matrix()))
	}
	return s.unstack(solveSymmetric(h, s.stack(g, batch, l.Downhill)))
}

// matrix returns U' diag(D) U.
func (u update) matrix() *Node {
	return reduce(u.D.Shape().Dimensions[0], Add, func(i int) *Node {
		row := Reshape(Slice(u.U, AxisElem(i)), u.U.Shape().Dimensions[1:]...)
		return outer(row, xla.Store(Mul(row, BroadcastToShape(Slice(u.D, AxisElem(i)), row.Shape()))))
	})
}

// outer returns the products of all rows of a and b [n, B]: [n, n, B].
func outer(a, b *Node) *Node {
	n, batch := a.Shape().Dimensions[0], a.Shape().Dimensions[1]
	return Mul(BroadcastToDims(InsertAxes(a, 1), n, n, batch), BroadcastToDims(InsertAxes(b, 0), n, n, batch))
}

// matrix returns the matrix of links' stiffnesses and joints' blocks, [nv, nv, B]. The force on a dof by the motion of
// one below it is that on the stiffness of all that the lower one moves.
func (s *System) matrix(g *Graph, batch int, l linear) *Node {
	nv, links := s.model.Sizes.NV, slices.Clone(l.Springs)
	for i, group := range slices.Backward(s.groups) {
		if links[i] = links[i].materialize(); group.parent >= 0 {
			link := links[i].inward(l.Kinematics.Arm[i])
			links[group.parent] = links[group.parent].plus(link.each(func(x algebra.Num) algebra.Num {
				return s.sumDown(group, x)
			}))
		}
	}
	var forces, axes []spatial
	var bodies, first []int // of each dof its body, of each column of dofs its first dof
	for c, dof := range s.dofs {
		force := links[dof.group].of(l.Kinematics.Axis[c])
		forces = append(forces, force.inward(s.reference(l.Kinematics, dof.group)).materialize())
		axes = append(axes, s.axis(l.Kinematics, c))
		first = append(first, len(bodies))
		bodies = append(bodies, s.groups[dof.group].body...)
	}
	where := func(of func(i, j int) bool) *Node {
		mask := make([][][]float32, nv)
		for i := range mask {
			mask[i] = make([][]float32, nv)
			for j := range mask[i] {
				mask[i][j] = []float32{float32(number(of(i, j)))}
			}
		}
		return BroadcastToDims(Const(g, mask), nv, nv, batch)
	}
	above := func(i, j int) bool { return j <= i && s.model.above(bodies[j], bodies[i]) }
	lower := reduce(6, Add, func(i int) *Node {
		entries := func(of []spatial) *Node {
			var column []algebra.Num
			for _, x := range of {
				column = append(column, component([]algebra.Vector{x.Ang, x.Lin}[i/3], i%3))
			}
			return s.stack(g, batch, column)
		}
		return outer(entries(forces), entries(axes))
	})
	h := xla.Store(Mul(where(above), lower))
	diagonals := map[int][]algebra.Num{} // of blocks, by how many columns they are from the main one
	for _, block := range l.Blocks {
		a, b := block.Dofs[0], block.Dofs[1] // a <= b
		apart := first[a] - first[b]
		if diagonals[apart] == nil {
			diagonals[apart] = s.noForce()
		}
		diagonals[apart][b] = block.By
	}
	for _, apart := range slices.Sorted(maps.Keys(diagonals)) {
		column := BroadcastToDims(InsertAxes(s.stack(g, batch, diagonals[apart]), 1), nv, nv, batch)
		h = xla.Store(Add(h, Mul(where(func(i, j int) bool { return j == i+apart }), column)))
	}
	over := where(func(i, j int) bool { return i < j })
	return xla.Store(Add(h, Mul(over, TransposeAllAxes(h, 1, 0, 2))))
}

// solveSymmetric returns the solution x [n, B] of H x = b, with H [n, n, B] positive definite. It eliminates the last
// rows first, those of the leaves.
func solveSymmetric(h, b *Node) *Node {
	const block = 6 // rows that one loop eliminates, so that the later loops are of a smaller matrix
	n := h.Shape().Dimensions[0]
	if n > block {
		first := (n - 1) / block * block
		return eliminate(h, b, n-first, func(h, x *Node) *Node {
			top := func(x *Node) *Node { return xla.Store(Slice(x, AxisRange(0, first))) }
			above := solveSymmetric(top(Slice(h, AxisRange(), AxisRange(0, first))), top(x))
			return xla.Store(Concatenate([]*Node{above, Slice(x, AxisRange(first))}, 0))
		})
	}
	return eliminate(h, b, n, func(_, x *Node) *Node { return x })
}

// eliminate solves H x = b for the last rows, given what solves it for those above once these are eliminated.
func eliminate(h, b *Node, count int, solveAbove func(h, x *Node) *Node) *Node {
	type state struct{ H, X *Node }
	n := h.Shape().Dimensions[0]
	wide := func(row *Node) *Node { return BroadcastToShape(row, b.Shape()) }
	at := func(k *Node) (before, here *Node) {
		index := Iota(k.Graph(), shapes.Make(dtypes.Int32, b.Shape().Dimensions...), 0)
		return LessThan(index, wide(k)), Equal(index, wide(k))
	}
	half := xla.For(h.Graph(), count, state{h, b}, func(step *Node, s state) state {
		k := Sub(ConstAs(step, int32(n-1)), step)
		before, here := at(k)
		row := xla.Store(xla.Row(s.H, k))
		pivot := xla.Store(Inverse(xla.Rows(row, k, 1)))
		value := xla.Store(Mul(xla.Rows(s.X, k, 1), pivot))
		row = xla.Store(Where(before, row, ZerosLike(row)))
		over := xla.Store(Mul(row, wide(pivot)))
		s.X = xla.Store(Where(here, wide(value), Sub(s.X, Mul(row, wide(value)))))
		s.H = xla.SetRow(xla.Store(Sub(s.H, outer(row, over))), k, over)
		return s
	})
	half.X = solveAbove(half.H, half.X)
	return xla.For(h.Graph(), count, half, func(step *Node, s state) state {
		k := AddScalar(step, n-count)
		_, here := at(k)
		less := algebra.SumRows(Mul(xla.Row(s.H, k), s.X))
		s.X = xla.Store(Where(here, Sub(s.X, wide(less)), s.X))
		return s
	}).X
}
