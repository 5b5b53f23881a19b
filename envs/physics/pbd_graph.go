package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Fractions of each correction that are applied (brax/physics/joints.py, colliders.py).
const (
	jointShare   = 0.6 // joint positions
	angleShare   = 0.2 // joint angles
	contactShare = 0.3 // contacts of two bodies; contacts with the ground apply all of it
)

// positionIteration advances position based dynamics by two substeps, the second with collisions
// (brax/physics/system.py, _pbd_step). It also returns the velocity changes by contacts.
func (s *System) positionIteration(all limbs, d drive) (limbs, contactEffect) {
	start, before := s.twoSubsteps(all, d)
	contacts := s.contactSolvers(start, d.EveryWall)
	held := before // where static friction holds; in the source feet creep in the first substep
	if s.model.PrincipalAxes {
		held = all
	}
	corrections, multipliers := s.correctPositions(contacts, held)
	corrected := s.move(start, corrections.moving)
	projected := s.project(corrected, before).materialize()
	changes := s.correctVelocities(contacts, projected, corrected, multipliers)
	return s.applyImpulse(projected, changes.moving), changes
}

// substep advances the bodies without contacts: it integrates forces, then solves the joints.
func (s *System) substep(all limbs, d drive) limbs {
	moved := s.kinetic(s.integrateForces(all, d)).materialize()
	return s.move(moved, s.jointCorrections(moved))
}

// twoSubsteps runs [System.substep] twice. It returns the bodies before the collisions of the second
// substep, whose velocities are not projected, and before that substep.
func (s *System) twoSubsteps(all limbs, d drive) (now, before limbs) {
	if accelerated(all.graph()) {
		before = s.project(s.substep(all, d), all)
		now = s.substep(before, d)
		s.storePositions(now, before)
		return now, before
	}
	// A loop of two iterations halves the code to compile and to fit into a cache.
	type running struct {
		Now, Before []*Node
		Drive       drive
	}
	g, batch := all.graph(), all.batch()
	start := s.varyingParts(g, batch, all)
	run := xla.For(g, 2, running{start, start, d}, func(substep *Node, r running) running {
		g := substep.Graph()
		projected := s.project(s.complete(r.Now), s.complete(r.Before))
		first := Equal(substep, ConstAs(substep, int32(0)))
		for i, after := range s.varyingParts(g, batch, projected) {
			r.Before[i] = Where(BroadcastToDims(first, after.Shape().Dimensions...), r.Now[i], after)
		}
		start := s.complete(r.Before).materialize()
		r.Before = s.varyingParts(g, batch, start)
		r.Now = s.varyingParts(g, batch, s.substep(start, r.Drive))
		return r
	})
	return s.complete(run.Now).materialize(), s.complete(run.Before)
}

// integrateForces integrates actuators, joint damping and gravity, without joint constraints or
// contacts.
func (s *System) integrateForces(all limbs, d drive) limbs {
	total := s.newLoads()
	for i, j := range s.jointStates(all) {
		var drives []num
		for axis := range j.axes {
			drives = append(drives, j.driveTorque(d, i, axis).materialize())
		}
		torque := j.sumOverAxes(drives).plus(j.dampingTorque()).materialize()
		total.pull(j, torque.scale(0), torque)
	}
	total.thrust(d.Thrusts)
	return s.accelerate(all, total.accelerations(all), d.Gravity).materialize()
}

// move applies position corrections: a change of position, and one of rotation as a small rotation
// vector v in the world frame: q += vq/2. Like the source it does not normalise the quaternions; that
// is done later.
func (s *System) move(all limbs, corrections twists) limbs {
	return all.update(func(l int, b bodies) bodies {
		free := s.levels[l].free
		dq := pure(corrections[l].ang.by(s.levels[l].mobile)).times(b.rot).scale(0.5)
		turn := dq.vector().times(free.ang)
		b.pos = b.pos.plus(corrections[l].vel.times(free.vel))
		b.rot = b.rot.plus(quaternion{dq.w, turn.x, turn.y, turn.z})
		return b
	})
}

