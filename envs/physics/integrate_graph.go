package physics

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// twist is a linear and an angular vector, one row per body: a change of velocity or position, or a
// force and a torque.
type twist struct{ vel, ang vector }

func (p twist) plus(q twist) twist { return twist{p.vel.plus(q.vel), p.ang.plus(q.ang)} }

func (p twist) scale(k float64) twist { return twist{p.vel.scale(k), p.ang.scale(k)} }

func (p *twist) components() [6]*num {
	return [6]*num{&p.vel.x, &p.vel.y, &p.vel.z, &p.ang.x, &p.ang.y, &p.ang.z}
}

func (p twist) materialize() twist { return twist{p.vel.materialize(), p.ang.materialize()} }

func zeroTwist(rows int) twist {
	var p twist
	for _, c := range p.components() {
		*c = constant(rows, 0)
	}
	return p
}

// twists holds the velocity changes of all moving bodies, level by level.
type twists []twist

// update applies f to the bodies of every level.
func (all limbs) update(f func(level int, b bodies) bodies) limbs {
	out := make(limbs, len(all))
	for l, b := range all {
		out[l] = f(l, b)
	}
	return out
}

// kinetic integrates positions and rotations over a substep (brax/physics/integrators.py).
func (s *System) kinetic(all limbs) limbs {
	return all.update(func(_ int, b bodies) bodies {
		b.pos = b.pos.plus(b.vel.scale(s.dt))
		b.rot = b.rot.plus(pure(b.ang.scale(s.dt / 2)).times(b.rot)).normalized()
		return b
	})
}

// accelerate integrates velocities over a substep: accelerations, damping, and gravity times
// multiplier [B]. A nil multiplier means 1.
func (s *System) accelerate(all limbs, accelerations twists, multiplier *Node) limbs {
	m := s.model
	return all.update(func(l int, b bodies) bodies {
		rows := len(s.levels[l].body)
		gravity := vectors(slices.Repeat([]Vec{m.Gravity.rounded()}, rows)...)
		if multiplier != nil {
			batch := multiplier.Shape().Size()
			k := num{rows: rows, node: Reshape(BroadcastToDims(InsertAxes(multiplier, 0), rows, batch),
				rows*batch)}
			gravity = gravity.by(k)
		}
		b.vel = b.vel.scale(math.Exp(m.VelocityDamping * s.dt)).plus(accelerations[l].vel.plus(
			gravity).scale(s.dt))
		b.ang = b.ang.scale(math.Exp(m.AngularDamping * s.dt)).plus(accelerations[l].ang.scale(s.dt))
		return s.freeze(l, b)
	})
}

// applyImpulse adds velocity changes to the bodies.
func (s *System) applyImpulse(all limbs, p twists) limbs {
	return all.update(func(l int, b bodies) bodies {
		b.vel = b.vel.plus(p[l].vel)
		b.ang = b.ang.plus(p[l].ang)
		return s.freeze(l, b)
	})
}

// freeze sets the velocities along and about frozen axes to 0, and all velocities of fixed bodies.
func (s *System) freeze(l int, b bodies) bodies {
	free := s.levels[l].free
	b.vel, b.ang = b.vel.times(free.vel), b.ang.times(free.ang)
	return b
}
