package mujoco

import "example.com/qdnb/envs/algebra"

// drive is the n-th actuator of each link of a group that moves a joint. Links without one have a gear
// of 0.
type drive struct {
	group, joint int
	id           []int // of the actuator in each row, or -1
}

// prepareDrives lists the actuators by joints.
func (s *System) prepareDrives() {
	m := s.model
	if m.Opt.DisableFlags&DisableActuation != 0 {
		return
	}
	for i, g := range s.groups {
		for at, j := range g.joints {
			var slots []drive
			for row, id := range j.id {
				next := 0
				for a, target := range m.ActuatorTrnID {
					if target[0] != id {
						continue
					}
					if next == len(slots) {
						none := make([]int, g.rows())
						for r := range none {
							none[r] = -1
						}
						slots = append(slots, drive{i, at, none})
					}
					slots[next].id[row] = a
					next++
				}
			}
			s.drives = append(s.drives, slots...)
		}
	}
}

// known returns a known number of each row's actuator, and missing where there is none.
func (d drive) known(missing float64, f func(id int) float64) algebra.Num {
	return algebra.ColumnOf(d.id, func(id int) float64 {
		if id < 0 {
			return missing
		}
		return f(id)
	})
}

// actuation returns the forces of the actuators on the dofs (MuJoCo's qfrc_actuator), and what they change
// by the dofs' velocities, as negative blocks of joints, for implicit integration.
func (s *System) actuation(k kinematics, q, v, control, compensation []algebra.Num) (out []algebra.Num,
	slopes map[[2]int]algebra.Num) {
	m := s.model
	out, slopes = s.noForce(), map[[2]int]algebra.Num{}
	for n, d := range s.drives {
		j := s.groups[d.group].joints[d.joint]
		u := control[n]
		if m.Opt.DisableFlags&DisableClampCtrl == 0 {
			u = clip(u, d.limits(m.ActuatorCtrlLimited, m.ActuatorCtrlRange))
		}
		gear := make([]algebra.Num, j.kind.Dofs())
		for i := range gear {
			gear[i] = d.known(0, func(id int) float64 { return m.ActuatorGear[id][i] })
		}
		length := algebra.Constant(len(d.id), 0)
		switch j.kind {
		case Slide, Hinge:
			length = q[j.place].Times(gear[0])
		case Ball:
			axis, angle := axisAngle(quaternionAt(q[j.place:]).Normalized())
			turn := axis.By(angle)
			for i := range gear {
				length = length.Plus(component(turn, i).Times(gear[i]))
			}
		}
		if at, ok := j.turns(); ok { // the gear is in the axes of the body
			at -= j.column
			turned := k.Rotation[d.group].Of(algebra.Vector{X: gear[at], Y: gear[at+1], Z: gear[at+2]}).Materialize()
			gear[at], gear[at+1], gear[at+2] = turned.X, turned.Y, turned.Z
		}
		speed := algebra.Constant(len(d.id), 0)
		for i := range gear {
			speed = speed.Plus(v[j.column+i].Times(gear[i]))
		}
		gain := func(i int) algebra.Num {
			return d.known(0, func(id int) float64 {
				if i > 0 && m.ActuatorGainType[id] == 0 {
					return 0
				}
				return m.ActuatorGainPrm[id][i]
			})
		}
		bias := func(i int) algebra.Num {
			return d.known(0, func(id int) float64 {
				if m.ActuatorBiasType[id] == 0 {
					return 0
				}
				return m.ActuatorBiasPrm[id][i]
			})
		}
		affine := func(of func(i int) algebra.Num) algebra.Num {
			return of(0).Plus(of(1).Times(length)).Plus(of(2).Times(speed))
		}
		force := affine(gain).Times(u).Plus(affine(bias)).Materialize()
		slope := gain(2).Times(u).Plus(bias(2))
		limits := d.limits(m.ActuatorForceLimited, m.ActuatorForceRange)
		slope = within(force, limits).Choose(slope, slope.Zero())
		force = clip(force, limits)
		if k.Under.Strength != nil {
			force, slope = force.Times(k.Under.Strength[n]), slope.Times(k.Under.Strength[n])
		}
		for a := range gear {
			out[j.column+a] = out[j.column+a].Plus(force.Times(gear[a]))
			for b := a; b < len(gear); b++ {
				if term := slope.Times(gear[a]).Times(gear[b]); !term.Is(0) {
					key := [2]int{j.column + a, j.column + b}
					if sum, ok := slopes[key]; ok {
						term = term.Plus(sum)
					}
					slopes[key] = term
				}
			}
		}
	}
	for c := range out {
		out[c] = out[c].Plus(compensation[c])
	}
	for _, g := range s.groups {
		for _, j := range g.joints {
			limits := limits{j.limit(m.JntActFrcLimited, m.JntActFrcRange, 0), j.limit(m.JntActFrcLimited, m.JntActFrcRange, 1)}
			c := j.column
			if key := [2]int{c, c}; !slopes[key].Is(0) && slopes[key].Rows > 0 {
				slopes[key] = within(out[c], limits).Choose(slopes[key], slopes[key].Zero())
			}
			out[c] = clip(out[c], limits)
		}
	}
	return out, slopes
}

// limits are known lower and upper limits, +-huge where there are none.
type limits struct{ low, high algebra.Num }

const huge = 1e30

func (d drive) limits(limited []bool, ranges [][2]float64) limits {
	side := func(k int, missing float64) algebra.Num {
		return d.known(missing, func(id int) float64 {
			if !limited[id] {
				return missing
			}
			return ranges[id][k]
		})
	}
	return limits{side(0, -huge), side(1, huge)}
}

func (j joint) limit(limited []bool, ranges [][2]float64, side int) algebra.Num {
	return algebra.ColumnOf(j.id, func(id int) float64 {
		if !limited[id] {
			return [2]float64{-huge, huge}[side]
		}
		return ranges[id][side]
	})
}

// clip clips x to limits.
func clip(x algebra.Num, l limits) algebra.Num {
	if !l.low.Is(-huge) {
		x = x.Max(l.low)
	}
	if !l.high.Is(huge) {
		x = x.Min(l.high)
	}
	return x
}

// within reports where x is strictly within limits.
func within(x algebra.Num, l limits) algebra.Mask {
	in := algebra.Mask{Num: algebra.Constant(x.Rows, 1)}
	if !l.low.Is(-huge) {
		in = in.And(l.low.Less(x))
	}
	if !l.high.Is(huge) {
		in = in.And(x.Less(l.high))
	}
	return in
}
