package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// deepest finds the contacts of a set that is selected from others: of each copy those that are deepest within
// their margins. Of the parameters of all contacts it returns those of the deepest, so that all that follows sees
// set.rows contacts.
func (s *System) deepest(k kinematics, contacts []contact, set *contactSet, p parameters) (
	c contact, _ parameters, violation algebra.Num, d impedance,
) {
	var distance []algebra.Num
	var point, normal, tangent, origin []algebra.Vector
	between := set.acts != nil
	for _, part := range set.parts {
		found := contacts[slices.Index(s.contacts, part)]
		distance, point = append(distance, found.Distance), append(point, found.Point)
		normal = append(normal, found.Frame[0])
		if !between {
			tangent = append(tangent, found.Frame[1])
		} else if s.trees() > 1 {
			moving := part.sides[1]
			if moving.group == static {
				moving = part.sides[0]
			}
			at := s.placed(k, moving, 4)
			for range part.points {
				origin = append(origin, at)
			}
		}
	}
	g, batch := k.size()
	c.Distance, c.Point = computed(g, batch, materializedStack(distance)), stackVectors(point)
	along := stackVectors(normal)
	var from, aside algebra.Vector
	if len(origin) > 0 {
		from = stackVectors(origin)
	}
	if !between {
		aside = stackVectors(tangent)
	}
	margin, of := p.margin, s.rowsOf(k, contacts, set)
	if of != nil {
		margin = pick(margin, of)
	}
	violation = c.Distance.Minus(margin).Materialize()
	mask := set.acts
	if set.rows < violation.Rows {
		rows := lowestOf(violation, set.rows, set.links)
		for _, x := range []*algebra.Num{&violation, &c.Point.X, &c.Point.Y, &c.Point.Z, &along.X, &along.Y, &along.Z,
			&aside.X, &aside.Y, &aside.Z} {
			if x.Rows > 0 {
				*x = pick(*x, rows)
			}
		}
		if c.Rows = rows; of != nil {
			c.Rows = pickRows(of, rows)
		}
		for _, x := range append(p.numbers(), &from.X, &from.Y, &from.Z) {
			if x.Rows > 0 {
				*x = pick(*x, c.Rows)
			}
		}
		mask = nil
		for _, x := range set.acts {
			mask = append(mask, pick(x, c.Rows))
		}
	}
	d = p.law.impedance(violation)
	c.Friction = p.friction
	if !between {
		c.Frame = [3]algebra.Vector{along, aside, along.Cross(aside).Materialize()}
		c.Point = c.Point.Minus(s.referenceOf(k, set.mover(), set.points))
		return c, p, violation, d
	}
	one, other := touch{normal: along}.frame()
	c.Frame = [3]algebra.Vector{along, one, other}
	linear := s.jacobian(k, c.Point, c.Frame, false, mask, from)
	copy(c.Jacobian[:], linear[:])
	if set.dim > 3 {
		turning := s.jacobian(k, c.Point, c.Frame, true, mask, from)
		copy(c.Jacobian[3:set.dim], turning[:])
	}
	return c, p, violation, d
}

// lowestOf is [lowest] of a number of rows, and of those of each of some links if there are any, whose rows follow one
// another.
func lowestOf(x algebra.Num, count, links int) *Node {
	if links == 0 {
		return lowest(x.Matrix(), count)
	}
	count, batch := count/links, x.Node.Shape().Size()/x.Rows
	rows := lowest(Reshape(x.Node, x.Rows/links, links*batch), count)
	rows = MulScalar(Reshape(rows, count, links, batch), links)
	return xla.Store(Reshape(Add(rows, IotaLike(rows, 1)), count*links, batch))
}

