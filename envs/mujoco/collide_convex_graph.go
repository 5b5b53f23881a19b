package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds the contact of two convex shapes from their support functions, where no rule for the two shapes does.

// solid is a convex shape of each pair in the frame of the first of two, without the radius of spheres and capsules.
type solid struct {
	Kinds  []GeomType  // of all pairs
	Kind   algebra.Num // of each
	First  bool        // is at the origin
	Size   algebra.Vector
	Center algebra.Vector
	Turn   algebra.Rotation
	Meshes *vertexTable  // those of all pairs, if there are any
	Hull   *Node         // the number of each, int32 [1, n]
	Prism  []algebra.Num // see [contactSet.prismBoxes], of height fields
}

// choose returns the vector that a function returns for the kind of each pair, if it is one of some kinds, else another
// one.
func (s solid) choose(kinds []GeomType, of func(kind GeomType) algebra.Vector, other algebra.Vector) algebra.Vector {
	for _, kind := range s.Kinds {
		switch {
		case !slices.Contains(kinds, kind):
		case len(s.Kinds) == 1:
			return of(kind).Materialize()
		default:
			is := s.Kind.Add(-float64(kind)).Abs().Below(0.5)
			other = is.ChooseVector(of(kind), other).Materialize()
		}
	}
	return other
}

// into turns a vector into the frame of the solid.
func (s solid) into(v algebra.Vector) algebra.Vector {
	if s.First {
		return v
	}
	return inverse(s.Turn, v).Materialize()
}

// from is the inverse of into.
func (s solid) from(v algebra.Vector) algebra.Vector {
	if s.First {
		return v
	}
	return s.Turn.Of(v).Materialize()
}

// tiny is what vectors of numbers near 1 are longer than, unless they are 0 but for rounding.
const tiny = 1e-150

func atLeast(x algebra.Num, least float64) algebra.Num { return x.Max(algebra.Constant(x.Rows, least)) }

func length(v algebra.Vector) algebra.Num { return v.Dot(v).Sqrt().Materialize() }

func normalized(v algebra.Vector) algebra.Vector {
	return v.Over(atLeast(length(v), tiny)).Materialize()
}

// farthestVertex returns the number of the vertex of meshes that is farthest along a direction in their frames,
// int32 [1, n].
func (s solid) farthestVertex(d algebra.Vector) *Node {
	return s.Meshes.farthest(s.Hull, xla.Store(s.is(Mesh)), d)
}

// support is the point of a solid that is farthest along a direction.
type support struct {
	Point  algebra.Vector
	Vertex *Node // its number among those of a mesh, int32 [n]; nil if there are no meshes
}

// support returns the point of the solid that is farthest along a direction.
func (s solid) support(direction algebra.Vector) (out support) {
	d, zero := s.into(direction), algebra.Constant(s.Size.X.Rows, 0)
	signed := func(d, size algebra.Num) algebra.Num { return d.Below(0).Choose(size.Neg(), size) }
	p := s.choose([]GeomType{HField, Capsule, Ellipsoid, Cylinder, Box, Mesh}, func(kind GeomType) algebra.Vector {
		switch kind {
		case HField:
			return s.supportPrism(d)
		case Capsule:
			return algebra.Vector{X: zero, Y: zero, Z: signed(d.Z, s.Size.Y)}
		case Ellipsoid:
			return s.Size.Times(normalized(s.Size.Times(d)))
		case Cylinder:
			by := s.Size.X.Over(atLeast(d.X.Square().Plus(d.Y.Square()).Sqrt(), 1e-14))
			return algebra.Vector{X: d.X.Times(by), Y: d.Y.Times(by), Z: signed(d.Z, s.Size.Y)}
		case Box:
			return algebra.Vector{X: signed(d.X, s.Size.X), Y: signed(d.Y, s.Size.Y), Z: signed(d.Z, s.Size.Z)}
		}
		vertex := s.farthestVertex(d)
		out.Vertex = xla.Store(Reshape(vertex, -1))
		number := xla.Store(Add(vertex, entries(s.Meshes.first, s.Hull)))
		at := func(axis int) algebra.Num {
			return algebra.Num{Rows: d.X.Rows, Node: Reshape(entries(s.Meshes.vertex[axis], number), -1)}
		}
		return algebra.Vector{X: at(0), Y: at(1), Z: at(2)}
	}, algebra.Vector{X: zero, Y: zero, Z: zero})
	out.Point = s.Center.Plus(s.from(p)).Materialize()
	return out
}

var roundKinds = []GeomType{Ellipsoid, Cylinder}

