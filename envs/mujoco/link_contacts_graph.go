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
