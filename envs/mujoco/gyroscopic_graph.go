package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// gyroscopic returns accelerations that integrate the gyroscopic forces of standalone bodies implicitly, as implicitfast
// does (mjd_freeMhat). With the inertia I about the centre of mass and G u = w x I u + u x I w they turn by
// (I + h G) a' = I a. The centre of mass is at s from where the body's velocity is measured.
func (s *System) gyroscopic(k kinematics, v, a []algebra.Num) []algebra.Num {
	h, out := s.model.Opt.TimeStep, slices.Clone(a)
	for i := range s.groups {
		g := k.Under.of(s.groups, i)
		alone := algebra.Mask{Num: algebra.ColumnOf(g.body, func(body int) float64 {
			return number(s.model.standalone(body) && s.model.unhindered(body))
		})}
		if !alone.Any() {
			continue
		}
		at := g.joints[0].column
		vector := func(of []algebra.Num) algebra.Vector { return algebra.Vector{X: of[0], Y: of[1], Z: of[2]} }
		w, turning := vector(v[at+3:]), vector(a[at+3:])
		axes := materializeRotation(turned(k.Rotation[i], g.principal))
		inert := func(u algebra.Vector) algebra.Vector {
			return axes.Of(algebra.Vector{X: axes.X.Dot(u), Y: axes.Y.Dot(u), Z: axes.Z.Dot(u)}.Times(g.moments)).Materialize()
		}
		momentum := inert(w)
		change := func(u algebra.Vector) algebra.Vector {
			return w.Cross(inert(u)).Plus(u.Cross(momentum)).Scale(h).Materialize()
		}
		var columns [3]algebra.Vector // of I + h G
		for n := range columns {
			var axis [3]algebra.Num
			for m := range axis {
				axis[m] = algebra.Constant(g.rows(), number(m == n))
			}
			u := vector(axis[:])
			columns[n] = inert(u).Plus(change(u)).Materialize()
		}
		x, y, z, right := columns[0], columns[1], columns[2], change(turning).Neg()
		across := y.Cross(z).Materialize()
		over := algebra.Constant(g.rows(), 1).Over(x.Dot(across)).Materialize()
		less := algebra.Vector{X: right.Dot(across), Y: x.Dot(right.Cross(z)), Z: x.Dot(y.Cross(right))}.By(over).Materialize()
		next := turning.Plus(less).Materialize()
		center := k.Rotation[i].Of(g.center).Materialize()
		bends := w.Cross(center).Cross(next).Plus(w.Cross(center.Cross(next)))
		moving := vector(a[at:]).Plus(center.Cross(less)).Plus(bends.Scale(h)).Materialize()
		for n, part := range []algebra.Num{moving.X, moving.Y, moving.Z, next.X, next.Y, next.Z} {
			out[at+n] = alone.Choose(part, a[at+n]).Materialize()
		}
	}
	return out
}

// standalone reports whether a body moves freely, and alone of its tree (mj_isFreeBody).
func (m *Model) standalone(body int) bool {
	joint := slices.Index(m.JntBodyID, body)
	if joint < 0 || m.BodyJntNum[body] != 1 || m.JntType[joint] != Free {
		return false
	}
	for other, mass := range m.BodyMass {
		if other != body && mass > 0 && m.above(body, other) {
			return false
		}
	}
	return true
}

// unhindered reports whether nothing damps the free joint of a body, or acts on it.
func (m *Model) unhindered(body int) bool {
	joint := slices.Index(m.JntBodyID, body)
	for dof, of := range m.DofJntID {
		if of == joint && (m.DofDamping[dof] != 0 || m.DofArmature[dof] != 0) {
			return false
		}
	}
	for a, target := range m.ActuatorTrnID {
		if m.ActuatorTrnType[a] == overJoint && target[0] == joint {
			return false
		}
	}
	return true
}
