package mujoco

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds several contacts of boxes and meshes that touch with faces, or with an edge and a face, as multicontact
// of MuJoCo's engine_collision_gjk.c does. In MuJoCo 4.0, faces that are nearest to opposite are meant, rather than the
// first that are near, and a contact is a corner, moved onto the other face along the normal of that face. There, the ends
// of a cylinder are faces of 16 corners, and the line on the side of a cylinder or capsule that is farthest is an edge.
//
// Vectors are nodes [3, ..., n], of which the last axis has the pairs of all copies. Where there is an axis of 2 before the
// last two, it has both shapes of a pair.

// faceContacts is the largest number of such contacts of a pair.
const faceContacts = 4

const (
	alignedFaces = -0.996 // the largest cosine between the normals of faces that touch
	alignedEdge  = 0.0888 // the sine of the largest angle between an edge and a face that touch
	touchedSide  = 2e-3   // the least cosine between the direction and the normal of a face that a side touches
	touchedEnd   = 1e-3   // the least cosine between the direction and the axis of a cylinder whose end touches
	isNormal     = 1e-7   // a direction is the normal of a face if their cosine differs from 1 by less
	isNearNormal = 1e-4   // by less than this, if three corners of one shape were found to touch one of the other
)

// polytopes are tables of the boxes and meshes of some pairs. Numbers of vertices and of faces are rows of all of them.
type polytopes struct {
	degree, corners     int          // the largest numbers of faces at a vertex, and of corners of a face
	round               bool         // whether there are cylinders or capsules
	loose               bool         // whether there are vertices in no face
	vertex, normal      [3][]float64 // of each vertex and face
	face, before, after []int32      // at each vertex: its faces, -1 after the last, and the corners next to it in them
	corner              []int32      // of each face, of which the last one is repeated
	count               []int32      // of the corners of each face
	vertices            []int        // the first vertex of each polytope
}

// unitBox is the box from -1 to 1, with its faces in MuJoCo's order.
var unitBox = func() (h Hull) {
	for i := range 8 {
		h.Vertices = append(h.Vertices, [3]float64{float64(i&1*2 - 1), float64(i>>1&1*2 - 1), float64(i>>2&1*2 - 1)})
	}
	h.Faces = [][]int{{7, 3, 1, 5}, {2, 6, 4, 0}, {2, 3, 7, 6}, {4, 5, 1, 0}, {6, 7, 5, 4}, {3, 2, 0, 1}}
	h.Normals = [][3]float64{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}}
	return h
}()

// unitCylinder is the cylinder of radius 1 from -1 to 1, unitCapsule the axis of such a capsule. What is above comes first.
var (
	unitCylinder = func() (h Hull) {
		const n = 16
		h.Faces, h.Normals = make([][]int, 2), [][3]float64{{0, 0, 1}, {0, 0, -1}}
		for face, normal := range h.Normals {
			for i := range n {
				sin, cos := math.Sincos(-normal[2] * 2 * math.Pi / n * float64(i)) // clockwise, seen from outside
				h.Faces[face] = append(h.Faces[face], len(h.Vertices))
				h.Vertices = append(h.Vertices, [3]float64{cos, sin, normal[2]})
			}
		}
		return h
	}()
	unitCapsule = Hull{Vertices: [][3]float64{{0, 0, 1}, {0, 0, -1}}}
)

// polytope returns the faces of a mesh, or those of another shape of size 1; nil for shapes without faces and edges.
func (m *Model) polytope(geom int) *Hull {
	switch m.GeomType[geom] {
	case Box, Plane: // a plane is boxes, on a terrain
		return &unitBox
	case Cylinder:
		return &unitCylinder
	case Capsule:
		return &unitCapsule
	}
	return m.hull(geom)
}

