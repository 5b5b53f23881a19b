package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Fractions of each correction that are applied (brax/physics/joints.py, colliders.py).
const (
	jointShare   = 0.6 // joint positions
	angleShare   = 0.2 // joint angles
	contactShare = 0.3 // contacts of two bodies; contacts with the ground apply all of it
)

// move applies position corrections. Like the source it does not normalise the quaternions; that is
// done later.
func (s *System) move(all limbs, d twists) limbs {
	return all.update(func(l int, b bodies) bodies { return s.shift(l, b, d[l]) })
}

// shift applies a correction of positions. Its vel is a change of position, its ang one of
// rotation, as a small rotation vector v in the world frame: q += vq/2.
func (s *System) shift(l int, b bodies, d twist) bodies {
	free := s.levels[l].free
	dq := pure(d.ang.by(s.levels[l].mobile)).times(b.rot).scale(0.5)
	dq.x, dq.y, dq.z = dq.x.times(free[3]), dq.y.times(free[4]), dq.z.times(free[5])
	b.pos, b.rot = b.pos.plus(d.vel.times(vector{free[0], free[1], free[2]})), b.rot.plus(dq)
	return b
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

// positionIteration advances position based dynamics by two substeps, the second with collisions
// (brax/physics/system.py, _pbd_step). It also returns the velocity changes by contacts.
func (s *System) positionIteration(all limbs, d drive) (limbs, contactEffect) {
	all, before := s.integratePositionBased(all, d)
	solvers := s.contactSolvers(all, d.everyWall)
	m := &multipliers{added: make([][]term, len(s.levels))}
	corrections := s.noContact()
	for _, c := range solvers {
		corrections = corrections.plus(c.correctPositions(before, m))
	}
	m.sum(s.levels)
	shifted := s.move(all, corrections.moving)
	now := s.project(shifted, before)
	materialize(append(now.places(), now.motions()...)...)
	changes := s.noContact()
	for _, c := range solvers {
		changes = changes.plus(c.correctVelocities(now, shifted, m))
	}
	return s.applyImpulse(now, changes.moving), changes
}

// integratePositionBased runs the common part of both substeps twice: integrate forces, then solve
// the joints. It returns the bodies as they are before the second substep's collisions, and as they
// were before that substep.
func (s *System) integratePositionBased(all limbs, from drive) (now, before limbs) {
	if accelerated(all[0].rot.w.graph()) {
		before = s.project(s.integrateJoints(all, from), all)
		now = s.integrateJoints(before, from)
		s.storePositions(now, before)
		return now, before
	}
	// A loop of two iterations halves the code to compile and to fit into a cache.
	type running struct {
		Now, Before []*Node
		Drive       carriedDrive
	}
	w := all[0].rot.w
	g, batch := w.node.Graph(), w.node.Shape().Size()/w.rows
	start := s.varyingParts(g, batch, all)
	run := running{Now: start, Before: start, Drive: from.carry(g, batch)}
	run = xla.For(g, 2, run, func(substep *Node, r running) running {
		g := substep.Graph()
		unprojected := s.complete(r.Now)
		projected := s.project(unprojected, s.complete(r.Before))
		first := Equal(substep, ConstAs(substep, int32(0)))
		for i, after := range s.varyingParts(g, batch, projected) {
			r.Before[i] = Where(BroadcastToDims(first, after.Shape().Dimensions...), r.Now[i], after)
		}
		start := s.complete(r.Before)
		materialize(append(start.places(), start.motions()...)...)
		r.Before = s.varyingParts(g, batch, start)
		r.Now = s.varyingParts(g, batch, s.integrateJoints(start, s.driveOf(r.Drive)))
		return r
	})
	now = s.complete(run.Now)
	materialize(now.places()...)
	return now, s.complete(run.Before)
}

// integrateJoints integrates forces, then solves the joints.
func (s *System) integrateJoints(all limbs, from drive) limbs {
	all = s.integrateForces(all, from)
	d := s.jointCorrections(all)
	materialize(d.components()...)
	return s.move(all, d)
}

// integrateForces integrates actuators, joint damping and gravity, without joint constraints or
// contacts.
func (s *System) integrateForces(all limbs, from drive) limbs {
	total := s.newLoads()
	joints := s.jointStates(all)
	torques := make([]vector, len(joints))
	var made []*num
	for i, j := range joints {
		var drives []num
		for axis := range j.axes {
			drives = append(drives, j.driveTorque(axis, from.torques[i][axis]))
			materialize(&drives[axis])
		}
		torques[i] = j.sumOverAxes(drives).plus(j.dampingTorque())
		made = append(made, torques[i].components()...)
	}
	materialize(made...)
	for i, j := range joints {
		total.pull(j, torques[i].scale(0), torques[i])
	}
	total.thrust(from.thrusts)
	all = s.accelerate(all, total.accelerations(all), from.gravity)
	materialize(all.motions()...)
	all = s.kinetic(all)
	materialize(all.places()...)
	return all
}
