package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds the contact of two convex shapes from their support functions, where no rule for the two shapes does.
//
// The depth is the least extent of the Minkowski difference one - two beyond the origin, over all directions. A point
// beyond its surface is the target: the GJK algorithm finds the nearest point of the difference, as one of a triangle of
// support points. In the direction found, the next target is placed, until the direction stays. Round shapes would need
// hundreds of support points. So a step of Newton's method proposes directions, with the curvature of the shapes, and
// where such a step came near, also moves the points of the triangle along the surfaces. All is float64: the triangles
// shrink to what rounding of float32 leaves of the coordinates.

// convexSteps is the largest number of support points of a pair that are looked at.
const convexSteps = 60

// solid is a convex shape of each pair in the frame of the first of two, without the radius of spheres and capsules.
type solid struct {
	Kinds    []GeomType  // of all pairs
	Kind     algebra.Num // of each
	First    bool        // is at the origin
	Size     algebra.Vector
	Center   algebra.Vector
	Turn     algebra.Rotation
	Vertices [3]*Node      // of meshes, [vertices, pairs * B]
	Prism    []algebra.Num // see [contactSet.prismBoxes], of height fields
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

// farthestVertex returns the row of the vertex of meshes that is farthest along a direction in their frames,
// [1, pairs * B].
func (s solid) farthestVertex(d algebra.Vector) *Node {
	shape := s.Vertices[0].Shape().Dimensions
	along := func(axis int) *Node {
		return Mul(s.Vertices[axis], BroadcastToDims(Reshape(component(d, axis).Node, 1, shape[1]), shape...))
	}
	return lowestRow(xla.Store(Neg(Add(Add(along(0), along(1)), along(2)))))
}

// support returns the point of the solid that is farthest along a direction.
func (s solid) support(direction algebra.Vector) algebra.Vector {
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
		row := s.farthestVertex(d)
		take := func(axis int) algebra.Num {
			all := algebra.Num{Rows: s.Vertices[axis].Shape().Dimensions[0], Node: Reshape(s.Vertices[axis], -1)}
			return algebra.Num{Rows: d.X.Rows, Node: pick(all, row).Node}
		}
		return algebra.Vector{X: take(0), Y: take(1), Z: take(2)}
	}, algebra.Vector{X: zero, Y: zero, Z: zero})
	return s.Center.Plus(s.from(p)).Materialize()
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
			return s.support(direction)
		}
		d, end := s.into(direction), s.into(point.Minus(s.Center)).Z
		r := d.X.Square().Plus(d.Y.Square()).Sqrt().Materialize()
		by := s.Size.X.Over(atLeast(r, upright))
		p := algebra.Vector{X: d.X.Times(by), Y: d.Y.Times(by), Z: end.Below(0).Choose(s.Size.Y.Neg(), s.Size.Y)}.Materialize()
		return r.Above(upright).ChooseVector(s.Center.Plus(s.from(p)), point).Materialize()
	}, point)
}

// triangle is a part of the surface of the Minkowski difference: three points of both solids, and the weights of its
// nearest point.
type triangle struct {
	Points [2][3]algebra.Vector
	Weight [3]algebra.Num
}

func (t triangle) corner(i int) algebra.Vector {
	return t.Points[0][i].Minus(t.Points[1][i]).Materialize()
}

// of returns the weighted points of a solid.
func (t triangle) of(solid int) algebra.Vector {
	p := t.Points[solid]
	return p[0].By(t.Weight[0]).Plus(p[1].By(t.Weight[1])).Plus(p[2].By(t.Weight[2])).Materialize()
}

func (t triangle) point() algebra.Vector { return t.of(0).Minus(t.of(1)).Materialize() }

// with returns the triangle that a further point makes with the two corners that have weight, given the weights of all.
func (t triangle) with(point [2]algebra.Vector, weights [4]algebra.Num) triangle {
	const none = 1e-300
	had := weights[1].Above(none)
	drops := []algebra.Mask{weights[1].Below(none), had.And(weights[2].Below(none)), had.And(weights[2].Above(none))}
	for i, drop := range drops {
		for k := range t.Points {
			t.Points[k][i] = drop.ChooseVector(point[k], t.Points[k][i]).Materialize()
		}
		t.Weight[i] = drop.Choose(weights[0], weights[1+i]).Materialize()
	}
	return t
}