// spreads reports whether MuJoCo finds several contacts of a pair whose faces touch.
func (s *System) spreads(p geomPair) bool {
	m := s.model
	return m.Opt.DisableFlags&DisableMultiCCD == 0 && m.polytope(p.geom[0]) != nil && m.polytope(p.geom[1]) != nil
}

// searchesFaces reports whether some do.
func (s *System) searchesFaces() bool {
	return slices.ContainsFunc(s.contacts, func(c *contactSet) bool { return c.polytopes != nil })
}

// prepareFaces prepares a set of pairs of which some spread.
func (s *System) prepareFaces(set *contactSet, list []geomPair) {
	var hulls []*Hull
	for _, p := range list {
		for _, geom := range p.geom {
			if h := s.model.polytope(geom); s.spreads(p) && !slices.Contains(hulls, h) {
				hulls = append(hulls, h)
			}
		}
	}
	set.polytopes = polytopesOf(hulls)
	for i := range set.shapes {
		set.shapes[i].polytope = algebra.ColumnOf(list, func(p geomPair) float64 {
			if !s.spreads(p) {
				return -1
			}
			return float64(set.polytopes.vertices[slices.Index(hulls, s.model.polytope(p.geom[i]))])
		})
	}
}

func polytopesOf(hulls []*Hull) *polytopes {
	p := &polytopes{}
	at := map[*Hull][]int{} // how many faces have a vertex
	for _, h := range hulls {
		at[h] = make([]int, len(h.Vertices))
		for _, face := range h.Faces {
			p.corners = max(p.corners, len(face))
			for _, v := range face {
				at[h][v]++
				p.degree = max(p.degree, at[h][v])
			}
		}
		p.degree, p.corners = max(p.degree, 1), max(p.corners, 1)
	}
	for _, h := range hulls {
		vertices, faces := len(p.vertex[0]), len(p.normal[0])
		p.vertices = append(p.vertices, vertices)
		for axis := range 3 {
			for _, v := range h.Vertices {
				p.vertex[axis] = append(p.vertex[axis], v[axis])
			}
			for _, v := range h.Normals {
				p.normal[axis] = append(p.normal[axis], v[axis])
			}
		}
		p.loose = p.loose || h.Faces != nil && slices.Contains(at[h], 0)
		none := slices.Repeat([]int32{-1}, p.degree*len(h.Vertices))
		face, before, after := slices.Clone(none), slices.Clone(none), slices.Clone(none)
		free := make([]int, len(h.Vertices))
		for i, polygon := range h.Faces {
			k := len(polygon)
			for c, v := range polygon {
				slot := v*p.degree + free[v]
				free[v]++
				face[slot] = int32(faces + i)
				before[slot], after[slot] = int32(vertices+polygon[(c+k-1)%k]), int32(vertices+polygon[(c+1)%k])
			}
			corners := slices.Clone(polygon)
			if h != &unitBox && h != &unitCylinder { // MuJoCo reads faces of meshes backwards
				slices.Reverse(corners)
			}
			for c := range p.corners {
				p.corner = append(p.corner, int32(vertices+corners[min(c, k-1)]))
			}
			p.count = append(p.count, int32(k))
		}
		if n := len(h.Vertices); h == &unitCylinder || h == &unitCapsule { // their edges lead to the other end
			for v := range n {
				other := int32(vertices + (v+n/2)%n)
				before[v*p.degree], after[v*p.degree] = other, other
			}
			p.round = true
		}
		p.face, p.before, p.after = append(p.face, face...), append(p.before, before...), append(p.after, after...)
	}
	return p
}

// row returns entries of a table with so many for each number, [2, 1, n] to [2, width, n].
func row(table []int32, width int, number *Node) *Node {
	dims := number.Shape().Dimensions
	index := Add(MulScalar(number, width), Iota(number.Graph(), shapes.Make(dtypes.Int32, 1, width, 1), 1))
	return xla.Store(Gather(Const(number.Graph(), table), InsertAxes(BroadcastToDims(index, dims[0], width, dims[2]), -1)))
}

