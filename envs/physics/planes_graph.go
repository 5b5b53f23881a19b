package physics

import "example.com/qdnb/envs/algebra"

// planeContacts returns the contacts of a collider with a horizontal plane, given what they have in
// common: those of the corners of a box, or of the ends of a capsule that collide.
func planeContacts(c contact, of Collider) (all []contact) {
	if of.Shape == Box {
		for _, corner := range of.points() {
			c.center, c.half, c.radius = corner.at, Vec{}, 0
			all = append(all, c)
		}
		return all
	}
	for _, end := range []float64{-1, 1} {
		both := of.End == 0 && (end == 1 || c.half != Vec{}) // the ends of a sphere are one
		if both || float64(of.End) == end {
			e := c
			e.center = e.center.plus(e.half.scaled(end))
			all = append(all, e)
		}
	}
	return all
}

// onPlane finds the contact points with planes, given the rotation of the bodies.
func (m contactPoint) onPlane(turn algebra.Rotation) contactPoint {
	zero := m.radius.Zero()
	m.normal = algebra.Vector{X: zero, Y: zero, Z: zero.Add(1)}
	m.arm = turn.Of(m.center).Minus(m.normal.By(m.radius))
	m.otherArm = algebra.Vector{X: zero, Y: zero, Z: zero} // planes do not give way
	m.pos = m.one.pos.Plus(m.arm)
	m.penetration = m.otherPosition.Minus(m.pos).Dot(m.normal)
	return m
}
