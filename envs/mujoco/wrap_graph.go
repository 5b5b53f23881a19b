package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

// obstacle is a sphere or a cylinder around which a segment of a tendon wraps where it would pass through, or pass on the
// wrong side.
type obstacle struct {
	side     side // its link, and its pose there
	radius   float64
	cylinder bool
	aside    *algebra.Vector // the site on whose side the tendon passes, in the obstacle's frame; nil: the shorter way
	within   bool            // that site is within the obstacle: the tendon touches it in one point, from inside
}

// obstacle returns what a segment wraps around.
func (s *System) obstacle(w Wrap) *obstacle {
	m := s.model
	body := m.GeomBodyID[w.Geom]
	own := s.poses[body].then(pose{algebra.Vectors(m.GeomPos[w.Geom]), algebra.KnownQuaternion(m.GeomQuat[w.Geom])})
	o := &obstacle{side: s.sideOf(body, own), radius: m.GeomSize[w.Geom][0], cylinder: m.GeomType[w.Geom] == Cylinder}
	if w.SideSite >= 0 { // of the same link
		_, site := s.site(w.SideSite)
		aside := inverse(own.place().turn, site.position.Minus(own.position)).Materialize()
		at := host(aside)
		o.aside, o.within = &aside, math.Hypot(math.Hypot(at[0], at[1]), at[2]) < o.radius
	}
	return o
}

// direction returns the direction of a vector, and its length.
func direction(v algebra.Vector) (unit algebra.Vector, length algebra.Num) {
	length = v.Dot(v).Sqrt().Materialize()
	return v.By(one(1).Over(length.Max(one(1e-15)))).Materialize(), length
}

// stretchAround returns the length of a segment that may wrap around an obstacle, and pushes its links as a unit force
// along the segment does.
func (s *System) stretchAround(k kinematics, part segment, push func(side side, force, from algebra.Vector)) algebra.Num {
	o := part.around
	turn := o.side.pose.place().turn
	var ends [2]algebra.Vector // in the frame of the obstacle
	for i, end := range part.sides {
		at := [2]place{end.pose.place(), o.side.pose.place()}
		if end.group != static || o.side.group != static {
			at, _ = s.relativePlaces(k, [2]side{end, o.side})
		}
		turn = at[1].turn
		ends[i] = inverse(turn, at[0].position.Minus(at[1].position).Materialize()).Materialize()
	}
	touches, arc, wraps := o.wrap(ends[0], ends[1])
	straight, distance := direction(ends[1].Minus(ends[0]))
	first, before := direction(touches[0].Minus(ends[0]))
	last, after := direction(ends[1].Minus(touches[1]))
	for i, way := range []algebra.Vector{first.Neg(), last} {
		if side := part.sides[i]; side.group != static {
			along := wraps.ChooseVector(way, straight.Scale(float64(2*i-1)))
			push(side, turn.Of(along).Scale(part.by).Materialize(), s.turnOf(k, side).Of(side.pose.position))
		}
	}
	if o.side.group != static {
		center := s.turnOf(k, o.side).Of(o.side.pose.position)
		for i, way := range []algebra.Vector{first, last.Neg()} {
			none := algebra.Vectors([3]float64{})
			force := turn.Of(wraps.ChooseVector(way, none)).Scale(part.by).Materialize()
			push(o.side, force, center.Plus(turn.Of(touches[i])))
		}
	}
	return wraps.Choose(before.Plus(arc).Plus(after), distance).Materialize()
}

// planar is a vector in the plane of a wrap.
type planar [2]algebra.Num

func (a planar) plus(b planar) planar       { return planar{a[0].Plus(b[0]), a[1].Plus(b[1])} }
func (a planar) minus(b planar) planar      { return planar{a[0].Minus(b[0]), a[1].Minus(b[1])} }
func (a planar) by(k algebra.Num) planar    { return planar{a[0].Times(k), a[1].Times(k)} }
func (a planar) dot(b planar) algebra.Num   { return a[0].Times(b[0]).Plus(a[1].Times(b[1])) }
func (a planar) cross(b planar) algebra.Num { return a[0].Times(b[1]).Minus(a[1].Times(b[0])) }
func (a planar) norm() algebra.Num          { return a.dot(a).Sqrt() }
func (a planar) store() planar              { return planar{a[0].Materialize(), a[1].Materialize()} }
func (a planar) unit() planar               { return a.by(one(1).Over(a.norm().Max(one(1e-15)))).store() }

// one is a known number, as lengths of tendons have one row.
func one(x float64) algebra.Num { return algebra.Constant(1, x) }

func not(m algebra.Mask) algebra.Mask { return m.Number().Below(0.5) }

