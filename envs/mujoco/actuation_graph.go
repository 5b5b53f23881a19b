package mujoco

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/lists"
)

// drive is the n-th actuator of each link of a group that moves a joint, or one that moves a tendon or pushes at a site.
// Links without one have a gear of 0.
type drive struct {
	group, joint int
	id           []int // of the actuator in each row, or -1
	tendon       *path
	site         *side
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
					if target[0] != id || m.ActuatorTrnType[a] != overJoint || m.disabled(a) {
						continue
					}
					if next == len(slots) {
						none := make([]int, g.rows())
						for r := range none {
							none[r] = -1
						}
						slots = append(slots, drive{group: i, joint: at, id: none})
					}
					slots[next].id[row] = a
					next++
				}
			}
			s.drives = append(s.drives, slots...)
		}
	}
	for a, target := range m.ActuatorTrnID {
		if m.disabled(a) {
			continue
		}
		if m.ActuatorTrnType[a] == overTendon {
			along := s.tendon(target[0])
			s.drives = append(s.drives, drive{id: []int{a}, tendon: &along})
		}
		if m.ActuatorTrnType[a] == overSite {
			body, own := s.site(target[0])
			if i, row := s.link(body); i != static { // else it moves nothing
				s.drives = append(s.drives, drive{id: []int{a}, site: &side{group: i, link: []int{row}, pose: own}})
			}
		}
	}
}

// inputs are what actuators get.
type inputs struct {
	Control []algebra.Num // of the drives
	Act     algebra.Num   // the activations; no rows if there are none
	Command algebra.Num   // the controls of their actuators
}

// inputs returns those of controls [nu, B] and activations [na, B]; either is nil if there are none.
func (s *System) inputs(control, act *Node) (in inputs) {
	in.Control = s.ofDrives(control)
	if act != nil {
		ids := s.activated()
		in.Act, in.Command = rowsOf(act), s.clamped(split(control, []element{{index: ids}})[0], ids).Materialize()
	}
	return in
}

// clamped returns controls of actuators within their ranges.
func (s *System) clamped(u algebra.Num, ids []int) algebra.Num {
	m := s.model
	if m.Opt.DisableFlags&DisableClampCtrl != 0 {
		return u
	}
	clipped := clip(u, limitsOf(ids, m.ActuatorCtrlLimited, m.ActuatorCtrlRange))
	return clipped.Plus(u.Minus(u)) // NaN, which XLA:CPU's minimum and maximum may turn into a limit
}

// ofDrives returns numbers [nu, B] of the actuators by drives; nil for nil.
func (s *System) ofDrives(x *Node) []algebra.Num {
	if x == nil {
		return nil
	}
	elements := make([]element, len(s.drives))
	for i, d := range s.drives {
		for _, id := range d.id {
			elements[i].index = append(elements[i].index, max(id, 0))
		}
	}
	return split(x, elements)
}

// activated lists the actuators of the activations.
func (s *System) activated() (ids []int) {
	for _, a := range s.model.Activations {
		ids = append(ids, a.Actuator)
	}
	return ids
}

// activationRates returns the rates of change of the activations (MuJoCo's act_dot).
func (s *System) activationRates(in inputs) algebra.Num {
	muscles := algebra.Mask{Num: s.ofActivations(func(a Activation) float64 {
		return number(s.model.ActuatorDynType[a.Actuator] == DynMuscle)
	})}
	filters := s.ofActivations(func(a Activation) float64 {
		return number(s.model.ActuatorDynType[a.Actuator] > DynIntegrator)
	})
	// An integrator adds what it is told, a filter follows it. Known factors of 1 cost nothing.
	rates := in.Command.Minus(in.Act.Times(filters)).Over(s.ofActivations(s.model.timeConstant))
	if muscles.Any() {
		rates = muscles.Choose(s.muscleRates(in.Command, in.Act), rates)
	}
	acts := s.ofActivations(func(a Activation) float64 { return number(!s.model.disabled(a.Actuator)) })
	return rates.Times(acts).Materialize()
}

// nextActivations returns the activations after a time step at such rates.
func (s *System) nextActivations(act, rates algebra.Num) algebra.Num {
	m, h := s.model, s.model.Opt.TimeStep
	low := s.ofActivations(func(a Activation) float64 { return a.bounds()[0] })
	high := s.ofActivations(func(a Activation) float64 { return a.bounds()[1] })
	return clip(act.Plus(rates.Times(s.ofActivations(func(a Activation) float64 {
		if m.ActuatorDynType[a.Actuator] == DynFilterExact {
			tau := m.timeConstant(a)
			return tau * -math.Expm1(-h/tau)
		}
		return h
	}))), limits{low, high}).Materialize()
}

// bounds are the least and the largest value of an activation.
func (a Activation) bounds() [2]float64 {
	if a.Limited {
		return a.Range
	}
	return [2]float64{-huge, huge}
}

