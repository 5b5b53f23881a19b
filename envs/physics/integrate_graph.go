package physics

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// twist is a linear and an angular vector, one row per body: a change of velocity or position, or a
// force and a torque.
type twist struct{ vel, ang algebra.Vector }

func (p twist) plus(q twist) twist { return twist{p.vel.Plus(q.vel), p.ang.Plus(q.ang)} }

func (p twist) scale(k float64) twist { return twist{p.vel.Scale(k), p.ang.Scale(k)} }

func (p *twist) components() [6]*algebra.Num {
	return [6]*algebra.Num{&p.vel.X, &p.vel.Y, &p.vel.Z, &p.ang.X, &p.ang.Y, &p.ang.Z}
}

func (p twist) materialize() twist { return twist{p.vel.Materialize(), p.ang.Materialize()} }

func zeroTwist(rows int) twist {
	var p twist
	for _, c := range p.components() {
		*c = algebra.Constant(rows, 0)
	}
	return p
}

// twists holds the velocity changes of all moving bodies, level by level.
type twists []twist

// twistSum accumulates twists of bodies, by component.
type twistSum [6][]algebra.Term

// add adds twists to the bodies in rows to.
func (t *twistSum) add(p twist, to [][]int) {
	for i, c := range p.components() {
		t[i] = append(t[i], algebra.Term{Value: *c, To: to})
	}
}

// of returns the twist whose components sum returns.
func (t *twistSum) of(sum func(terms []algebra.Term) algebra.Num) (p twist) {
	for i, c := range p.components() {
		*c = sum(t[i])
	}
	return p
}

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
		b.pos = b.pos.Plus(b.vel.Scale(s.dt))
		b.rot = b.rot.Plus(algebra.Pure(b.ang.Scale(s.dt / 2)).Times(b.rot)).Normalized()
		return b
	})
}

// accelerate integrates velocities over a substep: the accelerations by loads, damping, and gravity. A multiplier of all
// masses divides the accelerations; corrections of joints and impulses of contacts change velocities as without it.
func (s *System) accelerate(all limbs, accelerations twists, d drive) limbs {
	m := s.model
	return all.update(func(l int, b bodies) bodies {
		rows := len(s.levels[l].body)
		gravity := algebra.Vectors(slices.Repeat([]Vec{m.Gravity.rounded()}, rows)...)
		if d.Gravity != nil {
			gravity = gravity.By(eachRow(d.Gravity, rows))
		}
		by := accelerations[l]
		if d.Mass != nil {
			mass := eachRow(d.Mass, rows)
			by = twist{by.vel.Over(mass), by.ang.Over(mass)}
		}
		b.vel = b.vel.Scale(math.Exp(m.VelocityDamping * s.dt)).Plus(by.vel.Plus(gravity).Scale(s.dt))
		b.ang = b.ang.Scale(math.Exp(m.AngularDamping * s.dt)).Plus(by.ang.Scale(s.dt))
		return s.freeze(l, b)
	})
}

// Push implements System of package envs: all that moves gets the velocity v, m/s, [B] each, whatever the body.
func (s *System) Push(state State, _ string, v [3]*Node) State {
	g, batch := state.Graph(), state.Batch()
	all := s.limbs(state).update(func(l int, b bodies) bodies {
		rows := len(s.levels[l].body)
		b.vel = b.vel.Plus(algebra.Vector{X: eachRow(v[0], rows), Y: eachRow(v[1], rows), Z: eachRow(v[2], rows)})
		return s.freeze(l, b)
	})
	if s.splits(g) {
		state.Parts = s.joined(g, batch, all).Parts
	} else {
		state.Parts = s.state(s.varyingParts(g, batch, all), batch).Parts
	}
	return state
}

// applyImpulse adds velocity changes to the bodies.
func (s *System) applyImpulse(all limbs, p twists) limbs {
	return all.update(func(l int, b bodies) bodies {
		b.vel = b.vel.Plus(p[l].vel)
		b.ang = b.ang.Plus(p[l].ang)
		return s.freeze(l, b)
	})
}

// freeze sets the velocities along and about frozen axes to 0, and all velocities of fixed bodies.
func (s *System) freeze(l int, b bodies) bodies {
	free := s.levels[l].free
	b.vel, b.ang = b.vel.Times(free.vel), b.ang.Times(free.ang)
	return b
}
