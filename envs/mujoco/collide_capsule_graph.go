package mujoco

import "example.com/qdnb/envs/algebra"

// triple holds the components of a vector in the frame of a box.
type triple [3]algebra.Num

// from returns the components in cyclic order from a given one on.
func (v triple) from(first algebra.Num) triple { return from(first, v, algebra.Mask.Choose) }

// nearest is the point of a capsule's axis that is nearest to a box, and the feature of the box that is nearest
// to it.
type nearest struct {
	square algebra.Num // of their distance
	at     algebra.Num // on the axis, from -1 to 1
	face   algebra.Num // 0 to 2, or 3 inside the box; -1: an edge or a corner
	edge   algebra.Num // its axis, 0 to 2
	along  algebra.Num // on the edge, from -1 to 1
	end    algebra.Num // -1 or 1 at a corner of the edge, else 0
	corner triple      // the signs of the coordinates of the edge or corner
}

func (n *nearest) numbers() []*algebra.Num {
	return []*algebra.Num{&n.square, &n.at, &n.face, &n.edge, &n.along, &n.end, &n.corner[0], &n.corner[1], &n.corner[2]}
}

// orIf returns the other one where it is better.
func (n nearest) orIf(better algebra.Mask, other nearest) nearest {
	others := other.numbers()
	for i, x := range n.numbers() {
		*x = better.Choose(*others[i], *x).Materialize()
	}
	return n
}

// capsuleBox finds contacts of a box with two balls on the axis of a capsule: at the point nearest to the box,
// and at the point farthest from it that lies over the same face or edge, if the capsule is not too steep
// (mjraw_CapsuleBox).
func capsuleBox(c *contactSet, a, b place) []touch {
	constant := func(x float64) algebra.Num { return algebra.Constant(a.position.X.Rows, x) }
	center := inverse(b.turn, a.position.Minus(b.position)).Materialize()
	direction := inverse(b.turn, a.turn.Z).Materialize()
	reach := direction.By(c.sizes[0].Y).Materialize() // from the centre to an end
	p, h := triple{center.X, center.Y, center.Z}, triple{reach.X, reach.Y, reach.Z}
	size := triple{c.sizes[1].X, c.sizes[1].Y, c.sizes[1].Z}
	best := nearest{constant(huge), constant(0), constant(-1), constant(0), constant(0), constant(0),
		triple{constant(1), constant(1), constant(1)}}
	for _, end := range []float64{-1, 1} {
		found, outside := best, constant(0)
		found.square, found.at, found.face = constant(0), constant(end), constant(3)
		for i := range p {
			beyond := p[i].Plus(h[i].Scale(end)).Abs().Minus(size[i]).Max(constant(0)).Materialize()
			found.square, outside = found.square.Plus(beyond.Square()), outside.Plus(beyond.Above(0).Number())
			found.face = beyond.Above(0).Choose(constant(float64(i)), found.face)
		}
		best = best.orIf(outside.Below(1.5).And(found.square.Less(best.square)), found)
	}
	for axis := range 3 {
		for k := range 4 {
			found := nearestToEdge(axis, float64(1-k%2*2), float64(1-k/2*2), p, h, size, c.sizes[0].Y.Square())
			// As near as a face is not nearer, but as near as a corner is, since the corner bounds this edge.
			atCorner := best.face.Below(-0.5).And(best.end.Abs().Above(0.5)).And(found.end.Abs().Below(0.5))
			much := atCorner.Choose(constant(1+1e-6), constant(1-1e-6))
			best = best.orIf(found.square.Less(best.square.Times(much)), found)
		}
	}
	offset, exists := best.second(p, h, triple{direction.X, direction.Y, direction.Z}, size)
	out := []touch{ballBox(c, center.Plus(reach.By(best.at)).Materialize(), b),
		ballBox(c, center.Plus(reach.By(best.at.Plus(offset))).Materialize(), b)}
	out[1].distance = exists.Choose(out[1].distance, constant(far))
	return out
}