// vectors returns those of a table that have numbers.
func vectors(table [3][]float64, number *Node) *Node {
	var list []*Node
	for _, of := range table {
		list = append(list, Gather(Const(number.Graph(), of), InsertAxes(number, -1)))
	}
	return xla.Store(Stack(list, 0))
}

// lowestAlong returns where a node is lowest along an axis, and how low; the axis has length 1.
func lowestAlong(x *Node, axis int) (index, value *Node) {
	x = xla.Store(x)
	least := ReduceMin(x, axis)
	return xla.Store(InsertAxes(xla.ArgminOf(x, least, axis), axis)), xla.Store(InsertAxes(least, axis))
}

// flipped exchanges the shapes of pairs, [..., 2, k, n].
func flipped(x *Node) *Node { return xla.Store(Reverse(x, -3)) }

// shapeOf returns [..., k, n] of one shape of the pairs, both returns [2, k, n] from those of both.
func shapeOf(x *Node, i int) *Node {
	dims := x.Shape().Dimensions
	ranges := slices.Repeat([]SliceAxisSpec{AxisRange()}, len(dims))
	ranges[len(dims)-3] = AxisRange(i, i+1)
	return Reshape(Slice(x, ranges...), slices.Delete(slices.Clone(dims), len(dims)-3, len(dims)-2)...)
}
func both(x, y *Node) *Node { return xla.Store(Stack([]*Node{x, y}, 0)) }

// slots marks slots [2, 1, n] among so many, slotted takes the numbers there, [..., 2, width, n] to [..., 2, 1, n].
func slots(slot *Node, width int) *Node {
	dims := slot.Shape().Dimensions
	return Equal(Iota(slot.Graph(), shapes.Make(dtypes.Int32, dims[0], width, dims[2]), 1), slot)
}
func slotted(x, mark *Node) *Node {
	return xla.Store(InsertAxes(ReduceSum(either(mark, x, ScalarZero(x.Graph(), x.DType())), -2), -2))
}

// is marks the shapes of a kind, [1, n].
func (s solid) is(kind GeomType) *Node {
	return Reshape(s.Kind.Add(-float64(kind)).Abs().Below(0.5).Node, 1, -1)
}

// farthestCorner returns the vertex of polytopes that is farthest along a direction, or on the end that is, [1, n].
func (s solid) farthestCorner(direction algebra.Vector) *Node {
	d := s.into(direction)
	bit := func(x algebra.Num) *Node {
		return ConvertDType(GreaterOrEqual(x.Node, ZerosLike(x.Node)), dtypes.Int32)
	}
	row := func(x *Node) *Node { return Reshape(x, 1, -1) }
	corner := xla.Store(row(Add(bit(d.X), Add(MulScalar(bit(d.Y), 2), MulScalar(bit(d.Z), 4)))))
	for _, kind := range s.Kinds {
		switch kind {
		case Mesh:
			corner = either(s.is(kind), s.farthestVertex(d), corner)
		case Cylinder:
			corner = either(s.is(kind), row(MulScalar(OneMinus(bit(d.Z)), len(unitCylinder.Vertices)/2)), corner)
		case Capsule:
			corner = either(s.is(kind), row(OneMinus(bit(d.Z))), corner)
		}
	}
	return corner
}

// rim returns which shapes are cylinders and capsules, [1, n], and where the farthest line on their side begins, at the
// end that is farther, as if radius and half length were 1.
func (s solid) rim(direction algebra.Vector) (round *Node, at algebra.Vector) {
	d := s.into(direction)
	isCylinder := s.is(Cylinder)
	ring := d.X.Square().Plus(d.Y.Square()).Sqrt()
	by := xla.Store(Where(Reshape(isCylinder, -1), atLeast(ring, 1e-14).Node, OnesLike(ring.Node)))
	scale := algebra.Num{Rows: d.X.Rows, Node: by}
	one := algebra.Num{Rows: d.X.Rows, Node: OnesLike(d.Z.Node)}
	return xla.Store(LogicalOr(isCylinder, s.is(Capsule))),
		algebra.Vector{X: d.X.Over(scale), Y: d.Y.Over(scale), Z: d.Z.Below(0).Choose(one.Neg(), one)}.Materialize()
}

