package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/rows"
	"example.com/qdnb/xla"
)

// search is the state of a line search: along a step, the cost is that of the constraints at Rate +
// Length RateStep, and a parabola.
type search struct {
	Rate, RateStep   rows.Num
	Cones, ConeSteps [3]rows.Num
	Constraints      constraints

	Slope, Curvature rows.Num // of the parabola at 0
	Descent          rows.Num // minus the slope of the cost at 0

	Length, Low, High, Done rows.Num // Done is 1 where Length is found
	Iteration               *Node
}

// lineSearch returns the lengths of the step at which the cost is least. It is Newton's method on the
// slope of the cost, within a bracket.
func (s *System) lineSearch(l search) rows.Num {
	l.Iteration = Const(l.Length.Node.Graph(), int32(0))
	return xla.Loop(l, func(l search) *Node {
		more := LessThan(l.Iteration, Const(l.Iteration.Graph(), int32(lineSearches)))
		return And(more, LogicalAny(LessThan(l.Done.Node, ScalarOne(l.Done.Graph(), l.Done.Node.DType()))))
	}, func(l search) search {
		slope, curvature := s.slope(l)
		done := slope.Abs().Less(l.Descent.Scale(lineTolerance)).Or(l.Done.Above(0.5))
		below := slope.Below(0)
		low, high := below.Choose(l.Length, l.Low), below.Choose(l.High, l.Length)
		next := l.Length.Minus(slope.Over(curvature.Max(rows.Constant(1, 1e-30))))
		middle := high.Below(huge/2).Choose(low.Plus(high).Scale(0.5), l.Length.Scale(2))
		next = low.Less(next).And(next.Less(high)).Choose(next, middle)
		l.Length, l.Low, l.High = done.Choose(l.Length, next), low, high
		l.Done = done.Choose(rows.Constant(1, 1), rows.Constant(1, 0))
		g, batch := l.Length.Graph(), l.Length.Node.Shape().Size()
		l.Done = computed(g, batch, l.Done)
		l.Iteration = AddScalar(l.Iteration, 1)
		return l
	}).Length
}

// slope returns the first and second derivative of the cost by the length of the step.
func (s *System) slope(l search) (first, second rows.Num) {
	first, second = l.Slope.Plus(l.Length.Times(l.Curvature)), l.Curvature
	c := l.Constraints
	if n := l.Rate.Rows; n > 0 {
		force := c.Stiffness.Times(l.Rate.Plus(spread(l.Length, n).Times(l.RateStep))).Neg().Materialize()
		bounds := s.bounds()
		first = first.Minus(clip(force, bounds).Times(l.RateStep).Materialize().Sum())
		curvature := c.Stiffness.Times(l.RateStep.Square())
		second = second.Plus(within(force, bounds).Choose(curvature, curvature.Zero()).Materialize().Sum())
	}
	if n := l.Cones[0].Rows; n > 0 {
		cone, d := s.cone(), c.ConeStiffness
		var y [3]rows.Num
		for i := range y {
			y[i] = l.Cones[i].Plus(spread(l.Length, n).Times(l.ConeSteps[i])).Materialize()
		}
		z := cone.zones(y)
		v := [2]rows.Num{cone.friction[0].Times(l.ConeSteps[1]), cone.friction[1].Times(l.ConeSteps[2])}
		slip := z.u[0].Times(v[0]).Plus(z.u[1].Times(v[1])).Over(z.tangent).Materialize() // of the tangent
		bend := v[0].Square().Plus(v[1].Square()).Minus(slip.Square()).Over(z.tangent).Materialize()
		gap := z.normal.Minus(cone.mu.Times(z.tangent)).Materialize()
		rate := cone.mu.Times(l.ConeSteps[0].Minus(slip)).Materialize()
		dm := d.Times(cone.middle())
		bottom, bottomCurve := rows.Constant(n, 0), rows.Constant(n, 0)
		for i := range y {
			k := d.Times(cone.share(i)).Times(l.ConeSteps[i])
			bottom, bottomCurve = bottom.Plus(k.Times(y[i])), bottomCurve.Plus(k.Times(l.ConeSteps[i]))
		}
		pick := func(bottom, middle rows.Num) rows.Num {
			return z.top.Choose(rows.Constant(n, 0), z.bottom.Choose(bottom, middle)).Materialize().Sum()
		}
		first = first.Plus(pick(bottom, dm.Times(gap).Times(rate)))
		second = second.Plus(pick(bottomCurve, dm.Times(rate.Square().Minus(gap.Times(cone.mu).Times(bend)))))
	}
	return first.Materialize(), second.Materialize()
}

// zonesCrossed counts the constraints whose cost is not the same parabola at both ends of the whole step.
func (s *System) zonesCrossed(l search) rows.Num {
	crossed := rows.Constant(1, 0)
	differ := func(a, b rows.Mask) rows.Num { return a.Number().Minus(b.Number()).Abs() }
	if l.Rate.Rows > 0 {
		bounds, k := s.bounds(), l.Constraints.Stiffness
		from, to := k.Times(l.Rate).Neg(), k.Times(l.Rate.Plus(l.RateStep)).Neg()
		count := differ(bounds.low.Less(from), bounds.low.Less(to))
		if !bounds.high.Is(huge) {
			count = count.Plus(differ(from.Less(bounds.high), to.Less(bounds.high)))
		}
		crossed = crossed.Plus(count.Materialize().Sum())
	}
	if l.Cones[0].Rows > 0 {
		var end [3]rows.Num
		for i := range end {
			end[i] = l.Cones[i].Plus(l.ConeSteps[i])
		}
		a, b := s.cone().zones(l.Cones), s.cone().zones(end)
		same := a.top.And(b.top).Or(a.bottom.And(b.bottom)).Or(l.Constraints.ConeStiffness.Below(1e-20))
		crossed = crossed.Plus(rows.Constant(same.Rows, 1).Minus(same.Number()).Materialize().Sum())
	}
	return crossed
}
