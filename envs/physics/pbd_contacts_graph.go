package physics

import "example.com/qdnb/envs/algebra"

// solveContactPosition corrects positions for penetration and static friction. The source does not
// mask the normal multiplier of contacts of two bodies (brax/physics/colliders.py,
// _position_contact). Static friction undoes slip since before.
func (s *System) solveContactPosition(m contactPoint, states []limbs, _ algebra.Num) effect {
	w, other, before := m.weights, m.others, states[0]
	arm, otherArm, share := m.arm, m.otherArm, 1.0
	if !m.plane {
		half := m.normal.By(m.penetration.Scale(0.5))
		arm, otherArm, share = arm.Minus(half), otherArm.Plus(half), contactShare
	}
	// Computed once: XLA does not repeat divisions.
	inverseMass := w.inverseMassAt(arm, m.normal).Plus(other.inverseMassAt(otherArm, m.normal))
	multiplier := m.penetration.Over(inverseMass.Add(1e-6))
	active := m.overlapping()
	zero := multiplier.Zero()
	p := m.normal.By(active.Choose(multiplier, zero)).Materialize()

	// Static friction: undo the tangential displacement of the contact point.
	slip := m.moved(m.a.of(before), m.one, m.arm)
	if m.b != nil {
		slip = slip.Minus(m.moved(m.b.of(before), m.other, m.otherArm))
	}
	slip = slip.Materialize()
	slip = slip.Minus(m.normal.By(slip.Dot(m.normal))).Materialize()
	arm = arm.Materialize()
	direction, distance := slip.Unit()
	inverseMass, bound := w.inverseMassAt(m.arm, direction), multiplier.Abs()
	inverseMass = inverseMass.Plus(other.inverseMassAt(m.otherArm, direction))
	if m.plane {
		bound = m.friction.Times(multiplier).Abs()
	}
	hold := distance.Over(inverseMass)
	stuck := active.And(hold.Less(bound))
	f := direction.By(stuck.Choose(hold, zero)).Neg().Materialize()

	out := effect{active: active.Count(), scalar: active.Choose(multiplier, zero)}
	out.on = twist{p.Plus(f).By(w.mass), w.turnedBy(arm.Cross(p).Plus(m.arm.Cross(f)))}.scale(share)
	if !m.plane {
		out.onOther = twist{p.Plus(f).Neg().By(other.mass),
			other.turnedBy(otherArm.Cross(p).Plus(m.otherArm.Cross(f)).Neg())}.scale(share)
		out.scalar = multiplier.Times(m.present.Number())
	}
	return out
}

// moved is the displacement of a body's contact point since before.
func (m contactPoint) moved(before, now bodies, arm algebra.Vector) algebra.Vector {
	inBody := now.rot.Inverse().Rotation().Of(arm).Materialize()
	return now.pos.Plus(arm).Minus(before.pos.Plus(before.rot.Rotation().Of(inBody)))
}

// solveContactVelocity applies dynamic friction and restitution to velocities. Friction is bounded
// by the normal multipliers of the contacts' bodies (brax/physics/colliders.py, _velocity_contact). The
// states are that of now and that at the start of the collision pass.
func (s *System) solveContactVelocity(m contactPoint, states []limbs, multiplier algebra.Num) effect {
	w, others, now, before := m.weights, m.others, states[0], states[1]
	one, was := m.a.of(now), m.a.of(before)
	var other, otherWas bodies
	// The arms use the current positions; the contact point is the one the collision pass found.
	m.arm = m.pos.Minus(one.pos)
	if m.b != nil {
		other, otherWas = m.b.of(now), m.b.of(before)
		m.otherArm = m.pos.Minus(other.pos)
	}
	speed := m.relativeVelocity(one, other).Materialize()
	m.arm, m.otherArm = m.arm.Materialize(), m.otherArm.Materialize()
	approach := speed.Dot(m.normal)
	slip := speed.Minus(m.normal.By(approach)).Materialize()
	approach = approach.Materialize()
	direction, slipping := slip.Unit()
	// Twice the substep: collisions are resolved every other substep.
	bound := m.friction.Times(multiplier.Abs()).Scale(1 / (2 * s.dt))
	byMass := func(x algebra.Num) algebra.Num { // the source's velocity corrections of heavier bodies are others
		if m.mass.Rows > 0 {
			return x.Times(m.mass)
		}
		return x
	}
	bound = byMass(bound)
	var inverseMass algebra.Num
	if m.plane {
		lever := m.arm.Cross(direction)
		inverseMass = w.mass.Plus(byMass(lever.Dot(lever))) // the source leaves out the inertia here
	} else {
		inverseMass = w.inverseMassAt(m.arm, direction).Plus(others.inverseMassAt(m.otherArm, direction))
	}
	brake := bound.Min(slipping)
	braking := direction.By(brake.Over(inverseMass.Add(1e-6))).Neg().Materialize()

	// Restitution: none below the speed that gravity adds in two substeps.
	restored := approach.Zero()
	if !m.elasticity.Is(0) {
		slow := approach.Abs().Below(2 * s.dt * 9.81)
		elasticity := slow.Choose(m.elasticity.Zero(), m.elasticity)
		approached := m.relativeVelocity(was, otherWas).Dot(m.normal)
		restored = elasticity.Times(approached).Neg().Min(approach.Zero())
	}
	change := m.normal.By(restored.Minus(approach))
	along, size := change.Unit()
	inverseMass = w.inverseMassAt(m.arm, along).Plus(
		others.inverseMassAt(m.otherArm.Plus(m.normal.By(m.penetration)), along))
	p := along.By(size.Over(inverseMass.Add(1e-6))).Plus(braking)
	p = m.overlapping().ChooseVector(p, p.Scale(0)).Materialize()

	e := effect{active: p.Dot(p).Above(0).Count(), scalar: m.overlapping().Choose(slipping.Minus(brake), slipping.Zero())}
	e.on = twist{p.By(w.mass), m.arm.Times(w.inertia).Cross(p)}
	if !m.plane {
		// The source uses the first body's mass for the other body's velocity change.
		e.onOther = twist{p.Neg().By(w.mass), m.otherArm.Times(others.inertia).Cross(p.Neg())}
	}
	return e
}
