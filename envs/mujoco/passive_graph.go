package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

// passive returns the forces of springs, dampers, fluids and the compensation of gravity on the dofs
// (MuJoCo's qfrc_passive), and the last of these on the dofs whose joints let actuators compensate it.
func (s *System) passive(k kinematics, q, v []algebra.Num, velocity spatial) (out, actuated []algebra.Num) {
	m, flags := s.model, s.model.Opt.DisableFlags
	out, actuated = s.noForce(), s.noForce()
	if flags&DisableSpring != 0 && flags&DisableDamper != 0 {
		return out, actuated
	}
	if flags&DisableDamper == 0 {
		for c := range out {
			out[c] = s.damping(k.Under, c).Times(v[c]).Neg()
		}
	}
	for i, g := range s.groups {
		for _, j := range g.joints {
			stiffness := j.known(m.JntStiffness)
			if flags&DisableSpring != 0 || stiffness.Is(0) {
				continue
			}
			rest := func(at int) algebra.Num {
				return algebra.ColumnOf(j.id, func(id int) float64 { return m.QPosSpring[m.JntQPosAdr[id]+at] })
			}
			pull := func(at int, by algebra.Num) {
				out[j.column+at] = out[j.column+at].Minus(stiffness.Times(by))
			}
			places := 0
			switch j.kind {
			case Slide, Hinge:
				pull(0, q[j.place].Minus(rest(0)))
				continue
			case Free:
				for at := range 3 {
					pull(at, q[j.place+at].Minus(rest(at)))
				}
				places = 3
			}
			spring := algebra.Quaternion{W: rest(places), X: rest(places + 1), Y: rest(places + 2), Z: rest(places + 3)}
			turn := spring.Inverse().Times(quaternionAt(q[j.place+places:]).Normalized())
			axis, angle := axisAngle(turn)
			vector := k.Rotation[i].Of(axis.By(angle))
			for at := range 3 {
				pull(places+at, component(vector, at))
			}
		}
	}
	for i, tendon := range m.Tendons {
		if flags&DisableSpring != 0 || m.TendonStiffness[i] == 0 {
			continue
		}
		shares := s.tendon(i)
		length := lengthOf(shares, q)
		slack := clip(length, limits{algebra.Known(tendon.LengthSpring[0]), algebra.Known(tendon.LengthSpring[1])})
		for _, share := range shares {
			share.push(out, slack.Minus(length).Scale(m.TendonStiffness[i]))
		}
	}
	if drag := s.fluid(k, velocity); drag.Stack != nil {
		for c, force := range s.project(k, drag) {
			out[c] = out[c].Plus(force)
		}
	}
	if lift := s.lifts(k); lift.Stack != nil {
		for c, force := range s.project(k, lift) {
			byActuators := algebra.ColumnOf(s.dofs[c].index, func(dof int) float64 {
				return number(m.JntActGravComp[m.DofJntID[dof]])
			})
			actuated[c] = force.Times(byActuators)
			out[c] = out[c].Plus(force.Minus(actuated[c]))
		}
	}
	return out, actuated
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *System) noForce() []algebra.Num {
	out := make([]algebra.Num, len(s.dofs))
	for c, dof := range s.dofs {
		out[c] = algebra.Constant(len(dof.index), 0)
	}
	return out
}

// known returns known numbers of a joint.
func (j joint) known(of []float64) algebra.Num {
	return algebra.ColumnOf(j.id, func(id int) float64 { return of[id] })
}

// axisAngle returns the axis and the angle, 0 to pi, of a unit quaternion.
func axisAngle(q algebra.Quaternion) (axis algebra.Vector, angle algebra.Num) {
	sign := q.W.Below(0).Choose(algebra.Constant(q.W.Rows, -1), algebra.Constant(q.W.Rows, 1))
	axis = q.Vector().By(sign)
	length := axis.Dot(axis).Sqrt()
	angle = algebra.Angle(length, q.W.Abs()).Scale(2)
	return axis.Over(length.Max(algebra.Constant(length.Rows, 1e-20))), angle
}