// project derives the velocities from the positions now and a substep before.
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

// jointCorrections returns the shifts by which the joints close their gaps, align their axes and
// enforce their limits.
func (s *System) jointCorrections(all limbs) twists {
	total := s.newLoads()
	for i := range s.jointGroups {
		j := s.jointGroups[i].bodies(all).materialize()
		apart := j.parents.pos.plus(j.parentArm).minus(j.children.pos.plus(j.childArm)).materialize()
		direction, distance := apart.unit()
		inverseMass := j.parentWeights.inverseMassAt(j.parentArm, direction).plus(
			j.childWeights.inverseMassAt(j.childArm, direction))
		pull := direction.by(distance.over(inverseMass.add(1e-6))).scale(-jointShare).materialize()
		turn := pull.scale(0)
		for _, error := range j.angularErrors() {
			turn = turn.plus(j.correction(error.materialize()))
		}
		turn = turn.scale(angleShare).materialize()
		total.add(j.jointGroup, twist{pull, j.parentArm.cross(pull).plus(turn)},
			twist{pull.neg(), j.childArm.cross(pull).plus(turn).neg()})
	}
	return total.accelerations(all)
}

// inverseMassAt is the generalised inverse mass of a body for an impulse along a direction at arm
// from its centre.
func (w weights) inverseMassAt(arm, direction vector) num {
	lever := arm.cross(direction)
	return w.mass.plus(lever.dot(w.turnedBy(lever)))
}

// response is the velocity at arm from a body's centre by an impulse there.
func (w weights) response(arm, impulse vector) vector {
	return impulse.by(w.mass).plus(w.turnedBy(arm.cross(impulse)).cross(arm))
}

// correction is the angular impulse on the parent that corrects an angular error of the child.
func (j jointState) correction(error vector) vector {
	axis, size := error.unit()
	inverseMass := axis.dot(j.parentWeights.turnedBy(axis)).plus(axis.dot(j.childWeights.turnedBy(axis)))
	return axis.by(size.over(inverseMass.add(1e-6)))
}

// angularErrors returns the angular errors of the joints: misalignment of the axes, and angles
// beyond the limits.
func (j jointState) angularErrors() []vector {
	first := j.parentAxis(0)
	if j.jointGroup.axes == 1 {
		first, from, to := first.materialize(), j.parentAxis(2).materialize(), j.childAxis(2).materialize()
		return []vector{first.cross(j.childAxis(0)), j.limitError(0, first, from, to, false)}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(1e-6)
	level, _ := bend.cross(first).unit()
	level = level.by(first.dot(three).sign()).neg()
	return []vector{
		j.limitError(0, first, j.parentAxis(1), line, true),
		j.limitError(1, level, first, bend, true),
		j.limitError(2, three, line, two, true),
	}
}

// limitError is the angular error of the angle from one vector to another about an axis
// perpendicular to the first: how far the second vector is from where the limits of angle i allow
// it. With strict it is 0 within the limits; without, it includes how far the second vector is out
// of the plane.
func (j jointState) limitError(i int, axis, from, to vector, strict bool) vector {
	sin, cos := from.cross(to).dot(axis).materialize(), from.dot(to).materialize()
	angle := j.unwrap(i, atan2(sin, cos)).materialize()
	length := sin.square().plus(cos.square()).sqrt().max(constant(sin.rows, 1e-30))
	low, high := angle.less(j.lower[i]), j.upper[i].less(angle)
	pick := func(inside num, f func(float64) float64) num {
		return low.choose(j.lower[i].apply(f, nil), high.choose(j.upper[i].apply(f, nil), inside))
	}
	along := pick(cos.over(length), math.Cos).materialize()
	across := pick(sin.over(length), math.Sin).materialize()
	error := from.by(along).plus(axis.cross(from).by(across)).materialize().cross(to)
	if strict {
		return low.or(high).chooseVector(error, error.scale(0))
	}
	return error
}
