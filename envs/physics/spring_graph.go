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
	all = s.kinetic(all)
	materialize(all.places()...)

	joints := s.jointStates(all)
	axisTorques := make([][]num, len(joints)) // torques about the axes
	var made []*num
	for i, j := range joints {
		for axis := range j.axes {
			torque := j.limitTorque(axis).plus(j.driveTorque(axis, d.torques[i][axis]))
			axisTorques[i] = append(axisTorques[i], torque)
		}
		made = append(made, joints[i].components()...)
		for axis := range axisTorques[i] {
			made = append(made, &axisTorques[i][axis])
		}
	}
	materialize(made...)
	forces, twists := make([]vector, len(joints)), make([]vector, len(joints))
	made = nil
	for i, j := range joints {
		force, torque := j.springForce()
		forces[i], twists[i] = force, torque.plus(j.sumOverAxes(axisTorques[i]))
		made = append(made, append(forces[i].components(), twists[i].components()...)...)
	}
	materialize(made...)
	total := s.newLoads()
	for i, j := range joints {
		total.pull(j, forces[i], twists[i])
	}
	total.thrust(d.thrusts)
	all = s.accelerate(all, total.accelerations(all), d.gravity)
	materialize(all.motions()...)

	t := s.resolveContacts(all)
	all = s.applyImpulse(all, t.moving)
	return all, t
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
func (s *System) collide(g *contactGroup, m contactPoint, speed vector) effect {
	w, other := m.weights, m.others
	approach := m.normal.dot(speed)
	inverseMass := w.mass.plus(m.normal.dot(w.turnedBy(m.arm.cross(m.normal)).cross(m.arm)))
	if g.twoWay {
		inverseMass = inverseMass.plus(other.mass).plus(m.normal.dot(other.turnedBy(
			m.otherArm.cross(m.normal)).cross(m.otherArm)))
	}
	restored := m.penetration.scale(f32(s.model.Baumgarte) / s.dt)
	strength := restored.minus(approach.times(m.elasticity.add(1))).over(inverseMass)

	slip := speed.minus(m.normal.by(approach))
	slipping := slip.norm()
	drag := slipping.over(inverseMass).min(m.friction.times(strength))
	direction := slip.over(slipping.add(1e-6))

	active := m.overlapping().and(approach.below(0)).and(strength.above(0))
	sliding := active.and(slipping.above(0.01))
	zero := strength.zero()
	normal := m.normal.by(active.choose(strength, zero))
	friction := direction.by(sliding.choose(drag, zero))
	if !g.twoWay {
		p := normal.minus(friction)
		materialize(p.components()...)
		return effect{on: impulse(p, m.arm, w), active: active}
	}
	materialize(append(normal.components(), friction.components()...)...)
	return effect{
		on: impulse(normal.minus(friction), m.arm, w), active: active,
		// The source applies friction to the other body with the mass and inertia of the first.
		onOther: impulse(normal.neg(), m.otherArm, other).plus(impulse(friction, m.otherArm, w)),
	}
}
