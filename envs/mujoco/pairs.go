package mujoco

import (
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
)

// Pair is a pair of geoms that may touch. Geom1 is the one with the lower type or, if they are equal,
// the lower index, as in mjContact.
type Pair struct {
	Geom1, Geom2 int
	Explicit     int // index into the arrays pair_*; -1 for a pair by contype and conaffinity
}

// Pairs lists the pairs of geoms that MuJoCo tests for contact, those of an element pair first. Pairs
// that cannot move, whose contacts do nothing, are left out.
func (m *Model) Pairs() (pairs []Pair) {
	if m.Opt.DisableFlags&(DisableConstraint|DisableContact) != 0 {
		return nil
	}
	explicit := map[[2]int]bool{}
	add := func(a, b, number int) {
		if m.GeomType[a] > m.GeomType[b] {
			a, b = b, a
		}
		moves := m.BodyDofNum[m.BodyWeldID[m.GeomBodyID[a]]]+m.BodyDofNum[m.BodyWeldID[m.GeomBodyID[b]]] > 0
		if moves && m.GeomType[b] > HField { // planes and height fields do not touch each other
			pairs = append(pairs, Pair{a, b, number})
		}
	}
	for i, a := range m.PairGeom1 {
		b := m.PairGeom2[i]
		explicit[[2]int{min(a, b), max(a, b)}] = true
		add(a, b, i)
	}
	for b := range m.Sizes.NGeom {
		for a := range b {
			if m.mayTouch(a, b) && !explicit[[2]int{a, b}] {
				add(a, b, -1)
			}
		}
	}
	return pairs
}

// link returns the body with joints that a body is welded to, or the world, as which mocap bodies stay in place.
func (m *Model) link(body int) int {
	link := m.BodyWeldID[body]
	if m.BodyMocapID[link] >= 0 {
		return 0
	}
	return link
}

// mayTouch reports whether two geoms a < b pass MuJoCo's filters.
func (m *Model) mayTouch(a, b int) bool {
	one, two := m.GeomBodyID[a], m.GeomBodyID[b]
	weld1, weld2 := m.BodyWeldID[one], m.BodyWeldID[two]
	parent1, parent2 := m.BodyWeldID[m.BodyParentID[weld1]], m.BodyWeldID[m.BodyParentID[weld2]]
	switch {
	case m.GeomConType[a]&m.GeomConAffinity[b] == 0 && m.GeomConType[b]&m.GeomConAffinity[a] == 0,
		weld1 == weld2,
		slices.Contains(m.ExcludeSignature, min(one, two)<<16+max(one, two)):
		return false
	}
	related := weld1 != 0 && weld2 != 0 && (weld1 == parent2 || weld2 == parent1)
	return !related || m.Opt.DisableFlags&DisableFilterParent != 0
}

// ConDim returns the dimension of the contacts of a pair: 1, 3, 4 or 6.
func (m *Model) ConDim(p Pair) int {
	one, two := m.GeomPriority[p.Geom1], m.GeomPriority[p.Geom2]
	switch {
	case p.Explicit >= 0:
		return m.PairDim[p.Explicit]
	case one > two:
		return m.GeomConDim[p.Geom1]
	case one < two:
		return m.GeomConDim[p.Geom2]
	}
	return max(m.GeomConDim[p.Geom1], m.GeomConDim[p.Geom2])
}

// parallel reports whether the z axes of two geoms are parallel in all poses: the joints between them turn about these
// axes, or slide.
func (m *Model) parallel(geoms [2]int) bool {
	var body [2]int
	var axis [2][3]float64
	for i, geom := range geoms {
		body[i], axis[i] = m.GeomBodyID[geom], turnedBy(m.GeomQuat[geom], [3]float64{0, 0, 1})
	}
	along := func(a, b [3]float64) bool { return math.Abs(a[0]*b[0]+a[1]*b[1]+a[2]*b[2]) > 1-1e-12 }
	for body[0] != body[1] {
		i := 0
		if body[1] > body[0] { // parents have lower numbers
			i = 1
		}
		b := body[i]
		for j := range m.BodyJntNum[b] {
			switch joint := m.BodyJntAdr[b] + j; {
			case m.JntType[joint] == Slide, m.JntType[joint] == Hinge && along(m.JntAxis[joint], axis[i]):
			default:
				return false
			}
		}
		body[i], axis[i] = m.BodyParentID[b], turnedBy(m.BodyQuat[b], axis[i])
	}
	return along(axis[0], axis[1])
}

// turnedBy turns a vector by a quaternion.
func turnedBy(q [4]float64, v [3]float64) (out [3]float64) {
	turned := algebra.KnownQuaternion(q).Rotation().Of(algebra.Vectors(v))
	return [3]float64{turned.X.Known[0], turned.Y.Known[0], turned.Z.Known[0]}
}
