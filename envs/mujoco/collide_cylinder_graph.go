package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

const (
	// lying is the sine of the angle to a cylinder's end below which a capsule lies on it with two contacts.
	lying = 0.0888
	// corners of the polygon in the rim of a cylinder's end, the first one on its x axis, that bounds such contacts.
	corners = 16
)

// sphereCylinder is the contact of a sphere with a cylinder (mjc_SphereCylinder).
func sphereCylinder(c *contactSet, a, b place) []touch {
	center, reach := axisIn(c, a, b)
	return placedTouches(b, nearCylinder(c, center, reach))
}

// capsuleCylinder finds the contact of a capsule with a cylinder, or both where it lies on an end of the cylinder: at
// the ends of the part of its lowest line that is over the end (MuJoCo iterates, mjc_Convex with multiccd). Half of the
// margin and of the gap makes the radius of the capsule and the end of the cylinder larger.
func capsuleCylinder(c *contactSet, a, b place) []touch {
	center, reach := axisIn(c, a, b)
	n := center.X.Rows
	constant := func(x float64) algebra.Num { return algebra.Constant(n, x) }
	single := nearCylinder(c, center, reach)
	normal, radius, half, length := single.normal, c.sizes[1].X, c.sizes[1].Y, c.sizes[0].Y
	up := toward(normal.Z).Neg().Materialize() // which end
	apart := c.apart.Slice(0, n)
	grown := apart.Scale(0.5)

	// The line is from + t along, with t from 0 to 1.
	axis := reach.Over(length)
	aside := normal.Minus(axis.By(axis.Dot(normal))).By(c.sizes[0].X.Plus(grown))
	from, along := center.Plus(aside).Minus(reach).Materialize(), reach.Scale(2).Materialize()
	low, high := constant(0), constant(1)
	for k := range corners {
		angle := math.Pi / corners * float64(2*k+1)
		outward := func(v algebra.Vector) algebra.Num {
			return v.X.Scale(math.Cos(angle)).Plus(v.Y.Scale(math.Sin(angle)))
		}
		beyond := outward(from).Minus(radius.Scale(math.Cos(math.Pi / corners))).Materialize()
		rate := outward(along).Materialize()
		at := beyond.Neg().Over(rate.Abs().Max(constant(1e-12)).Times(toward(rate))).Materialize()
		outside := beyond.Above(0)
		enters, leaves := rate.Below(0).And(outside), rate.Above(0)
		low, high = enters.Choose(low.Max(at), low).Materialize(), leaves.Choose(high.Min(at), high).Materialize()
	}
	ends := [2]touch{}
	var touches [2]algebra.Mask
	for i, t := range []algebra.Num{low, high} {
		point := from.Plus(along.By(t)).Materialize()
		distance := point.Z.Times(up).Minus(half).Plus(grown).Materialize()
		point.Z = point.Z.Minus(distance.Scale(0.5).Minus(grown).Times(up))
		ends[i] = touch{distance: distance, point: point, normal: algebra.Vector{X: constant(0), Y: constant(0), Z: up.Neg()}}
		touches[i] = distance.Less(apart)
	}
	lies := axis.Z.Abs().Below(lying).And(normal.Z.Abs().Above(1e-9)).And(low.Less(high)).And(touches[0].Or(touches[1]))
	// If one end is farther apart, the other one counts twice, unless it is an end of the capsule's line.
	first := chooseTouch(touches[0], ends[0], ends[1])
	second := chooseTouch(touches[1], ends[1], ends[0])
	twice := touches[0].And(touches[1]).Or(touches[0].And(low.Above(0))).Or(touches[1].And(high.Less(constant(1))))
	second.distance = lies.And(twice).Choose(second.distance, constant(far))
	return placedTouches(b, chooseTouch(lies, first, single), second)
}

// axisIn returns the centre of a capsule, and what reaches from it to an end, in the frame of a cylinder.
func axisIn(c *contactSet, capsule, cylinder place) (center, reach algebra.Vector) {
	return inverse(cylinder.turn, capsule.position.Minus(cylinder.position)).Materialize(),
		inverse(cylinder.turn, capsule.turn.Z).By(c.sizes[0].Y).Materialize()
}

// placedTouches returns contacts that are given in the frame of a place.
func placedTouches(in place, local ...touch) (out []touch) {
	for _, t := range local {
		out = append(out, touch{distance: t.distance, normal: in.turn.Of(t.normal), point: in.position.Plus(in.turn.Of(t.point))})
	}
	return out
}

// chooseTouch returns one contact where a mask holds, else another.
func chooseTouch(mask algebra.Mask, one, other touch) touch {
	return touch{distance: mask.Choose(one.distance, other.distance).Materialize(),
		normal: mask.ChooseVector(one.normal, other.normal).Materialize(),
		point:  mask.ChooseVector(one.point, other.point).Materialize()}
}