// wrap returns where a segment between two points in the frame of the obstacle touches it first and last, the length
// between these, and whether it does (mju_wrap).
func (o obstacle) wrap(from, to algebra.Vector) (touches [2]algebra.Vector, length algebra.Num, wraps algebra.Mask) {
	first, second := algebra.Vectors([3]float64{1, 0, 0}), algebra.Vectors([3]float64{0, 1, 0})
	if !o.cylinder { // the plane of both points and the centre
		first, _ = direction(from)
		normal := from.Cross(to).Materialize()
		x, y, z := first.X.Abs(), first.Y.Abs(), first.Z.Abs()
		byY, byZ := x.Less(y).And(z.Less(y)), x.Less(z).And(y.Less(z))
		other := algebra.Vector{X: byY.Or(byZ).Choose(one(1), one(0)), Y: byY.Choose(one(0), one(1)),
			Z: byZ.Choose(one(0), one(1))}
		normal = normal.Norm().Below(1e-15).ChooseVector(first.Cross(other), normal)
		second, _ = direction(normal.Cross(first))
	}
	plane := func(v algebra.Vector) planar { return planar{v.Dot(first), v.Dot(second)}.store() }
	ends := [2]planar{plane(from), plane(to)}
	var at [2]planar
	switch {
	case o.within:
		at[0], wraps = o.inside(ends)
		at[1], length = at[0], one(0)
	case o.aside != nil:
		toward := plane(*o.aside).unit()
		at, length, wraps = o.around(ends, &toward)
	default:
		at, length, wraps = o.around(ends, nil)
	}
	for i := range at {
		touches[i] = first.By(at[i][0]).Plus(second.By(at[i][1]))
	}
	if o.cylinder { // the height grows evenly along the way
		before, after := ends[0].minus(at[0]).norm(), ends[1].minus(at[1]).norm()
		rise := to.Z.Minus(from.Z).Over(before.Plus(length).Plus(after).Max(one(1e-15))).Materialize()
		touches[0].Z = from.Z.Plus(rise.Times(before))
		touches[1].Z = from.Z.Plus(rise.Times(before.Plus(length)))
		length = length.Square().Plus(length.Times(rise).Square()).Sqrt()
	}
	return [2]algebra.Vector{touches[0].Materialize(), touches[1].Materialize()}, length.Materialize(), wraps
}

// around wraps a segment around a circle: as the path by way of a direction, or the shorter way. The way around the
// centre is the angle between the ends; of that the circle's tangents through the ends take what is seen of it.
func (o obstacle) around(ends [2]planar, toward *planar) (at [2]planar, length algebra.Num, wraps algebra.Mask) {
	between := func(a, b planar) algebra.Num { return algebra.Angle(a.cross(b).Materialize(), a.dot(b).Materialize()) }
	turned := between(ends[0], ends[1])
	if toward != nil {
		turned = between(ends[0], *toward).Plus(between(*toward, ends[1]))
	}
	turned = turned.Materialize()
	rest, outside := turned.Abs(), one(0).Below(1)
	for i, end := range ends {
		square := end.dot(end).Materialize()
		outside = outside.And(not(square.Below(o.radius * o.radius)))
		height := square.Add(-o.radius * o.radius).Max(one(0)).Sqrt().Materialize()
		rest = rest.Minus(algebra.Angle(height, one(o.radius)))
		ahead := turned.Below(0).Choose(one(float64(2*i-1)), one(float64(1-2*i)))
		// The end, turned by the angle whose cosine is radius / distance, at the distance radius.
		turn := planar{end[1].Neg(), end[0]}.by(height.Times(ahead))
		at[i] = end.by(one(o.radius)).plus(turn).by(one(o.radius).Over(square.Max(one(1e-15)))).store()
	}
	rest = rest.Materialize()
	return at, rest.Max(one(0)).Scale(o.radius), outside.And(rest.Above(0))
}

// inside returns the point of a circle through which a segment from outside is shortest (wrap_inside).
func (o obstacle) inside(ends [2]planar) (at planar, wraps algebra.Mask) {
	far := [2]algebra.Num{ends[0].norm().Materialize(), ends[1].norm().Materialize()}
	way := ends[1].minus(ends[0]).store()
	long := way.dot(way).Materialize()
	share := way.dot(ends[0]).Neg().Over(long.Max(one(1e-15))).Materialize()
	nearest := ends[0].plus(way.by(share)).store()
	cuts := long.Above(1e-15).And(share.Above(0)).And(share.Below(1)).And(not(nearest.norm().Above(o.radius)))
	wraps = not(cuts).And(far[0].Above(o.radius)).And(far[1].Above(o.radius))

	turn := ends[0].cross(ends[1]).Materialize()
	angle := algebra.Angle(turn.Abs(), ends[0].dot(ends[1])).Materialize() // between the ends
	// From an end the circle is seen up to this angle.
	seen := func(end int) algebra.Num { return algebra.Acos(one(o.radius).Over(far[end].Max(one(1e-15)))) }
	low, high := angle.Minus(seen(1)).Max(one(0)).Materialize(), angle.Min(seen(0)).Materialize()
	at0 := low.Plus(high).Scale(0.5).Materialize()
	// slope is that of the length from an end to the point at an angle from it, and its slope.
	slope := func(end int, angle algebra.Num) (first, second algebra.Num) {
		sin, cos := algebra.SinCos(angle)
		square := far[end].Square().Add(o.radius * o.radius).Minus(far[end].Times(cos).Scale(2 * o.radius))
		distance := square.Sqrt().Max(one(1e-15))
		across := far[end].Times(sin).Over(distance).Materialize()
		return across, far[end].Times(cos).Minus(across.Square().Scale(o.radius)).Over(distance).Materialize()
	}
	for range 10 { // Newton's steps, or bisection where they leave the bracket
		one0, more0 := slope(0, at0)
		one1, more1 := slope(1, angle.Minus(at0))
		value := one0.Minus(one1).Materialize()
		beyond := value.Above(0)
		low, high = beyond.Choose(low, at0).Materialize(), beyond.Choose(at0, high).Materialize()
		next := at0.Minus(value.Over(more0.Plus(more1).Max(one(1e-15)))).Materialize()
		middle := low.Plus(high).Scale(0.5)
		at0 = next.Less(low).Or(high.Less(next)).Choose(middle, next).Materialize()
	}
	sin, cos := algebra.SinCos(at0)
	sin = turn.Above(0).Choose(sin, sin.Neg())
	start := ends[0].unit()
	return start.by(cos).plus(planar{start[1].Neg(), start[0]}.by(sin)).by(one(o.radius)).store(), wraps
}