// nearest finds the contacts of a set: of all pairs, or of the set.near pairs of each copy that are nearest, from
// which the deepest contacts are selected.
func (s *System) nearest(k kinematics, set *contactSet) contact {
	if set.near == 0 {
		return s.collide(k, set)
	}
	at, _ := s.relativePlaces(k, set.sides)
	apart := facesApart(boxOf(at[0], set.sizes[0]), boxOf(at[1], set.sizes[1]), at[1].position.Minus(at[0].position))
	g, batch := k.size()
	pairs := lowestOf(computed(g, batch, apart.Minus(set.margin.Slice(0, len(set.geoms)))), set.near*max(1, set.links),
		set.links)
	few := *set
	few.margin = pick(set.margin, pairs)
	for i := range at {
		at[i].position, few.sizes[i] = pickVector(at[i].position, pairs), pickVector(set.sizes[i], pairs)
		turn := at[i].turn
		at[i].turn = algebra.Rotation{X: pickVector(turn.X, pairs), Y: pickVector(turn.Y, pairs),
			Z: pickVector(turn.Z, pairs)}
	}
	found := contactOf(set.collide(&few, at[0], at[1]))
	var rows []*Node
	for point := range set.points {
		rows = append(rows, AddScalar(pairs, point*len(set.geoms)))
	}
	found.Rows = Concatenate(rows, 0)
	return found
}

// rowsOf returns the rows of contacts that were found of the parts of a set among all of them, int32 [n, B]; nil if
// all were.
func (s *System) rowsOf(k kinematics, contacts []contact, set *contactSet) *Node {
	g, batch := k.size()
	var rows []*Node
	start, some := 0, false
	for _, part := range set.parts {
		found := contacts[slices.Index(s.contacts, part)]
		of := found.Rows
		if some = some || of != nil; of == nil {
			of = Iota(g, shapes.Make(dtypes.Int32, found.Distance.Rows, batch), 0)
		}
		rows = append(rows, AddScalar(of, start))
		start += part.rows
	}
	if !some {
		return nil
	}
	return xla.Store(Concatenate(rows, 0))
}

