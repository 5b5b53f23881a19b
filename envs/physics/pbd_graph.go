package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
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
	contacts := s.contactSolvers(start, d)
	corrections, multipliers := s.correctPositions(contacts, before)
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
		var drives []algebra.Num
		for axis := range j.axes {
			drives = append(drives, j.driveTorque(d, i, axis).Materialize())
		}
		torque := j.sumOverAxes(drives).Plus(j.dampingTorque(d)).Materialize()
		total.pull(j, torque.Scale(0), torque)
	}
	total.thrust(d.Thrusts)
	return s.accelerate(all, total.accelerations(), d).materialize()
}

// move applies position corrections: a change of position, and one of rotation as a small rotation
// vector v in the world frame: q += vq/2. Like the source it does not normalise the quaternions; that
// is done later.
func (s *System) move(all limbs, corrections twists) limbs {
	return all.update(func(l int, b bodies) bodies {
		free := s.levels[l].free
		dq := algebra.Pure(corrections[l].ang.By(s.levels[l].mobile)).Times(b.rot).Scale(0.5)
		turn := dq.Vector().Times(free.ang)
		b.pos = b.pos.Plus(corrections[l].vel.Times(free.vel))
		b.rot = b.rot.Plus(algebra.Quaternion{W: dq.W, X: turn.X, Y: turn.Y, Z: turn.Z})
		return b
	})
}

// project derives the velocities from the positions now and a substep before.
func (s *System) project(all, before limbs) limbs {
	return all.update(func(l int, b bodies) bodies {
		b.rot = b.rot.Normalized()
		b.vel = b.pos.Minus(before[l].pos).Scale(1 / s.dt)
		turn := b.rot.Times(before[l].rot.Inverse())
		v := turn.Vector().Scale(2 / s.dt)
		b.ang = turn.W.Below(0).ChooseVector(v.Neg(), v)
		return s.freeze(l, b)
	})
}

// jointCorrections returns the shifts by which the joints close their gaps, align their axes and
// enforce their limits.
func (s *System) jointCorrections(all limbs) twists {
	total := s.newLoads()
	for i := range s.jointGroups {
		j := s.jointGroups[i].bodies(all).materialize()
		apart := j.parents.pos.Plus(j.parentArm).Minus(j.children.pos.Plus(j.childArm)).Materialize()
		direction, distance := apart.Unit()
		inverseMass := j.parentWeights.inverseMassAt(j.parentArm, direction).Plus(
			j.childWeights.inverseMassAt(j.childArm, direction))
		pull := direction.By(distance.Over(inverseMass.Add(1e-6))).Scale(-jointShare).Materialize()
		turn := pull.Scale(0)
		for _, error := range j.angularErrors() {
			turn = turn.Plus(j.correction(error.Materialize()))
		}
		turn = turn.Scale(angleShare).Materialize()
		total.add(j.jointGroup, twist{pull, j.parentArm.Cross(pull).Plus(turn)},
			twist{pull.Neg(), j.childArm.Cross(pull).Plus(turn).Neg()})
	}
	return total.accelerations()
}

// inverseMassAt is the generalised inverse mass of a body for an impulse along a direction at arm
// from its centre.
func (w weights) inverseMassAt(arm, direction algebra.Vector) algebra.Num {
	lever := arm.Cross(direction)
	return w.mass.Plus(lever.Dot(w.turnedBy(lever)))
}

// correction is the angular impulse on the parent that corrects an angular error of the child.
func (j jointState) correction(error algebra.Vector) algebra.Vector {
	axis, size := error.Unit()
	inverseMass := axis.Dot(j.parentWeights.turnedBy(axis)).Plus(axis.Dot(j.childWeights.turnedBy(axis)))
	return axis.By(size.Over(inverseMass.Add(1e-6)))
}

// angularErrors returns the angular errors of the joints: misalignment of the axes, and angles
// beyond the limits.
func (j jointState) angularErrors() []algebra.Vector {
	first := j.parentAxis(0)
	if j.jointGroup.axes == 1 {
		first, from, to := first.Materialize(), j.parentAxis(2).Materialize(), j.childAxis(2).Materialize()
		return []algebra.Vector{first.Cross(j.childAxis(0)), j.limitError(0, first, from, to, false)}
	}
	two, three := j.childAxis(1), j.childAxis(2)
	line, bend := j.lineOfNodes(1e-6)
	level, _ := bend.Cross(first).Unit()
	level = level.By(first.Dot(three).Sign()).Neg()
	return []algebra.Vector{
		j.limitError(0, first, j.parentAxis(1), line, true),
		j.limitError(1, level, first, bend, true),
		j.limitError(2, three, line, two, true),
	}
}

// limitError is the angular error of the angle from one vector to another about an axis
// perpendicular to the first: how far the second vector is from where the limits of angle i allow
// it. With strict it is 0 within the limits; without, it includes how far the second vector is out
// of the plane.
func (j jointState) limitError(i int, axis, from, to algebra.Vector, strict bool) algebra.Vector {
	sin, cos := from.Cross(to).Dot(axis).Materialize(), from.Dot(to).Materialize()
	angle := j.unwrap(i, algebra.Angle(sin, cos)).Materialize()
	length := sin.Square().Plus(cos.Square()).Sqrt().Max(algebra.Constant(sin.Rows, 1e-30))
	low, high := angle.Less(j.lower[i]), j.upper[i].Less(angle)
	pick := func(inside algebra.Num, f func(float64) float64) algebra.Num {
		return low.Choose(j.lower[i].Apply(f, nil), high.Choose(j.upper[i].Apply(f, nil), inside))
	}
	along := pick(cos.Over(length), math.Cos).Materialize()
	across := pick(sin.Over(length), math.Sin).Materialize()
	error := from.By(along).Plus(axis.Cross(from).By(across)).Materialize().Cross(to)
	if strict {
		return low.Or(high).ChooseVector(error, error.Scale(0))
	}
	return error
}
