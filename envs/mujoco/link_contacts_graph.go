package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds the contacts between links, and says how the dofs move them. The solver visits those that touch, see
// visits_graph.go.

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

// findNear finds the contacts of pairs of boxes or of shapes that are searched, of those that may touch the nearest. They
// follow from a row on. first is the row of the first contact of all pairs among those of the set.
func (s *System) findNear(k kinematics, part *contactSet, all found, row, first int) found {
	at, _ := s.relativePlaces(k, part.sides)
	margin := part.margin.Slice(0, len(part.geoms))
	sizes, bounds := part.sizes, part.sizes
	if part.convex() {
		bounds = part.bounds
	}
	var prism []algebra.Num
	if part.searchesPrisms() {
		at[0], sizes[0], prism = part.prismBoxes(at[0], at[1])
		bounds[0] = sizes[0]
	}
	if part.onTerrain > 0 {
		at, sizes = s.onBlocks(k, part, at)
		bounds[part.floor] = sizes[part.floor]
	}
	gap := facesApart(boxOf(at[0], bounds[0]), boxOf(at[1], bounds[1]), at[1].position.Minus(at[0].position)).Minus(margin)
	g, batch := k.size()
	type searching struct {
		Queue   queue
		Numbers []algebra.Num // the places and sizes of all pairs
		Results *Node         // see [contactSet.write]
	}
	start := searching{Queue: xla.Outline(computed(g, batch, gap).Matrix(), func(gap *Node) queue {
		return queueOf(gap, part.near)
	})}
	for i := range at {
		start.Numbers = append(append(start.Numbers, at[i].numbers()...), sizes[i].X, sizes[i].Y, sizes[i].Z)
	}
	start.Numbers = append(start.Numbers, prism...)
	type looking struct {
		Numbers []algebra.Num
		Pairs   cells
	}
	look := func(at looking) (one contactSet, places [2]place) {
		one, next := *part, 0
		pick := func(x algebra.Num) algebra.Num { return pickAt(x, at.Pairs) }
		one.margin = pick(margin)
		vector := func() algebra.Vector {
			next += 3
			return algebra.Vector{X: at.Numbers[next-3], Y: at.Numbers[next-2], Z: at.Numbers[next-1]}.Each(pick)
		}
		for i := range places {
			places[i].position, places[i].turn = vector(), algebra.Rotation{X: vector(), Y: vector(), Z: vector()}
			one.sizes[i] = vector()
			if part.convex() {
				shape := &one.shapes[i]
				for _, x := range []*algebra.Num{&shape.kind, &shape.radius, &shape.hull, &shape.polytope} {
					*x = pick(*x)
				}
			}
		}
		for _, x := range at.Numbers[next:] {
			one.prism = append(one.prism, pick(x))
		}
		return one, places
	}
	touches := func(at looking) []touch {
		one, places := look(at)
		return part.collide(&one, places[0], places[1])
	}
	repeat := xla.Repeat[searching]
	if part.polytopes != nil && s.parted { // the search and what follows it are compiled apart, see [xla.Outline]
		repeat = xla.RepeatUnfused[searching]
		touches = func(at looking) []touch {
			return xla.Outline(xla.Outline(at, func(at looking) overlap {
				one, places := look(at)
				return one.search(places[0], places[1])
			}), part.spread).list()
		}
	}
	type taking struct {
		Queue queue
		Turn  *Node
	}
	width, turns, most := start.Queue.turns()
	start.Results = Zeros(g, shapes.Make(dtypes.Float32, most, resultNumbers*part.points, width))
	end := repeat(turns, start, func(turn *Node, at searching) searching {
		pairs := xla.Outline(taking{at.Queue, turn}, func(from taking) cells { return from.Queue.next(from.Turn, width) })
		margin, touches := pickAt(margin, pairs), touches(looking{at.Numbers, pairs})
		var numbers [resultNumbers][]algebra.Num
		for _, t := range touches {
			for i, x := range []algebra.Num{t.distance.Minus(margin), t.point.X, t.point.Y, t.point.Z, t.normal.X, t.normal.Y,
				t.normal.Z} {
				numbers[i] = append(numbers[i], x)
			}
		}
		all := computed(turn.Graph(), width, materializedStack(slices.Concat(numbers[:]...)))
		at.Results = xla.SetRow(at.Results, turn, all.Matrix())
		return at
	})
	return part.write(all, start.Queue, end.Results, row, first)
}

// resultNumbers is how many numbers [System.findNear] finds of a contact: the violation, the point and the normal.
const resultNumbers = 7

// write writes the results of a queue's pairs, [turns, numbers * points, pairs of a turn], to the contacts of their
// copies, as [System.findNear] says.
func (c *contactSet) write(to found, q queue, results *Node, row, first int) found {
	type writing struct {
		Queue   queue
		Results *Node
		Found   found
	}
	width, height := results.Shape().Dimensions[2], results.Shape().Dimensions[1]
	count := xla.Turns(ReduceAllMax(q.Count), c.near)
	return xla.Repeat(count, writing{q, results, to}, func(n *Node, at writing) writing {
		pair, number, exists := at.Queue.of(n)
		batch, turn := pair.Shape().Dimensions[1], DivScalar(number, width)
		begin := Add(MulScalar(turn, height*width), Sub(number, MulScalar(turn, width)))
		index := Add(BroadcastToDims(begin, height, batch),
			MulScalar(Iota(n.Graph(), shapes.Make(dtypes.Int32, height, batch), 0), width))
		numbers := xla.Store(Gather(Reshape(at.Results, -1), xla.Store(InsertAxes(index, -1))))
		of := func(i int) *Node { return Slice(numbers, AxisRange(i*c.points, (i+1)*c.points)) }
		here := AddScalar(MulScalar(n, c.points), row)
		write := func(into, of *Node) *Node { return xla.SetRows(into, here, of) }
		f, violation := &at.Found, of(0)
		f.Violation = write(f.Violation, Where(BroadcastToShape(exists, violation.Shape()), violation,
			MulScalar(OnesLike(violation), far)))
		for i := range 3 {
			f.Point[i], f.Normal[i] = write(f.Point[i], of(1+i)), write(f.Normal[i], of(4+i))
		}
		points := MulScalar(Iota(n.Graph(), shapes.Make(dtypes.Int32, c.points, batch), 0), len(c.geoms))
		f.Of = write(f.Of, xla.Store(Add(AddScalar(points, first), BroadcastToShape(pair, points.Shape()))))
		return at
	}).Found
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
