package physics

// springForce returns the spring force on the children, and the spring and damping torque on the
// parents, without the torques of the force and of the limits (brax/physics/spring_joints.py).
func (j jointState) springForce() (force, torque vector) {
	p, c := j.parents, j.children
	apart := p.pos.plus(j.parentArm).minus(c.pos.plus(j.childArm))
	parting := p.vel.plus(p.ang.cross(j.parentArm)).minus(c.vel.plus(c.ang.cross(j.childArm)))
	force = apart.by(j.stiffness).plus(parting.by(j.springDamping))

	switch first := j.axes[0]; j.jointGroup.axes {
	case 1: // align the axes of the two bodies
		torque = first.cross(j.childAxis(0)).by(j.alignment)
	case 2: // keep the second axis perpendicular to the first
		second := j.axes[1]
		level := second.minus(first.by(second.dot(first)))
		level = level.over(level.norm())
		torque = level.cross(second).by(j.limitStrength).scale(1. / 5)
	default:
		torque = first.scale(0)
	}
	return force, torque.plus(j.dampingTorque())
}

// springSubstep advances spring dynamics by a substep: integrate positions, accelerate by joints,
// actuators and gravity, resolve contacts by impulses (brax/physics/system.py, _spring_step). It
// also returns the velocity changes by contacts.
func (s *System) springSubstep(all limbs, d drive) (limbs, contactEffect) {
	all = s.kinetic(all).materialize()
	total := s.newLoads()
	for i, j := range s.jointStates(all) {
		j = j.materialize()
		var torques []num // about the axes
		for axis := range j.axes {
			torque := j.limitTorque(axis).plus(j.driveTorque(d, i, axis))
			torques = append(torques, torque.materialize())
		}
		force, torque := j.springForce()
		total.pull(j, force.materialize(), torque.plus(j.sumOverAxes(torques)).materialize())
	}
	total.thrust(d.Thrusts)
	all = s.accelerate(all, total.accelerations(all), d.Gravity).materialize()
	changes := s.resolveContacts(all)
	return s.applyImpulse(all, changes.moving), changes
}

// resolveContacts computes the contact impulses of spring dynamics.
func (s *System) resolveContacts(all limbs) contactEffect {
	total := s.noContact()
	for _, c := range s.contactSolvers(all, nil) {
		total = total.plus(c.impulses())
	}
	return total
}

// collide computes the contact impulse, with Baumgarte stabilisation and Coulomb friction
// (brax/physics/colliders.py, _contact).
func (s *System) collide(g *contactGroup, m contactPoint) effect {
	w, other := m.weights, m.others
	speed := m.relativeVelocity(m.one, m.other).materialize()
	approach := m.normal.dot(speed)
	inverseMass := w.mass.plus(m.normal.dot(w.turnedBy(m.arm.cross(m.normal)).cross(m.arm)))
	if g.twoWay {
		inverseMass = inverseMass.plus(other.mass).plus(m.normal.dot(other.turnedBy(
			m.otherArm.cross(m.normal)).cross(m.otherArm)))
	}
	restored := m.penetration.scale(f32(s.model.Baumgarte) / s.dt)
	strength := restored.minus(approach.times(m.elasticity.add(1))).over(inverseMass)

	slip := speed.minus(m.normal.by(approach))
	direction, slipping := slip.unit()
	if w.principal {
		inverseMass = w.inverseMassAt(m.arm, direction)
		if g.twoWay {
			inverseMass = inverseMass.plus(other.inverseMassAt(m.otherArm, direction))
		}
	}
	drag := slipping.over(inverseMass).min(m.friction.times(strength))

	active := m.overlapping().and(approach.below(0)).and(strength.above(0))
	sliding := active.and(slipping.above(0.01))
	zero := strength.zero()
	normal := m.normal.by(active.choose(strength, zero))
	friction := direction.by(sliding.choose(drag, zero))
	if w.principal {
		whole, sticks := m.sticking(m.normal.by(restored.minus(approach.times(m.elasticity.add(1)))).minus(slip))
		sticks = active.and(sticks)
		normal, friction = sticks.chooseVector(whole, normal), sticks.chooseVector(friction.scale(0), friction)
	}
	if !g.twoWay {
		p := normal.minus(friction).materialize()
		return effect{on: impulse(p, m.arm, w), active: active.count()}
	}
	normal, friction = normal.materialize(), friction.materialize()
	if w.principal {
		p := normal.minus(friction)
		return effect{on: impulse(p, m.arm, w), active: active.count(),
			onOther: impulse(p.neg(), m.otherArm, other)}
	}
	return effect{
		on: impulse(normal.minus(friction), m.arm, w), active: active.count(),
		// The source applies friction to the other body with the mass and inertia of the first.
		onOther: impulse(normal.neg(), m.otherArm, other).plus(impulse(friction, m.otherArm, w)),
	}
}
