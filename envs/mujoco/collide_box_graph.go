package mujoco

import "example.com/qdnb/envs/algebra"

// box is an oriented box: its axes and its half sizes along them.
type box struct {
	axis [3]algebra.Vector
	half [3]algebra.Num
}

func boxOf(p place, size algebra.Vector) box {
	return box{[3]algebra.Vector{p.turn.X, p.turn.Y, p.turn.Z}, [3]algebra.Num{size.X, size.Y, size.Z}}
}

// from returns the box with its axes in cyclic order from a given one on: 0, 1 or 2.
func (b box) from(first algebra.Num) (out box) {
	out.half = from(first, b.half, algebra.Mask.Choose)
	out.axis = from(first, b.axis, algebra.Mask.ChooseVector)
	return out
}

// from returns the components of a vector in cyclic order from a given one on.
func from[T interface{ Materialize() T }](first algebra.Num, of [3]T, choose func(m algebra.Mask, a, b T) T) (out [3]T) {
	for i := range out {
		out[i] = choose(first.Below(1.5), of[(i+1)%3], of[(i+2)%3])
		out[i] = choose(first.Below(0.5), of[i], out[i]).Materialize()
	}
	return out
}

// chooseBox returns a where the mask is true, else b.
func chooseBox(m algebra.Mask, a, b box) (out box) {
	for i := range out.axis {
		out.axis[i] = m.ChooseVector(a.axis[i], b.axis[i]).Materialize()
		out.half[i] = m.Choose(a.half[i], b.half[i])
	}
	return out
}

// along returns the components of a vector along the axes of the box.
func (b box) along(v algebra.Vector) (out [3]algebra.Num) {
	for i, axis := range b.axis {
		out[i] = axis.Dot(v).Materialize()
	}
	return out
}

// radius is half the extent of the box along a unit vector.
func (b box) radius(n algebra.Vector) algebra.Num {
	sum := n.X.Zero()
	for i, x := range b.along(n) {
		sum = sum.Plus(x.Abs().Times(b.half[i]))
	}
	return sum
}

// facesApart is the largest distance of two boxes along the normal of a face of either, given the way from the centre
// of the first to that of the second. It is at most their distance, and below 0 where they overlap.
func facesApart(one, two box, apart algebra.Vector) algebra.Num {
	var cosines [3][3]algebra.Num
	for i, u := range one.axis {
		for j, w := range two.axis {
			cosines[i][j] = u.Dot(w).Abs().Materialize()
		}
	}
	alongOne, alongTwo := one.along(apart), two.along(apart)
	most := algebra.Constant(apart.X.Rows, -huge)
	for i := range 3 {
		first, second := alongOne[i].Abs().Minus(one.half[i]), alongTwo[i].Abs().Minus(two.half[i])
		for j := range 3 {
			first = first.Minus(two.half[j].Times(cosines[i][j]))
			second = second.Minus(one.half[j].Times(cosines[j][i]))
		}
		most = most.Max(first).Max(second)
	}
	return most.Materialize()
}

// toward is 1 for positive numbers and 0, else -1.
func toward(x algebra.Num) algebra.Num {
	one := algebra.Constant(x.Rows, 1)
	return x.Below(0).Choose(one.Neg(), one)
}

// far is the distance of contacts that do not exist.
const far = 1

