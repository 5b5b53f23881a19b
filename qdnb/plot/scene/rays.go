package scene

import (
	"image/color"
	"math"
	"sync"
)

// solid is a shape in world coordinates, prepared for ray casting.
type solid struct {
	kind   Kind
	a, ab  xyz // of a capsule: an end, and the vector to the other end
	abab   float64
	radius float64
	turn   matrix // of a box: the rotation of its frame
	origin xyz
	low    Vec
	high   Vec
	albedo rgb
	ball
}

// ball is a bounding sphere of one or more solids.
type ball struct {
	center xyz
	reach  float64
	from   xyz     // from the eye to the center
	from2  float64 // its square
}

// seenFrom prepares the ball for rays from the eye.
func (b *ball) seenFrom(eye xyz) {
	b.from = b.center.minus(eye)
	b.from2 = b.from.dot(b.from)
}

// mayHit reports whether a ray from the eye may hit the contents of the ball.
func (b *ball) mayHit(d xyz) bool {
	along := b.from.dot(d)
	return along >= -b.reach && b.from2-along*along <= b.reach*b.reach
}

// mayBlock reports whether the contents of the ball may block light from the lamp or the sky at a
// point.
func (b *ball) mayBlock(p xyz, radius float64) (lamp, sky bool) {
	to := b.center.minus(p)
	d2, along := to.dot(to), to.dot(lightDirection)
	soft, near := b.reach+penumbra*max(along, 0), b.reach+5*radius
	return along >= -b.reach && d2-along*along <= soft*soft, d2 <= near*near
}

// cluster holds the solids of a body. A ray that misses its ball misses all of them.
type cluster struct {
	ball
	radius      float64 // the largest one
	first, next int     // indices of solids
}

func newCluster(solids []solid, first int) cluster {
	low, high := emptyBox()
	c := cluster{first: first, next: len(solids)}
	for _, s := range solids[first:] {
		r := xyz{s.reach, s.reach, s.reach}
		low, high = lower(low, s.center.minus(r).vec()), upper(high, s.center.plus(r).vec())
		c.radius = max(c.radius, s.radius)
	}
	c.center = low.plus(high).scale(0.5).xyz()
	for _, s := range solids[first:] {
		c.reach = max(c.reach, s.center.minus(c.center).length()+s.reach)
	}
	return c
}

// newSolid places a shape of a body in the world.
func newSolid(s Shape, p Pose) solid {
	out := solid{kind: s.Kind, radius: s.Radius, albedo: linear(s.Color)}
	if s.Kind == Box {
		out.turn, out.origin, out.low, out.high = p.Rotation.matrix(), p.Position.xyz(), s.A, s.B
		out.center, out.reach = p.at(s.A.plus(s.B).scale(0.5)), s.B.minus(s.A).length()/2
		return out
	}
	out.a = p.at(s.A)
	out.ab = p.at(s.B).minus(out.a)
	out.abab = out.ab.dot(out.ab)
	out.center, out.reach = out.a.along(out.ab, 0.5), math.Sqrt(out.abab)/2+s.Radius
	return out
}

// hit returns the distance along a ray, of unit direction d, at which it enters the solid from
// outside, or infinity if it does not.
func (s *solid) hit(o, d xyz) float64 {
	if s.kind == Box {
		near, far, _ := s.slabs(o, d)
		if near > far || near <= 0 {
			return math.Inf(1)
		}
		return near
	}
	return s.hitCapsule(o, d)
}

// hitCapsule tests the cylinder first, then the caps (I. Quilez, Ray-capsule intersection).
func (s *solid) hitCapsule(o, d xyz) float64 {
	oa := o.minus(s.a)
	bard, baoa, rdoa, oaoa := s.ab.dot(d), s.ab.dot(oa), d.dot(oa), oa.dot(oa)
	r2 := s.radius * s.radius
	if a := s.abab - bard*bard; s.abab > 0 && a > 1e-12*s.abab {
		b := s.abab*rdoa - baoa*bard
		c := s.abab*oaoa - baoa*baoa - r2*s.abab
		h := b*b - a*c
		if h < 0 {
			return math.Inf(1)
		}
		t := (-b - math.Sqrt(h)) / a
		y := baoa + t*bard
		if y > 0 && y < s.abab && t > 0 {
			return t
		}
		if y > s.abab/2 {
			oa = oa.minus(s.ab)
		}
	} else if bard < 0 {
		oa = oa.minus(s.ab)
	}
	b := d.dot(oa)
	h := b*b - (oa.dot(oa) - r2)
	if h < 0 {
		return math.Inf(1)
	}
	if t := -b - math.Sqrt(h); t > 0 {
		return t
	}
	return math.Inf(1)
}

