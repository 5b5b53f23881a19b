package physics

import "example.com/qdnb/envs/algebra"

// springForce returns the spring force on the children, and the spring and damping torque on the
// parents, without the torques of the force and of the limits (brax/physics/spring_joints.py).
func (j jointState) springForce(d drive) (force, torque algebra.Vector) {
	p, c := j.parents, j.children
	apart := p.pos.Plus(j.parentArm).Minus(c.pos.Plus(j.childArm))
	parting := p.vel.Plus(p.ang.Cross(j.parentArm)).Minus(c.vel.Plus(c.ang.Cross(j.childArm)))
	force = apart.By(j.stiffness).Plus(parting.By(j.springDamping))

	switch first := j.axes[0]; j.jointGroup.axes {
	case 1: // align the axes of the two bodies
		torque = first.Cross(j.childAxis(0)).By(j.stiffness)
	case 2: // keep the second axis perpendicular to the first
		second := j.axes[1]
		level := second.Minus(first.By(second.Dot(first)))
		level = level.Over(level.Norm())
		torque = level.Cross(second).By(j.limitStrength).Scale(1. / 5)
	default:
		torque = first.Scale(0)
	}
	return force, torque.Plus(j.dampingTorque(d))
}

// springSubstep advances spring dynamics by a substep: integrate positions, accelerate by joints,
// actuators and gravity, resolve contacts by impulses (brax/physics/system.py, _spring_step). It
// also returns the velocity changes by contacts.
func (s *System) springSubstep(all limbs, d drive) (limbs, contactEffect) {
	all = s.kinetic(all).materialize()
	total := s.newLoads()
	for i, j := range s.jointStates(all) {
		j = j.materialize()
		var torques []algebra.Num // about the axes
		for axis := range j.axes {
			torque := j.limitTorque(axis).Plus(j.driveTorque(d, i, axis))
			torques = append(torques, torque.Materialize())
		}
		force, torque := j.springForce(d)
		total.pull(j, force.Materialize(), torque.Plus(j.sumOverAxes(torques)).Materialize())
	}
	total.thrust(d.Thrusts)
	all = s.accelerate(all, total.accelerations(), d).materialize()
	changes := s.resolveContacts(all, d)
	return s.applyImpulse(all, changes.moving), changes
}

// collide computes the contact impulse, with Baumgarte stabilisation and Coulomb friction
// (brax/physics/colliders.py, _contact).
func (s *System) collide(m contactPoint, _ []limbs, _ algebra.Num) effect {
	w, other := m.weights, m.others
	speed := m.relativeVelocity(m.one, m.other).Materialize()
	approach := m.normal.Dot(speed)
	inverseMass := w.mass.Plus(m.normal.Dot(w.turnedBy(m.arm.Cross(m.normal)).Cross(m.arm))).Plus(
		other.mass).Plus(m.normal.Dot(other.turnedBy(m.otherArm.Cross(m.normal)).Cross(m.otherArm)))
	restored := m.penetration.Scale(f32(s.model.Baumgarte) / s.dt)
	strength := restored.Minus(approach.Times(m.elasticity.Add(1))).Over(inverseMass)

	slip := speed.Minus(m.normal.By(approach))
	direction, slipping := slip.Unit()
	drag := slipping.Over(inverseMass).Min(m.friction.Times(strength))

	active := m.overlapping().And(approach.Below(0)).And(strength.Above(0))
	sliding := active.And(slipping.Above(0.01))
	zero := strength.Zero()
	normal := m.normal.By(active.Choose(strength, zero))
	friction := direction.By(sliding.Choose(drag, zero))
	if m.plane {
		p := normal.Minus(friction).Materialize()
		return effect{on: impulse(p, m.arm, w), active: active.Count()}
	}
	normal, friction = normal.Materialize(), friction.Materialize()
	return effect{
		on: impulse(normal.Minus(friction), m.arm, w), active: active.Count(),
		// The source applies friction to the other body with the mass and inertia of the first.
		onOther: impulse(normal.Neg(), m.otherArm, other).plus(impulse(friction, m.otherArm, w)),
	}
}
