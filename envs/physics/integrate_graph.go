package physics

import "math"

// push is a change of the velocities of bodies, a row each.
type push struct{ vel, ang vector }

func (p push) plus(q push) push { return push{p.vel.plus(q.vel), p.ang.plus(q.ang)} }

// kinetic moves the bodies by their velocities for a substep (brax/physics/integrators.py).
func (s *System) kinetic(b bodies) bodies {
	b.pos = b.pos.plus(b.vel.scale(s.dt))
	b.rot = b.rot.plus(pure(b.ang.scale(s.dt / 2)).times(b.rot)).normalized()
	return b
}

// accelerate changes the velocities by accelerations, damping and gravity.
func (s *System) accelerate(b bodies, acceleration push) bodies {
	m := s.model
	gravity := vector{}
	for axis, component := range []*num{&gravity.x, &gravity.y, &gravity.z} {
		*component = constant(len(s.moving), f32(m.Gravity[axis]))
	}
	b.vel = b.vel.scale(math.Exp(m.VelocityDamping * s.dt)).plus(acceleration.vel.plus(gravity).scale(s.dt))
	b.ang = b.ang.scale(math.Exp(m.AngularDamping * s.dt)).plus(acceleration.ang.scale(s.dt))
	return s.hold(b)
}

// kick changes the velocities.
func (s *System) kick(b bodies, p push) bodies {
	b.vel = b.vel.plus(p.vel)
	b.ang = b.ang.plus(p.ang)
	return s.hold(b)
}

// hold stops the motion along and about the axes that are frozen.
func (s *System) hold(b bodies) bodies {
	frozen := s.model.Frozen
	stop := func(v vector, frozen [3]bool) vector {
		for axis, component := range []*num{&v.x, &v.y, &v.z} {
			if frozen[axis] {
				*component = component.zero()
			}
		}
		return v
	}
	b.vel, b.ang = stop(b.vel, frozen.Position), stop(b.ang, frozen.Rotation)
	return b
}