// lowest returns the rows of the lowest numbers of each column of x [n, B], as int32 [count, B], count < n. Where fewer
// are below 0, that of the highest follows instead.
func lowest(x *Node, count int) *Node {
	type state struct{ Left, Rows *Node }
	batch := x.Shape().Dimensions[1]
	below := ReduceAllMax(algebra.SumRows(ConvertDType(LessThan(x, ZerosLike(x)), dtypes.Int32)))
	turns := xla.Turns(Min(below, ConstAs(below, int32(count))), count)
	start := state{x, BroadcastToDims(lowestRow(Neg(x)), count, batch)}
	return xla.Repeat(turns, start, func(k *Node, s state) state {
		first, index := lowestRow(s.Left), Iota(s.Left.Graph(), shapes.Make(dtypes.Int32, x.Shape().Dimensions...), 0)
		s.Left = Where(Equal(index, BroadcastToShape(first, index.Shape())), MulScalar(OnesLike(s.Left), huge), s.Left)
		s.Rows = xla.SetRow(s.Rows, k, Reshape(first, batch))
		return s
	}).Rows
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

// jacobian returns the changes, by each dof, of the motions of points along the axes of a frame, or of rotations
// about them, [n, nv, B] each: of the links of masks less the others.
func (s *System) jacobian(k kinematics, at algebra.Vector, frame [3]algebra.Vector, turns bool, masks []algebra.Num,
	from algebra.Vector) (out [3]*Node) {
	count := at.X.Rows
	g, batch := k.size()
	dims := []int{count, s.model.Sizes.NV, batch}
	of := func(v algebra.Vector) (wide [3]*Node) { // of a contact, for each dof
		for i := range wide {
			wide[i] = BroadcastToDims(Reshape(component(v, i).Spread(g, batch), count, 1, batch), dims...)
		}
		return wide
	}
	by := func(f func(column int) algebra.Vector) (wide [3]*Node) { // of a dof, for each contact
		for i := range wide {
			var list []algebra.Num
			for column := range s.dofs {
				list = append(list, component(f(column), i))
			}
			wide[i] = BroadcastToDims(InsertAxes(s.stack(g, batch, list), 0), dims...)
		}
		return wide
	}
	each := func(f func(i int) *Node) (out [3]*Node) {
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	point := of(at)
	if from.X.Rows > 0 {
		start, origin := of(from), by(func(column int) algebra.Vector { return k.Origin[s.dofs[column].group] })
		point = each(func(i int) *Node { return xla.Store(Add(point[i], Sub(start[i], origin[i]))) })
	}
	linear := by(func(column int) algebra.Vector { return s.axis(k, column).Lin })
	angular := by(func(column int) algebra.Vector { return k.Axis[column].Ang })
	sign := s.moves(g, masks, dims)
	motion := each(func(i int) *Node {
		if turns {
			return xla.Store(Mul(sign, angular[i]))
		}
		j, l := (i+1)%3, (i+2)%3
		return xla.Store(Mul(sign, Add(linear[i], Sub(Mul(angular[j], point[l]), Mul(angular[l], point[j])))))
	})
	for axis, direction := range frame {
		d := of(direction)
		out[axis] = xla.Store(Add(Mul(d[0], motion[0]), Add(Mul(d[1], motion[1]), Mul(d[2], motion[2]))))
	}
	return out
}

// moves returns 1 where a dof moves the second geom of a contact, -1 where it moves the first one, and 0 where it
// moves neither or both, given the masks of the contacts.
func (s *System) moves(g *Graph, masks []algebra.Num, dims []int) *Node {
	rows, nv, batch := dims[0], dims[1], dims[2]
	bits := func(words []algebra.Num) *Node {
		var parts []*Node
		for i, word := range words {
			n := min(bitsPerWord, nv-i*bitsPerWord)
			shape := shapes.Make(dtypes.Int32, rows, n, batch)
			wide := BroadcastToShape(ConvertDType(Reshape(word.Spread(g, batch), rows, 1, batch), dtypes.Int32), shape)
			parts = append(parts, BitwiseAnd(BitwiseShiftRightLogical(wide, Iota(g, shape, 1)), Ones(g, shape)))
		}
		return ConvertDType(Concatenate(parts, 1), dtypes.Float32)
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

// coupling returns the updates by equalities, and by contacts between links with slopes between.
func (s *System) coupling(g *Graph, batch int, c constraints, r response, between map[int]contactSlope) (u update) {
	var rows, slopes []*Node
	next := 0
	for _, r := range s.rows {
		next += r.weight.Rows
	}
	if n := s.equalities(); n > 0 {
		rows, slopes = append(rows, c.Equal...), append(slopes, r.slope.Slice(next, n).Matrix())
	}
	for i, set := range s.acting {
		if set.acts == nil {
			continue
		}
		k, jacobian := between[i], c.Contacts[i].Jacobian
		wide := func(x algebra.Num) *Node { return Reshape(x.Spread(g, batch), set.rows, 1, batch) }
		if set.dim == 1 {
			rows, slopes = append(rows, jacobian[0]), append(slopes, Reshape(wide(k[[2]int{}]), set.rows, batch))
			continue
		}
		lower, diagonal := k.factorized(set.dim)
		var along, size []*Node
		for i := range set.dim {
			row := jacobian[set.dim-1]
			for j := set.dim - 1; j > i; j-- {
				if share := Mul(wide(lower[[2]int{i, j}]), jacobian[j]); j == set.dim-1 {
					row = share
				} else {
					row = Add(share, row)
				}
			}
			if i < set.dim-1 {
				row = Add(jacobian[i], row)
			}
			along, size = append(along, row), append(size, wide(diagonal[i]))
		}
		nv := s.model.Sizes.NV
		rows = append(rows, Reshape(Stack(along, 1), set.dim*set.rows, nv, batch))
		slopes = append(slopes, Reshape(Concatenate(size, 1), set.dim*set.rows, batch))
	}
	u.U, u.D = xla.Store(Concatenate(rows, 0)), xla.Store(Concatenate(slopes, 0))
	return u
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
