package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Shares of the corrections that are applied at once (brax/physics/joints.py, colliders.py).
const (
	jointShare   = 0.6 // of positions, by joints
	angleShare   = 0.2 // of angles, by joints
	contactShare = 0.3 // by contacts of two bodies; contacts with the ground apply all
)

// shift is a change of positions and of rotations, the latter as a small rotation vector in the world: q += vq/2.
type shift struct{ pos, turn vector }

// move changes positions. Like the source it leaves the length of the quaternions to a later normalisation.
func (s *System) move(all limbs, d pushes) limbs {
	return all.update(func(l int, b bodies) bodies { return s.shift(l, b, shift{d[l].vel, d[l].ang}) })
}

func (s *System) shift(l int, b bodies, d shift) bodies {
	mobile := s.levels[l].mobile
	d = shift{d.pos.by(mobile), d.turn.by(mobile)}
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
func (s *System) project(all, before limbs) limbs {
	return all.update(func(l int, b bodies) bodies {
		b.rot = b.rot.normalized()
		b.vel = b.pos.minus(before[l].pos).scale(1 / s.dt)
		turn := b.rot.times(before[l].rot.inverse())
		v := turn.vector().scale(2 / s.dt)
		b.ang = turn.w.below(0).chooseVector(v.neg(), v)
		return s.freeze(l, b)
	})
}

// joined is the shift by which the joints bring their bodies together, align their axes and keep their limits.
func (s *System) joined(all limbs) pushes {
	joints := make([]held, len(s.hinges))
	var made []*num
	for i := range joints {
		joints[i] = s.hinges[i].bodies(all)
		made = append(made, joints[i].components()...)
	}
	settle(made...)
	pulls, turns := make([]vector, len(joints)), make([]vector, len(joints))
	made = nil
	for i := range joints {
		h, j := &s.hinges[i], joints[i]
		apart := j.parents.pos.plus(j.parentArm).minus(j.children.pos.plus(j.childArm))
		settleVectors(&apart)
		distance := apart.norm()
		direction := apart.over(distance.add(1e-6))
		ease := h.parentWeights.give(j.parentArm, direction).plus(h.childWeights.give(j.childArm, direction))
		pull := direction.by(distance.over(ease.add(1e-6))).scale(-jointShare)

		errors := j.misaligned()
		for i := range errors {
			settle(errors[i].components()...)
		}
		turn := errors[0].scale(0)
		for _, error := range errors {
			turn = turn.plus(j.aligning(error))
		}
		pulls[i], turns[i] = pull, turn.scale(angleShare)
		made = append(made, append(pulls[i].components(), turns[i].components()...)...)
	}
	settle(made...)
	total := s.newLoads()
	for i := range joints {
		j, pull, turn := joints[i], pulls[i], turns[i]
		total.add(j.hinges, load{pull, j.parentArm.cross(pull).plus(turn)}, load{pull.neg(), j.childArm.cross(pull).plus(turn).neg()})
	}
	return total.accelerations()
}

// give is how much a body yields to a force along a direction at arm from its centre.
func (w weights) give(arm, direction vector) num {
	lever := arm.cross(direction)
	return w.mass.plus(lever.dot(lever.times(w.inertia)))
}

// aligning is the angular impulse on the parent that undoes an angular error of the child.
func (j held) aligning(error vector) vector {
	size := error.norm()
	axis := error.over(size.add(1e-6))
	ease := axis.dot(axis.times(j.parentWeights.inertia)).plus(axis.dot(axis.times(j.childWeights.inertia)))
	return axis.by(size.over(ease.add(1e-6)))
}

// misaligned are the angular errors of the joints: between the axes of the two bodies, and beyond the limits.
func (j held) misaligned() []vector {
	first := j.parentAxis(0)
	if j.hinges.axes == 1 {
		from, to := j.parentAxis(2), j.childAxis(2)
		settleVectors(&first, &from, &to)
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
	settle(&sin, &cos)
	angle := atan2(sin, cos)
	settle(&angle)
	length := sin.square().plus(cos.square()).sqrt().max(constant(sin.rows, 1e-30))
	low, high := angle.less(j.lower[i]), j.upper[i].less(angle)
	pick := func(inside num, f func(float64) float64) num {
		return low.choose(j.lower[i].apply(f, nil), high.choose(j.upper[i].apply(f, nil), inside))
	}
	along, across := pick(cos.over(length), math.Cos), pick(sin.over(length), math.Sin)
	settle(&along, &across)
	allowed := from.by(along).plus(axis.cross(from).by(across))
	settleVectors(&allowed)
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
func (s *System) press(g *contactGroup, m meeting, before limbs) pressed {
	w, other := m.a.weights, m.others()
	arm, otherArm := m.arm, m.otherArm
	share := 1.0
	var ease num
	if g.twoWay {
		half := m.normal.by(m.penetration.scale(0.5))
		arm, otherArm = arm.minus(half), otherArm.plus(half)
		ease = w.give(arm, m.normal).plus(other.give(otherArm, m.normal))
		share = contactShare
	} else {
		ease = w.give(arm, m.normal)
	}
	multiplier := m.penetration.over(ease.add(1e-6)) // computed once: XLA does not repeat divisions
	active := m.touching()
	zero := multiplier.zero()
	p := m.normal.by(active.choose(multiplier, zero))

	// Static friction: undo what the point of contact moved along the surface.
	slip := m.moved(m.a.of(before), m.one, m.arm)
	if m.b != nil {
		slip = slip.minus(m.moved(m.b.of(before), m.other, m.otherArm))
	}
	settleVectors(&slip)
	slip = slip.minus(m.normal.by(slip.dot(m.normal)))
	settle(append(slip.components(), append(p.components(), arm.components()...)...)...)
	distance := slip.norm()
	direction := slip.over(distance.add(1e-6))
	ease = w.give(m.arm, direction)
	bound := multiplier.abs()
	if g.twoWay {
		ease = ease.plus(other.give(m.otherArm, direction))
	} else {
		bound = m.friction.times(multiplier).abs()
	}
	hold := distance.over(ease)
	stuck := active.and(hold.less(bound))
	f := direction.by(stuck.choose(hold, zero)).neg()
	settle(f.components()...)

	out := pressed{effect: effect{active: active}, multiplier: active.choose(multiplier, zero)}
	out.on = push{p.plus(f).by(w.mass), arm.cross(p).plus(m.arm.cross(f)).times(w.inertia)}.scale(share)
	if g.twoWay {
		out.onOther = push{p.plus(f).neg().by(other.mass), otherArm.cross(p).plus(m.otherArm.cross(f)).neg().times(other.inertia)}.scale(share)
		out.multiplier = multiplier.times(m.present)
	}
	return out
}

// moved is what the point of contact moved with a body since before.
func (m meeting) moved(before, now bodies, arm vector) vector {
	inBody := now.rot.inverse().rotation().of(arm)
	settleVectors(&inBody)
	return now.pos.plus(arm).minus(before.pos.plus(before.rot.rotation().of(inBody)))
}

// rub brakes bodies that slide on each other and stops them from parting or meeting at their contact, by the multipliers of
// their bodies (brax/physics/colliders.py, _velocity_contact). Before are the velocities of the collision pass's start.
func (s *System) rub(g *contactGroup, m meeting, now, before limbs, multipliers []num) effect {
	w, others := m.a.weights, m.others()
	one, was := m.a.of(now), m.a.of(before)
	var other, otherWas bodies
	// The arms are those of the positions now; the contact is where the collision pass found it.
	m.arm = m.pos.minus(one.pos)
	if m.b != nil {
		other, otherWas = m.b.of(now), m.b.of(before)
		m.otherArm = m.pos.minus(other.pos)
	}
	speed := m.speed(one, other)
	settle(append(append(m.arm.components(), m.otherArm.components()...), speed.components()...)...)
	approach := speed.dot(m.normal)
	slip := speed.minus(m.normal.by(approach))
	settle(append(slip.components(), &approach)...)
	slipping := slip.norm()
	direction := slip.over(slipping.add(1e-6))
	// Twice the substep: collisions are resolved every other one.
	multiplier := multipliers[m.a.level].take(m.a.rows...).abs()
	brake := m.friction.times(multiplier).scale(1 / (2 * s.dt)).min(slipping)
	var ease num
	if g.twoWay {
		ease = w.give(m.arm, direction).plus(others.give(m.otherArm, direction))
	} else {
		lever := m.arm.cross(direction)
		ease = w.mass.plus(lever.dot(lever)) // the source leaves out the inertia here
	}
	braking := direction.by(brake.over(ease.add(1e-6))).neg()
	settle(braking.components()...)

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
	ease = w.give(m.arm, along)
	if g.twoWay {
		ease = ease.plus(others.give(m.otherArm.plus(m.normal.by(m.penetration)), along))
	}
	p := along.by(size.over(ease.add(1e-6))).plus(braking)
	p = m.touching().chooseVector(p, p.scale(0))
	settle(p.components()...)

	e := effect{active: p.dot(p).above(0)}
	e.on = push{p.by(w.mass), m.arm.times(w.inertia).cross(p)}
	if g.twoWay {
		// The source gives the other body its velocity by the mass of the first.
		e.onOther = push{p.neg().by(w.mass), m.otherArm.times(others.inertia).cross(p.neg())}
	}
	return e
}

// positionIteration advances position based dynamics by two substeps, the second with collisions (brax/physics/system.py,
// _pbd_step). It returns what the contacts did to velocities as well.
func (s *System) positionIteration(all limbs, d drive, show *viewer) (limbs, touch) {
	all, before := s.glide(all, d, show)
	show.bodies("s2_joint", all)

	meetings := make([][]meeting, len(s.contacts))
	parts := make([][]addend, len(s.levels))
	pressure := s.untouched() // of positions: what does not move is asked, too, but only shown
	for i := range s.contacts {
		g := &s.contacts[i]
		meetings[i] = g.meet(all, true)
		effects := make([]effect, len(g.sets))
		var made []*num
		for k, m := range meetings[i] {
			pressed := s.press(g, m, before)
			effects[k] = pressed.effect
			made = append(append(made, effects[k].components()...), &pressed.multiplier)
			parts[m.a.level] = append(parts[m.a.level], addend{pressed.multiplier, m.a.to})
		}
		settle(made...)
		pressure = pressure.plus(s.share(g, effects, 1e-6))
	}
	var multipliers []num
	for l, level := range s.levels {
		multipliers = append(multipliers, sum(len(level.body), parts[l]...))
	}
	show.shift("dqc", pressure, all)
	show.multipliers("dlambda", multipliers)
	all = s.move(all, pressure.moving)
	unprojected := all
	all = s.project(all, before)
	settle(append(all.places(), all.motions()...)...)
	show.bodies("s2_proj", all)

	t := s.untouched()
	for i := range s.contacts {
		g := &s.contacts[i]
		effects := make([]effect, len(g.sets))
		var made []*num
		for k, m := range meetings[i] {
			effects[k] = s.rub(g, m, all, unprojected, multipliers)
			made = append(made, effects[k].components()...)
		}
		settle(made...)
		t = t.plus(s.share(g, effects, 1e-6))
	}
	show.touch("dpc", t)
	all = s.kick(all, t.moving)
	show.bodies("after", all)
	return all, t
}

// glide does what the two substeps have in common twice: coast, then bring the joints together. It returns the bodies before
// the second one's collisions and velocities, and as they were before that substep.
func (s *System) glide(all limbs, from drive, show *viewer) (now, before limbs) {
	step := func(all limbs, from drive, show *viewer) limbs {
		all = s.coast(all, from, show, "s1_")
		show.bodies("s1_kinetic", all)
		d := s.joined(all)
		settle(d.components()...)
		show.shift("s1_dqj", touch{d, noPush(len(s.touched))}, all)
		return s.move(all, d)
	}
	if show != nil {
		before = s.project(step(all, from, show), all)
		show.bodies("s1_after", before)
		return step(before, from, nil), before
	}
	// A loop of two turns is half the code, which must fit a cache, and be compiled.
	type running struct {
		Now, Before []*Node
		Drive       carried
	}
	z := all[0].pos.z
	g, batch := z.node.Graph(), z.node.Shape().Size()/z.rows
	run := running{Now: s.changing(g, batch, all), Before: s.changing(g, batch, all), Drive: from.carry(g, batch)}
	run = xla.For(g, 2, run, func(turn *Node, r running) running {
		g := turn.Graph()
		unprojected := s.complete(r.Now)
		projected := s.project(unprojected, s.complete(r.Before))
		first := Equal(turn, ConstAs(turn, int32(0)))
		for i, after := range s.changing(g, batch, projected) {
			r.Before[i] = Where(BroadcastToDims(first, after.Shape().Dimensions...), r.Now[i], after)
		}
		start := s.complete(r.Before)
		settle(append(start.places(), start.motions()...)...)
		r.Before = s.changing(g, batch, start)
		r.Now = s.changing(g, batch, step(start, s.driveOf(r.Drive), nil))
		return r
	})
	now = s.complete(run.Now)
	settle(now.places()...)
	return now, s.complete(run.Before)
}

// coast accelerates by actuators, the damping of joints and gravity, and moves.
func (s *System) coast(all limbs, from drive, show *viewer, stage string) limbs {
	total, actuators, damping := s.newLoads(), s.newLoads(), s.newLoads()
	joints := s.hold(all)
	torques := make([]vector, len(joints))
	var made []*num
	for i, j := range joints {
		var drives []num
		for axis := range j.axes {
			drives = append(drives, j.driven(axis, from.torques[i][axis]))
			settle(&drives[axis])
		}
		torques[i] = j.along(drives).plus(j.braked())
		made = append(made, torques[i].components()...)
		if show != nil {
			actuators.pull(j, torques[i].scale(0), j.along(drives))
			damping.pull(j, torques[i].scale(0), j.braked())
		}
	}
	settle(made...)
	for i, j := range joints {
		total.pull(j, torques[i].scale(0), torques[i])
	}
	if show != nil {
		show.pushes(stage+"dpa", actuators.accelerations())
		show.pushes(stage+"damp", damping.accelerations())
	}
	all = s.accelerate(all, total.accelerations(), from.gravity)
	settle(all.motions()...)
	show.bodies(stage+"acc", all)
	all = s.kinetic(all)
	settle(all.places()...)
	return all
}