// timeConstant returns that of an activation's filter, s; 1 of an integrator.
func (m *Model) timeConstant(a Activation) float64 {
	if m.ActuatorDynType[a.Actuator] <= DynIntegrator {
		return 1
	}
	return max(1e-15, m.ActuatorDynPrm[a.Actuator][0])
}

// ofActivations returns a known number of each activation.
func (s *System) ofActivations(f func(a Activation) float64) algebra.Num {
	return algebra.ColumnOf(s.model.Activations, f)
}

// activation returns what drives the actuators of a drive in the place of their controls, and which of them have an
// activation; ok is false if none has.
func (s *System) activation(d drive, in inputs) (act algebra.Num, has algebra.Mask, ok bool) {
	ids := s.activated()
	rows := lists.Map(d.id, func(id int) int { return slices.Index(ids, id) })
	if slices.Max(rows) < 0 {
		return act, has, false
	}
	early := s.ofActivations(func(a Activation) float64 { return number(a.Early) })
	now := algebra.Mask{Num: early}.Choose(s.nextActivations(in.Act, s.activationRates(in)), in.Act)
	act = now.Take(lists.Map(rows, func(row int) int { return max(row, 0) })...)
	return act, algebra.Mask{Num: algebra.ColumnOf(rows, func(row int) float64 { return number(row >= 0) })}, true
}

// wrapped returns the setpoints of position servos on balls that are nearest to their lengths: an angle is the same
// after a turn.
func (s *System) wrapped(d drive, u, length algebra.Num) algebra.Num {
	if d.tendon != nil || d.site != nil || s.groups[d.group].joints[d.joint].kind != Ball {
		return u
	}
	m := s.model
	period := d.known(func(id int) float64 {
		servo := m.ActuatorGainType[id] == 0 && m.ActuatorBiasType[id] == 1 && m.ActuatorDynType[id] == 0
		if servo && m.ActuatorGainPrm[id][0] == -m.ActuatorBiasPrm[id][1] {
			gear := m.ActuatorGear[id]
			return 2 * math.Pi * math.Sqrt(gear[0]*gear[0]+gear[1]*gear[1]+gear[2]*gear[2])
		}
		return huge // no servo
	})
	if period.Is(huge) {
		return u
	}
	return u.Minus(u.Minus(length).Over(period).Add(0.5).Floor().Times(period))
}

// known returns a known number of each row's actuator, and 0 where there is none.
func (d drive) known(f func(id int) float64) algebra.Num {
	return algebra.ColumnOf(d.id, func(id int) float64 {
		if id < 0 {
			return 0
		}
		return f(id)
	})
}

