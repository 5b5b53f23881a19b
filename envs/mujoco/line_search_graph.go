package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// search is the state of a line search: along a step, the cost is that of the constraints, and a parabola.
type search struct {
	// Of the stacked rows, [R, B]: the force at 0 before it is clipped, its change by the step, the change of
	// the violation, and the curvature where the force is not clipped.
	Force, ForceStep, Step, Bend *Node
	Cones, ConeSteps             perAxis
	ConeStiffness                algebra.Num
	Friction                     [5]algebra.Num // of the cones

	Slope, Curvature algebra.Num // of the parabola at 0
	Descent          algebra.Num // minus the slope of the cost at 0

	Length, Low, High, Done algebra.Num // Done is 1 where Length is found
	Part                    algebra.Num // of High, to try next if Low is 0
	Iteration               *Node
}

// lineSearch returns the lengths of the step at which the cost is least, or 0 if none is found at which it is less. It is
// Newton's method on the slope of the cost, within a bracket. Where that leaves the bracket, smaller
// and smaller magnitudes are tried: near the tips of stiff cones the least cost is at 1e-6 of the step.
func (s *System) lineSearch(l search) algebra.Num {
	l.Iteration = Const(l.Length.Node.Graph(), int32(0))
	l = xla.Loop(l, func(l search) *Node {
		more := LessThan(l.Iteration, Const(l.Iteration.Graph(), int32(lineSearches)))
		return And(more, LogicalAny(LessThan(l.Done.Node, ScalarOne(l.Done.Graph(), l.Done.Node.DType()))))
	}, func(l search) search {
		slope, curvature := s.slope(l)
		// 1e-6 of a term of the slope is rounding.
		least := l.Descent.Scale(lineTolerance).Plus(l.Slope.Abs().Scale(1e-6))
		done := slope.Abs().Less(least).Or(l.Done.Above(0.5))
		below := slope.Below(0)
		low, high := below.Choose(l.Length, l.Low), below.Choose(l.High, l.Length)
		next := l.Length.Minus(slope.Over(curvature.Max(algebra.Constant(1, 1e-30))))
		within := low.Less(next).And(next.Less(high))
		middle := low.Above(0).Choose(low.Times(high).Sqrt(), high.Times(l.Part))
		next = within.Choose(next, high.Below(huge/2).Choose(middle, l.Length.Scale(2)))
		l.Length, l.Low, l.High = done.Choose(l.Length, next), low, high
		l.Part = within.Choose(l.Part, l.Part.Square().Scale(0.5))
		g, batch := l.Length.Graph(), l.Length.Node.Shape().Size()
		l.Done = computed(g, batch, done.Choose(algebra.Constant(1, 1), algebra.Constant(1, 0)))
		l.Iteration = AddScalar(l.Iteration, 1)
		return l
	})
	return l.Done.Above(0.5).Choose(l.Length, l.Low)
}

// slope returns the first and second derivative of the cost by the length of the step.
func (s *System) slope(l search) (first, second algebra.Num) {
	first, second = l.Slope.Plus(l.Length.Times(l.Curvature)), l.Curvature
	if l.Force != nil {
		g, bounds := l.Force.Graph(), s.bounds()
		force := Add(l.Force, Mul(l.Length.Matrix(), l.ForceStep))
		low, high := matrix(g, bounds.low), matrix(g, bounds.high)
		clipped, inside := Max(force, low), LessThan(low, force)
		if !bounds.high.Is(huge) {
			clipped, inside = Min(clipped, high), And(inside, LessThan(force, high))
		}
		sum := func(x *Node) algebra.Num { return algebra.Num{Rows: 1, Node: Reshape(algebra.SumRows(x), -1)} }
		first = first.Minus(sum(Mul(clipped, l.Step)))
		second = second.Plus(sum(Where(inside, l.Bend, ZerosLike(l.Bend))))
	}
	if n := l.Cones[0].Rows; n > 0 {
		cone, d := s.cone(l.Friction), l.ConeStiffness
		var y perAxis
		for i := range 1 + len(cone.friction) {
			y[i] = moved(l.Cones[i], l.Length, l.ConeSteps[i])
		}
		z := cone.zones(y)
		var slip, square algebra.Num // of the tangent
		for i, friction := range cone.friction {
			v := friction.Times(l.ConeSteps[1+i])
			if i == 0 {
				slip, square = z.u[i].Times(v), v.Square()
			} else {
				slip, square = slip.Plus(z.u[i].Times(v)), square.Plus(v.Square())
			}
		}
		slip = slip.Over(z.tangent).Materialize()
		bend := square.Minus(slip.Square()).Over(z.tangent).Materialize()
		gap := z.normal.Minus(cone.mu.Times(z.tangent)).Materialize()
		rate := cone.mu.Times(l.ConeSteps[0].Minus(slip)).Materialize()
		dm := d.Times(cone.middle())
		bottom, bottomCurve := algebra.Constant(n, 0), algebra.Constant(n, 0)
		for i := range 1 + len(cone.friction) {
			k := d.Times(cone.share(i)).Times(l.ConeSteps[i])
			bottom, bottomCurve = bottom.Plus(k.Times(y[i])), bottomCurve.Plus(k.Times(l.ConeSteps[i]))
		}
		pick := func(bottom, middle algebra.Num) algebra.Num {
			return z.top.Choose(algebra.Constant(n, 0), z.bottom.Choose(bottom, middle)).Materialize().Sum()
		}
		first = first.Plus(pick(bottom, dm.Times(gap).Times(rate)))
		second = second.Plus(pick(bottomCurve, dm.Times(rate.Square().Minus(gap.Times(cone.mu).Times(bend)))))
	}
	return first.Materialize(), second.Materialize()
}

// zonesCrossed counts the constraints whose cost is not the same parabola at both ends of the whole step.
func (s *System) zonesCrossed(l search) algebra.Num {
	crossed := algebra.Constant(1, 0)
	differ := func(a, b algebra.Mask) algebra.Num { return a.Number().Minus(b.Number()).Abs() }
	if l.Force != nil {
		bounds := s.bounds()
		flat := func(x *Node) algebra.Num { return algebra.Num{Rows: bounds.low.Rows, Node: Reshape(x, -1)} }
		from := flat(l.Force)
		to := from.Plus(flat(l.ForceStep))
		count := differ(bounds.low.Less(from), bounds.low.Less(to))
		if !bounds.high.Is(huge) {
			count = count.Plus(differ(from.Less(bounds.high), to.Less(bounds.high)))
		}
		crossed = crossed.Plus(count.Sum())
	}
	if l.Cones[0].Rows > 0 {
		var end perAxis
		for i := range s.coneDim() {
			end[i] = l.Cones[i].Plus(l.ConeSteps[i])
		}
		cone := s.cone(l.Friction)
		a, b := cone.zones(l.Cones), cone.zones(end)
		same := a.top.And(b.top).Or(a.bottom.And(b.bottom)).Or(l.ConeStiffness.Below(1e-20))
		crossed = crossed.Plus(algebra.Constant(same.Rows, 1).Minus(same.Number()).Materialize().Sum())
	}
	return crossed
}

// matrix returns known numbers as a tensor [n, 1], or a scalar.
func matrix(g *Graph, of algebra.Num) *Node {
	column := make([][]float32, of.Rows)
	for i, k := range of.Known {
		column[i] = []float32{float32(k)}
	}
	if of.Is(of.Known[0]) {
		return Const(g, column[0][0])
	}
	return Const(g, column)
}