// slabs returns the distances at which a ray enters and leaves a box, and the axis of the side that
// it enters.
func (s *solid) slabs(o, d xyz) (near, far float64, axis int) {
	from, dir := s.turn.inverse(o.minus(s.origin)).vec(), s.turn.inverse(d).vec()
	near, far = math.Inf(-1), math.Inf(1)
	for i := range 3 {
		if dir[i] == 0 {
			if from[i] < s.low[i] || from[i] > s.high[i] {
				return math.Inf(1), math.Inf(-1), 0
			}
			continue
		}
		t0, t1 := (s.low[i]-from[i])/dir[i], (s.high[i]-from[i])/dir[i]
		if t0 > t1 {
			t0, t1 = t1, t0
		}
		if t0 > near {
			near, axis = t0, i
		}
		far = min(far, t1)
	}
	return near, far, axis
}

// normal returns the outward normal of the solid at a point where a ray hit it.
func (s *solid) normal(p, o, d xyz) xyz {
	if s.kind == Box {
		_, _, axis := s.slabs(o, d)
		n := s.turn.column(axis)
		if n.dot(d) > 0 {
			n = n.scale(-1)
		}
		return n
	}
	return p.minus(s.nearest(p)).scale(1 / s.radius)
}

// nearest returns the point of a capsule's segment that is nearest to p.
func (s *solid) nearest(p xyz) xyz {
	if s.abab == 0 {
		return s.a
	}
	return s.a.along(s.ab, min(max(p.minus(s.a).dot(s.ab)/s.abab, 0), 1))
}

// penumbra is the width of shadow edges over the distance from the occluder, as for a lamp a few
// degrees wide.
const penumbra = 0.16

// lit returns the fraction of the light from direction l that reaches p past the solid, from 0 to
// 1. Capsules cast soft edges, computed from how near the ray comes to the segment.
func (s *solid) lit(p, l xyz) float64 {
	if s.kind == Box {
		near, far, _ := s.slabs(p, l)
		if near <= far && far > 1e-6 {
			return 0
		}
		return 1
	}
	t, distance := s.closest(p, l)
	if t <= 0 {
		return 1
	}
	edge := 0.5 + (distance-s.radius)/(penumbra*t)
	edge = min(max(edge, 0), 1)
	return edge * edge * (3 - 2*edge)
}

// closest returns how far along a ray the point nearest to a capsule's segment is, and its
// distance.
func (s *solid) closest(o, d xyz) (t, distance float64) {
	oa := o.minus(s.a)
	oad := oa.dot(d)
	u := 0.0
	if s.abab > 0 {
		dab, oaab := d.dot(s.ab), oa.dot(s.ab)
		if den := s.abab - dab*dab; den > 1e-12*s.abab {
			u = min(max((oaab-oad*dab)/den, 0), 1)
		}
		if u*dab-oad < 0 { // behind the origin: use the point nearest to the origin
			u = min(max(oaab/s.abab, 0), 1)
		}
	}
	p := s.a.along(s.ab, u)
	t = max(p.minus(o).dot(d), 0)
	return t, p.minus(o.along(d, t)).length()
}

// hidden returns the fraction of the sky above a surface at p, with normal n, that a capsule hides,
// from 0 to 1. It treats the capsule as a ball of its radius at its nearest point.
func (s *solid) hidden(p, n xyz) float64 {
	if s.kind == Box {
		return 0
	}
	to := s.nearest(p).minus(p)
	d2 := to.dot(to)
	return min(max(to.dot(n), 0)*s.radius*s.radius/(d2*math.Sqrt(d2)), 1)
}

// rgb is a colour in linear light.
type rgb [3]float64

func (c rgb) mix(other rgb, share float64) rgb {
	for i := range c {
		c[i] += share * (other[i] - c[i])
	}
	return c
}

// linear converts from sRGB.
func linear(c color.NRGBA) rgb { return rgb{decoded[c.R], decoded[c.G], decoded[c.B]} }

var decoded = func() (table [256]float64) {
	for i := range table {
		x := float64(i) / 255
		if x <= 0.04045 {
			table[i] = x / 12.92
		} else {
			table[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return table
}()

// srgb converts to sRGB.
func (c rgb) srgb() color.NRGBA {
	return color.NRGBA{R: encoded(c[0]), G: encoded(c[1]), B: encoded(c[2]), A: 0xff}
}

// encoded looks up one of lightSteps light levels, which are finer than those of sRGB everywhere.
func encoded(x float64) uint8 {
	return codes()[int(min(max(x, 0), 1)*(lightSteps-1)+0.5)]
}

const lightSteps = 1 << 14

var codes = sync.OnceValue(func() *[lightSteps]uint8 {
	var table [lightSteps]uint8
	for i := range table {
		x := float64(i) / (lightSteps - 1)
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		table[i] = uint8(math.Round(255 * x))
	}
	return &table
})
