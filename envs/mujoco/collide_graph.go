package mujoco

import "example.com/qdnb/envs/algebra"

// place is where the geoms of a side are, relative to a point near both sides: the origin of a tree.
type place struct {
	position algebra.Vector
	turn     algebra.Rotation
}

func (a pose) place() place { return place{a.position, a.rotation.Rotation().Snap()} }

func (p place) numbers() []algebra.Num {
	var all []algebra.Num
	for _, v := range []algebra.Vector{p.position, p.turn.X, p.turn.Y, p.turn.Z} {
		all = append(all, v.X, v.Y, v.Z)
	}
	return all
}

// touch is a possible contact of each pair of a set.
type touch struct {
	distance algebra.Num    // below 0 where the geoms overlap
	point    algebra.Vector // halfway between the surfaces
	normal   algebra.Vector // from the first geom to the second
	tangent  algebra.Vector // the direction near which the first tangent is; no rows: MuJoCo's default
}

// planeBall is the contact of a plane with a ball.
func planeBall(plane place, center algebra.Vector, radius algebra.Num) touch {
	n := plane.turn.Z
	distance := center.Minus(plane.position).Dot(n).Minus(radius)
	return touch{distance: distance, normal: n, point: center.Minus(n.By(radius.Plus(distance.Scale(0.5))))}
}

// planePoint is the contact of a plane with a point.
func planePoint(a place, point algebra.Vector) touch {
	distance := point.Minus(a.position).Dot(a.turn.Z)
	return touch{distance: distance, normal: a.turn.Z, point: point.Minus(a.turn.Z.By(distance.Scale(0.5)))}
}

// planeEllipsoid is the contact of a plane with the lowest point of an ellipsoid.
func planeEllipsoid(c *contactSet, a, b place) []touch {
	size := c.sizes[1]
	up := size.Times(inverse(b.turn, a.turn.Z)).Materialize()
	lowest := size.Times(up.Over(up.Dot(up).Sqrt()).Neg())
	return []touch{planePoint(a, b.position.Plus(b.turn.Of(lowest)))}
}

func planeSphere(c *contactSet, a, b place) []touch {
	return []touch{planeBall(a, b.position, c.sizes[1].X)}
}

func planeCapsule(c *contactSet, a, b place) (out []touch) {
	half := b.turn.Z.By(c.sizes[1].Y)
	for _, end := range []algebra.Vector{b.position.Plus(half), b.position.Minus(half)} {
		t := planeBall(a, end, c.sizes[1].X)
		t.tangent = b.turn.Z
		out = append(out, t)
	}
	return out
}

// planeCylinder finds contacts of both ends of the cylinder's lowest line, and of two more points of its
// lower cap (mjc_PlaneCylinder).
func planeCylinder(c *contactSet, a, b place) (out []touch) {
	n, radius, half := a.turn.Z, c.sizes[1].X, c.sizes[1].Y
	// In the plane of the cap: the difference of n and the axis of a cylinder that stands would be rounding.
	aside := b.turn.X.By(n.Dot(b.turn.X)).Plus(b.turn.Y.By(n.Dot(b.turn.Y))).Neg()
	length := aside.Dot(aside).Sqrt()
	down := length.Less(algebra.Constant(radius.Rows, 1e-6)).ChooseVector(b.turn.X.By(radius),
		aside.By(radius.Over(length.Max(algebra.Constant(radius.Rows, 1e-6))))).Materialize()
	axis := n.Dot(b.turn.Z).Above(0).ChooseVector(b.turn.Z.Neg(), b.turn.Z) // down
	axis = axis.By(half).Materialize()
	at := func(offset algebra.Vector) touch { return planePoint(a, b.position.Plus(offset)) }
	sideways := down.Cross(axis)
	sideways = sideways.By(radius.Scale(0.8660254037844386).Over(sideways.Dot(sideways).Sqrt()))
	back := axis.Minus(down.Scale(0.5))
	return []touch{at(down.Plus(axis)), at(down.Minus(axis)), at(back.Plus(sideways)), at(back.Minus(sideways))}
}