// round reports whether some have a curved surface.
func (s solid) round() bool {
	return slices.ContainsFunc(s.Kinds, func(kind GeomType) bool { return slices.Contains(roundKinds, kind) })
}

// slopes returns how the support point changes with the direction, as a sum of products of vectors with themselves, less
// that of another vector.
func (s solid) slopes(direction algebra.Vector) (of []algebra.Vector, less algebra.Vector) {
	d, zero := s.into(direction), algebra.Constant(s.Size.X.Rows, 0)
	none := algebra.Vector{X: zero, Y: zero, Z: zero}
	scaled := s.Size.Times(d)
	size := atLeast(length(scaled), tiny)
	root := size.Sqrt().Materialize()
	ring := atLeast(d.X.Square().Plus(d.Y.Square()).Sqrt(), upright).Materialize()
	for axis := range 3 {
		of = append(of, s.from(s.choose(roundKinds, func(kind GeomType) algebra.Vector {
			switch {
			case kind == Ellipsoid:
				return unit(zero.Rows, axis).By(component(s.Size, axis).Over(root))
			case axis > 0:
				return none
			}
			by := s.Size.X.Over(ring).Sqrt().Over(ring)
			return algebra.Vector{X: d.Y.Neg().Times(by), Y: d.X.Times(by), Z: zero}
		}, none)))
	}
	return of, s.from(s.choose(roundKinds[:1], func(GeomType) algebra.Vector {
		return s.Size.Times(scaled).Over(size.Times(root))
	}, none))
}

// upright is the sine of an angle to the axis of a cylinder below which its rim is not regarded as round.
const upright = 1e-3

// along moves a point of a round surface to where a direction is that of the surface.
func (s solid) along(point, direction algebra.Vector) algebra.Vector {
	return s.choose(roundKinds, func(kind GeomType) algebra.Vector {
		if kind == Ellipsoid {
			return s.support(direction).Point
		}
		d, end := s.into(direction), s.into(point.Minus(s.Center)).Z
		r := d.X.Square().Plus(d.Y.Square()).Sqrt().Materialize()
		by := s.Size.X.Over(atLeast(r, upright))
		p := algebra.Vector{X: d.X.Times(by), Y: d.Y.Times(by), Z: end.Below(0).Choose(s.Size.Y.Neg(), s.Size.Y)}.Materialize()
		return r.Above(upright).ChooseVector(s.Center.Plus(s.from(p)), point).Materialize()
	}, point)
}

// convex searches the contacts of two shapes.
func convex(c *contactSet, a, b place) []touch {
	found := c.search(a, b)
	if c.polytopes != nil {
		return c.spread(found).list()
	}
	return []touch{{distance: found.Distance, point: found.placed(found.Point), normal: found.narrow(found.Descent.Direction)}}
}

// overlap is the contact of two convex shapes.
type overlap struct {
	Descent  descent
	Distance algebra.Num
	Point    algebra.Vector // halfway between the surfaces, in the frame of the first shape
	Turn     algebra.Rotation
	Position algebra.Vector // of that frame
	Polytope [2]algebra.Num // see [convexSide]
	Margin   algebra.Num
	Apart    algebra.Num // see [contactSet]
}

// narrow turns a vector from the frame of the first shape, placed also moves it.
func (f overlap) narrow(v algebra.Vector) algebra.Vector {
	return f.Turn.Of(v).Each(func(x algebra.Num) algebra.Num {
		return algebra.Num{Rows: x.Rows, Node: xla.Store(ConvertDType(x.Node, dtypes.Float32))}
	})
}

func (f overlap) placed(v algebra.Vector) algebra.Vector {
	return f.Position.Plus(f.narrow(v)).Materialize()
}

