package scene

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// solid is a shape in world coordinates, prepared for ray casting.
type solid struct {
	kind       Kind
	a, ab      r3.Vec // of a capsule: an end, and the vector to the other end
	abab       float64
	radius     float64
	turn, back r3.Rotation // of a box: the rotation of its frame, and its inverse
	origin     r3.Vec
	low, high  Vec
	albedo     rgb
	center     r3.Vec // of the bounding sphere
	reach      float64
}

func newSolid(s Shape, p Pose) solid {
	out := solid{kind: s.Kind, radius: s.Radius, albedo: linear(s.Color)}
	if s.Kind == Box {
		out.turn, out.origin, out.low, out.high = p.Rotation.rotation(), p.Position.r3(), s.A, s.B
		out.back = r3.Rotation(quat.Conj(quat.Number(out.turn)))
		a, b := p.at(s.A), p.at(s.B)
		out.center, out.reach = along(a, r3.Sub(b, a), 0.5), length(r3.Sub(b, a))/2
		return out
	}
	out.a = p.at(s.A)
	out.ab = r3.Sub(p.at(s.B), out.a)
	out.abab = r3.Norm2(out.ab)
	out.center, out.reach = along(out.a, out.ab, 0.5), math.Sqrt(out.abab)/2+s.Radius
	return out
}

// hierarchy is a tree of boxes around solids, so that a ray meets few of many.
type hierarchy struct {
	box   r3.Box
	parts []*hierarchy
	leaf  []int // solids; nil if there are parts
}

// newHierarchy returns that of some solids, whose order it changes.
func newHierarchy(solids []solid, some []int) *hierarchy {
	h := &hierarchy{box: emptyBox()}
	for _, i := range some {
		h.box = include(h.box, solids[i].center, solids[i].reach*(1+1e-9))
	}
	if len(some) <= 4 {
		h.leaf = some
		return h
	}
	size := h.box.Size()
	slices.SortFunc(some, func(a, b int) int {
		one, other := solids[a].center, solids[b].center
		if size.X > size.Y {
			return cmp.Compare(one.X, other.X)
		}
		return cmp.Compare(one.Y, other.Y)
	})
	half := len(some) / 2
	h.parts = []*hierarchy{newHierarchy(solids, some[:half]), newHierarchy(solids, some[half:])}
	return h
}

// visit calls a function with the solids whose boxes a ray may meet.
func (h *hierarchy) visit(o, d r3.Vec, do func(i int)) {
	near, far := 0.0, math.Inf(1)
	for i, from := range vecOf(o) {
		low, high, along := vecOf(h.box.Min)[i], vecOf(h.box.Max)[i], vecOf(d)[i]
		if along == 0 {
			if from < low || from > high {
				return
			}
			continue
		}
		t0, t1 := (low-from)/along, (high-from)/along
		near, far = max(near, min(t0, t1)), min(far, max(t0, t1))
	}
	if near > far {
		return
	}
	for _, part := range h.parts {
		part.visit(o, d, do)
	}
	for _, i := range h.leaf {
		do(i)
	}
}

// hit returns the distance along a ray, of unit direction d, at which it enters the solid from
// outside, or infinity if it does not.
func (s *solid) hit(o, d r3.Vec) float64 {
	to := r3.Sub(s.center, o)
	if ahead := r3.Dot(to, d); ahead < -s.reach || r3.Norm2(to)-ahead*ahead > s.reach*s.reach {
		return math.Inf(1)
	}
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
func (s *solid) hitCapsule(o, d r3.Vec) float64 {
	oa := r3.Sub(o, s.a)
	bard, baoa, rdoa, oaoa := r3.Dot(s.ab, d), r3.Dot(s.ab, oa), r3.Dot(d, oa), r3.Norm2(oa)
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
			oa = r3.Sub(oa, s.ab)
		}
	} else if bard < 0 {
		oa = r3.Sub(oa, s.ab)
	}
	b := r3.Dot(d, oa)
	h := b*b - (r3.Norm2(oa) - r2)
	if h < 0 {
		return math.Inf(1)
	}
	if t := -b - math.Sqrt(h); t > 0 {
		return t
	}
	return math.Inf(1)
}

// slabs returns where a ray enters and leaves a box, and the axis of the side that it enters.
func (s *solid) slabs(o, d r3.Vec) (near, far float64, axis int) {
	from, dir := vecOf(s.back.Rotate(r3.Sub(o, s.origin))), vecOf(s.back.Rotate(d))
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

func (s *solid) normal(p, o, d r3.Vec) r3.Vec {
	if s.kind == Box {
		_, _, axis := s.slabs(o, d)
		var n Vec
		n[axis] = 1
		out := s.turn.Rotate(n.r3())
		if r3.Dot(out, d) > 0 {
			return r3.Scale(-1, out)
		}
		return out
	}
	return r3.Scale(1/s.radius, r3.Sub(p, s.nearest(p)))
}

// nearest returns the point of a capsule's segment that is nearest to p.
func (s *solid) nearest(p r3.Vec) r3.Vec {
	if s.abab == 0 {
		return s.a
	}
	return along(s.a, s.ab, min(max(r3.Dot(r3.Sub(p, s.a), s.ab)/s.abab, 0), 1))
}

// hidden returns the fraction of the sky above a surface at p, with normal n, that a capsule hides,
// from 0 to 1. It treats the capsule as a ball of its radius at its nearest point.
func (s *solid) hidden(p, n r3.Vec) float64 {
	if far := s.reach + 5*s.radius; r3.Norm2(r3.Sub(s.center, p)) > far*far {
		return 0
	}
	to := r3.Sub(s.nearest(p), p)
	d2 := r3.Norm2(to)
	return min(max(r3.Dot(to, n), 0)*s.radius*s.radius/(d2*math.Sqrt(d2)), 1)
}

// rgb is a colour in linear light.
type rgb [3]float64

func (c rgb) mix(other rgb, share float64) rgb {
	for i := range c {
		c[i] += share * (other[i] - c[i])
	}
	return c
}

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

func (c rgb) srgb() color.NRGBA {
	return color.NRGBA{R: encoded(c[0]), G: encoded(c[1]), B: encoded(c[2]), A: 0xff}
}

func encoded(x float64) uint8 {
	if x = min(max(x, 0), 1); x <= 0.0031308 {
		x *= 12.92
	} else {
		x = 1.055*math.Pow(x, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * x))
}