// facing are pairs of polytopes that overlap least along a direction from the first to the second, in the frame of the
// first.
type facing struct {
	Direction *Node // and its opposite, from the second to the first, [3, 2, 1, n]
	Vertex    *Node // the number of the farthest one of both along these, [2, 1, n]
	Size      *Node // of both, 1 for a mesh, [3, 2, 1, n]
	Turn      *Node // the axes of their frames, [3 coordinates, 3 axes, 2, 1, n]
	Center    *Node // [3, 2, 1, n]
	Apart     *Node // corners may be above a face by as much, [1, n]
	// IsFace marks shapes of which three corners touch a single one of the other shape, [2, 1, n]. Corners of a face of a
	// mesh lie in a plane only nearly, so the direction need not be its normal.
	IsFace *Node
	// Round marks cylinders and capsules, [2, 1, n], and Rim is where their edges begin, for size 1, [3, 2, 1, n]; nil if
	// there are none.
	Round, Rim *Node
}

// turned turns vectors [3, 2, k, n] of the frames of both shapes into that of the first, placed also moves them.
func (f facing) turned(v *Node) *Node { return xla.Store(ReduceSum(Mul(f.Turn, InsertAxes(v, 0)), 1)) }
func (f facing) placed(v *Node) *Node { return xla.Store(Add(f.turned(Mul(v, f.Size)), f.Center)) }

// touching are several contacts of pairs.
type touching struct {
	Exists, Distance *Node // [4, n]
	Point            *Node // [3, 4, n]
	Normal           *Node // of all, [3, 1, n]
}

