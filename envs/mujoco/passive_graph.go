package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

// passive returns the forces of springs, dampers, fluids and the compensation of gravity on the dofs
// (MuJoCo's qfrc_passive), and the last of these on the dofs whose joints let actuators compensate it.
func (s *System) passive(k kinematics, q, v []algebra.Num, velocity []spatial) (out, actuated []algebra.Num) {
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
		springs := flags&DisableSpring == 0 && m.TendonStiffness[i] != 0
		damps := flags&DisableDamper == 0 && m.TendonDamping[i] != 0
		along, force := s.tendon(i), algebra.Constant(1, 0)
		if springs {
			length := s.lengthOf(along, k, q)
			slack := clip(length, limits{algebra.Known(tendon.LengthSpring[0]), algebra.Known(tendon.LengthSpring[1])})
			force = slack.Minus(length).Scale(m.TendonStiffness[i])
		}
		if damps {
			force = force.Minus(s.rateOf(along, k, v).Scale(m.TendonDamping[i]))
		}
		if springs || damps {
			s.pull(along, k, force, out)
		}
	}
	wrenches, any := s.fluid(k, velocity)
	lifts, some := s.lifts(k)
	if any {
		for c, force := range s.project(k, wrenches) {
			out[c] = out[c].Plus(force)
		}
	}
	if some {
		for c, force := range s.project(k, lifts) {
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

// lifts returns the forces that compensate gravity on the links; ok is false if there are none.
func (s *System) lifts(k kinematics) (out []spatial, ok bool) {
	m := s.model
	if m.Opt.DisableFlags&DisableGravity != 0 {
		return nil, false
	}
	for i, g := range s.groups {
		weight, center := make([]float64, g.rows()), make([][3]float64, g.rows())
		for row, link := range g.body {
			for b := range m.Sizes.NBody {
				lift := m.BodyMass[b] * m.BodyGravComp[b]
				if m.BodyWeldID[b] != link || lift == 0 {
					continue
				}
				ok = true
				weight[row] += lift
				at := host(s.poses[b].then(pose{algebra.Vectors(m.BodyIPos[b]), algebra.KnownQuaternion([4]float64{1})}).position)
				for axis := range center[row] {
					center[row][axis] += lift * at[axis]
				}
			}
			for axis := range center[row] {
				if weight[row] != 0 {
					center[row][axis] /= weight[row]
				}
			}
		}
		at, lift := algebra.VectorsOf(center, snapped), s.gravity(k, weight).Neg()
		if k.Under.Center != nil {
			at = at.Plus(k.Under.Center[i])
		}
		if k.Under.Mass != nil {
			lift = lift.By(k.Under.Mass[i])
		}
		out = append(out, forceAt(lift, s.fromReference(k, i, at)))
	}
	return out, ok
}

// fluid returns the forces of a fluid on the links, as if each body were a box with its inertia; ok is
// false without a fluid.
func (s *System) fluid(k kinematics, velocity []spatial) (out []spatial, ok bool) {
	m := s.model
	density, viscosity := m.Opt.Density, m.Opt.Viscosity
	if density == 0 && viscosity == 0 {
		return nil, false
	}
	for i, g := range s.groups {
		total := noMotion(g.rows())
		// The n-th body of each link; links with fewer bodies have boxes of no size.
		for n := 0; ; n++ {
			var at []pose
			var sides [][3]float64
			found := false
			for _, link := range g.body {
				body, size := nthWelded(m, link, n), [3]float64{}
				p := pose{algebra.Vectors([3]float64{}), algebra.KnownQuaternion([4]float64{1})}
				if body >= 0 {
					found = true
					p = s.poses[body].then(pose{algebra.Vectors(m.BodyIPos[body]), algebra.KnownQuaternion(m.BodyIQuat[body])})
					moments := m.BodyInertia[body]
					for axis := range size {
						sum := moments[(axis+1)%3] + moments[(axis+2)%3] - moments[axis]
						size[axis] = math.Sqrt(6 * max(1e-15, sum) / m.BodyMass[body])
					}
				}
				at, sides = append(at, p), append(sides, size)
			}
			if !found {
				break
			}
			box := stackPoses(at)
			turn := turned(k.Rotation[i], box.rotation.Rotation().Snap())
			if k.Under.Center != nil {
				box.position = box.position.Plus(k.Under.Center[i])
			}
			point := s.fromReference(k, i, box.position)
			spin := inverse(turn, velocity[i].Ang).Materialize()
			speed := inverse(turn, velocity[i].at(point)).Materialize()
			known := func(f func(b [3]float64, mean float64) [3]float64) algebra.Vector {
				return algebra.VectorsOf(sides, func(b [3]float64) [3]float64 {
					return f(b, (b[0]+b[1]+b[2])/3)
				})
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
			drag := forceAt(turn.Of(force), point)
			drag.Ang = drag.Ang.Plus(turn.Of(torque))
			total = total.plus(drag)
		}
		out = append(out, total)
	}
	return out, true
}

// nthWelded returns the n-th body with a mass of a link, or -1.
func nthWelded(m Model, link, n int) int {
	for b := range m.Sizes.NBody {
		if m.BodyWeldID[b] == link && m.BodyMass[b] >= 1e-15 {
			if n == 0 {
				return b
			}
			n--
		}
	}
	return -1
}