// actuation returns the forces of the actuators on the dofs (MuJoCo's qfrc_actuator), and what they change
// by the dofs' velocities, as negative blocks of joints, for implicit integration.
func (s *System) actuation(k kinematics, q, v []algebra.Num, in inputs, compensation []algebra.Num) (out []algebra.Num,
	slopes map[[2]int]algebra.Num) {
	m := s.model
	out, slopes = s.noForce(), map[[2]int]algebra.Num{}
	if m.Sizes.NU == 0 || m.Opt.DisableFlags&DisableActuation != 0 {
		return out, slopes // without compensation, too
	}
	pushes := make([]spatial, len(s.groups)) // at sites
	for i, g := range s.groups {
		pushes[i] = noMotion(g.rows())
	}
	for n, d := range s.drives {
		u := s.clamped(in.Control[n], d.id)
		if act, has, ok := s.activation(d, in); ok {
			u = has.Choose(act, u)
		}
		length, speed, first, gear := s.transmission(d, k, q, v)
		u = s.wrapped(d, u, length)
		parameter := func(i, fixed int, types []int, values [][10]float64) algebra.Num {
			return d.known(func(id int) float64 {
				if i >= fixed && types[id] == 0 || types[id] == isMuscle { // not affine
					return 0
				}
				return values[id][i]
			})
		}
		gain := func(i int) algebra.Num { return parameter(i, 1, m.ActuatorGainType, m.ActuatorGainPrm) }
		bias := func(i int) algebra.Num { return parameter(i, 0, m.ActuatorBiasType, m.ActuatorBiasPrm) }
		affine := func(of func(i int) algebra.Num) algebra.Num {
			return of(0).Plus(of(1).Times(length)).Plus(of(2).Times(speed))
		}
		force := affine(gain).Times(u).Plus(affine(bias))
		slope := gain(2).Times(u).Plus(bias(2))
		if d.muscles(m.ActuatorGainType) || d.muscles(m.ActuatorBiasType) {
			active, passive, steepness := s.muscleForces(d, length, speed)
			force = force.Plus(active.Times(u)).Plus(passive)
			slope = slope.Plus(steepness.Times(u))
		}
		if k.Under.Gain != nil {
			force, slope = force.Times(k.Under.Gain[n]), slope.Times(k.Under.Gain[n])
		}
		force = force.Materialize()
		limits := limitsOf(d.id, m.ActuatorForceLimited, m.ActuatorForceRange)
		slope = within(force, limits).Choose(slope, slope.Zero())
		force = clip(force, limits)
		if k.Under.Strength != nil {
			force, slope = force.Times(k.Under.Strength[n]), slope.Times(k.Under.Strength[n])
		}
		steepen := func(a, b int, by algebra.Num) {
			if !by.Is(0) {
				slopes[[2]int{a, b}] = sumOr(slopes, [2]int{a, b}, by)
			}
		}
		if d.site != nil {
			s.toLinks(*d.site, s.siteWrench(d, k).by(force).materialize(), 1, pushes)
		}
		if d.tendon != nil {
			s.pull(*d.tendon, k, force.Times(gear[0]), out)
		}
		for _, share := range d.tendon.ofJoints() {
			// As in MuJoCo, what one joint's speed changes of the force on another one is left out.
			by := slope.Times(gear[0].Square()).Scale(share.by * share.by)
			steepen(share.column, share.column, sumRows(out[share.column].Rows, by, []int{share.row}))
		}
		for a := range gear {
			if d.tendon != nil {
				break
			}
			out[first+a] = out[first+a].Plus(force.Times(gear[a]))
			for b := a; b < len(gear); b++ {
				steepen(first+a, first+b, slope.Times(gear[a]).Times(gear[b]))
			}
		}
	}
	if slices.ContainsFunc(s.drives, func(d drive) bool { return d.site != nil }) {
		for c, force := range s.project(k, pushes) {
			out[c] = out[c].Plus(force)
		}
	}
	for c := range out {
		out[c] = out[c].Plus(compensation[c])
	}
	for _, g := range s.groups {
		for _, j := range g.joints {
			limits := limitsOf(j.id, m.JntActFrcLimited, m.JntActFrcRange)
			c := j.column
			if key := [2]int{c, c}; !slopes[key].Is(0) && slopes[key].Rows > 0 {
				slopes[key] = within(out[c], limits).Choose(slopes[key], slopes[key].Zero())
			}
			out[c] = clip(out[c], limits)
		}
	}
	return out, slopes
}

// transmission returns the lengths of the actuators of a drive, their rates, and the gears of the dofs from the
// first on; of a tendon, that of its own length.
func (s *System) transmission(d drive, k kinematics, q, v []algebra.Num) (length, speed algebra.Num, first int,
	gear []algebra.Num) {
	gearOf := func(i int) algebra.Num {
		return d.known(func(id int) float64 { return s.model.ActuatorGear[id][i] })
	}
	if d.site != nil {
		return algebra.Constant(1, 0), algebra.Constant(1, 0), 0, nil
	}
	if d.tendon != nil {
		gear = []algebra.Num{gearOf(0)}
		return s.lengthOf(*d.tendon, k, q).Times(gear[0]), s.rateOf(*d.tendon, k, v).Times(gear[0]), 0, gear
	}
	j := s.groups[d.group].joints[d.joint]
	for i := range j.kind.Dofs() {
		gear = append(gear, gearOf(i))
	}
	length = algebra.Constant(len(d.id), 0)
	speed = length
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
	for i := range gear {
		speed = speed.Plus(v[j.column+i].Times(gear[i]))
	}
	return length, speed, j.column, gear
}

// siteWrench is what a unit force of an actuator does to the link of its site: the first three gears are a force along
// the axes of the site, the others a torque about them.
func (s *System) siteWrench(d drive, k kinematics) spatial {
	turn := s.turnOf(k, *d.site)
	point := s.placed(k, *d.site, 3).Minus(s.referenceOf(k, *d.site, 1)).Plus(turn.Of(d.site.pose.position)).Materialize()
	axes := turned(turn, d.site.pose.rotation.Rotation().Snap())
	gear := s.model.ActuatorGear[d.id[0]]
	wrench := forceAt(axes.Of(algebra.Vectors([3]float64(gear[:3]))).Materialize(), point)
	wrench.Ang = wrench.Ang.Plus(axes.Of(algebra.Vectors([3]float64(gear[3:]))))
	return wrench.materialize()
}

// limits are known lower and upper limits, +-huge where there are none.
type limits struct{ low, high algebra.Num }

const huge = 1e30

// limitsOf returns the limits of elements; those with an id of -1 have none.
func limitsOf(ids []int, limited []bool, ranges [][2]float64) limits {
	side := func(k int, none float64) algebra.Num {
		return algebra.ColumnOf(ids, func(id int) float64 {
			if id < 0 || !limited[id] {
				return none
			}
			return ranges[id][k]
		})
	}
	return limits{side(0, -huge), side(1, huge)}
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
