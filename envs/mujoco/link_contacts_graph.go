package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// found holds the contacts of the parts of a set, one after the other. Of pairs of boxes it holds those that may touch.
type found struct {
	Violation     *Node // by how much they are deeper than their margins, [n, B]
	Point, Normal [3]*Node
	Tangent       [3]*Node       // near which the first tangents are, 0: MuJoCo's default; nil: it is that of all
	Of            *Node          // their rows among all contacts, int32 [n, B]; nil: they are all
	Origin        algebra.Vector // what points are relative to, of all contacts; no rows if there is one tree
}

// found finds the contacts of a set between links, given those of [System.collisions].
func (s *System) found(k kinematics, contacts []contact, set *contactSet) (f found) {
	g, batch := k.size()
	var numbers [10][]algebra.Num
	var origin []algebra.Vector
	var of []*Node
	near := slices.ContainsFunc(set.parts, func(part *contactSet) bool { return part.near > 0 })
	rows, first := []int{0}, []int{0} // where the contacts of each part begin among those found, and among all
	for i, part := range set.parts {
		var c contact
		if part.near > 0 { // found below
			c.Distance, c.Point = algebra.Constant(part.near*part.points, far), zeroVector(part.near*part.points)
			c.Frame[0] = c.Point
		} else {
			c = contacts[slices.Index(s.contacts, part)]
			c.Distance = c.Distance.Minus(part.margin)
		}
		if c.Frame[1].X.Rows == 0 {
			c.Frame[1] = zeroVector(c.Distance.Rows)
		}
		numbers[0] = append(numbers[0], c.Distance)
		for i, v := range []algebra.Vector{c.Point, c.Frame[0], c.Frame[1]} {
			for axis := range 3 {
				numbers[1+3*i+axis] = append(numbers[1+3*i+axis], component(v, axis))
			}
		}
		if near {
			of = append(of, AddScalar(Iota(g, shapes.Make(dtypes.Int32, c.Distance.Rows, batch), 0), first[i]))
		}
		rows, first = append(rows, rows[i]+c.Distance.Rows), append(first, first[i]+part.rows)
		if s.trees() > 1 {
			origin = append(origin, slices.Repeat([]algebra.Vector{s.placed(k, part.mover(), 4)}, part.points)...)
		}
	}
	stack := func(i int) *Node { return computed(g, batch, materializedStack(numbers[i])).Matrix() }
	f.Violation = stack(0)
	axial := slices.ContainsFunc(set.parts, func(part *contactSet) bool { return part.axial })
	for i := range 3 {
		if f.Point[i], f.Normal[i] = stack(1+i), stack(4+i); axial {
			f.Tangent[i] = stack(7 + i)
		}
	}
	if near {
		f.Of = xla.Store(Concatenate(of, 0))
	}
	for i, part := range set.parts {
		if part.near > 0 {
			f = s.findNear(k, part, f, rows[i], first[i])
		}
	}
	if len(origin) > 0 {
		f.Origin = stackVectors(origin)
	}
	return f
}

// findNear finds the contacts of pairs of boxes, of those that may touch the nearest. They follow from a row on. first
// is the row of the first contact of all pairs among those of the set.
func (s *System) findNear(k kinematics, part *contactSet, all found, row, first int) found {
	at, _ := s.relativePlaces(k, part.sides)
	margin := part.margin.Slice(0, len(part.geoms))
	gap := facesApart(boxOf(at[0], part.sizes[0]), boxOf(at[1], part.sizes[1]), at[1].position.Minus(at[0].position)).
		Minus(margin)
	type state struct {
		Gap     *Node         // of all pairs, [n, B]; those that were looked at are far apart
		Numbers []algebra.Num // the places and sizes of all pairs
		Found   found
	}
	g, batch := k.size()
	start := state{Gap: computed(g, batch, gap).Matrix(), Found: all}
	for i := range at {
		start.Numbers = append(append(start.Numbers, at[i].numbers()...), part.sizes[i].X, part.sizes[i].Y, part.sizes[i].Z)
	}
	return xla.Repeat(negative(start.Gap, part.near), start, func(n *Node, at state) state {
		pair := xla.Store(lowestRow(at.Gap))
		index := Iota(pair.Graph(), shapes.Make(dtypes.Int32, at.Gap.Shape().Dimensions...), 0)
		at.Gap = xla.Store(Where(Equal(index, BroadcastToShape(pair, index.Shape())), MulScalar(OnesLike(at.Gap), huge), at.Gap))
		one, next := *part, 0
		one.margin = pick(margin, pair)
		vector := func() algebra.Vector {
			next += 3
			return pickVector(algebra.Vector{X: at.Numbers[next-3], Y: at.Numbers[next-2], Z: at.Numbers[next-1]}, pair)
		}
		var places [2]place
		for i := range places {
			places[i].position, places[i].turn = vector(), algebra.Rotation{X: vector(), Y: vector(), Z: vector()}
			one.sizes[i] = vector()
		}
		touches := part.collide(&one, places[0], places[1])
		here := AddScalar(MulScalar(n, part.points), row)
		write := func(into *Node, of func(t touch) algebra.Num) *Node {
			var list []algebra.Num
			for _, t := range touches {
				list = append(list, of(t))
			}
			return xla.SetRows(into, here, computed(pair.Graph(), batch, materializedStack(list)).Matrix())
		}
		f := &at.Found
		f.Violation = write(f.Violation, func(t touch) algebra.Num { return t.distance.Minus(one.margin) })
		for i := range 3 {
			f.Point[i] = write(f.Point[i], func(t touch) algebra.Num { return component(t.point, i) })
			f.Normal[i] = write(f.Normal[i], func(t touch) algebra.Num { return component(t.normal, i) })
		}
		points := MulScalar(Iota(pair.Graph(), shapes.Make(dtypes.Int32, part.points, batch), 0), len(part.geoms))
		f.Of = xla.SetRows(f.Of, here, xla.Store(Add(AddScalar(points, first), BroadcastToShape(pair, points.Shape()))))
		return at
	}).Found
}

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
func pick(x algebra.Num, rows *Node) algebra.Num {
	count, batch := rows.Shape().Dimensions[0], rows.Shape().Dimensions[1]
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
		rows = xla.Store(Add(MulScalar(rows, batch), IotaLike(rows, 1)))
	}
	return algebra.Num{Rows: count, Node: xla.Store(Gather(flat, xla.Store(Reshape(rows, count*batch, 1))))}
}