// planeBox finds contacts of the four corners below the box's centre: the lower ones of opposite corners.
func planeBox(c *contactSet, a, b place) (out []touch) {
	n, size := a.turn.Z, c.sizes[1]
	x, y, z := b.turn.X.By(size.X), b.turn.Y.By(size.Y), b.turn.Z.By(size.Z)
	for _, corner := range []algebra.Vector{
		x.Plus(y).Plus(z), y.Plus(z).Minus(x), x.Plus(z).Minus(y), z.Minus(x).Minus(y),
	} {
		corner = n.Dot(corner).Above(0).ChooseVector(corner.Neg(), corner)
		out = append(out, planePoint(a, b.position.Plus(corner)))
	}
	return out
}

// balls is the contact of two balls on axes. If their centres coincide, its normal is perpendicular to both axes, or
// along x if these are parallel (mjraw_SphereSphere).
func balls(a, b, axisA, axisB algebra.Vector, radiusA, radiusB algebra.Num) touch {
	between := b.Minus(a).Materialize()
	rows := radiusA.Rows
	length := between.Dot(between).Sqrt().Max(algebra.Constant(rows, 1e-15)).Materialize()
	n := between.Over(length)
	if !between.Y.Is(0) { // out of the plane of planar robots nothing can move
		across := axisA.Cross(axisB).Materialize()
		sine := across.Dot(across).Sqrt().Materialize()
		across = sine.Below(1e-6).ChooseVector(unit(rows, 0), across.Over(sine.Max(algebra.Constant(rows, 1e-15))))
		// Rounding alone keeps centres apart that are this near.
		n = length.Below(1e-6).ChooseVector(across, n).Materialize()
	}
	distance := length.Minus(radiusA).Minus(radiusB)
	return touch{distance: distance, normal: n, point: a.Plus(n.By(radiusA.Plus(distance.Scale(0.5))))}
}

// capsules is the contact of two capsules at their nearest points. A sphere is a capsule without length
// (mjraw_CapsuleCapsule).
func capsules(c *contactSet, a, b place) []touch {
	one, other := a.turn.Z.By(c.sizes[0].Y).Materialize(), b.turn.Z.By(c.sizes[1].Y).Materialize()
	apart := a.position.Minus(b.position).Materialize()
	tiny := algebra.Constant(apart.X.Rows, 1e-15)
	limited := func(x algebra.Num) algebra.Num { return clip(x, limits{x.Zero().Add(-1), x.Zero().Add(1)}) }
	// The nearest points are a + x one and b + y other.
	aa, bb := one.Dot(one).Max(tiny), other.Dot(other).Max(tiny)
	ab, u, v := one.Dot(other).Neg().Materialize(), one.Dot(apart).Neg().Materialize(), other.Dot(apart).Materialize()
	determinant := aa.Times(bb).Minus(ab.Square()).Max(tiny).Materialize()
	x := limited(bb.Times(u).Minus(ab.Times(v)).Over(determinant)).Materialize()
	y := limited(v.Minus(ab.Times(x)).Over(bb)).Materialize()
	x = limited(u.Minus(ab.Times(y)).Over(aa)).Materialize()
	return []touch{balls(a.position.Plus(one.By(x)), b.position.Plus(other.By(y)), a.turn.Z, b.turn.Z, c.sizes[0].X,
		c.sizes[1].X)}
}