// nearestPart returns the weights of a point and of the corners of a triangle in the point of their hull that is nearest to
// a target, of those that have a part of the point. The metric multiplies a vector with a matrix.
func nearestPart(target, point algebra.Vector, t triangle,
	metric func(algebra.Vector) algebra.Vector) (weights [4]algebra.Num) {
	way := target.Minus(point).Materialize()
	zero, one := algebra.Constant(way.X.Rows, 0), algebra.Constant(way.X.Rows, 1)
	var edge, scaled [3]algebra.Vector
	var square, reach [3]algebra.Num
	best := zero
	weights = [4]algebra.Num{one, zero, zero, zero}
	better := func(by algebra.Num, where algebra.Mask, w [4]algebra.Num) {
		mask := where.And(by.Less(best))
		best = mask.Choose(by, best).Materialize()
		for i := range w {
			weights[i] = mask.Choose(w[i], weights[i]).Materialize()
		}
	}
	for i := range edge {
		edge[i] = t.corner(i).Minus(point).Materialize()
		scaled[i] = metric(edge[i])
		square[i], reach[i] = edge[i].Dot(scaled[i]).Materialize(), way.Dot(scaled[i]).Materialize()
		part := reach[i].Over(atLeast(square[i], 1e-300)).Max(zero).Min(one).Materialize()
		w := [4]algebra.Num{one.Minus(part), zero, zero, zero}
		w[1+i] = part
		better(part.Times(part.Times(square[i]).Minus(reach[i].Scale(2))).Materialize(), part.Above(0), w)
	}
	for i := range edge {
		j := (i + 1) % 3
		mixed := edge[i].Dot(scaled[j]).Materialize()
		product := square[i].Times(square[j]).Materialize()
		determinant := product.Minus(mixed.Square()).Materialize()
		exists := product.Scale(1e-14).Less(determinant)
		determinant = atLeast(determinant, 1e-300)
		a := square[j].Times(reach[i]).Minus(mixed.Times(reach[j])).Over(determinant).Materialize()
		b := square[i].Times(reach[j]).Minus(mixed.Times(reach[i])).Over(determinant).Materialize()
		rest := one.Minus(a).Minus(b).Materialize()
		w := [4]algebra.Num{rest, zero, zero, zero}
		w[1+i], w[1+j] = a, b
		inside := exists.And(a.Above(0)).And(b.Above(0)).And(rest.Above(0))
		better(a.Times(reach[i]).Plus(b.Times(reach[j])).Neg().Materialize(), inside, w)
	}
	return weights
}

// descent is the search for the direction of least depth.
type descent struct {
	Solids    [2]solid
	Scale     algebra.Num // of the smaller solid
	Far       algebra.Num // depth, below 0, of solids that do not touch
	Triangle  triangle
	Target    algebra.Vector
	Direction algebra.Vector // which is looked at
	Settled   algebra.Vector // that of the last target whose nearest point was found
	Proposed  algebra.Vector
	Proposes  algebra.Num // 1 where that comes next
	Depth     algebra.Num
	Done      algebra.Num // 1 where the direction is found
	Step      *Node
}

func (d descent) supports(direction algebra.Vector) [2]algebra.Vector {
	return [2]algebra.Vector{d.Solids[0].support(direction), d.Solids[1].support(direction.Neg().Materialize())}
}

// aim places the target beyond the surface.
func (d descent) aim() algebra.Vector {
	return d.Direction.By(atLeast(d.Depth, 0).Plus(d.Scale.Scale(0.1))).Materialize()
}

// begin begins in the direction of least depth among some, which are stacked. It ends where all solids are too far apart.
func (d descent) begin(directions algebra.Vector) descent {
	type state struct {
		Descent    descent
		Directions algebra.Vector
		Number     *Node // of the direction that is next
	}
	n := d.Scale.Rows
	count := directions.X.Rows / n
	d = xla.Loop(state{d, directions, ScalarZero(d.Step.Graph(), dtypes.Int32)}, func(at state) *Node {
		more := LessThan(at.Number, ConstAs(at.Number, int32(count)))
		if xla.KindOf(at.Number.Graph()).Accelerator() { // whose host need not wait for a known number
			return more
		}
		return And(more, LogicalAny(LessThan(at.Descent.Far.Node, at.Descent.Depth.Node)))
	}, func(at state) state {
		d := &at.Descent
		direction := at.Directions.Each(func(x algebra.Num) algebra.Num {
			return algebra.Num{Rows: n, Node: xla.Store(Reshape(xla.Rows(Reshape(x.Node, count, -1), at.Number, 1), -1))}
		})
		points := d.supports(direction)
		depth := points[0].Minus(points[1]).Dot(direction).Materialize()
		less := depth.Less(d.Depth).And(direction.Dot(direction).Above(0.5)) // parallel axes have no direction across
		d.Depth = less.Choose(depth, d.Depth).Materialize()
		d.Direction = less.ChooseVector(direction, d.Direction).Materialize()
		for k, point := range points {
			for i := range 3 {
				d.Triangle.Points[k][i] = less.ChooseVector(point, d.Triangle.Points[k][i]).Materialize()
			}
		}
		at.Number = AddScalar(at.Number, 1)
		return at
	}).Descent
	d.Done = d.Depth.Less(d.Far).Number().Materialize()
	d.Settled, d.Proposed, d.Target = d.Direction, d.Direction, d.aim()
	return d
}