// nearCylinder is the contact of a capsule, or a sphere, with a cylinder, in the frame of the cylinder: of the point
// of the capsule's axis that is nearest to the cylinder, or least deep in it. The axis is given by the capsule's centre
// and what reaches from it to an end.
func nearCylinder(c *contactSet, center, reach algebra.Vector) touch {
	constant := func(x float64) algebra.Num { return algebra.Constant(center.X.Rows, x) }
	one := constant(1)
	clipped := func(x, most algebra.Num) algebra.Num { return clip(x, limits{most.Neg(), most}).Materialize() }
	radius, half, ball := c.sizes[1].X, c.sizes[1].Y, c.sizes[0].X
	aside := func(v algebra.Vector) algebra.Vector { return algebra.Vector{X: v.X, Y: v.Y, Z: v.Z.Zero()} }
	at := func(t algebra.Num) algebra.Vector { return center.Plus(reach.By(t)).Materialize() }
	toCylinder := func(p algebra.Vector) algebra.Vector {
		inward := aside(p).By(one.Minus(radius.Over(aside(p).Dot(aside(p)).Sqrt().Max(radius)))).Neg()
		inward.Z = clipped(p.Z, half).Minus(p.Z)
		return inward.Materialize()
	}
	low, high := one.Neg(), one
	steps := 24
	if c.sizes[0].Y.Is(0) { // a sphere
		steps = 0
	}
	for range steps { // bisection of a convex function
		middle := low.Plus(high).Scale(0.5).Materialize()
		ahead := constant(0).Less(toCylinder(at(middle)).Dot(reach))
		low, high = ahead.Choose(middle, low).Materialize(), ahead.Choose(high, middle).Materialize()
	}
	nearest := at(low.Plus(high).Scale(0.5))
	between := toCylinder(nearest)
	length := between.Dot(between).Sqrt().Materialize()
	n := between.Over(length.Max(constant(1e-15)))
	// Inside, it is pushed out through the lateral surface or the nearer cap.
	radial := aside(reach)
	nearAxis := at(clipped(aside(center).Dot(radial).Neg().Over(radial.Dot(radial).Max(constant(1e-15))), one))
	off := aside(nearAxis).Dot(aside(nearAxis)).Sqrt().Materialize()
	side := toward(center.Z)
	end := at(side.Times(toward(reach.Z)).Neg())
	throughSide, throughCap := radius.Minus(off), half.Minus(end.Z.Times(side))
	bySide := throughSide.Less(throughCap)
	// The bisection ends at the surface, from where rounding decides.
	inside := length.Less(radius.Plus(half).Plus(c.sizes[0].Y).Scale(3e-7))
	depth := bySide.Choose(throughSide, throughCap)
	inward := bySide.ChooseVector(aside(nearAxis).Over(off.Max(constant(1e-15))).Neg(),
		algebra.Vector{X: constant(0), Y: constant(0), Z: side.Neg()})
	within := bySide.ChooseVector(nearAxis, end)
	if steps > 0 {
		rimDepth, outward, rim := throughRim(center, reach, radius, half)
		byRim := rimDepth.Less(depth)
		depth = byRim.Choose(rimDepth, depth).Materialize()
		inward = byRim.ChooseVector(outward.Neg(), inward)
		within = byRim.ChooseVector(rim.Minus(outward.By(rimDepth)), within)
	}
	nearest = inside.ChooseVector(within, nearest)
	n = inside.ChooseVector(inward, n).Materialize()
	distance := inside.Choose(depth.Neg(), length).Minus(ball).Materialize()
	point := nearest.Plus(n.By(ball.Plus(distance.Scale(0.5))))
	return touch{distance: distance, normal: n, point: point}
}

// throughRim is the shortest way out of a cylinder, perpendicular to the axis of a capsule that passes through it: how
// far, its direction, and the point of the rim that the axis then touches. Along the capsule's axis both rims look like
// ellipses with the half axes radius and radius |axis.Z|, to which the point that is the axis has one normal in its
// quadrant.
func throughRim(center, reach algebra.Vector, radius, half algebra.Num) (depth algebra.Num, outward, rim algebra.Vector) {
	constant := func(x float64) algebra.Num { return algebra.Constant(radius.Rows, x) }
	axis := reach.Over(reach.Dot(reach).Sqrt()).Materialize()
	level := axis.X.Square().Plus(axis.Y.Square()).Sqrt().Max(constant(1e-12)).Materialize()
	aside := algebra.Vector{X: axis.Y.Neg().Over(level), Y: axis.X.Over(level), Z: constant(0)}.Materialize()
	up := axis.Cross(aside).Materialize() // its z is level
	x, y := center.Dot(aside).Materialize(), center.Dot(up).Materialize()
	steep := axis.Z.Square().Materialize()
	width := func(cos, sin algebra.Num) algebra.Num { return cos.Square().Plus(steep.Times(sin.Square())).Sqrt() }
	lowCos, lowSin, highCos, highSin := constant(1), constant(0), constant(0), constant(1)
	var cos, sin algebra.Num
	for range 20 { // bisection of the angle of the normal
		cos, sin = lowCos.Plus(highCos), lowSin.Plus(highSin)
		size := cos.Square().Plus(sin.Square()).Sqrt().Materialize()
		cos, sin = cos.Over(size).Materialize(), sin.Over(size).Materialize()
		slope := half.Times(level).Minus(y.Abs()).Times(cos).Plus(x.Abs().Times(sin)).
			Minus(radius.Times(level.Square()).Times(cos).Times(sin).Over(width(cos, sin)))
		ahead := slope.Below(0)
		lowCos, lowSin = ahead.Choose(cos, lowCos).Materialize(), ahead.Choose(sin, lowSin).Materialize()
		highCos, highSin = ahead.Choose(highCos, cos).Materialize(), ahead.Choose(highSin, sin).Materialize()
	}
	wide := width(cos, sin).Materialize()
	depth = radius.Times(wide).Plus(half.Times(level).Minus(y.Abs()).Times(sin)).Minus(x.Abs().Times(cos)).Materialize()
	outward = aside.By(cos.Times(toward(x))).Plus(up.By(sin.Times(toward(y)))).Materialize()
	over := radius.Over(wide)
	rim = algebra.Vector{X: outward.X.Times(over), Y: outward.Y.Times(over), Z: half.Times(toward(y))}.Materialize()
	return depth, outward, rim
}
