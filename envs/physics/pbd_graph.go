package physics

import "math"

// Shares of the corrections that are applied at once (brax/physics/joints.py, colliders.py).
const (
	jointShare   = 0.6 // of positions, by joints
	angleShare   = 0.2 // of angles, by joints
	contactShare = 0.3 // by contacts of two bodies; contacts with the ground apply all
)

// shift is a change of positions and of rotations, the latter as a small rotation vector in the world: q += vq/2.
type shift struct{ pos, turn vector }

// move changes positions. Like the source it leaves the length of the quaternions to a later normalisation.
func (s *System) move(b bodies, d shift) bodies {
	frozen := s.model.Frozen
	dq := pure(d.turn).times(b.rot).scale(0.5)
	for axis, c := range []*num{&d.pos.x, &d.pos.y, &d.pos.z} {
		if frozen.Position[axis] {
			*c = c.zero()
		}
	}
	for axis, c := range []*num{&dq.x, &dq.y, &dq.z} {
		if frozen.Rotation[axis] {
			*c = c.zero()
		}
	}
	b.pos, b.rot = b.pos.plus(d.pos), b.rot.plus(dq)
	return b
}

// project derives the velocities from where the bodies were a substep ago.
func (s *System) project(b, before bodies) bodies {
	b.rot = b.rot.normalized()
	b.vel = b.pos.minus(before.pos).scale(1 / s.dt)
	turn := b.rot.times(before.rot.inverse())
	v := turn.vector().scale(2 / s.dt)
	b.ang = turn.w.below(0).chooseVector(v.neg(), v)
	return s.hold(b)
}

// joined is the shift by which the joints of all groups bring their bodies together, align their axes and keep their limits.
func (s *System) joined(b bodies) shift {
	var all loads
	for i := range s.hinges {
		h := &s.hinges[i]
		j := held{hinges: h, parents: b.take(h.parent...), children: b.take(h.child...)}
		j.parentTurn, j.childTurn = j.parents.rot.rotation(), j.children.rot.rotation()
		j.parentArm, j.childArm = j.parentTurn.of(h.parentOffset), j.childTurn.of(h.childOffset)
		w := weights{s.inverseMass.take(h.parent...), s.inverseMass.take(h.child...), s.inverseInertia.take(h.parent...), s.inverseInertia.take(h.child...)}

		apart := j.parents.pos.plus(j.parentArm).minus(j.children.pos.plus(j.childArm))
		distance := apart.norm()
		direction := apart.over(distance.add(1e-6))
		ease := w.mass.plus(give(j.parentArm, direction, w.inertia)).plus(w.otherMass).plus(give(j.childArm, direction, w.otherInertia))
		pull := direction.by(distance.over(ease.add(1e-6))).scale(-jointShare)

		var turn vector
		for i, error := range j.misaligned() {
			part := aligning(error, w)
			if i == 0 {
				turn = part
			} else {
				turn = turn.plus(part)
			}
		}
		turn = turn.scale(angleShare)
		all.add(h.parent, pull, j.parentArm.cross(pull).plus(turn))
		all.add(h.child, pull.neg(), j.childArm.cross(pull).plus(turn).neg())
	}
	total := all.total(len(s.moving))
	return shift{total.force.by(s.inverseMass), total.torque.times(s.inverseInertia)}
}

// give is how much a body's turning yields to a force along a direction at arm from its centre.
func give(arm, direction, inverseInertia vector) num {
	lever := arm.cross(direction)
	return lever.dot(lever.times(inverseInertia))
}

// aligning is the angular impulse on the parent that undoes an angular error of the child.
func aligning(error vector, w weights) vector {
	size := error.norm()
	axis := error.over(size.add(1e-6))
	ease := axis.dot(axis.times(w.inertia)).plus(axis.dot(axis.times(w.otherInertia)))
	return axis.by(size.over(ease.add(1e-6)))
}

