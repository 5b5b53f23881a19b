package mujoco

import (
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// newton is the state of the solver. It minimises over the acceleration a
//
//	1/2 a'M a - a'tau + sum of the constraints' costs of J a - aref
//
// by Newton's method with an exact line search.
type newton struct {
	Iteration   *Node
	At          estimate
	Force       []algebra.Num // tau
	Kinematics  kinematics
	Constraints constraints
}

// estimate is what the solver knows of an acceleration.
type estimate struct {
	Acceleration []algebra.Num
	Residual     []algebra.Num // M a - tau
	Rate         algebra.Num   // J a - aref of the stacked rows
	Cones        perAxis       // the same of elliptic cones
	Visits       []*Node       // the same of contacts between links, see [visits]
	Done         algebra.Num   // 1 where the minimum is found, one row
}

const (
	maxIterations = 30 // or fewer: until all copies of the system have converged
	// tolerance is the relative size of a step, in the norm of the mass matrix, at which it is the last one.
	tolerance = 1e-5
	// lineTolerance is the relative slope at the end of a line search.
	lineTolerance = 1e-2
	lineSearches  = 24
)

// newton returns the state of the solver at a first guess, given M times it minus tau.
func (s *System) newton(k kinematics, c constraints, guess, residual, force []algebra.Num) newton {
	rate, cones := s.violationRates(c, guess, s.forward(k, guess))
	g, batch := sizeOf(residual)
	n := newton{Iteration: Const(g, int32(0)), Constraints: c,
		Kinematics: kinematics{Axis: k.Axis, Arm: k.Arm, Inertia: k.Inertia, Under: conditions{Armature: k.Under.Armature}}}
	at := &n.At
	at.Done = computed(g, batch, algebra.Constant(1, 0))
	for i := range guess {
		at.Acceleration = append(at.Acceleration, computed(g, batch, guess[i]))
		at.Residual = append(at.Residual, computed(g, batch, residual[i]))
		n.Force = append(n.Force, computed(g, batch, force[i]))
	}
	if rate.Rows > 0 {
		at.Rate = computed(g, batch, rate.Minus(c.Reference))
	}
	for i := range cones {
		if cones[i].Rows > 0 {
			at.Cones[i] = computed(g, batch, cones[i].Minus(c.ConeReference[i]))
		}
	}
	for i, rate := range s.visitRates(c.Visits, guess) {
		at.Visits = append(at.Visits, xla.Store(Sub(rate, c.Visits[i].All.Reference)))
	}
	return n
}

// minimize finds the acceleration under the constraints.
func (s *System) minimize(n newton) newton {
	return xla.Loop(n, func(n newton) *Node {
		more := LessThan(n.Iteration, Const(n.Iteration.Graph(), int32(maxIterations)))
		done := n.At.Done.Node
		return And(more, LogicalAny(LessThan(done, ScalarOne(done.Graph(), done.DType()))))
	}, s.iterate)
}

// iterate is an iteration of Newton's method.
func (s *System) iterate(n newton) newton {
	if s.finely {
		n.Iteration = xla.Unfused(n.Iteration)
	}
	l := outlined(s, n, s.linearize)
	n.At = outlined(s, stepping{n, l.Downhill, outlined(s, l, s.solveLinear)}, s.advance)
	n.Iteration = AddScalar(n.Iteration, 1)
	return n
}

// linear is the linear system of an iteration.
type linear struct {
	Kinematics kinematics
	Springs    []stiffness // of the links
	Blocks     []slope
	Update     update // by equalities, and by contacts between links unless those are crowded
	Crowd      *Node  // what crowded contacts between links add to the matrix, [nv, nv, B]
	Downhill   []algebra.Num
}

// linearize finds the forces of the constraints and their slopes.
func (s *System) linearize(n newton) (l linear) {
	k, c := n.Kinematics, n.Constraints
	r := s.respond(c, n.At.Rate, n.At.Cones)
	dofs, pushes := s.push(c, r.force, r.cone)
	projected := s.project(k, pushes)
	visited := s.visitSlopes(c.Visits, n.At.Visits)
	if visited.Push != nil {
		for i, by := range s.unstack(visited.Push) {
			dofs[i] = dofs[i].Plus(by)
		}
	}
	for i := range s.dofs {
		l.Downhill = append(l.Downhill, dofs[i].Plus(projected[i]).Minus(n.At.Residual[i]).Materialize())
	}
	springs, blocks := s.springs(c, r)
	for i, inertia := range s.links(k) {
		springs[i] = springs[i].plus(inertia)
	}
	for i := range s.dofs {
		key := [2]int{i, i}
		blocks[key] = sumOr(blocks, key, s.armature(k, i))
	}
	l.Kinematics.Axis, l.Kinematics.Arm, l.Springs, l.Blocks = k.Axis, k.Arm, springs, listed(blocks)
	rows, slopes := s.coupling(c, r)
	rows, slopes, l.Crowd = append(slices.Clip(rows), visited.Rows...), append(slopes, visited.Slopes...), visited.Matrix
	if len(rows) > 0 {
		l.Update = update{xla.Store(Concatenate(rows, 0)), xla.Store(Concatenate(slopes, 0))}
	}
	return l
}

// solveLinear returns the step of an iteration.
func (s *System) solveLinear(l linear) []algebra.Num {
	switch {
	case s.crowded:
		return s.solveDense(l)
	case l.Update.U != nil:
		return s.solveCoupled(l.Kinematics, l.factor(s), l.Update, l.Downhill)
	}
	return s.solve(l.Kinematics, l.factor(s), l.Downhill)
}

// factor is that of the matrix of springs and blocks.
func (l linear) factor(s *System) factor {
	blocks := map[[2]int]algebra.Num{}
	for _, entry := range l.Blocks {
		blocks[entry.Dofs] = entry.By
	}
	return s.factorize(l.Kinematics, l.Springs, blocks)
}

// stepping is a state of the solver with its step.
type stepping struct {
	Newton         newton
	Downhill, Step []algebra.Num
}

// advance goes along the step to the least cost.
func (s *System) advance(from stepping) estimate {
	n, at, step := from.Newton, from.Newton.At, slices.Clone(from.Step)
	k, c := n.Kinematics, n.Constraints
	g, batch := sizeOf(at.Residual)
	// If rounding has made the factor indefinite, the step may lead uphill.
	descent := s.dots(from.Downhill, step).Materialize()
	direction := descent.Below(0).Choose(algebra.Constant(1, -1), algebra.Constant(1, 1)).Materialize()
	for i, x := range step {
		step[i] = x.Times(spread(direction, x.Rows)).Materialize()
	}
	descent = descent.Abs()
	motions := s.forward(k, step)
	product := s.multiply(k, step, motions)
	rate, cones := s.violationRates(c, step, motions)
	visits := s.visitRates(c.Visits, step)

	done := at.Done.Above(0.5)
	scale := s.scale(n).Materialize()
	converged := descent.Less(scale.Scale(tolerance * tolerance)).Or(done)
	line := search{
		Cones:     s.coneLine(c.ConeStiffness, c.ConeFriction, at.Cones, cones),
		Slope:     s.dots(at.Residual, step).Materialize(),
		Curvature: s.dots(step, product).Materialize(),
		Descent:   descent.Materialize(),
		Length:    computed(g, batch, algebra.Constant(1, 1)),
		Low:       computed(g, batch, algebra.Constant(1, 0)),
		High:      computed(g, batch, algebra.Constant(1, huge)),
		Part:      computed(g, batch, algebra.Constant(1, 0.5)),
		End:       computed(g, batch, algebra.Constant(1, 0)),
	}
	if rate.Rows > 0 {
		rate = computed(g, batch, rate)
		line.rows(g, batch, c.Stiffness, at.Rate, rate)
	}
	for i, v := range c.Visits {
		line.Visits = append(line.Visits, visited{Count: v.Count, Rate: at.Visits[i], Step: visits[i],
			One: visit{Friction: v.All.Friction, Stiffness: v.All.Stiffness}})
	}
	number := func(m algebra.Mask) algebra.Num {
		return computed(g, batch, m.Choose(algebra.Constant(1, 1), algebra.Constant(1, 0)))
	}
	line.Done = number(converged)
	found, end := s.lineSearch(line)
	// Copies that have converged stay while others continue, so that no copy depends on the others.
	length := done.Choose(algebra.Constant(1, 0), found).Materialize()

	// A step to the minimum of a parabola that the cost follows all the way ends there, unless the slope that is left
	// shows that rounding has spoilt it. After other ones, and with bodies that are tied, the next one corrects that.
	if !slices.ContainsFunc(s.equal, equality.tied) {
		left := scale.Scale(tolerance * tolerance).Times(descent)
		exact := end.Square().Less(left).And(descent.Less(scale.Scale(s.exact() * s.exact())))
		converged = converged.Or(exact.And(s.zonesCrossed(line).Below(0.5)))
	}
	at.Done = length.Above(0).Choose(number(converged), algebra.Constant(1, 1))
	move := func(x, by algebra.Num) algebra.Num {
		if x.Rows == 0 {
			return x
		}
		return moved(x, length, computed(g, batch, by))
	}
	for i := range s.dofs {
		at.Acceleration[i] = move(at.Acceleration[i], step[i])
		at.Residual[i] = move(at.Residual[i], product[i])
	}
	at.Rate = move(at.Rate, rate)
	for i := range at.Cones {
		at.Cones[i] = move(at.Cones[i], cones[i])
	}
	for i, v := range c.Visits {
		at.Visits[i] = v.moved(at.Visits[i], length, visits[i])
	}
	return at
}

// exact is the relative size of a step whose rounding does not matter. That of the factor grows with the ratio of the
// constraints' stiffness to inertia: with light links under several elliptic cones of impratio 100, a tenth of a step is
// wrong. The constants are those with which steps of ANYmal C, Spot and Gymnasium's ant are exact to 1e-5.
func (s *System) exact() float64 {
	stiffest := 0.0
	note := func(l law, factor float64) {
		for _, d := range slices.Concat(l.low.Known, l.high.Known) {
			stiffest = max(stiffest, factor*d/(1-d))
		}
	}
	for _, r := range s.rows {
		note(r.law, 1)
	}
	for _, e := range s.equal {
		note(e.law, 1)
	}
	for _, set := range slices.Concat(s.acting, s.selected) {
		factor := 1.0
		if s.elliptic(set) {
			factor = max(1, s.model.Opt.ImpRatio)
		}
		note(set.law, factor)
	}
	return 400 / (stiffest * stiffest)
}

// moved returns x + length by, with one length for all rows.
func moved(x, length, by algebra.Num) algebra.Num {
	if x.Rows == 1 {
		return x.Plus(length.Times(by))
	}
	size := x.Node.Shape().Size()
	sum := Add(x.Matrix(), Mul(length.Matrix(), by.Matrix()))
	return algebra.Num{Rows: x.Rows, Node: Reshape(xla.Store(sum), size)}
}

// scale is a measure of the forces in the norm of the inverse mass matrix.
func (s *System) scale(n newton) algebra.Num {
	forces, weighted := make([]algebra.Num, len(s.dofs)), make([]algebra.Num, len(s.dofs))
	for i := range s.dofs {
		applied := n.At.Residual[i].Plus(n.Force[i])
		forces[i] = applied.Square().Plus(n.Force[i].Square())
		weighted[i] = s.knownDof(i, s.model.DofInvweight0)
	}
	return s.dots(forces, weighted).Add(1e-20)
}

func sumOr(blocks map[[2]int]algebra.Num, key [2]int, x algebra.Num) algebra.Num {
	if sum, ok := blocks[key]; ok {
		return sum.Plus(x)
	}
	return x
}

// keysOf returns the keys of blocks in order: a program's text must not depend on the order of a map.
func keysOf(blocks map[[2]int]algebra.Num) [][2]int {
	return slices.SortedFunc(maps.Keys(blocks), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
}
