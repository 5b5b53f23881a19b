package physics

// solveContactPosition corrects positions for penetration and static friction. The source does not
// mask the normal multiplier of contacts of two bodies (brax/physics/colliders.py,
// _position_contact). Static friction undoes slip since before.
func (s *System) solveContactPosition(g *contactGroup, m contactPoint, before limbs) effect {
	w, other := m.weights, m.others
	arm, otherArm := m.arm, m.otherArm
	share := 1.0
	var inverseMass num
	if g.twoWay {
		half := m.normal.by(m.penetration.scale(0.5))
		arm, otherArm = arm.minus(half), otherArm.plus(half)
		inverseMass = w.inverseMassAt(arm, m.normal).plus(other.inverseMassAt(otherArm, m.normal))
		share = contactShare
	} else {
		inverseMass = w.inverseMassAt(arm, m.normal)
	}
	// Computed once: XLA does not repeat divisions.
	multiplier := m.penetration.over(inverseMass.add(1e-6))
	active := m.overlapping()
	zero := multiplier.zero()
	p := m.normal.by(active.choose(multiplier, zero)).materialize()

	// Static friction: undo the tangential displacement of the contact point.
	slip := m.moved(m.a.of(before), m.one, m.arm)
	if m.b != nil {
		slip = slip.minus(m.moved(m.b.of(before), m.other, m.otherArm))
	}
	slip = slip.materialize()
	slip = slip.minus(m.normal.by(slip.dot(m.normal))).materialize()
	arm = arm.materialize()
	direction, distance := slip.unit()
	inverseMass = w.inverseMassAt(m.arm, direction)
	bound := multiplier.abs()
	if g.twoWay {
		inverseMass = inverseMass.plus(other.inverseMassAt(m.otherArm, direction))
	} else {
		bound = m.friction.times(multiplier).abs()
	}
	hold := distance.over(inverseMass)
	stuck := active.and(hold.less(bound))
	f := direction.by(stuck.choose(hold, zero)).neg().materialize()
	if w.principal {
		whole, sticks := m.sticking(m.normal.by(m.penetration).minus(slip))
		p, f = active.and(sticks).chooseVector(whole, p), f.scale(0)
	}

	out := effect{active: active.count(), scalar: active.choose(multiplier, zero)}
	out.on = twist{p.plus(f).by(w.mass),
		w.turnedBy(arm.cross(p).plus(m.arm.cross(f)))}.scale(share)
	if g.twoWay {
		out.onOther = twist{p.plus(f).neg().by(other.mass),
			other.turnedBy(otherArm.cross(p).plus(m.otherArm.cross(f)).neg())}.scale(share)
		out.scalar = multiplier.times(m.present.number())
	}
	return out
}

// moved is the displacement of a body's contact point since before.
func (m contactPoint) moved(before, now bodies, arm vector) vector {
	inBody := now.rot.inverse().rotation().of(arm).materialize()
	return now.pos.plus(arm).minus(before.pos.plus(before.rot.rotation().of(inBody)))
}

// solveContactVelocity applies dynamic friction and restitution to velocities. Friction is bounded
// by the normal multipliers of the contacts' bodies (brax/physics/colliders.py, _velocity_contact).
// before is the state at the start of the collision pass.
func (s *System) solveContactVelocity(g *contactGroup, m contactPoint, now, before limbs,
	multiplier num) effect {
	w, others := m.weights, m.others
	one, was := m.a.of(now), m.a.of(before)
	var other, otherWas bodies
	// The arms use the current positions; the contact point is the one the collision pass found.
	m.arm = m.pos.minus(one.pos)
	if m.b != nil {
		other, otherWas = m.b.of(now), m.b.of(before)
		m.otherArm = m.pos.minus(other.pos)
	}
	speed := m.relativeVelocity(one, other).materialize()
	m.arm, m.otherArm = m.arm.materialize(), m.otherArm.materialize()
	approach := speed.dot(m.normal)
	slip := speed.minus(m.normal.by(approach)).materialize()
	approach = approach.materialize()
	direction, slipping := slip.unit()
	// Twice the substep: collisions are resolved every other substep.
	bound := m.friction.times(multiplier.abs()).scale(1 / (2 * s.dt))
	var inverseMass num
	if g.twoWay {
		inverseMass = w.inverseMassAt(m.arm, direction).plus(others.inverseMassAt(m.otherArm, direction))
	} else if w.principal {
		inverseMass = w.inverseMassAt(m.arm, direction)
	} else {
		lever := m.arm.cross(direction)
		inverseMass = w.mass.plus(lever.dot(lever)) // the source leaves out the inertia here
	}
	if w.principal {
		bound = bound.times(inverseMass) // in the source an impulse bounds a velocity
	}
	brake := bound.min(slipping)
	braking := direction.by(brake.over(inverseMass.add(1e-6))).neg().materialize()

	// Restitution: none below the speed that gravity adds in two substeps.
	restored := approach.zero()
	if !m.elasticity.is(0) {
		slow := approach.abs().below(2 * s.dt * 9.81)
		elasticity := slow.choose(m.elasticity.zero(), m.elasticity)
		approached := m.relativeVelocity(was, otherWas).dot(m.normal)
		restored = elasticity.times(approached).neg().min(approach.zero())
	}
	change := m.normal.by(restored.minus(approach))
	along, size := change.unit()
	inverseMass = w.inverseMassAt(m.arm, along)
	if g.twoWay {
		otherArm := m.otherArm.plus(m.normal.by(m.penetration))
		inverseMass = inverseMass.plus(others.inverseMassAt(otherArm, along))
	}
	p := along.by(size.over(inverseMass.add(1e-6))).plus(braking)
	p = m.overlapping().chooseVector(p, p.scale(0)).materialize()

	e := effect{active: p.dot(p).above(0).count(),
		scalar: m.overlapping().choose(slipping.minus(brake), slipping.zero())}
	if w.principal {
		e.on = impulse(p, m.arm, w)
		if g.twoWay {
			e.onOther = impulse(p.neg(), m.otherArm, others)
		}
		return e
	}
	e.on = twist{p.by(w.mass), m.arm.times(w.inertia).cross(p)}
	if g.twoWay {
		// The source uses the first body's mass for the other body's velocity change.
		e.onOther = twist{p.neg().by(w.mass), m.otherArm.times(others.inertia).cross(p.neg())}
	}
	return e
}