// misaligned are the angular errors of the joints: between the axes of the two bodies, and beyond the limits.
func (j held) misaligned() []vector {
	first := j.parentAxis(0)
	if j.hinges.axes == 1 {
		from, to := j.parentAxis(2), j.childAxis(2)
		return []vector{first.cross(j.childAxis(0)), j.beyond(0, first, from, to, false)}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(1e-6)
	level := bend.cross(first)
	level = level.over(level.norm().add(1e-6)).by(first.dot(three).sign()).neg()
	return []vector{
		j.beyond(0, first, j.parentAxis(1), line, true),
		j.beyond(1, level, first, bend, true),
		j.beyond(2, three, line, two, true),
	}
}

// beyond is the angular error of the angle from one vector to another about an axis at right angles to the first: how far the
// second is from where the limits of angle i would have it. With strict it is 0 within the limits, else it also holds how far
// the second is out of the plane.
func (j held) beyond(i int, axis, from, to vector, strict bool) vector {
	sin, cos := from.cross(to).dot(axis), from.dot(to)
	angle := atan2(sin, cos)
	length := sin.square().plus(cos.square()).sqrt().max(constant(sin.rows, 1e-30))
	low, high := angle.less(j.lower[i]), j.upper[i].less(angle)
	pick := func(inside num, f func(float64) float64) num {
		return low.choose(j.lower[i].apply(f, nil), high.choose(j.upper[i].apply(f, nil), inside))
	}
	allowed := from.by(pick(cos.over(length), math.Cos)).plus(axis.cross(from).by(pick(sin.over(length), math.Sin)))
	error := allowed.cross(to)
	if strict {
		return low.or(high).chooseVector(error, error.scale(0))
	}
	return error
}

// pressed is what a contact set does to positions: the shift of the first body, and the normal multiplier, which the source
// leaves unmasked where two bodies meet.
type pressed struct {
	effect
	multiplier num
}

// press pushes bodies out of each other and holds them where they stick (brax/physics/colliders.py, _position_contact).
func (s *System) press(g *contactGroup, m meeting, before bodies) pressed {
	w := s.weights(m.contactSet)
	arm, otherArm := m.arm, m.otherArm
	ease := w.mass
	depth := m.penetration
	share := 1.0
	if g.twoWay {
		half := m.normal.by(m.penetration.scale(0.5))
		arm, otherArm = arm.minus(half), otherArm.plus(half)
		ease = ease.plus(w.otherMass).plus(give(otherArm, m.normal, w.otherInertia))
		share = contactShare
	}
	ease = ease.plus(give(arm, m.normal, w.inertia)).add(1e-6)
	multiplier := depth.over(ease)
	active := depth.above(0)
	zero := multiplier.zero()
	p := m.normal.by(active.choose(multiplier, zero))

	// Static friction: undo what the point of contact moved along the surface.
	was := before.take(m.a...)
	slip := m.moved(was, m.one, m.arm)
	if m.b != nil {
		slip = slip.minus(m.moved(before.take(m.b...), m.other, m.otherArm))
	}
	slip = slip.minus(m.normal.by(slip.dot(m.normal)))
	distance := slip.norm()
	direction := slip.over(distance.add(1e-6))
	stickArm := m.arm
	ease = w.mass.plus(give(stickArm, direction, w.inertia))
	bound := multiplier.abs()
	if g.twoWay {
		ease = ease.plus(w.otherMass).plus(give(m.otherArm, direction, w.otherInertia))
	} else {
		bound = m.friction.times(multiplier).abs()
	}
	hold := distance.over(ease)
	stuck := active.and(hold.less(bound))
	f := direction.by(stuck.choose(hold, zero)).neg()

	out := pressed{multiplier: multiplier, effect: effect{active: active}}
	out.on = push{p.plus(f).by(w.mass), arm.cross(p).plus(stickArm.cross(f)).times(w.inertia)}.scale(share)
	if g.twoWay {
		out.onOther = push{p.plus(f).neg().by(w.otherMass), otherArm.cross(p).plus(m.otherArm.cross(f)).neg().times(w.otherInertia)}.scale(share)
	} else {
		out.multiplier = active.choose(multiplier, zero)
	}
	return out
}

// moved is what the point of contact moved with a body since before.
func (m meeting) moved(before, now bodies, arm vector) vector {
	inBody := now.rot.inverse().rotation().of(arm)
	return now.pos.plus(arm).minus(before.pos.plus(before.rot.rotation().of(inBody)))
}

// rub brakes bodies that slide on each other and stops them from parting or meeting at their contact, by the multipliers of
// their bodies (brax/physics/colliders.py, _velocity_contact). Before are the velocities of the collision pass's start.
func (s *System) rub(g *contactGroup, m meeting, b, before bodies, multiplier num) effect {
	w := s.weights(m.contactSet)
	one, was := b.take(m.a...), before.take(m.a...)
	var other, otherWas bodies
	if m.b != nil {
		other, otherWas = b.take(m.b...), before.take(m.b...)
	}
	// The arms are those of the positions of b; the contact is where the collision pass found it.
	m.arm = m.pos.minus(one.pos)
	if m.b != nil {
		m.otherArm = m.pos.minus(other.pos)
	}
	speed := m.speed(one, other)
	approach := speed.dot(m.normal)
	slip := speed.minus(m.normal.by(approach))
	slipping := slip.norm()
	direction := slip.over(slipping.add(1e-6))
	// Twice the substep: collisions are resolved every other one.
	brake := m.friction.times(multiplier.take(m.a...).abs()).scale(1 / (2 * s.dt)).min(slipping)
	lever := m.arm.cross(direction)
	ease := w.mass
	if g.twoWay {
		ease = ease.plus(lever.dot(lever.times(w.inertia))).plus(w.otherMass).plus(give(m.otherArm, direction, w.otherInertia))
	} else {
		ease = ease.plus(lever.dot(lever)) // the source leaves out the inertia here
	}
	braking := direction.by(brake.over(ease.add(1e-6))).neg()

	// Restitution, none below the speed that gravity gives in two substeps.
	restored := approach.zero()
	if !m.elasticity.all(0) {
		slow := approach.abs().below(2 * s.dt * 9.81)
		elasticity := slow.choose(m.elasticity.zero(), m.elasticity)
		restored = elasticity.times(m.speed(was, otherWas).dot(m.normal)).neg().min(approach.zero())
	}
	change := m.normal.by(restored.minus(approach))
	size := change.norm()
	along := change.over(size.add(1e-6))
	ease = w.mass.plus(give(m.arm, along, w.inertia))
	if g.twoWay {
		ease = ease.plus(w.otherMass).plus(give(m.otherArm.plus(m.normal.by(m.penetration)), along, w.otherInertia))
	}
	p := along.by(size.over(ease.add(1e-6))).plus(braking)
	touching := m.penetration.above(0)
	p = touching.chooseVector(p, p.scale(0))

	e := effect{active: p.dot(p).above(0)}
	e.on = push{p.by(w.mass), m.arm.times(w.inertia).cross(p)}
	if g.twoWay {
		// The source gives the other body its velocity by the mass of the first.
		e.onOther = push{p.neg().by(w.mass), m.otherArm.times(w.otherInertia).cross(p.neg())}
	}
	return e
}

// positionIteration advances position based dynamics by two substeps, the second with collisions (brax/physics/system.py,
// _pbd_step). It returns what the contacts did to velocities as well.
func (s *System) positionIteration(b bodies, action num, show *viewer) (bodies, touch) {
	before := b
	b = s.coast(b, action, show, "s1_")
	show.bodies("s1_kinetic", b)
	d := s.joined(b)
	show.shift("s1_dqj", touch{push{d.pos, d.turn}, s.untouched().still}, b)
	b = s.project(s.move(b, d), before)
	show.bodies("s1_after", b)

	before = b
	b = s.coast(b, action, nil, "")
	b = s.move(b, s.joined(b))
	show.bodies("s2_joint", b)

	meetings := make([][]meeting, len(s.contacts))
	var multipliers []addend
	pressure := s.untouched() // of positions: what does not move is asked, too, but only shown
	for i := range s.contacts {
		g := &s.contacts[i]
		var effects []effect
		for k := range g.sets {
			m := g.sets[k].meet(b)
			pressed := s.press(g, m, before)
			meetings[i] = append(meetings[i], m)
			effects = append(effects, pressed.effect)
			multipliers = append(multipliers, addend{pressed.multiplier, m.a})
		}
		pressure = pressure.plus(s.share(g, effects, 1e-6))
	}
	multiplier := sum(len(s.moving), multipliers...)
	show.shift("dqc", pressure, b)
	show.rows("dlambda", multiplier)
	b = s.move(b, shift{pressure.moving.vel, pressure.moving.ang})
	unprojected := b
	b = s.project(b, before)
	show.bodies("s2_proj", b)

	t := s.untouched()
	for i := range s.contacts {
		g := &s.contacts[i]
		var effects []effect
		for k := range g.sets {
			effects = append(effects, s.rub(g, meetings[i][k], b, unprojected, multiplier))
		}
		t = t.plus(s.share(g, effects, 1e-6))
	}
	show.touch("dpc", t)
	b = s.kick(b, t.moving)
	show.bodies("after", b)
	return b, t
}

// coast accelerates by actuators, the damping of joints and gravity, and moves.
func (s *System) coast(b bodies, action num, show *viewer, stage string) bodies {
	var all, actuators, damping loads
	for i := range s.hinges {
		j := s.hinges[i].hold(b)
		drive, brake := j.driven(action), j.braked()
		still := drive.scale(0)
		all.add(j.parent, still, drive.plus(brake))
		all.add(j.child, still, drive.plus(brake).neg())
		if show != nil {
			actuators.add(j.parent, still, drive)
			actuators.add(j.child, still, drive.neg())
			damping.add(j.parent, still, brake)
			damping.add(j.child, still, brake.neg())
		}
	}
	rows := len(s.moving)
	if show != nil {
		show.push(stage+"dpa", s.acceleration(actuators.total(rows)))
		show.push(stage+"damp", s.acceleration(damping.total(rows)))
	}
	b = s.accelerate(b, s.acceleration(all.total(rows)))
	show.bodies(stage+"acc", b)
	return s.kinetic(b)
}
