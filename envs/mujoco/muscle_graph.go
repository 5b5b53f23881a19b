package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// muscleForces returns the gain and the bias of the muscles of a drive at lengths and speeds, 0 of other actuators, and
// the derivative of the gain by the speed (mju_muscleGain, mju_muscleBias).
func (s *System) muscleForces(d drive, length, speed algebra.Num) (gain, bias, slope algebra.Num) {
	m := s.model
	gain = algebra.Constant(len(d.id), 0)
	bias, slope = gain, gain
	// curves returns parameters of muscles, of their gains or biases, and lengths in units of their optimum. Of other
	// actuators they are 1, so that nothing is divided by 0.
	curves := func(types []int, parameters [][10]float64) (of func(f func(p muscle) float64) algebra.Num, unit algebra.Num) {
		of = func(f func(p muscle) float64) algebra.Num {
			return algebra.ColumnOf(d.id, func(id int) float64 {
				if id < 0 || types[id] != isMuscle {
					return 1
				}
				return f(m.muscle(id, parameters[id]))
			})
		}
		unit = length.Minus(of(func(p muscle) float64 { return p.start })).
			Times(of(func(p muscle) float64 { return 1 / p.optimum })).Plus(of(func(p muscle) float64 { return p.unit }))
		return of, unit.Materialize()
	}
	force := func(types []int, parameters [][10]float64, relative func(p muscle) float64) algebra.Num {
		return d.known(func(id int) float64 {
			if types[id] != isMuscle {
				return 0
			}
			p := m.muscle(id, parameters[id])
			return -p.force * relative(p)
		})
	}
	square := func(x, width algebra.Num) algebra.Num { return x.Over(width).Square().Scale(0.5) }
	width := func(w float64) float64 { return max(1e-15, w) }
	if d.muscles(m.ActuatorGainType) {
		of, x := curves(m.ActuatorGainType, m.ActuatorGainPrm)
		low, high := of(func(p muscle) float64 { return p.low }), of(func(p muscle) float64 { return p.high })
		rise := of(func(p muscle) float64 { return width((1 - p.low) / 2) })
		fall := of(func(p muscle) float64 { return width((p.high - 1) / 2) })
		one := algebra.Constant(x.Rows, 1)
		before := square(x.Minus(low), rise)
		before = x.Minus(low).Less(rise).Choose(before, one.Minus(square(one.Minus(x), rise)))
		after := square(high.Minus(x), fall)
		after = high.Minus(x).Less(fall).Choose(after, one.Minus(square(x.Minus(one), fall)))
		inside := not(x.Less(low).Or(high.Less(x)))
		byLength := inside.Choose(x.Less(one).Choose(before, after), x.Zero()).Materialize()

		fastest := of(func(p muscle) float64 { return 1 / width(p.optimum*p.fastest) })
		v, most := speed.Times(fastest).Materialize(), of(func(p muscle) float64 { return p.stretched })
		above := of(func(p muscle) float64 { return p.stretched - 1 })
		missing := above.Minus(v).Max(x.Zero())
		slow := of(func(p muscle) float64 { return width(p.stretched - 1) })
		shortens := v.Add(1).Max(x.Zero())
		bySpeed := v.Below(0).Choose(shortens.Square(), most.Minus(missing.Square().Over(slow)))
		steepness := v.Below(0).Choose(shortens.Scale(2), missing.Scale(2).Over(slow))
		peak := force(m.ActuatorGainType, m.ActuatorGainPrm, func(muscle) float64 { return 1 }).Times(byLength).Materialize()
		gain, slope = peak.Times(bySpeed).Materialize(), peak.Times(steepness).Times(fastest).Materialize()
	}
	if d.muscles(m.ActuatorBiasType) {
		of, x := curves(m.ActuatorBiasType, m.ActuatorBiasPrm)
		half := of(func(p muscle) float64 { return width((p.high - 1) / 2) })
		over := x.Add(-1).Max(x.Zero()).Over(half).Materialize()
		pull := over.Below(1).Choose(over.Square().Scale(0.5), over.Add(-0.5))
		bias = pull.Times(force(m.ActuatorBiasType, m.ActuatorBiasPrm, func(p muscle) float64 { return p.passive })).Materialize()
	}
	return gain, bias, slope
}

// muscles reports whether an actuator of a drive is a muscle.
func (d drive) muscles(types []int) bool {
	return slices.ContainsFunc(d.id, func(id int) bool { return id >= 0 && types[id] == isMuscle })
}

// muscle is what the curves of a muscle are made of. Lengths but start and optimum are in units of the optimum.
type muscle struct {
	start, optimum float64 // the shortest length, and that of the largest force
	unit           float64 // the shortest one in its units
	low, high      float64 // where it has no force
	fastest        float64 // optimum lengths a second
	force          float64 // the largest one
	passive        float64 // that of a stretched muscle, relative to it
	stretched      float64 // the largest one while it is lengthened, relative to it
}

// muscle returns those of an actuator with such parameters.
func (m *Model) muscle(id int, p [10]float64) muscle {
	own := m.Muscles[slices.IndexFunc(m.Muscles, func(own Muscle) bool { return own.Actuator == id })]
	force := p[2]
	if force < 0 {
		force = p[3] / max(1e-15, own.Acc0)
	}
	optimum := max(1e-15, (own.LengthRange[1]-own.LengthRange[0])/max(1e-15, p[1]-p[0]))
	return muscle{start: own.LengthRange[0], optimum: optimum, unit: p[0], low: p[4], high: p[5], fastest: p[6], force: force,
		passive: p[7], stretched: p[8]}
}

// muscleRates returns the rates of activations of muscles, given controls and activations of all (mju_muscleDynamics).
func (s *System) muscleRates(command, act algebra.Num) algebra.Num {
	parameter := func(i int) algebra.Num {
		return s.ofActivations(func(a Activation) float64 { return s.model.ActuatorDynPrm[a.Actuator][i] })
	}
	unit := func(x algebra.Num) algebra.Num { return clip(x, limits{act.Zero(), algebra.Constant(act.Rows, 1)}) }
	excess := unit(command).Minus(act).Materialize()
	slower := unit(act).Scale(1.5).Add(0.5).Materialize()
	rising, falling := parameter(0).Times(slower), parameter(1).Over(slower)
	smoothing := parameter(2)
	x := unit(excess.Over(smoothing.Max(algebra.Constant(act.Rows, 1e-15))).Add(0.5)).Materialize()
	smooth := x.Times(x).Times(x).Times(x.Times(x.Scale(6).Add(-15)).Add(10)) // mju_sigmoid
	hard := excess.Above(0).Choose(algebra.Constant(act.Rows, 1), act.Zero())
	share := smoothing.Below(1e-15).Choose(hard, smooth)
	tau := falling.Plus(rising.Minus(falling).Times(share))
	return excess.Over(tau.Max(algebra.Constant(act.Rows, 1e-15))).Materialize()
}
