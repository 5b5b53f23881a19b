package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/xla"
)

// This file cuts convex polygons, of pairs of shapes that touch.

func dot(v, w *Node) *Node { return xla.Store(ReduceSum(Mul(v, w), 0)) }

func cross(v, w *Node) *Node {
	turned := func(x *Node, by int) *Node {
		return Concatenate([]*Node{Slice(x, AxisRange(by)), Slice(x, AxisRange(0, by))}, 0)
	}
	return xla.Store(Sub(Mul(turned(v, 1), turned(w, 2)), Mul(turned(v, 2), turned(w, 1))))
}

// unitOf returns vectors of length 1, or 0.
func unitOf(v *Node) *Node {
	return xla.Store(Div(v, InsertAxes(Sqrt(MaxScalar(dot(v, v), 1e-300)), 0)))
}

// either returns the numbers of one node where a mask holds, else of another. Axes of 1 are repeated, and missing ones come
// first.
func either(mask, one, other *Node) *Node {
	rank := max(mask.Rank(), one.Rank(), other.Rank())
	dims := slices.Repeat([]int{1}, rank)
	wide := func(x *Node) *Node {
		for x.Rank() < rank {
			x = InsertAxes(x, 0)
		}
		for axis, dim := range x.Shape().Dimensions {
			dims[axis] = max(dims[axis], dim)
		}
		return x
	}
	mask, one, other = wide(mask), wide(one), wide(other)
	return xla.Store(Where(BroadcastToDims(mask, dims...), BroadcastToDims(one, dims...), BroadcastToDims(other, dims...)))
}

// polygon is the corners of a face or an edge, [corners * 3 * n], of which some are used, [1, n]. What follows takes as
// long as the corners that are used are many. They are flat: XLA:CPU would divide indices to gather from three axes.
type polygon struct{ Point, Count *Node }

// corner returns those with an index [1, n], [3, n].
func (p polygon) corner(index *Node) *Node {
	g, n := index.Graph(), index.Shape().Dimensions[1]
	at := Add(MulScalar(index, 3*n), Iota(g, shapes.Make(dtypes.Int32, 3, n), 1))
	at = Add(at, MulScalar(Iota(g, shapes.Make(dtypes.Int32, 3, n), 0), n))
	return xla.Store(Reshape(Gather(p.Point, xla.Store(Reshape(at, 3*n, 1))), 3, n))
}

// row returns one corner of all, [3, n], next the one after it, and set changes one.
func (p polygon) row(i *Node) *Node {
	n := p.Count.Shape().Dimensions[1]
	return xla.Store(Reshape(xla.Rows(p.Point, MulScalar(i, 3*n), 3*n), 3, n))
}
func (p polygon) next(i *Node) *Node {
	more := LessThan(index(p.Count, AddScalar(i, 1)), p.Count)
	return either(more, p.row(AddScalar(i, 1)), p.row(ZerosLike(i)))
}
func (p polygon) set(i, corner *Node) polygon {
	n := p.Count.Shape().Dimensions[1]
	p.Point = xla.SetRows(p.Point, MulScalar(i, 3*n), xla.Store(Reshape(corner, -1)))
	return p
}

// most is the largest number of corners.
func (p polygon) most() *Node { return xla.Store(ReduceAllMax(p.Count)) }

func index(like *Node, i *Node) *Node { return BroadcastToShape(i, like.Shape()) }

func inside(height *Node) *Node { return GreaterThan(height, ConstAs(height, -1e-15)) }

// after returns the numbers of the next corners, [k, n].
func (p polygon) after(i *Node) *Node {
	i = AddScalar(i, 1)
	return either(LessThan(i, p.Count), i, ZerosLike(i))
}

// within is a number of a corner that exists, [1, n].
func (p polygon) within(i *Node) *Node {
	return xla.Store(MaxScalar(Min(i, AddScalar(p.Count, -1)), 0))
}

// clip cuts polygons by the planes through the edges of faces, along their normals [3, n] (polygonClip). They have room for
// a new corner at each edge.
func (p polygon) clip(face polygon, normal *Node) polygon {
	type state struct {
		Polygon, Face polygon
		Normal        *Node
	}
	return xla.Repeat(face.most(), state{p, face, normal}, func(i *Node, at state) state {
		here := index(at.Face.Count, i)
		from := at.Face.row(i)
		plane := unitOf(cross(Sub(at.Face.next(i), from), at.Normal)) // inwards, since the corners are clockwise
		at.Polygon = at.Polygon.cut(from, plane, xla.Store(LessThan(here, at.Face.Count)))
		return at
	}).Polygon
}