// boxes finds contacts of two boxes as mjc_BoxBox does. Of the axis along which they are farthest apart, or
// overlap least, those of a face are the corners of the other box's face clipped by it, at most 8 of 12
// possible points: per edge of the clipped face where it enters and where it leaves, and the corners of the
// clipping face. That of an axis between two edges is their nearest point.
func boxes(c *contactSet, a, b place) (out []touch) {
	one, two := boxOf(a, c.sizes[0]), boxOf(b, c.sizes[1])
	apart := b.position.Minus(a.position).Materialize()
	constant := func(x float64) algebra.Num { return algebra.Constant(apart.X.Rows, x) }
	face, faceApart, faceNormal := constant(0), constant(-huge), apart
	for i := range 6 {
		normal := append(one.axis[:], two.axis[:]...)[i]
		by := normal.Dot(apart).Abs().Minus(one.radius(normal)).Minus(two.radius(normal)).Materialize()
		better := faceApart.Less(by)
		face, faceApart = better.Choose(constant(float64(i)), face), better.Choose(by, faceApart).Materialize()
		faceNormal = better.ChooseVector(normal, faceNormal)
	}
	most, edgeApart, edge, other := faceApart, faceApart, constant(-1), constant(0) // edge -1: a face
	for i, u := range one.axis {
		for j, w := range two.axis {
			normal := u.Cross(w).Materialize()
			square := normal.Dot(normal).Materialize()
			normal = normal.Over(square.Max(constant(1e-10)).Sqrt()).Materialize()
			by := normal.Dot(apart).Abs().Minus(one.radius(normal)).Minus(two.radius(normal))
			by = square.Below(1e-10).Choose(constant(-huge), by).Materialize() // parallel edges
			most = most.Max(by)
			better := edgeApart.Less(by.Minus(by.Abs().Scale(1e-6)))
			edgeApart = better.Choose(by, edgeApart).Materialize()
			edge, other = better.Choose(constant(float64(i)), edge), better.Choose(constant(float64(j)), other)
		}
	}
	contact := edges(one.from(edge), two.from(other), a.position, b.position)
	nearFace := constant(0.99).Less(faceNormal.Dot(contact.normal).Abs()).
		And(edgeApart.Less(faceApart.Plus(faceApart.Abs().Scale(0.05))))
	byEdges := nearFace.Choose(constant(-1), edge).Above(-0.5)

	isOne := face.Below(2.5)
	plate, body := chooseBox(isOne, one, two), chooseBox(isOne, two, one)
	plate = plate.from(isOne.Choose(face, face.Add(-3)))
	at := isOne.ChooseVector(a.position, b.position)
	apart = isOne.ChooseVector(apart, apart.Neg()).Materialize()
	outward := plate.axis[0].By(toward(plate.axis[0].Dot(apart))).Materialize()
	plate.axis[0] = outward
	facing := body.along(outward)
	x, y, z := facing[0].Abs(), facing[1].Abs(), facing[2].Abs()
	body = body.from(x.Max(y).Less(z).Choose(constant(2), x.Less(y).Choose(constant(1), constant(0))))
	down := toward(body.axis[0].Dot(outward)).Neg()
	// The clipped face is center + u side + v next with u and v from -1 to 1; z is above the plate.
	center := plate.along(apart.Plus(body.axis[0].By(body.half[0].Times(down))))
	center[2], center[0], center[1] = center[0].Minus(plate.half[0]), center[1], center[2]
	span := func(k int) algebra.Vector {
		v := plate.along(body.axis[k].By(body.half[k]))
		return algebra.Vector{X: v[1], Y: v[2], Z: v[0]}
	}
	middle, side, next := algebra.Vector{X: center[0], Y: center[1], Z: center[2]}, span(1), span(2)
	add := func(p algebra.Vector, exists algebra.Mask) {
		exists = exists.And(most.Less(c.margin.Slice(0, most.Rows)))
		distance := exists.Choose(p.Z, constant(far))
		point := at.Plus(outward.By(plate.half[0].Plus(distance.Scale(0.5)))).
			Plus(plate.axis[1].By(p.X)).Plus(plate.axis[2].By(p.Y))
		out = append(out, touch{distance: distance.Materialize(), point: point.Materialize(),
			normal: isOne.ChooseVector(outward, outward.Neg()).Materialize()})
	}
	// Where rounding decides, such as whether edges that lie on each other cross, the corners of the clipped
	// face count.
	offset := at.Each(algebra.Num.Abs)
	slack := offset.X.Plus(offset.Y).Plus(offset.Z).Plus(plate.half[1]).Plus(plate.half[2]).Scale(5e-7).Add(3e-7).Materialize()
	beyond := func(p algebra.Vector) algebra.Num {
		return p.X.Abs().Minus(plate.half[1]).Max(p.Y.Abs().Minus(plate.half[2])).Minus(slack).Materialize()
	}
	around := []algebra.Vector{middle.Plus(side).Plus(next), middle.Minus(side).Plus(next),
		middle.Minus(side).Minus(next), middle.Plus(side).Minus(next)}
	for k, from := range around {
		to := around[(k+1)%4]
		step := to.Minus(from).Materialize()
		enter, leave := constant(0), constant(1)
		sharpEnter, sharpLeave := enter, leave // without slack, which moves the crossings of edges that are nearly parallel
		for i := range 2 {
			rate := component(step, i)
			rate = rate.Abs().Below(1e-12).Choose(constant(1e-12), rate)
			middle, reach := component(from, i).Over(rate).Neg().Materialize(), plate.half[1+i].Over(rate.Abs()).Materialize()
			sharpEnter = sharpEnter.Max(middle.Minus(reach)).Materialize()
			sharpLeave = sharpLeave.Min(middle.Plus(reach)).Materialize()
			reach = reach.Plus(slack.Over(rate.Abs())).Materialize()
			enter, leave = enter.Max(middle.Minus(reach)).Materialize(), leave.Min(middle.Plus(reach)).Materialize()
		}
		starts, ends := beyond(from).Below(1e-20), beyond(to).Above(0)
		crosses := enter.Less(leave).Or(starts)
		sharp := sharpEnter.Less(sharpLeave)
		enter = sharp.And(enter.Above(0)).Choose(sharpEnter, enter)
		leave = sharp.And(leave.Less(constant(1))).Choose(sharpLeave, leave)
		add(from.Plus(step.By(enter)), crosses)
		add(from.Plus(step.By(leave)), crosses.And(ends))
	}
	determinant := side.X.Times(next.Y).Minus(side.Y.Times(next.X)).Materialize()
	inside := func(u algebra.Num, k int) algebra.Mask {
		return slack.Less(constant(1).Minus(u.Abs()).Times(body.half[k]))
	}
	for k := range 4 {
		x, y := plate.half[1].Scale(float64(1-k/2*2)), plate.half[2].Scale(float64(1-k%2*2))
		dx, dy := x.Minus(middle.X), y.Minus(middle.Y)
		u := dx.Times(next.Y).Minus(dy.Times(next.X)).Over(determinant).Materialize()
		v := dy.Times(side.X).Minus(dx.Times(side.Y)).Over(determinant).Materialize()
		add(algebra.Vector{X: x, Y: y, Z: middle.Z.Plus(side.Z.Times(u)).Plus(next.Z.Times(v))}, inside(u, 1).And(inside(v, 2)))
	}
	for k := range out {
		distance := constant(far)
		if k == 0 {
			distance = most.Less(c.margin.Slice(0, most.Rows)).Choose(contact.distance, distance)
			out[k].point = byEdges.ChooseVector(contact.point, out[k].point).Materialize()
			out[k].normal = byEdges.ChooseVector(contact.normal, out[k].normal).Materialize()
		}
		out[k].distance = byEdges.Choose(distance, out[k].distance).Materialize()
	}
	return out
}

