package physics

// sprung is the force of the springs on the children, and their torque on the parents beside that of the forces
// (brax/physics/spring_joints.py).
func (j held) sprung() (force, torque vector) {
	p, c := j.parents, j.children
	apart := p.pos.plus(j.parentArm).minus(c.pos.plus(j.childArm))
	parting := p.vel.plus(p.ang.cross(j.parentArm)).minus(c.vel.plus(c.ang.cross(j.childArm)))
	force = apart.by(j.stiffness).plus(parting.by(j.springDamping))

	switch first := j.axes[0]; j.hinges.axes {
	case 1: // hold the axes of the two bodies together
		torque = first.cross(j.childAxis(0)).by(j.stiffness)
	case 2: // hold the second axis at right angles to the first
		second := j.axes[1]
		level := second.minus(first.by(second.dot(first)))
		level = level.over(level.norm())
		torque = level.cross(second).by(j.limitStrength).scale(1. / 5)
	default:
		torque = first.scale(0)
	}
	for i, axis := range j.axes {
		torque = torque.minus(axis.by(j.excess(i).times(j.limitStrength)))
	}
	return force, torque.plus(j.braked())
}

// springSubstep advances spring dynamics by a substep: move, accelerate by joints, actuators and gravity, resolve contacts by
// impulses (brax/physics/system.py, _spring_step). It returns what the contacts did as well.
func (s *System) springSubstep(b bodies, action num, show *viewer) (bodies, touch) {
	b = s.kinetic(b)
	show.bodies("kinetic", b)

	var all, joints, actuators loads
	for i := range s.hinges {
		j := s.hinges[i].hold(b)
		force, torque := j.sprung()
		parentTorque, childTorque := j.parentArm.cross(force).neg(), j.childArm.cross(force)
		drive := j.driven(action)
		all.add(j.parent, force.neg(), parentTorque.plus(torque).plus(drive))
		all.add(j.child, force, childTorque.minus(torque).minus(drive))
		if show != nil {
			joints.add(j.parent, force.neg(), parentTorque.plus(torque))
			joints.add(j.child, force, childTorque.minus(torque))
			actuators.add(j.parent, force.scale(0), drive)
			actuators.add(j.child, force.scale(0), drive.neg())
		}
	}
	rows := len(s.moving)
	if show != nil {
		show.push("dpj", s.acceleration(joints.total(rows)))
		show.push("dpa", s.acceleration(actuators.total(rows)))
	}
	b = s.accelerate(b, s.acceleration(all.total(rows)))
	show.bodies("acc", b)

	t := s.bounce(b)
	show.touch("dpc", t)
	b = s.kick(b, t.moving)
	show.bodies("after", b)
	return b, t
}

// bounce resolves the contacts of spring dynamics by impulses on velocities.
func (s *System) bounce(b bodies) touch {
	total := s.untouched()
	for i := range s.contacts {
		g := &s.contacts[i]
		var effects []effect
		for k := range g.sets {
			effects = append(effects, s.collide(g, g.sets[k].meet(b)))
		}
		total = total.plus(s.share(g, effects, 1e-8))
	}
	return total
}

func (s *System) untouched() touch {
	zero := func(rows int) push {
		var p push
		for _, c := range p.components() {
			*c = constant(rows, 0)
		}
		return p
	}
	return touch{zero(len(s.moving)), zero(len(s.touched))}
}

// collide is the impulse that keeps bodies from moving further into each other, with Baumgarte stabilisation and Coulomb
// friction (brax/physics/colliders.py, _contact).
func (s *System) collide(g *contactGroup, m meeting) effect {
	w := s.weights(m.contactSet)
	speed := m.speed(m.one, m.other)
	approach := m.normal.dot(speed)
	ease := w.mass.plus(m.normal.dot(m.arm.cross(m.normal).times(w.inertia).cross(m.arm)))
	if g.twoWay {
		ease = ease.plus(w.otherMass).plus(m.normal.dot(m.otherArm.cross(m.normal).times(w.otherInertia).cross(m.otherArm)))
	}
	restored := m.penetration.scale(f32(s.model.Baumgarte) / s.dt)
	strength := restored.minus(approach.times(m.elasticity.add(1))).over(ease)

	slip := speed.minus(m.normal.by(approach))
	slipping := slip.norm()
	drag := slipping.over(ease).min(m.friction.times(strength))
	direction := slip.over(slipping.add(1e-6))

	active := m.penetration.above(0).and(approach.below(0)).and(strength.above(0))
	sliding := active.and(slipping.above(0.01))
	zero := strength.zero()
	normal := m.normal.by(active.choose(strength, zero))
	friction := direction.by(sliding.choose(drag, zero))

	e := effect{on: impulse(normal.minus(friction), m.arm, w.mass, w.inertia), active: active}
	if g.twoWay {
		// The source gives the other body its friction by the mass and inertia of the first.
		e.onOther = impulse(normal.neg(), m.otherArm, w.otherMass, w.otherInertia).
			plus(impulse(friction, m.otherArm, w.mass, w.inertia))
	}
	return e
}