// lifts returns the forces that compensate gravity on all links.
func (s *System) lifts(k kinematics) spatial {
	m := s.model
	weight, center := make([]float64, len(s.links)), make([][3]float64, len(s.links))
	for b, mass := range m.BodyMass {
		lift, link := mass*m.BodyGravComp[b], s.linkOf(b)
		if link == static {
			continue
		}
		weight[link] += lift
		for axis, x := range host(s.inertial(b).position) {
			center[link][axis] += lift * x
		}
	}
	for link := range center {
		for axis := range center[link] {
			center[link][axis] /= max(weight[link], 1e-300)
		}
	}
	if m.Opt.DisableFlags&DisableGravity != 0 || algebra.Known(weight...).Is(0) {
		return s.still(len(s.links))
	}
	own, lift := algebra.VectorsOf(center, snapped), s.gravity(k, weight).Neg()
	if k.Under.Center != nil {
		own = own.Plus(stackVectors(k.Under.Center))
	}
	if k.Under.Mass != nil {
		lift = lift.By(algebra.Concat(k.Under.Mass...))
	}
	at, _ := k.Links.places(s.every)
	return s.forceAt(k, lift, at.position.Plus(at.turn.Of(own)))
}

// inertial is the inertial frame of a body in the frame of its link.
func (s *System) inertial(body int) pose {
	return s.poses[body].then(pose{algebra.Vectors(s.model.BodyIPos[body]), algebra.KnownQuaternion(s.model.BodyIQuat[body])})
}

// fluid returns the forces of a fluid on all links, as if each body were a box with its inertia.
func (s *System) fluid(k kinematics, velocity spatial) (total spatial) {
	m := s.model
	density, viscosity := m.Opt.Density, m.Opt.Viscosity
	total = s.still(len(s.links))
	bodies := make([][]int, len(s.links)) // with a mass
	most := 0
	for b, mass := range m.BodyMass {
		if link := s.linkOf(b); link != static && mass >= 1e-15 {
			bodies[link] = append(bodies[link], b)
			most = max(most, len(bodies[link]))
		}
	}
	if density == 0 && viscosity == 0 {
		return total
	}
	on, _ := k.Links.places(s.every)
	// The n-th body of each link; links with fewer bodies have boxes of no size.
	for n := range most {
		var at []pose
		var sides [][3]float64
		for _, list := range bodies {
			size, p := [3]float64{}, pose{algebra.Vectors([3]float64{}), algebra.KnownQuaternion([4]float64{1})}
			if n < len(list) {
				p = s.inertial(list[n])
				moments := m.BodyInertia[list[n]]
				for axis := range size {
					sum := moments[(axis+1)%3] + moments[(axis+2)%3] - moments[axis]
					size[axis] = math.Sqrt(6 * max(1e-15, sum) / m.BodyMass[list[n]])
				}
			}
			at, sides = append(at, p), append(sides, size)
		}
		box := stackPoses(at)
		turn := turned(on.turn, box.rotation.Rotation().Snap())
		if k.Under.Center != nil {
			box.position = box.position.Plus(stackVectors(k.Under.Center))
		}
		point := on.position.Plus(on.turn.Of(box.position)).Materialize()
		spin := inverse(turn, velocity.ang()).Materialize()
		speed := inverse(turn, velocity.at(point)).Materialize()
		known := func(f func(b [3]float64, mean float64) [3]float64) algebra.Vector {
			return algebra.VectorsOf(sides, func(b [3]float64) [3]float64 { return f(b, (b[0]+b[1]+b[2])/3) })
		}
		quadratic := func(v, of algebra.Vector) algebra.Vector { return v.Times(v.Each(algebra.Num.Abs)).Times(of) }
		torque := spin.Times(known(func(_ [3]float64, d float64) [3]float64 {
			drag := -math.Pi * viscosity * d * d * d
			return [3]float64{drag, drag, drag}
		})).Plus(quadratic(spin, known(func(b [3]float64, _ float64) [3]float64 {
			fourth := func(x float64) float64 { return x * x * x * x }
			drag := func(i, j, k int) float64 { return -density / 64 * b[i] * (fourth(b[j]) + fourth(b[k])) }
			return [3]float64{drag(0, 1, 2), drag(1, 0, 2), drag(2, 0, 1)}
		})))
		force := speed.Times(known(func(_ [3]float64, d float64) [3]float64 {
			drag := -3 * math.Pi * viscosity * d
			return [3]float64{drag, drag, drag}
		})).Plus(quadratic(speed, known(func(b [3]float64, _ float64) [3]float64 {
			return [3]float64{-density / 2 * b[1] * b[2], -density / 2 * b[0] * b[2], -density / 2 * b[0] * b[1]}
		})))
		force = turn.Of(force).Materialize()
		total = total.plus(s.pack(k, point.Cross(force).Plus(turn.Of(torque)), force))
	}
	return total
}