// search searches the contact.
func (c *contactSet) search(a, b place) overlap {
	g, copies := sizeOf(slices.Concat(a.numbers(), b.numbers()))
	n := a.position.X.Rows
	as := func(x algebra.Num, dtype dtypes.DType) algebra.Num {
		return algebra.Num{Rows: x.Rows, Node: xla.Store(ConvertDType(x.Spread(g, copies), dtype))}
	}
	wide := func(v algebra.Vector) algebra.Vector {
		return v.Each(func(x algebra.Num) algebra.Num { return as(x, dtypes.Float64) })
	}
	frame := algebra.Rotation{X: wide(a.turn.X), Y: wide(a.turn.Y), Z: wide(a.turn.Z)}
	constant := func(x float64) algebra.Num { return as(algebra.Constant(n, x), dtypes.Float64) }
	zero, no := constant(0), as(algebra.Constant(n, 0), dtypes.Float32)
	d := descent{Step: Const(g, int32(0)), Proposes: no, Done: no, Depth: constant(huge)}
	var radii [2]algebra.Num
	for i, shape := range c.shapes {
		s := solid{Kinds: shape.kinds, Kind: as(shape.kind, dtypes.Float32), First: i == 0, Size: wide(c.sizes[i]),
			Center: algebra.Vector{X: zero, Y: zero, Z: zero}}
		if i == 1 {
			s.Center = inverse(frame, wide(b.position.Minus(a.position))).Materialize()
			s.Turn = algebra.Rotation{X: inverse(frame, wide(b.turn.X)).Materialize(),
				Y: inverse(frame, wide(b.turn.Y)).Materialize(), Z: inverse(frame, wide(b.turn.Z)).Materialize()}
		}
		if slices.Contains(shape.kinds, Mesh) {
			s.Meshes = &shape.meshes
			s.Hull = xla.Store(Reshape(ConvertDType(shape.hull.Spread(g, copies), dtypes.Int32), 1, -1))
		}
		if i == 0 {
			for _, x := range c.prism {
				s.Prism = append(s.Prism, as(x, dtypes.Float64))
			}
		}
		radii[i] = as(shape.radius, dtypes.Float64)
		d.Solids[i] = s
	}
	radius := radii[0].Plus(radii[1]).Materialize()
	d.Scale = length(d.Solids[0].Size).Min(length(d.Solids[1].Size)).Materialize()
	d.Far = as(c.margin.Slice(0, n), dtypes.Float64).Plus(radius).Neg().Materialize()
	// Along the line of centres and the axes of both solids, and across these axes.
	second := d.Solids[1]
	edges := []algebra.Vector{wide(unit(n, 0)), wide(unit(n, 1)), wide(unit(n, 2))}
	axes := []algebra.Vector{second.Turn.X, second.Turn.Y, second.Turn.Z}
	both := slices.Concat(edges, axes)
	directions := []algebra.Vector{normalized(second.Center)}
	if len(c.prism) > 0 {
		faces, slanted := d.Solids[0].faces()
		directions, edges = append(directions, faces...), append(slanted, edges[2])
	}
	for _, edge := range edges {
		for _, axis := range axes {
			both = append(both, normalized(edge.Cross(axis)))
		}
	}
	for _, v := range both {
		directions = append(directions, v, v.Neg())
	}
	d.Direction, d.Triangle.Weight = directions[0], [3]algebra.Num{constant(1), zero, zero}
	for k := range d.Triangle.Points {
		d.Triangle.Points[k] = [3]algebra.Vector(slices.Repeat(directions[:1], 3))
	}
	d = d.least(stackVectors(directions))
	points := [2]algebra.Vector{d.Triangle.of(0), d.Triangle.of(1)}
	points[0], points[1] = points[0].Plus(d.Direction.By(radii[0])), points[1].Minus(d.Direction.By(radii[1]))
	return overlap{Descent: d, Distance: as(d.Depth.Plus(radius).Neg(), dtypes.Float32),
		Point: points[0].Plus(points[1]).Scale(0.5), Turn: frame, Position: a.position,
		Polytope: [2]algebra.Num{c.shapes[0].polytope, c.shapes[1].polytope}, Margin: c.margin.Slice(0, n), Apart: c.apart}
}

// convexSide holds the shapes of one side of pairs of convex shapes.
type convexSide struct {
	kinds  []GeomType  // of all
	kind   algebra.Num // of each pair
	radius algebra.Num // of its ball or capsule, else 0
	meshes vertexTable
	hull   algebra.Num // of each pair; 0 if it is no mesh

	polytope algebra.Num // the first vertex of each pair's in [polytopes]; -1 for pairs whose faces have no contacts
}

// convexSide returns the shapes of geoms.
func (m *Model) convexSide(geoms []int) (c convexSide) {
	for _, geom := range geoms {
		if kind := m.GeomType[geom]; !slices.Contains(c.kinds, kind) {
			c.kinds = append(c.kinds, kind)
		}
	}
	c.polytope = algebra.Constant(len(geoms), -1)
	c.kind = algebra.ColumnOf(geoms, func(geom int) float64 { return float64(m.GeomType[geom]) })
	c.hull = c.meshes.numbers(m, geoms)
	c.radius = algebra.ColumnOf(geoms, func(geom int) float64 {
		if kind := m.GeomType[geom]; kind == Sphere || kind == Capsule {
			return m.GeomSize[geom][0]
		}
		return 0
	})
	return c
}
