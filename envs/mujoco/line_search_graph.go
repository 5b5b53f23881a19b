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
	Cones                        coneLine
	Visits                       []visited // contacts between links

	Slope, Curvature algebra.Num // of the parabola at 0
	Descent          algebra.Num // minus the slope of the cost at 0

	Length, Low, High, Done algebra.Num // Done is 1 where Length is found
	Part                    algebra.Num // of High, to try next if Low is 0
	End                     algebra.Num // the slope at the end of the whole step, where the search begins
	Iteration               *Node
}

// lineSearch returns the lengths of the step at which the cost is least, or 0 if none is found at which it is less, and
// the slopes at the end of the whole step. It is Newton's method on the slope of the cost, within a bracket. Where that
// leaves the bracket, smaller and smaller magnitudes are tried: near the tips of stiff cones the least cost is at 1e-6
// of the step.
func (s *System) lineSearch(l search) (length, end algebra.Num) {
	l.Iteration = Const(l.Length.Node.Graph(), int32(0))
	l = xla.Loop(l, func(l search) *Node {
		more := LessThan(l.Iteration, Const(l.Iteration.Graph(), int32(lineSearches)))
		return And(more, LogicalAny(LessThan(l.Done.Node, ScalarOne(l.Done.Graph(), l.Done.Node.DType()))))
	}, func(l search) search {
		slope, curvature := s.slope(l)
		// 1e-6 of a term of the slope is rounding.
		least := l.Descent.Scale(lineTolerance).Plus(l.Slope.Abs().Scale(1e-6))
		done := slope.Abs().Less(least).Or(l.Done.Above(0.5))
		first := Equal(l.Iteration, Const(l.Iteration.Graph(), int32(0)))
		l.End.Node = Where(BroadcastToShape(first, slope.Node.Shape()), slope.Node, l.End.Node)
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
	return l.Done.Above(0.5).Choose(l.Length, l.Low), l.End
}

// rows sets the stacked rows, of a stiffness and at rates that change by a step.
func (l *search) rows(g *Graph, batch int, stiffness, rate, step algebra.Num) {
	// Known, if no constraint can ever act, such as a hinge's about the vertical far above a plane.
	matrix := func(x algebra.Num) *Node { return computed(g, batch, x).Matrix() }
	force, change := stiffness.Times(rate).Neg(), stiffness.Times(step).Neg()
	l.Force, l.ForceStep, l.Step = matrix(force), matrix(change), matrix(step)
	l.Bend = matrix(change.Times(step).Neg())
}

// slope returns the first and second derivative of the cost by the length of the step.
func (s *System) slope(l search) (first, second algebra.Num) {
	first, second = s.constraintSlope(l, l.Slope.Plus(l.Length.Times(l.Curvature)), l.Curvature)
	for i, v := range l.Visits {
		one, two := s.visitSlope(i, v, l.Length)
		first, second = first.Plus(one), second.Plus(two)
	}
	return first.Materialize(), second.Materialize()
}

// constraintSlope adds the derivatives of the cost of stacked rows and cones.
func (s *System) constraintSlope(l search, first, second algebra.Num) (algebra.Num, algebra.Num) {
	if l.Force != nil {
		g, bounds := l.Force.Graph(), s.bounds(l.Force.Shape().Dimensions[0])
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
	if l.Cones.Middle.Rows > 0 {
		one, two := l.Cones.slopes(l.Length)
		first, second = first.Plus(one), second.Plus(two)
	}
	return first, second
}

// zonesCrossed counts the constraints whose cost is not the same parabola at both ends of the whole step.
func (s *System) zonesCrossed(l search) algebra.Num {
	crossed := algebra.Constant(1, 0)
	differ := func(a, b algebra.Mask) algebra.Num { return a.Number().Minus(b.Number()).Abs() }
	if l.Force != nil {
		bounds := s.bounds(l.Force.Shape().Dimensions[0])
		flat := func(x *Node) algebra.Num { return algebra.Num{Rows: bounds.low.Rows, Node: Reshape(x, -1)} }
		from := flat(l.Force)
		to := from.Plus(flat(l.ForceStep))
		count := differ(bounds.low.Less(from), bounds.low.Less(to))
		if !bounds.high.Is(huge) {
			count = count.Plus(differ(from.Less(bounds.high), to.Less(bounds.high)))
		}
		crossed = crossed.Plus(count.Sum())
	}
	if l.Cones.Middle.Rows > 0 {
		crossed = crossed.Plus(l.Cones.crossed())
	}
	for i, v := range l.Visits {
		crossed = crossed.Plus(s.visitZones(i, v, l.Length))
	}
	return crossed
}

// coneLine holds elliptic cones along a step. In the scaled space of a cone the tangent is a straight line, which is
// given by the point at which it is nearest to the axis: differences of large numbers would hide how near that is.
type coneLine struct {
	Mu                 algebra.Num
	Middle             algebra.Num // the stiffness in the middle zone
	Normal, NormalStep algebra.Num
	Nearest            algebra.Num // the length of the step where the tangent is least
	Least, Square      algebra.Num // the squares of the tangent there, and of its change by the step
	Bottom, BottomStep algebra.Num // the first derivative of the cost in the bottom zone, and the second
}

// coneLine returns the cones of some stiffness and friction at y along a step.
func (s *System) coneLine(stiffness algebra.Num, friction [5]algebra.Num, y, step perAxis) (l coneLine) {
	if y[0].Rows == 0 {
		return l
	}
	c, zero := s.cone(friction), stiffness.Zero()
	l.Mu, l.Middle = c.mu, stiffness.Times(c.middle()).Materialize()
	l.Normal, l.NormalStep = y[0].Times(c.mu).Materialize(), step[0].Times(c.mu).Materialize()
	l.Square, l.Least, l.Bottom, l.BottomStep = zero, zero, zero, zero
	product := zero
	u, v := make([]algebra.Num, len(c.friction)), make([]algebra.Num, len(c.friction))
	for i, f := range c.friction {
		u[i], v[i] = y[1+i].Times(f).Materialize(), step[1+i].Times(f).Materialize()
		product, l.Square = product.Plus(u[i].Times(v[i])), l.Square.Plus(v[i].Square())
	}
	l.Square = l.Square.Materialize()
	least := algebra.Constant(zero.Rows, 1e-30)
	l.Nearest = l.Square.Less(least).Choose(zero, product.Neg().Over(l.Square.Max(least))).Materialize()
	for i := range u {
		l.Least = l.Least.Plus(u[i].Plus(l.Nearest.Times(v[i])).Square())
	}
	for i := range 1 + len(u) {
		force := stiffness.Times(c.share(i)).Times(step[i]).Materialize()
		l.Bottom, l.BottomStep = l.Bottom.Plus(force.Times(y[i])), l.BottomStep.Plus(force.Times(step[i]))
	}
	l.Least, l.Bottom, l.BottomStep = l.Least.Materialize(), l.Bottom.Materialize(), l.BottomStep.Materialize()
	return l
}

// slopes returns the sums of the first and second derivatives of the costs by the length of the step.
func (l coneLine) slopes(length algebra.Num) (first, second algebra.Num) {
	n := l.Middle.Rows
	length = spread(length, n)
	z := l.at(length)
	slip := l.Square.Times(z.beyond).Over(z.tangent).Materialize()
	bend := l.Square.Times(l.Least).Over(z.tangent.Square().Times(z.tangent))
	gap := z.normal.Minus(l.Mu.Times(z.tangent)).Materialize()
	rate := l.NormalStep.Minus(l.Mu.Times(slip)).Materialize()
	pick := func(bottom, middle algebra.Num) algebra.Num {
		return z.top.Choose(algebra.Constant(n, 0), z.bottom.Choose(bottom, middle)).Materialize().Sum()
	}
	return pick(l.Bottom.Plus(length.Times(l.BottomStep)), l.Middle.Times(gap).Times(rate)),
		pick(l.BottomStep, l.Middle.Times(rate.Square().Minus(gap.Times(l.Mu).Times(bend))))
}

// crossed counts the cones whose cost is not the same parabola at both ends of the whole step.
func (l coneLine) crossed() algebra.Num {
	n := l.Middle.Rows
	a, b := l.at(algebra.Constant(n, 0)), l.at(algebra.Constant(n, 1))
	same := a.top.And(b.top).Or(a.bottom.And(b.bottom)).Or(l.Middle.Below(1e-20))
	return algebra.Constant(n, 1).Minus(same.Number()).Materialize().Sum()
}

// conesAt says where cones are at a length of the step.
type conesAt struct {
	normal, tangent, beyond algebra.Num // beyond: the length less Nearest
	top, bottom             algebra.Mask
}

// at returns the cones at a length of the step.
func (l coneLine) at(length algebra.Num) (z conesAt) {
	z.normal, z.beyond = l.Normal.Plus(length.Times(l.NormalStep)).Materialize(), length.Minus(l.Nearest)
	z.tangent = l.Least.Plus(l.Square.Times(z.beyond.Square())).Sqrt().Max(algebra.Constant(l.Mu.Rows, 1e-15)).Materialize()
	z.top = l.Mu.Times(z.tangent).Less(z.normal)
	z.bottom = l.Mu.Times(z.normal).Plus(z.tangent).Below(0)
	return z
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