// cut cuts polygons by planes through points, [3, n], where a mask holds. The corners from the second to the first follow
// in this order, and where the edges leave and return, there are new ones.
func (p polygon) cut(point, plane, where *Node) polygon {
	type edges struct {
		Polygon         polygon
		Point, Plane    *Node
		Before          *Node // the height of the corner before, [1, n]
		Leaves, Returns *Node // the corners before the edges that do, or the number of corners
		In              *Node // the number of corners inside
	}
	height := func(e edges, corner *Node) *Node { return InsertAxes(dot(Sub(corner, e.Point), e.Plane), 0) }
	at := edges{Polygon: p, Point: point, Plane: plane, Leaves: p.Count, Returns: p.Count, In: ZerosLike(p.Count)}
	at.Before = xla.Store(height(at, p.row(ScalarZero(p.Count.Graph(), dtypes.Int32))))
	at = xla.Repeat(p.most(), at, func(i *Node, e edges) edges {
		here := index(e.In, i)
		now := xla.Store(height(e, e.Polygon.next(i)))
		was, is, used := inside(e.Before), inside(now), LessThan(here, e.Polygon.Count)
		first := func(old, mask *Node) *Node {
			return either(LogicalAnd(LogicalAnd(used, mask), Equal(old, e.Polygon.Count)), here, old)
		}
		e.Leaves = first(e.Leaves, LogicalAnd(was, LogicalNot(is)))
		e.Returns = first(e.Returns, LogicalAnd(is, LogicalNot(was)))
		e.In = xla.Store(Add(e.In, ConvertDType(LogicalAnd(used, is), dtypes.Int32)))
		e.Before = now
		return e
	})
	crossing := func(i *Node) *Node {
		i = p.within(i)
		from, to := p.corner(i), p.corner(p.after(i))
		h0, h1 := height(at, from), height(at, to)
		rise := xla.Store(Sub(h1, h0))
		level := Equal(rise, ZerosLike(rise))
		share := ClipScalar(Neg(Div(h0, Where(level, OnesLike(rise), rise))), 0, 1)
		return xla.Store(Add(from, Mul(Sub(to, from), share)))
	}
	crosses := xla.Store(LogicalAnd(LessThan(at.Leaves, p.Count), LessThan(at.Returns, p.Count)))
	type moving struct {
		Polygon                   polygon // in place: corners only move to the front
		First, Leaving, Returning *Node   // the first corner, and the new ones, [3, n]
		Leaves, Returns           *Node
		Crosses, Leads, Where     *Node // masks, also of whether edges leave first
	}
	count := Add(at.In, MulScalar(ConvertDType(crosses, dtypes.Int32), 2))
	count = either(where, count, p.Count)
	move := moving{p, p.row(ScalarZero(count.Graph(), dtypes.Int32)), crossing(at.Leaves), crossing(at.Returns), at.Leaves,
		at.Returns, crosses, xla.Store(LessThan(at.Leaves, at.Returns)), where}
	p = xla.Repeat(xla.Store(ReduceAllMax(count)), move, func(i *Node, m moving) moving {
		// Edges leave first: corners 1 to Leaves, both new ones, corners from Returns + 1 on. Otherwise: a new one, corners
		// Returns + 1 to Leaves, and a new one.
		k := index(m.Leaves, i)
		gap := Sub(m.Returns, m.Leaves)
		of := either(m.Leads, either(LessThan(k, m.Leaves), AddScalar(k, 1), Add(k, AddScalar(gap, -1))), Add(k, m.Returns))
		of = either(m.Where, either(m.Crosses, of, AddScalar(k, 1)), k)
		corner := either(LessThan(of, m.Polygon.Count), m.Polygon.corner(m.Polygon.within(of)), m.First)
		new := LogicalAnd(m.Crosses, m.Where)
		leaving := LogicalAnd(new, Equal(k, either(m.Leads, m.Leaves, AddScalar(Neg(gap), 1))))
		returning := LogicalAnd(new, Equal(k, either(m.Leads, AddScalar(m.Leaves, 1), ZerosLike(k))))
		m.Polygon = m.Polygon.set(i, either(leaving, m.Leaving, either(returning, m.Returning, corner)))
		return m
	}).Polygon
	p.Count = count
	return p
}