// step looks at one more support point.
func (d descent) step() descent {
	done := d.Done.Above(0.5)
	way := d.Target.Minus(d.Triangle.point()).Materialize()
	distance := length(way)
	straight := way.Over(atLeast(distance, tiny)).Materialize()
	next := d.Proposes.Above(0.5).ChooseVector(d.Proposed, straight)
	d.Direction = done.ChooseVector(d.Direction, next).Materialize()
	points := d.supports(d.Direction)
	point := points[0].Minus(points[1]).Materialize()
	least := d.Target.Minus(point).Dot(d.Direction).Materialize() // distance of the target
	d.Depth = done.Choose(d.Depth, point.Dot(d.Direction)).Materialize()
	settles := distance.Minus(least).Less(d.Scale.Scale(1e-10))
	change := d.Direction.Minus(d.Settled).Materialize()
	stays := settles.And(change.Dot(change).Below(1e-10))
	finished := done.Or(stays).Or(d.Depth.Less(d.Far))
	d.Settled = settles.ChooseVector(d.Direction, d.Settled).Materialize()
	d.Target = finished.ChooseVector(d.Target, settles.ChooseVector(d.aim(), d.Target)).Materialize()
	same := func(v algebra.Vector) algebra.Vector { return v }
	t := d.Triangle.with(points, nearestPart(d.Target, point, d.Triangle, same))
	if d.Solids[0].round() || d.Solids[1].round() {
		t = d.propose(t, points, straight, distance, least)
	}
	d.Triangle = chooseTriangle(finished, d.Triangle, t)
	d.Done = finished.Number().Materialize()
	d.Step = AddScalar(d.Step, 1)
	return d
}

// chooseTriangle returns one triangle where a mask holds, else another.
func chooseTriangle(mask algebra.Mask, one, other triangle) triangle {
	return xla.Map2(one, other, func(a, b *Node) *Node { return xla.Store(Where(mask.Node, a, b)) })
}