// touch finds the contacts of pairs.
func (f facing) touch(p *polytopes) (out touching) {
	g, n := f.Vertex.Graph(), f.Vertex.Shape().Dimensions[2]
	// The faces at the farthest vertices, and the edges to the corners before these.
	face, before, after := row(p.face, p.degree, f.Vertex), row(p.before, p.degree, f.Vertex), row(p.after, p.degree, f.Vertex)
	has := xla.Store(GreaterOrEqual(face, ZerosLike(face)))
	hasEdge := has
	some := func(x *Node) *Node { return MaxScalar(x, 0) }
	normal := f.turned(vectors(p.normal, some(face)))
	start, end := vectors(p.vertex, f.Vertex), vectors(p.vertex, some(before))
	if p.round {
		hasEdge = xla.Store(GreaterOrEqual(before, ZerosLike(before)))
		mirrored := Mul(f.Rim, Const(g, [][][][]float64{{{{1}}}, {{{1}}}, {{{-1}}}}))
		start, end = either(f.Round, f.Rim, start), either(f.Round, mirrored, end)
	}
	start, end = f.placed(start), f.placed(end)
	along := unitOf(Sub(end, start))
	none := Const(g, 2.0)

	// Whether a face of one of them is meant, of the first rather than the second; else edges cross.
	farthest, less := lowestAlong(either(has, Neg(dot(normal, f.Direction)), none), 1)
	is := xla.Store(LogicalOr(LessThan(less, ConstAs(less, isNormal-1)),
		LogicalAnd(f.IsFace, LessThan(less, ConstAs(less, isNearNormal-1)))))
	is1, is2 := shapeOf(is, 0), shapeOf(is, 1)
	of := both(is1, LogicalAnd(LogicalNot(is1), is2))
	crossing := xla.Store(LogicalNot(LogicalOr(is1, is2)))
	edge, _ := lowestAlong(either(hasEdge, Abs(dot(along, f.Direction)), none), 1)
	atEdge := slots(edge, p.degree)
	to := slotted(before, atEdge)
	onEdge := LogicalAnd(has, LogicalOr(Equal(before, to), Equal(after, to)))
	// Where the line on its side touches, the direction is across the axis of a cylinder but for rounding, and its end does
	// not count. Nor does a face that is across the direction, where it is the other shape that is round.
	if p.round {
		cosine := dot(normal, f.Direction)
		unless := func(round *Node, least float64) *Node {
			return LogicalOr(LogicalNot(BroadcastToShape(round, cosine.Shape())), GreaterThan(cosine, Const(g, least)))
		}
		onEdge = LogicalAnd(onEdge, LogicalAnd(unless(f.Round, touchedEnd), unless(flipped(f.Round), touchedSide)))
	}
	meant := either(of, slots(farthest, p.degree), either(flipped(is), has, onEdge))

	// The pair of faces that are nearest to opposite: one of the first two that are meant of one shape, with another.
	firstTrue := func(mask *Node) *Node { return xla.Store(InsertAxes(xla.FirstTrue(mask, 1), 1)) }
	meant = xla.Store(meant)
	first := firstTrue(meant)
	atFirst := slots(first, p.degree)
	next := firstTrue(LogicalAnd(meant, LogicalNot(atFirst)))
	normalFirst := slotted(normal, atFirst)
	if p.round { // a capsule has no face
		normalFirst = either(InsertAxes(LogicalAny(meant, 1), 1), normalFirst, ScalarZero(g, dtypes.Float64))
	}
	opposite := func(normals *Node) (slot, cosine *Node) {
		return lowestAlong(either(meant, dot(normal, flipped(normals)), none), 1)
	}
	other, cosines := opposite(normalFirst)
	again, cosinesAgain := opposite(slotted(normal, slots(next, p.degree)))
	better := xla.Store(LogicalAnd(crossing, LessThan(shapeOf(cosinesAgain, 1), shapeOf(cosines, 1))))
	isSecond := shapeOf(of, 1)
	cosine := either(isSecond, shapeOf(cosines, 0), either(better, shapeOf(cosinesAgain, 1), shapeOf(cosines, 1)))
	flat := xla.Store(LessThan(cosine, ConstAs(cosine, alignedFaces)))
	i := either(isSecond, shapeOf(other, 0), either(better, shapeOf(next, 0), shapeOf(first, 0)))
	j := either(isSecond, shapeOf(first, 1), either(better, shapeOf(again, 1), shapeOf(other, 1)))

	// The first edge of each shape that lies in a face of the other: of the face that is meant, or the one that crosses.
	lies := func(v, w, mask *Node) (slot, any *Node) {
		sine := Abs(dot(v, w))
		lies := xla.Store(LogicalAnd(mask, LessThan(sine, ConstAs(sine, alignedEdge))))
		return firstTrue(lies), xla.Store(InsertAxes(LogicalAny(lies, 1), 1))
	}
	lying, isLying := lies(along, flipped(normalFirst), hasEdge)
	under, isUnder := lies(normal, flipped(slotted(along, atEdge)), meant)
	isLying = either(crossing, flipped(isUnder), isLying)
	lying, under = either(crossing, edge, lying), either(crossing, under, first)
	lies1, lies2 := shapeOf(isLying, 0), shapeOf(isLying, 1)
	second := xla.Store(LogicalOr(is1, LogicalAnd(crossing, LogicalNot(lies1)))) // it is one of the second shape
	isEdge := xla.Store(LogicalNot(flat))
	isEdge1 := xla.Store(LogicalAnd(LogicalNot(second), isEdge))
	touches := xla.Store(LogicalOr(flat, either(second, lies2, lies1)))

	// Polygons: the face that cuts, and what it cuts, a face of the second shape or an edge.
	atFace := slots(either(flat, both(i, j), under), p.degree)
	number := xla.Store(some(slotted(face, atFace)))
	count, normals := row(p.count, 1, number), slotted(normal, atFace)
	atEdge = slots(lying, p.degree)
	ownEdge := func(x *Node) *Node { return either(second, shapeOf(x, 1), shapeOf(x, 0)) }
	point := func(x *Node) *Node { return Reshape(x, 3, n) }
	drawing := polygons{Of: f, Number: number, IsEdge: isEdge, IsEdge1: isEdge1, Start: point(ownEdge(start)),
		End: point(ownEdge(slotted(end, atEdge)))}
	exist := func(count *Node) *Node { return either(touches, count, ZerosLike(count)) }
	drawing.Cutter.Count = exist(either(isEdge1, shapeOf(count, 1), shapeOf(count, 0)))
	drawing.Subject.Count = exist(either(isEdge, Const(g, int32(2)), shapeOf(count, 1)))
	drawing = drawing.drawn(p)
	up := point(either(isEdge1, shapeOf(normals, 1), shapeOf(normals, 0)))
	normal2 := point(shapeOf(normals, 1))
	direction := either(flat, normal2, Neg(up))
	out.Normal = InsertAxes(either(flat, Neg(normal2), either(second, up, Neg(up))), 1)

	// What lies in the face that cuts, and on its inner side.
	base := drawing.Cutter.row(ScalarZero(g, dtypes.Int32))
	cut := drawing.Subject.clip(drawing.Cutter, up).below(xla.Store(Add(base, Mul(up, f.Apart))), up)
	many := xla.Store(LogicalAnd(touches, GreaterThan(cut.Count, ConstAs(cut.Count, faceContacts))))
	quad := polygon{cut.Point, either(many, cut.Count, ZerosLike(cut.Count))}.quadrilateral()
	edgeAlong := point(ownEdge(slotted(along, atEdge)))
	var ends []*Node // of an edge
	for _, sign := range []float64{1, -1} {
		var at []*Node
		for k := range faceContacts {
			x := MulScalar(InsertAxes(dot(cut.row(Const(g, int32(k))), edgeAlong), 0), sign)
			at = append(at, either(GreaterThan(cut.Count, ConstAs(cut.Count, k)), x, Const(g, huge)))
		}
		end, _ := lowestAlong(Concatenate(at, 0), 0)
		ends = append(ends, end)
	}
	contact := Iota(g, shapes.Make(dtypes.Int32, faceContacts, n), 0)
	chosen := either(isEdge, Concatenate([]*Node{ends[0], ends[1], ends[1], ends[1]}, 0), either(many, quad, contact))
	most := either(isEdge, MinScalar(cut.Count, 2), MinScalar(cut.Count, faceContacts))
	out.Exists = xla.Store(LogicalAnd(touches, LessThan(contact, most)))
	var corners []*Node
	for k := range faceContacts {
		corners = append(corners, cut.corner(Slice(chosen, AxisRange(k, k+1))))
	}
	corner := xla.Store(Stack(corners, 1)) // [3, 4, n]
	wide := func(v *Node) *Node { return InsertAxes(v, 1) }
	above := dot(Sub(corner, wide(base)), wide(up))
	out.Distance = xla.Store(Mul(above, InsertAxes(Abs(dot(up, direction)), 0)))
	out.Point = xla.Store(Add(Sub(corner, Mul(wide(up), InsertAxes(above, 0))),
		Mul(wide(direction), InsertAxes(MulScalar(out.Distance, -0.5), 0))))
	return out
}

