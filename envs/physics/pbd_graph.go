package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Shares of the corrections that are applied at once (brax/physics/joints.py, colliders.py).
const (
	jointShare   = 0.6 // of positions, by joints
	angleShare   = 0.2 // of angles, by joints
	contactShare = 0.3 // by contacts of two bodies; contacts with the ground apply all
)

// shift is a change of positions and of rotations, the latter as a small rotation vector in the
// world: q += vq/2.
type shift struct{ pos, turn vector }

// move changes positions. Like the source it leaves the length of the quaternions to a later
// normalisation.
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

// positionIteration advances position based dynamics by two substeps, the second with collisions
// (brax/physics/system.py, _pbd_step). It returns what the contacts did to velocities as well.
func (s *System) positionIteration(all limbs, d drive, record *stageRecorder) (limbs, touch) {
	all, before := s.integratePositionBased(all, d, record)
	record.bodies("s2_joint", all)

	points := make([][]contactPoint, len(s.contacts))
	parts := make([][]addend, len(s.levels))
	pressure := s.noTouch() // of positions: what does not move is asked, too, but only shown
	for i := range s.contacts {
		g := &s.contacts[i]
		points[i] = g.findContacts(all, true)
		effects := make([]effect, len(g.sets))
		var made []*num
		for k, m := range points[i] {
			pressed := s.solveContactPosition(g, m, before)
			effects[k] = pressed.effect
			made = append(append(made, effects[k].components()...), &pressed.multiplier)
			parts[m.a.level] = append(parts[m.a.level], addend{pressed.multiplier, m.a.to})
		}
		materialize(made...)
		pressure = pressure.plus(s.share(g, effects, 1e-6))
	}
	var multipliers []num
	for l, level := range s.levels {
		multipliers = append(multipliers, sum(len(level.body), parts[l]...))
	}
	record.shift("dqc", pressure, all)
	record.multipliers("dlambda", multipliers)
	all = s.move(all, pressure.moving)
	unprojected := all
	all = s.project(all, before)
	materialize(append(all.places(), all.motions()...)...)
	record.bodies("s2_proj", all)

	t := s.noTouch()
	for i := range s.contacts {
		g := &s.contacts[i]
		effects := make([]effect, len(g.sets))
		var made []*num
		for k, m := range points[i] {
			effects[k] = s.solveContactVelocity(g, m, all, unprojected, multipliers)
			made = append(made, effects[k].components()...)
		}
		materialize(made...)
		t = t.plus(s.share(g, effects, 1e-6))
	}
	record.touch("dpc", t)
	all = s.applyImpulse(all, t.moving)
	record.bodies("after", all)
	return all, t
}

// integratePositionBased does what the two substeps have in common twice: coast, then bring the
// joints together. It returns the bodies before the second one's collisions and velocities, and as
// they were before that substep.
func (s *System) integratePositionBased(all limbs, from drive, record *stageRecorder) (now, before limbs) {
	step := func(all limbs, from drive, record *stageRecorder) limbs {
		all = s.integrateForces(all, from, record, "s1_")
		record.bodies("s1_kinetic", all)
		d := s.jointCorrections(all)
		materialize(d.components()...)
		record.shift("s1_dqj", touch{d, noPush(len(s.touched))}, all)
		return s.move(all, d)
	}
	if record != nil {
		before = s.project(step(all, from, record), all)
		record.bodies("s1_after", before)
		return step(before, from, nil), before
	}
	// A loop of two turns is half the code, which must fit a cache, and be compiled.
	type running struct {
		Now, Before []*Node
		Drive       carriedDrive
	}
	z := all[0].pos.z
	g, batch := z.node.Graph(), z.node.Shape().Size()/z.rows
	run := running{Now: s.varyingParts(g, batch, all), Before: s.varyingParts(g, batch, all),
		Drive: from.carry(g, batch)}
	run = xla.For(g, 2, run, func(turn *Node, r running) running {
		g := turn.Graph()
		unprojected := s.complete(r.Now)
		projected := s.project(unprojected, s.complete(r.Before))
		first := Equal(turn, ConstAs(turn, int32(0)))
		for i, after := range s.varyingParts(g, batch, projected) {
			r.Before[i] = Where(BroadcastToDims(first, after.Shape().Dimensions...), r.Now[i], after)
		}
		start := s.complete(r.Before)
		materialize(append(start.places(), start.motions()...)...)
		r.Before = s.varyingParts(g, batch, start)
		r.Now = s.varyingParts(g, batch, step(start, s.driveOf(r.Drive), nil))
		return r
	})
	now = s.complete(run.Now)
	materialize(now.places()...)
	return now, s.complete(run.Before)
}

// coast accelerates by actuators, the damping of joints and gravity, and moves.
func (s *System) integrateForces(all limbs, from drive, record *stageRecorder, stage string) limbs {
	total, actuators, damping := s.newLoads(), s.newLoads(), s.newLoads()
	joints := s.jointStates(all)
	torques := make([]vector, len(joints))
	var made []*num
	for i, j := range joints {
		var drives []num
		for axis := range j.axes {
			drives = append(drives, j.actuatorTorque(axis, from.torques[i][axis]))
			materialize(&drives[axis])
		}
		torques[i] = j.sumOverAxes(drives).plus(j.dampingTorque())
		made = append(made, torques[i].components()...)
		if record != nil {
			actuators.pull(j, torques[i].scale(0), j.sumOverAxes(drives))
			damping.pull(j, torques[i].scale(0), j.dampingTorque())
		}
	}
	materialize(made...)
	for i, j := range joints {
		total.pull(j, torques[i].scale(0), torques[i])
	}
	if record != nil {
		record.pushes(stage+"dpa", actuators.accelerations())
		record.pushes(stage+"damp", damping.accelerations())
	}
	all = s.accelerate(all, total.accelerations(), from.gravity)
	materialize(all.motions()...)
	record.bodies(stage+"acc", all)
	all = s.kinetic(all)
	materialize(all.places()...)
	return all
}
