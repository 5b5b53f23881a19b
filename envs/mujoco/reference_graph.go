package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// Spatial vectors of a link refer to a point, its reference: that of its parent, or the anchor of its own last joint. The
// reference of a root is the origin of its tree. About a point far away, the inertia of a light finger at the end of an
// arm is nearly that of its mass alone, and float32 rounds away how hard the finger is to turn. References of their own
// cost shifts of vectors and stiffnesses from link to link, so only links that need them have them.

// farthest bounds the moment of the masses from a link on about a reference, in units of the inertia that the link's dofs
// feel: accelerations are less exact in proportion to it, and so are the gyroscopic forces of wheels. A reference for
// each link of Go1, whose moments are 3 units at most, would make its steps a fifth slower.
const farthest = 10

// refer gives links references of their own where they need them: the anchors of their last joints.
func (s *System) refer() {
	m := s.model
	world := make([]pose, m.Sizes.NBody) // in the pose in which no joint is displaced
	masses, firsts := make([]float64, m.Sizes.NBody), make([]algebra.Vector, m.Sizes.NBody)
	for b := range world {
		world[b] = pose{algebra.Vectors(m.BodyPos[b]), algebra.KnownQuaternion(m.BodyQuat[b])}
		if b > 0 {
			world[b] = world[m.BodyParentID[b]].then(world[b])
		}
		center := world[b].then(pose{algebra.Vectors(m.BodyIPos[b]), algebra.KnownQuaternion([4]float64{1})}).position
		masses[b], firsts[b] = m.BodyMass[b], center.Scale(m.BodyMass[b])
	}
	for b := m.Sizes.NBody - 1; b > 0; b-- {
		parent := m.BodyParentID[b]
		masses[parent], firsts[parent] = masses[parent]+masses[b], firsts[parent].Plus(firsts[b])
	}
	references := make([]algebra.Vector, m.Sizes.NBody)
	for _, g := range s.groups {
		for row, b := range g.body {
			if references[b] = world[b].position; g.parent >= 0 {
				references[b] = references[s.groups[g.parent].body[g.parentRow[row]]]
			}
			away := firsts[b].Scale(1 / max(masses[b], 1e-300)).Minus(references[b])
			moment := masses[b] * away.Dot(away).Known[0]
			for _, j := range g.joints {
				turns := j.kind == Hinge || j.kind == Ball
				g.refers = g.refers || turns && g.parent >= 0 && moment*m.DofInvweight0[m.JntDofAdr[j.id[row]]] > farthest
			}
		}
		if g.anchor = zeroVector(g.rows()); g.refers {
			g.anchor = g.joints[len(g.joints)-1].position
			for row, b := range g.body {
				own := pose{g.anchor.Take(row), algebra.KnownQuaternion([4]float64{1})}
				references[b] = world[b].then(own).position
			}
		}
	}
}

// fromAnchor returns the anchors of the i-th joints of links from those of the last ones, given all from one point.
func (g *group) fromAnchor(i int, levers []algebra.Vector) algebra.Vector {
	last := len(levers) - 1
	for _, j := range g.joints[i+1:] {
		if j.kind == Slide || !still(j.position.Minus(g.joints[i].position)) {
			return levers[i].Minus(levers[last]).Materialize()
		}
	}
	return zeroVector(g.rows())
}

// reference returns the references of the links of a group, from the origin of their tree.
func (s *System) reference(k kinematics, group int) algebra.Vector {
	g := s.groups[group]
	if g.parent < 0 {
		return zeroVector(g.rows())
	}
	return s.reference(k, g.parent).Take(g.parentRow...).Plus(k.Arm[group]).Materialize()
}

// axis is the motion by a dof about the origin of its tree.
func (s *System) axis(k kinematics, column int) spatial {
	return k.Axis[column].outward(s.reference(k, s.dofs[column].group).Neg())
}

// referenceOf returns the references of the links of a side, a row for each of its contacts.
func (s *System) referenceOf(k kinematics, side side, points int) algebra.Vector {
	return s.reference(k, side.group).Take(slices.Repeat(side.link, points)...)
}

// fromReference returns where points in the frames of the links of a group are, from their references.
func (s *System) fromReference(k kinematics, group int, point algebra.Vector) algebra.Vector {
	g := s.groups[group]
	from := k.Rotation[group].Of(point.Minus(g.anchor))
	if !g.refers {
		from = k.Position[group].Minus(s.reference(k, group)).Plus(from)
	}
	return from
}

// still reports whether a vector is known to be 0.
func still(v algebra.Vector) bool { return v.X.Is(0) && v.Y.Is(0) && v.Z.Is(0) }

// outward is a motion about a point at the end of an arm.
func (a spatial) outward(arm algebra.Vector) spatial {
	if still(arm) {
		return a
	}
	return spatial{a.Ang, a.at(arm)}.materialize()
}

// inward is a force about the start of an arm, given that about its end.
func (a spatial) inward(arm algebra.Vector) spatial {
	if still(arm) {
		return a
	}
	return spatial{a.Ang.Plus(arm.Cross(a.Lin)), a.Lin}.materialize()
}

// inward is a stiffness about the start of an arm, given that about its end.
func (k stiffness) inward(arm algebra.Vector) stiffness {
	if still(arm) {
		return k
	}
	return stiffnessAt(k.Lin, arm).plus(turningAt(k.Couple, k.Ang, arm)).materialize()
}