// polygons are what is cut, and what cuts it.
type polygons struct {
	Of              facing
	Number          *Node // of the faces of both shapes, [2, 1, n]
	IsEdge, IsEdge1 *Node // whether an edge is cut, and whether it is one of the first shape
	Start, End      *Node // of that edge, [3, n]
	Subject, Cutter polygon
}

// drawn places the corners, of which the numbers are known.
func (s polygons) drawn(p *polytopes) polygons {
	g, n := s.Number.Graph(), s.Number.Shape().Dimensions[2]
	s.Subject.Point = Zeros(g, shapes.Make(dtypes.Float64, 2*p.corners*3*n))
	s.Cutter.Point = Zeros(g, shapes.Make(dtypes.Float64, p.corners*3*n))
	most := xla.Store(Max(s.Subject.most(), s.Cutter.most()))
	return xla.Repeat(most, s, func(i *Node, s polygons) polygons {
		at := Add(MulScalar(s.Number, p.corners), index(s.Number, i))
		point := s.Of.placed(vectors(p.vertex, Gather(Const(g, p.corner), InsertAxes(at, -1))))
		one, two := Reshape(shapeOf(point, 0), 3, n), Reshape(shapeOf(point, 1), 3, n)
		isFirst := Equal(index(s.IsEdge, i), ZerosLike(index(s.IsEdge, i)))
		s.Cutter = s.Cutter.set(i, either(s.IsEdge1, two, one))
		s.Subject = s.Subject.set(i, either(s.IsEdge, either(isFirst, s.Start, s.End), two))
		return s
	})
}