// nearestToEdge is the point of a capsule's axis, p + t h, that is nearest to the edge of a box along an axis
// at given signs of the other two coordinates.
func nearestToEdge(axis int, sign1, sign2 float64, p, h, size triple, square algebra.Num) (n nearest) {
	i, j := (axis+1)%3, (axis+2)%3
	one := algebra.Constant(p[0].Rows, 1)
	unclipped := func(x algebra.Num) algebra.Mask { return x.Abs().Less(one) }
	clipped := func(x algebra.Num) algebra.Num { return clip(x, limits{one.Neg(), one}).Materialize() }
	endOf := func(x algebra.Num) algebra.Num { return unclipped(x).Choose(one.Zero(), toward(x)) }
	di, dj := size[i].Scale(sign1).Minus(p[i]).Materialize(), size[j].Scale(sign2).Minus(p[j]).Materialize()
	across := h[i].Square().Plus(h[j].Square()).Materialize()
	inPlane := h[i].Times(di).Plus(h[j].Times(dj)).Materialize()
	t := inPlane.Over(across.Max(one.Scale(1e-30))).Materialize()
	x := p[axis].Plus(h[axis].Times(t)).Over(size[axis]).Materialize() // on the edge
	n.end = endOf(x)
	ahead := clipped(x)
	t = unclipped(x).Choose(t, inPlane.Plus(h[axis].Times(size[axis].Times(ahead).Minus(p[axis]))).Over(square))
	n.at = clipped(t.Materialize())
	back := p[axis].Plus(h[axis].Times(n.at)).Over(size[axis]).Materialize()
	beyond := unclipped(t)
	n.along = beyond.Choose(ahead, clipped(back))
	// An end at which the edge was cut first stays one.
	n.end = beyond.Or(unclipped(back)).Choose(n.end, toward(back))
	n.square = h[i].Times(n.at).Minus(di).Square().Plus(h[j].Times(n.at).Minus(dj).Square()).
		Plus(back.Minus(n.along).Times(size[axis]).Square())
	parallel := size[axis].Square().Times(across).Below(1e-15)
	n.square = parallel.Choose(one.Scale(huge), n.square).Materialize()
	n.face, n.edge = one.Neg(), one.Scale(float64(axis))
	n.corner[axis], n.corner[i], n.corner[j] = toward(n.end), one.Scale(sign1), one.Scale(sign2)
	return n
}

// second returns where on the axis, relative to the first, the second contact is, and whether there is one.
func (n nearest) second(p, h, direction, size triple) (offset algebra.Num, exists algebra.Mask) {
	one := algebra.Constant(p[0].Rows, 1)
	// Signs of the direction; -1 where it is away from the side of the feature; and how far on the axis one side
	// of the box is from the other.
	var turn, agree, width triple
	for i := range h {
		turn[i] = toward(h[i].Neg()).Neg().Materialize()
		agree[i] = turn[i].Times(n.corner[i]).Materialize()
		width[i] = size[i].Scale(2).Over(h[i].Abs().Max(one.Scale(1e-30))).Materialize()
	}

	// At a corner of the box: along the edge or over the face to which the capsule is less steep.
	sum := agree[0].Plus(agree[1]).Plus(agree[2]).Materialize() // +-1 if one differs from the others
	differs := func(i int) algebra.Mask { return agree[i].Times(sum).Below(0) }
	odd := differs(0).Choose(one.Zero(), differs(1).Choose(one, one.Scale(2)))
	w := width.from(odd)
	to := sum.Times(n.at)
	steep := direction.from(odd)[0].Square().Above(0.5)
	atCorner := steep.Choose(one.Minus(to).Min(w[0]), one.Plus(to).Min(w[1]).Min(w[2]).Neg()).Times(sum)

	// At an edge: across the face to which the capsule is less steep.
	d, a, s := direction.from(n.edge), agree.from(n.edge), turn.from(n.edge)
	w = width.from(n.edge)
	first := d[2].Abs().Less(d[1].Abs())
	way := first.Choose(a[1], a[2]).Neg().Materialize()
	onEdge := one.Minus(s[0].Times(way).Times(n.along)).Times(w[0]).Scale(0.5)
	atEdge := one.Minus(way.Times(n.at)).Min(first.Choose(w[1], w[2])).Min(onEdge).Times(way)

	// Over a face: to the border of the face.
	over := one.Scale(2)
	for i := range p {
		for _, side := range []float64{-1, 1} {
			tip := p[i].Plus(n.at.Times(h[i]))
			by := size[i].Scale(side).Minus(tip).Over(h[i]).Times(n.at).Neg().Materialize()
			other := n.face.Minus(one.Scale(float64(i))).Abs().Above(0.5)
			over = by.Above(0).And(by.Less(over)).And(other).Choose(by, over).Materialize()
		}
	}
	atFace := over.Times(n.at).Neg()

	isFace, isCorner := n.face.Above(-0.5), n.end.Abs().Above(0.5)
	offset = isFace.Choose(atFace, isCorner.Choose(atCorner, atEdge)).Materialize()
	some := isFace.Choose(n.face.Below(2.5).Number(), isCorner.Choose(sum.Abs().Below(1.5).Number(),
		a[1].Times(a[2]).Below(0).Number()))
	return offset, some.Above(0.5)
}