// edges is the contact of edges along the first axes of two boxes.
func edges(one, two box, a, b algebra.Vector) touch {
	u, w := one.axis[0], two.axis[0]
	n := u.Cross(w).Materialize()
	square := n.Dot(n).Max(algebra.Constant(a.X.Rows, 1e-10)).Materialize()
	n = n.By(toward(n.Dot(b.Minus(a)))).Over(square.Sqrt()).Materialize()
	for i := 1; i < 3; i++ {
		a = a.Plus(one.axis[i].By(one.half[i].Times(toward(one.axis[i].Dot(n)))))
		b = b.Minus(two.axis[i].By(two.half[i].Times(toward(two.axis[i].Dot(n)))))
	}
	a, b = a.Materialize(), b.Materialize()
	between := b.Minus(a).Materialize()
	cosine, du, dw := u.Dot(w).Materialize(), u.Dot(between).Materialize(), w.Dot(between).Materialize()
	s := clip(du.Minus(cosine.Times(dw)).Over(square), limits{one.half[0].Neg(), one.half[0]}).Materialize()
	t := clip(cosine.Times(s).Minus(dw), limits{two.half[0].Neg(), two.half[0]}).Materialize()
	s = clip(du.Plus(cosine.Times(t)), limits{one.half[0].Neg(), one.half[0]}).Materialize()
	a, b = a.Plus(u.By(s)), b.Plus(w.By(t))
	return touch{distance: b.Minus(a).Dot(n).Materialize(), point: a.Plus(b).Scale(0.5).Materialize(), normal: n}
}