// pickVector is [pick] of each component.
func pickVector(v algebra.Vector, rows *Node) algebra.Vector {
	return v.Each(func(x algebra.Num) algebra.Num { return pick(x, rows) })
}

// pickRows is [pick] of rows.
func pickRows(of, rows *Node) *Node {
	x := algebra.Num{Rows: of.Shape().Dimensions[0], Node: Reshape(of, -1)}
	return pick(x, rows).Matrix()
}

// bitsPerWord is the number of dofs in a number of a mask: float32 holds it exactly.
const bitsPerWord = 24

// masks says which dofs move a link, and which move the one to which it is compared, as bits of numbers. The
// links are indices into [System.allLinks], or -1.
func (s *System) masks(links, others []int) (words []algebra.Num) {
	all := s.allLinks()
	for _, list := range [][]int{links, others} {
		for from := 0; from < s.model.Sizes.NV; from += bitsPerWord {
			words = append(words, algebra.ColumnOf(list, func(link int) float64 {
				bits, at := 0, 0
				for _, dof := range s.dofs {
					for row := range dof.index {
						body := s.groups[dof.group].body[row]
						if link >= 0 && at >= from && at < from+bitsPerWord && s.model.above(body, all[link]) {
							bits |= 1 << (at - from)
						}
						at++
					}
				}
				return float64(bits)
			}))
		}
	}
	return words
}

// above reports whether a body is another or above it.
func (m *Model) above(body, other int) bool {
	for other != body && other != 0 {
		other = m.BodyParentID[other]
	}
	return other == body
}

// motionsOfDofs returns the motions by the dofs about the origins of their trees, their axes of rotation, and these
// origins, [nv, B] for each axis.
func (s *System) motionsOfDofs(k kinematics) (all [][3]*Node) {
	g, batch := k.size()
	add := func(f func(column int) algebra.Vector) {
		var of [3]*Node
		for i := range of {
			var list []algebra.Num
			for column := range s.dofs {
				list = append(list, component(f(column), i))
			}
			of[i] = s.stack(g, batch, list)
		}
		all = append(all, of)
	}
	add(func(column int) algebra.Vector { return s.axis(k, column).Lin })
	add(func(column int) algebra.Vector { return k.Axis[column].Ang })
	if s.trees() > 1 {
		add(func(column int) algebra.Vector { return k.Origin[s.dofs[column].group] })
	}
	return all
}

// movedBy returns the changes, by each dof, of the motion of a point along up to three axes, and about three more, [axes,
// nv, B]: of the links of masks less the others. The point is relative to an origin, if there are several trees.
func (s *System) movedBy(dofs [][3]*Node, masks []algebra.Num, point, origin algebra.Vector, axes []algebra.Vector) *Node {
	shape := dofs[0][0].Shape().Dimensions
	g, nv, batch := dofs[0][0].Graph(), shape[0], shape[1]
	wide := func(v algebra.Vector) (out [3]*Node) {
		for i := range out {
			out[i] = BroadcastToDims(Reshape(component(v, i).Spread(g, batch), 1, batch), nv, batch)
		}
		return out
	}
	from, sign := wide(point), s.moves(g, batch, masks)
	if origin.X.Rows > 0 {
		for i, start := range wide(origin) {
			from[i] = xla.Store(Add(from[i], Sub(start, dofs[2][i])))
		}
	}
	var motion, turn [3]*Node
	for i := range motion {
		j, l := (i+1)%3, (i+2)%3
		lever := Sub(Mul(dofs[1][j], from[l]), Mul(dofs[1][l], from[j]))
		motion[i], turn[i] = xla.Store(Mul(sign, Add(dofs[0][i], lever))), xla.Store(Mul(sign, dofs[1][i]))
	}
	var rows []*Node
	for i, axis := range axes {
		x, d := motion, wide(axis)
		if i >= 3 {
			x = turn
		}
		rows = append(rows, Add(Mul(d[0], x[0]), Add(Mul(d[1], x[1]), Mul(d[2], x[2]))))
	}
	return xla.Store(Stack(rows, 0))
}

// moves returns 1 where a dof moves the second geom of a contact, -1 where it moves the first one, and 0 where it
// moves neither or both, [nv, B], given the masks of the contact.
func (s *System) moves(g *Graph, batch int, masks []algebra.Num) *Node {
	nv := s.model.Sizes.NV
	bits := func(words []algebra.Num) *Node {
		var parts []*Node
		for i, word := range words {
			shape := shapes.Make(dtypes.Int32, min(bitsPerWord, nv-i*bitsPerWord), batch)
			wide := BroadcastToShape(ConvertDType(Reshape(word.Spread(g, batch), 1, batch), dtypes.Int32), shape)
			parts = append(parts, BitwiseAnd(BitwiseShiftRightLogical(wide, Iota(g, shape, 0)), Ones(g, shape)))
		}
		return ConvertDType(Concatenate(parts, 0), dtypes.Float32)
	}
	half := len(masks) / 2
	return xla.Store(Sub(bits(masks[:half]), bits(masks[half:])))
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