// touches are contacts of pairs: of their faces, or else the one that a search found.
type touches struct {
	Distance      *Node // [4, n]
	Point, Normal *Node // [3, 4, n]
	Rows          int
}

// stacked returns vectors of a number of each pair, [3, vectors, 1, n].
func (f overlap) stacked(vectors ...algebra.Vector) *Node {
	g, n := f.Distance.Node.Graph(), f.Distance.Node.Shape().Size()
	var axes []*Node
	for axis := range 3 {
		var list []*Node
		for _, v := range vectors {
			all := component(v, axis).Spread(g, n/f.Distance.Rows)
			list = append(list, Reshape(ConvertDType(all, dtypes.Float64), 1, n))
		}
		axes = append(axes, Stack(list, 0))
	}
	return xla.Store(Stack(axes, 0))
}

// world turns vectors [3, ..., n] into the frame of the world, as float32.
func (f overlap) world(v *Node) *Node {
	frame := f.stacked(f.Turn.X, f.Turn.Y, f.Turn.Z)
	return xla.Store(ConvertDType(ReduceSum(Mul(frame, InsertAxes(v, 0)), 1), dtypes.Float32))
}

// spread finds them, and the deepest contact alone of pairs whose faces do not touch.
func (c *contactSet) spread(found overlap) touches {
	type state struct {
		Found   overlap
		Touches touches
	}
	g, n := found.Descent.Step.Graph(), found.Distance.Node.Shape().Size()
	alone := Equal(Iota(g, shapes.Make(dtypes.Int32, faceContacts, n), 0), ScalarZero(g, dtypes.Int32))
	single := func(v algebra.Vector) *Node {
		return xla.Store(BroadcastToDims(found.world(Reshape(found.stacked(v), 3, 1, n)), 3, faceContacts, n))
	}
	start := state{found, touches{Rows: found.Distance.Rows,
		Distance: xla.Store(either(alone, Reshape(found.Distance.Node, 1, n), Const(g, float32(far)))),
		Point:    single(found.Point), Normal: single(found.Descent.Direction)}}
	touch := LogicalAny(found.Distance.Less(found.Margin).Node)
	end := xla.When(touch, start, func(turn *Node, at state) state {
		at.Touches = c.spreadFaces(turn, at.Found, at.Touches)
		return at
	}).Touches
	end.Point = xla.Store(Add(end.Point, ConvertDType(Reshape(found.stacked(found.Position), 3, 1, n), dtypes.Float32)))
	return end
}

