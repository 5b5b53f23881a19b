package physics

// sprung is the force of the springs on the children, and their torque on the parents beside that
// of the forces and of the limits (brax/physics/spring_joints.py).
func (j jointState) sprung() (force, torque vector) {
	p, c := j.parents, j.children
	apart := p.pos.plus(j.parentArm).minus(c.pos.plus(j.childArm))
	parting := p.vel.plus(p.ang.cross(j.parentArm)).minus(c.vel.plus(c.ang.cross(j.childArm)))
	force = apart.by(j.stiffness).plus(parting.by(j.springDamping))

	switch first := j.axes[0]; j.jointGroup.axes {
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
	return force, torque.plus(j.braked())
}

// springSubstep advances spring dynamics by a substep: move, accelerate by joints, actuators and
// gravity, resolve contacts by impulses (brax/physics/system.py, _spring_step). It returns what the
// contacts did as well.
func (s *System) springSubstep(all limbs, d drive, show *viewer) (limbs, touch) {
	all = s.kinetic(all)
	settle(all.places()...)
	show.bodies("kinetic", all)

	joints := s.hold(all)
	about := make([][]num, len(joints)) // torques about the axes
	var made []*num
	for i, j := range joints {
		for axis := range j.axes {
			about[i] = append(about[i], j.limited(axis).plus(j.driven(axis, d.torques[i][axis])))
		}
		made = append(made, joints[i].components()...)
		for axis := range about[i] {
			made = append(made, &about[i][axis])
		}
	}
	settle(made...)
	forces, twists := make([]vector, len(joints)), make([]vector, len(joints))
	made = nil
	for i, j := range joints {
		force, torque := j.sprung()
		forces[i], twists[i] = force, torque.plus(j.along(about[i]))
		made = append(made, append(forces[i].components(), twists[i].components()...)...)
	}
	settle(made...)
	total := s.newLoads()
	for i, j := range joints {
		total.pull(j, forces[i], twists[i])
	}
	show.springs(joints, d.torques)
	all = s.accelerate(all, total.accelerations(), d.gravity)
	settle(all.motions()...)
	show.bodies("acc", all)

	t := s.resolveContacts(all)
	show.touch("dpc", t)
	all = s.applyImpulse(all, t.moving)
	show.bodies("after", all)
	return all, t
}

// resolveContacts resolves the contacts of spring dynamics by impulses on velocities.
func (s *System) resolveContacts(all limbs) touch {
	total := s.untouched()
	for i := range s.contacts {
		g := &s.contacts[i]
		meetings := g.meet(all, false)
		speeds := make([]vector, len(meetings))
		var made []*num
		for k, m := range meetings {
			speeds[k] = m.speed(m.one, m.other)
			made = append(made, speeds[k].components()...)
		}
		settle(made...)
		effects := make([]effect, len(meetings))
		made = nil
		for k, m := range meetings {
			effects[k] = s.collide(g, m, speeds[k])
			made = append(made, effects[k].components()...)
		}
		settle(made...)
		total = total.plus(s.share(g, effects, 1e-8))
	}
	return total
}

// collide is the impulse that keeps bodies from moving further into each other, with Baumgarte
// stabilisation and Coulomb friction (brax/physics/colliders.py, _contact).
func (s *System) collide(g *contactGroup, m contactPoint, speed vector) effect {
	w, other := m.a.weights, m.others()
	approach := m.normal.dot(speed)
	ease := w.mass.plus(m.normal.dot(m.arm.cross(m.normal).times(w.inertia).cross(m.arm)))
	if g.twoWay {
		ease = ease.plus(other.mass).plus(m.normal.dot(m.otherArm.cross(m.normal).times(
			other.inertia).cross(m.otherArm)))
	}
	restored := m.penetration.scale(f32(s.model.Baumgarte) / s.dt)
	strength := restored.minus(approach.times(m.elasticity.add(1))).over(ease)

	slip := speed.minus(m.normal.by(approach))
	slipping := slip.norm()
	drag := slipping.over(ease).min(m.friction.times(strength))
	direction := slip.over(slipping.add(1e-6))

	active := m.touching().and(approach.below(0)).and(strength.above(0))
	sliding := active.and(slipping.above(0.01))
	zero := strength.zero()
	normal := m.normal.by(active.choose(strength, zero))
	friction := direction.by(sliding.choose(drag, zero))
	if !g.twoWay {
		p := normal.minus(friction)
		settle(p.components()...)
		return effect{on: impulse(p, m.arm, w), active: active}
	}
	settle(append(normal.components(), friction.components()...)...)
	return effect{
		on: impulse(normal.minus(friction), m.arm, w), active: active,
		// The source gives the other body its friction by the mass and inertia of the first.
		onOther: impulse(normal.neg(), m.otherArm, other).plus(impulse(friction, m.otherArm, w)),
	}
}