// parallelCapsules finds contacts of two capsules that stay parallel: the first two that exist of those of both ends of the
// first one, then of the second one, at the nearest points of the other axis (mjraw_CapsuleCapsule).
func parallelCapsules(c *contactSet, a, b place) []touch {
	one := algebra.Constant(a.position.X.Rows, 1)
	centers := [2]algebra.Vector{a.position, b.position}
	axes := [2]algebra.Vector{a.turn.Z.By(c.sizes[0].Y).Materialize(), b.turn.Z.By(c.sizes[1].Y).Materialize()}
	var found []touch
	for i := range 2 {
		for _, end := range []float64{1, -1} {
			var at [2]algebra.Vector
			at[i] = centers[i].Plus(axes[i].Scale(end)).Materialize()
			axis := axes[1-i]
			x := clip(axis.Dot(at[i].Minus(centers[1-i])).Over(axis.Dot(axis)), limits{one.Neg(), one})
			at[1-i] = centers[1-i].Plus(axis.By(x)).Materialize()
			found = append(found, balls(at[0], at[1], a.turn.Z, b.turn.Z, c.sizes[0].X, c.sizes[1].X))
		}
	}
	first, second := found[3], found[3]
	second.distance = one.Scale(far)
	for i := 3; i >= 0; i-- {
		exists, before := found[i].distance.Less(c.apart), one.Zero()
		for _, t := range found[:i] {
			before = before.Max(t.distance.Less(c.apart).Number())
		}
		first = chooseTouch(exists, found[i], first)
		second = chooseTouch(exists.And(before.Above(0)), found[i], second)
	}
	return []touch{first, second}
}

// sphereBox is the contact of a sphere with a box.
func sphereBox(c *contactSet, a, b place) []touch {
	return []touch{ballBox(c, inverse(b.turn, a.position.Minus(b.position)).Materialize(), b)}
}

// ballBox is the contact of a ball at a point, in the frame of a box, with the box (mjraw_SphereBox).
func ballBox(c *contactSet, center algebra.Vector, b place) touch {
	size, radius := c.sizes[1], c.sizes[0].X
	clipped := func(x, size algebra.Num) algebra.Num { return clip(x, limits{size.Neg(), size}) }
	nearest := algebra.Vector{X: clipped(center.X, size.X), Y: clipped(center.Y, size.Y), Z: clipped(center.Z, size.Z)}
	toBox := nearest.Minus(center)
	length := toBox.Dot(toBox).Sqrt().Materialize()
	outside := touch{distance: length.Minus(radius), normal: toBox.Over(length.Max(algebra.Constant(radius.Rows, 1e-15)))}
	// Inside, the nearest face counts.
	depth := size.Minus(center.Each(algebra.Num.Abs)).Materialize()
	zero := radius.Zero()
	xFirst := depth.X.Less(depth.Y).And(depth.X.Less(depth.Z))
	yFirst := depth.Y.Less(depth.Z)
	inward := xFirst.ChooseVector(algebra.Vector{X: toward(center.X), Y: zero, Z: zero},
		yFirst.ChooseVector(algebra.Vector{X: zero, Y: toward(center.Y), Z: zero},
			algebra.Vector{X: zero, Y: zero, Z: toward(center.Z)})).Neg()
	inside := length.Less(algebra.Constant(radius.Rows, 1e-15))
	n := inside.ChooseVector(inward, outside.normal).Materialize()
	distance := inside.Choose(depth.X.Min(depth.Y).Min(depth.Z).Plus(radius).Neg(), outside.distance).Materialize()
	point := center.Plus(n.By(radius.Plus(distance.Scale(0.5))))
	return touch{distance: distance, normal: b.turn.Of(n), point: b.position.Plus(b.turn.Of(point))}
}

// frame returns the tangents of contacts (mju_makeFrame).
func (t touch) frame() (one, other algebra.Vector) {
	n := t.normal
	hint := n.Y.Abs().Below(0.5).ChooseVector(unit(n.X.Rows, 1), unit(n.X.Rows, 2))
	if t.tangent.X.Rows > 0 { // unless it is along the normal
		if n.Y.Is(0) && t.tangent.Y.Is(0) { // of robots in a plane: the other tangent is flat, see [contact]
			hint = algebra.Vector{X: n.Z, Y: n.Y, Z: n.X.Neg()}
		}
		aside := t.tangent.Minus(n.By(n.Dot(t.tangent)))
		hint = aside.Dot(aside).Below(1e-12).ChooseVector(hint, t.tangent)
	}
	one = hint.Minus(n.By(n.Dot(hint))).Materialize()
	one = one.Over(one.Dot(one).Sqrt()).Materialize()
	return one, n.Cross(one).Materialize()
}