// propose proposes the next direction, and returns the nearer of a triangle and of the last one, moved along the
// surfaces.
func (d *descent) propose(t triangle, points [2]algebra.Vector, straight algebra.Vector, distance,
	least algebra.Num) triangle {
	moved := d.Triangle
	for i := range 3 {
		moved.Points[0][i] = d.Solids[0].along(moved.Points[0][i], d.Direction)
		moved.Points[1][i] = d.Solids[1].along(moved.Points[1][i], d.Direction.Neg())
	}
	// The matrix is the curvature plus the distance.
	scale := least.Max(d.Scale.Scale(0.01)).Materialize()
	xx, yy, zz := scale, scale, scale
	xy := algebra.Constant(scale.Rows, 0)
	yz, zx := xy, xy
	bent := algebra.Vector{X: xy, Y: xy, Z: xy}
	add := func(v algebra.Vector, sign float64) {
		w := v.Scale(sign)
		xx, yy, zz = xx.Plus(v.X.Times(w.X)), yy.Plus(v.Y.Times(w.Y)), zz.Plus(v.Z.Times(w.Z))
		xy, yz, zx = xy.Plus(v.X.Times(w.Y)), yz.Plus(v.Y.Times(w.Z)), zx.Plus(v.Z.Times(w.X))
		bent = bent.Plus(w.By(v.Dot(d.Direction))).Materialize()
	}
	for i, s := range d.Solids {
		if s.round() {
			of, less := s.slopes([]algebra.Vector{d.Direction, d.Direction.Neg()}[i])
			for _, v := range of {
				add(v.Materialize(), 1)
			}
			add(less.Materialize(), -1)
		}
	}
	m := algebra.Rotation{X: algebra.Vector{X: xx, Y: xy, Z: zx}.Materialize(),
		Y: algebra.Vector{X: xy, Y: yy, Z: yz}.Materialize(), Z: algebra.Vector{X: zx, Y: yz, Z: zz}.Materialize()}
	inverted := algebra.Rotation{X: m.Y.Cross(m.Z).Materialize(), Y: m.Z.Cross(m.X).Materialize(),
		Z: m.X.Cross(m.Y).Materialize()}
	determinant := m.X.Dot(inverted.X).Materialize()
	metric := func(v algebra.Vector) algebra.Vector { return inverted.Of(v).Over(determinant).Materialize() }
	point := points[0].Minus(points[1]).Materialize()
	target := d.Target.Plus(bent).Materialize()
	moved = moved.with(points, nearestPart(target, point, moved, metric))
	d.Proposed = normalized(metric(target.Minus(moved.point())))
	far := func(t triangle) algebra.Num { return length(d.Target.Minus(t.point())) }
	t = chooseTriangle(far(t).Less(far(moved)), t, moved)
	proposed := d.Proposes.Above(0.5)
	fails := proposed.And(far(d.Triangle).Less(far(t)))
	again := distance.Scale(0.9).Less(least).Or(d.Proposes.Below(0.5))
	d.Proposes = d.Proposed.Dot(straight).Above(0.95).And(again).Number().Materialize()
	d.Proposes = fails.Choose(algebra.Constant(d.Proposes.Rows, 0), d.Proposes).Materialize()
	return chooseTriangle(fails, d.Triangle, t)
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
			s.Vertices = shape.vertices(g, copies)
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
	d = xla.Loop(d.begin(stackVectors(directions)), func(d descent) *Node {
		more := LessThan(d.Step, Const(d.Step.Graph(), int32(convexSteps)))
		return And(more, LogicalAny(LessThan(d.Done.Node, ScalarOne(d.Done.Graph(), dtypes.Float32))))
	}, descent.step)
	points := [2]algebra.Vector{d.Triangle.of(0), d.Triangle.of(1)}
	points[0], points[1] = points[0].Plus(d.Direction.By(radii[0])), points[1].Minus(d.Direction.By(radii[1]))
	return overlap{Descent: d, Distance: as(d.Depth.Plus(radius).Neg(), dtypes.Float32),
		Point: points[0].Plus(points[1]).Scale(0.5), Turn: frame, Position: a.position,
		Polytope: [2]algebra.Num{c.shapes[0].polytope, c.shapes[1].polytope}, Margin: c.margin.Slice(0, n), Apart: c.apart}
}

// convexSide holds the shapes of one side of pairs of convex shapes.
type convexSide struct {
	kinds  []GeomType     // of all
	kind   algebra.Num    // of each pair
	radius algebra.Num    // of its ball or capsule, else 0
	hulls  [3][][]float64 // coordinates of each distinct hull; those of smaller ones are repeated
	hull   algebra.Num    // of each pair; 0 if it is no mesh

	polytope algebra.Num // the first vertex of each pair's in [polytopes]; -1 for pairs whose faces have no contacts
}

// vertices returns the vertices of the hull of each pair, [vertices, pairs * B].
func (c convexSide) vertices(g *Graph, copies int) (out [3]*Node) {
	rows := ConvertDType(c.hull.Spread(g, copies), dtypes.Int32)
	for axis, table := range c.hulls {
		out[axis] = xla.Store(Transpose(Gather(Const(g, table), Reshape(rows, -1, 1)), 0, 1))
	}
	return out
}

// convexSide returns the shapes of geoms.
func (m *Model) convexSide(geoms []int) (c convexSide) {
	var distinct []*Hull
	most := 0
	for _, geom := range geoms {
		if kind := m.GeomType[geom]; !slices.Contains(c.kinds, kind) {
			c.kinds = append(c.kinds, kind)
		}
		if hull := m.hull(geom); hull != nil && !slices.Contains(distinct, hull) {
			distinct, most = append(distinct, hull), max(most, len(hull.Vertices))
		}
	}
	c.polytope = algebra.Constant(len(geoms), -1)
	c.kind = algebra.ColumnOf(geoms, func(geom int) float64 { return float64(m.GeomType[geom]) })
	c.hull = algebra.ColumnOf(geoms, func(geom int) float64 { return float64(max(0, slices.Index(distinct, m.hull(geom)))) })
	c.radius = algebra.ColumnOf(geoms, func(geom int) float64 {
		if kind := m.GeomType[geom]; kind == Sphere || kind == Capsule {
			return m.GeomSize[geom][0]
		}
		return 0
	})
	for axis := range c.hulls {
		for _, hull := range distinct {
			var row []float64
			for i := range most {
				row = append(row, hull.Vertices[i%len(hull.Vertices)][axis])
			}
			c.hulls[axis] = append(c.hulls[axis], row)
		}
	}
	return c
}