// spreadFaces finds the contacts of those that touch with faces, in a loop of one turn, which is 0.
func (c *contactSet) spreadFaces(zero *Node, found overlap, alone touches) touches {
	d := found.Descent
	rows, n := found.Distance.Rows, found.Distance.Node.Shape().Size()
	copies, stacked := n/rows, found.stacked
	d.Direction = d.Direction.Each(func(x algebra.Num) algebra.Num { // see [xla.When]
		return algebra.Num{Rows: x.Rows, Node: xla.Store(Add(x.Node, ConvertDType(zero, dtypes.Float64)))}
	})
	var vertex, polytope, round []*Node
	var first [2]*Node // the number of the first vertex of each polytope
	var sizes, rims [2]algebra.Vector
	directions := [2]algebra.Vector{d.Direction, d.Direction.Neg().Materialize()}
	for i, s := range d.Solids {
		polytope = append(polytope, Reshape(found.Polytope[i].Spread(zero.Graph(), copies), 1, n))
		first[i] = ConvertDType(MaxScalar(polytope[i], 0), dtypes.Int32)
		vertex = append(vertex, Add(first[i], s.farthestCorner(directions[i])))
		one := algebra.Num{Rows: rows, Node: OnesLike(s.Size.X.Node)}
		isBox := s.Kind.Add(-float64(Box)).Abs().Below(0.5)
		sizes[i] = isBox.ChooseVector(s.Size, algebra.Vector{X: one, Y: one, Z: one})
		if c.polytopes.round {
			is, at := s.rim(directions[i])
			round, rims[i] = append(round, is), at
			mask := algebra.Mask{Num: algebra.Num{Rows: rows, Node: Reshape(is, -1)}}
			sizes[i] = mask.ChooseVector(algebra.Vector{X: s.Size.X, Y: s.Size.X, Z: s.Size.Y}, sizes[i])
		}
	}
	turn := d.Solids[1].Turn
	f := facing{Direction: stacked(directions[:]...), Vertex: both(vertex[0], vertex[1]), IsFace: d.Triangle.faces(),
		Size: stacked(sizes[:]...),
		Turn: xla.Store(Stack([]*Node{stacked(unit(rows, 0), turn.X), stacked(unit(rows, 1), turn.Y),
			stacked(unit(rows, 2), turn.Z)}, 1)), Center: stacked(d.Solids[0].Center, d.Solids[1].Center),
		Apart: Reshape(ConvertDType(found.Apart.Spread(zero.Graph(), copies), dtypes.Float64), 1, n)}
	if c.polytopes.round {
		f.Round, f.Rim = both(round[0], round[1]), stacked(rims[:]...)
	}
	t := f.touch(c.polytopes)
	least := Min(polytope[0], polytope[1])
	exists := LogicalAnd(t.Exists, GreaterOrEqual(least, ZerosLike(least)))
	if c.polytopes.loose {
		divided := d.divided(c.polytopes, first)
		exists = LogicalAnd(exists, LogicalNot(LogicalOr(shapeOf(divided, 0), shapeOf(divided, 1))))
	}
	exists = xla.Store(exists)
	return touches{Rows: rows, Distance: either(exists, ConvertDType(t.Distance, dtypes.Float32), alone.Distance),
		Point: either(exists, found.world(t.Point), alone.Point), Normal: either(exists, found.world(t.Normal), alone.Normal)}
}

func (s touches) list() (out []touch) {
	row := func(x *Node, k int) algebra.Num {
		return algebra.Num{Rows: s.Rows, Node: xla.Store(Reshape(Slice(x, AxisRange(k, k+1)), -1))}
	}
	vector := func(v *Node, k int) algebra.Vector {
		v = Slice(v, AxisRange(), AxisRange(k, k+1))
		return algebra.Vector{X: row(v, 0), Y: row(v, 1), Z: row(v, 2)}
	}
	for k := range faceContacts {
		out = append(out, touch{distance: row(s.Distance, k), point: vector(s.Point, k), normal: vector(s.Normal, k)})
	}
	return out
}