// below keeps the corners on or below a plane through points, [3, n].
func (p polygon) below(point, plane *Node) polygon {
	type keeping struct {
		Polygon      polygon
		Point, Plane *Node
		Above, Again *Node // the first corner above, and the first below after it, or the number of corners
		Kept         *Node
	}
	at := keeping{p, point, plane, p.Count, p.Count, ZerosLike(p.Count)}
	at = xla.Repeat(p.most(), at, func(i *Node, s keeping) keeping {
		h, here := InsertAxes(dot(Sub(s.Polygon.row(i), s.Point), s.Plane), 0), index(s.Kept, i)
		used := LessThan(here, s.Polygon.Count)
		keeps := xla.Store(LogicalAnd(used, LessOrEqual(h, ZerosLike(h))))
		found := LessThan(s.Above, s.Polygon.Count)
		s.Again = either(LogicalAnd(LogicalAnd(keeps, found), Equal(s.Again, s.Polygon.Count)), here, s.Again)
		s.Above = either(LogicalAnd(LogicalAnd(used, LogicalNot(keeps)), LogicalNot(found)), here, s.Above)
		s.Kept = xla.Store(Add(s.Kept, ConvertDType(keeps, dtypes.Int32)))
		return s
	})
	at = xla.Repeat(xla.Store(ReduceAllMax(at.Kept)), at, func(i *Node, s keeping) keeping {
		k := index(s.Above, i)
		of := either(LessThan(k, s.Above), k, Add(k, Sub(s.Again, s.Above)))
		s.Polygon = s.Polygon.set(i, s.Polygon.corner(s.Polygon.within(of)))
		return s
	})
	return polygon{at.Polygon.Point, at.Kept}
}

// quadrilateral returns four corners of a polygon with more, [4, n], which make a large one (polygonQuad): its steps, one
// at a time.
func (p polygon) quadrilateral() *Node {
	type state struct {
		Polygon  polygon
		At, Best *Node // corners that are tried, and the best ones, [4, n]
		Area     *Node
		Moves    *Node // the corner that moves next: 3, 2, or 1
	}
	g, n := p.Count.Graph(), p.Count.Shape().Dimensions[1]
	corner := Iota(g, shapes.Make(dtypes.Int32, 4, n), 0)
	area := func(s state, at *Node) *Node {
		corner := func(i int) *Node { return s.Polygon.corner(Slice(at, AxisRange(i, i+1))) }
		w := cross(Sub(corner(2), corner(0)), Sub(corner(3), corner(1)))
		return xla.Store(InsertAxes(Sqrt(dot(w, w)), 0))
	}
	begin := state{Polygon: p, At: xla.Store(corner), Best: xla.Store(corner), Moves: AddScalar(ZerosLike(p.Count), 3)}
	begin.Area = area(begin, begin.At)
	row := func(x *Node, i int) *Node { return Slice(x, AxisRange(i, i+1)) }
	goes := func(s state) *Node { return xla.Store(LessThan(row(s.At, 0), s.Polygon.Count)) }
	return xla.Loop(begin, func(s state) *Node { return LogicalAny(goes(s)) }, func(s state) state {
		next := s.Polygon.after
		is := func(i int) *Node { return Equal(s.Moves, ConstAs(s.Moves, i)) }
		going := goes(s)
		tried := either(Equal(Iota(s.At.Graph(), s.At.Shape(), 0), s.Moves), next(s.At), s.At)
		size := area(s, tried)
		better := xla.Store(LogicalAnd(going, GreaterThan(size, s.Area)))
		s.Area, s.Best, s.At = either(better, size, s.Area), either(better, tried, s.Best), either(better, tried, s.At)
		var at [4]*Node
		for i := range at {
			at[i] = row(s.At, i)
		}
		advances := xla.Store(LogicalAnd(going, LogicalAnd(is(3), LogicalNot(better))))
		pushed := advances
		for i := 1; i < 4; i++ { // the corners after the first one stay apart
			pushed = xla.Store(LogicalAnd(pushed, Equal(at[i], at[i-1])))
			at[i] = either(pushed, next(at[i]), at[i])
		}
		at[0] = Add(at[0], ConvertDType(advances, dtypes.Int32))
		s.At = xla.Store(Concatenate(at[:], 0))
		moves := func(i int32) *Node { return Const(s.At.Graph(), i) }
		s.Moves = either(better, either(is(3), moves(2), s.Moves), either(is(2), moves(1), moves(3)))
		return s
	}).Best
}
