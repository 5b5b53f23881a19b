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
	Iteration    *Node
	Acceleration []algebra.Num
	Residual     []algebra.Num  // M a - tau
	Force        []algebra.Num  // tau
	Rate         algebra.Num    // J a - aref of the stacked rows
	Cones        [3]algebra.Num // the same of elliptic cones
	Done         algebra.Num    // 1 where the minimum is found, one row
	Kinematics   kinematics
	Constraints  constraints
}

const (
	maxIterations = 30
	// tolerance is the relative size of a step, in the norm of the mass matrix, at which it is the last one.
	tolerance = 1e-5
	// lineTolerance is the relative slope at the end of a line search.
	lineTolerance = 1e-2
	lineSearches  = 12
)

// minimize returns the acceleration under the constraints, given a first guess and M times it minus tau.
func (s *System) minimize(k kinematics, c constraints, guess, residual, force []algebra.Num) newton {
	rate, cones := s.violationRates(k, c, guess, s.forward(k, guess))
	g, batch := sizeOf(residual)
	n := newton{Iteration: Const(g, int32(0)), Kinematics: k, Constraints: c,
		Done: computed(g, batch, algebra.Constant(1, 0))}
	for i := range guess {
		n.Acceleration = append(n.Acceleration, computed(g, batch, guess[i]))
		n.Residual = append(n.Residual, computed(g, batch, residual[i]))
		n.Force = append(n.Force, computed(g, batch, force[i]))
	}
	if rate.Rows > 0 {
		n.Rate = computed(g, batch, rate.Minus(c.Reference))
	}
	for i := range cones {
		if cones[i].Rows > 0 {
			n.Cones[i] = computed(g, batch, cones[i].Minus(c.ConeReference[i]))
		}
	}
	limit := s.options.Iterations
	if limit == 0 {
		limit = maxIterations
	}
	return xla.Loop(n, func(n newton) *Node {
		more := LessThan(n.Iteration, Const(n.Iteration.Graph(), int32(limit)))
		return And(more, LogicalAny(LessThan(n.Done.Node, ScalarOne(n.Done.Graph(), n.Done.Node.DType()))))
	}, s.iterate)
}

// iterate is an iteration of Newton's method.
func (s *System) iterate(n newton) newton {
	k, c := n.Kinematics, n.Constraints
	g, batch := n.Done.Node.Graph(), n.Done.Node.Shape().Size()
	r := s.respond(c, n.Rate, n.Cones)
	dofs, pushes := s.push(c, r.force, r.cone)
	projected := s.project(k, pushes)
	downhill := make([]algebra.Num, len(s.dofs))
	for i := range downhill {
		downhill[i] = dofs[i].Plus(projected[i]).Minus(n.Residual[i]).Materialize()
	}
	springs, blocks, between := s.springs(c, r)
	for i := range springs {
		springs[i] = springs[i].plus(k.Inertia[i].stiffness())
	}
	for i := range s.dofs {
		key := [2]int{i, i}
		blocks[key] = sumOr(blocks, key, s.armature(k, i))
	}
	f := s.factorize(k, springs, blocks)
	var step []algebra.Num
	if len(s.equal)+len(between) > 0 {
		step = s.solveCoupled(k, f, s.coupling(g, batch, c, r, between), downhill)
	} else {
		step = s.solve(k, f, downhill)
	}
	motion := s.forward(k, step)
	product := s.multiply(k, step, motion)
	rate, cones := s.violationRates(k, c, step, motion)

	descent := s.dots(downhill, step)
	done := n.Done.Above(0.5)
	converged := descent.Less(s.scale(n).Scale(tolerance * tolerance)).Or(done)
	line := search{
		Cones: n.Cones, ConeSteps: cones, ConeStiffness: c.ConeStiffness, Friction: c.ConeFriction,
		Slope:     s.dots(n.Residual, step).Materialize(),
		Curvature: s.dots(step, product).Materialize(),
		Descent:   descent.Materialize(),
		Length:    computed(g, batch, algebra.Constant(1, 1)),
		Low:       computed(g, batch, algebra.Constant(1, 0)),
		High:      computed(g, batch, algebra.Constant(1, huge)),
	}
	if rate.Rows > 0 {
		force, change := c.Stiffness.Times(n.Rate).Neg(), c.Stiffness.Times(rate).Neg()
		line.Force, line.ForceStep, line.Step = force.Matrix(), change.Matrix(), rate.Matrix()
		line.Bend = change.Times(rate).Neg().Matrix()
	}
	// A step to the minimum of a parabola that the cost follows all the way ends there. With bodies that are tied
	// it is not exact enough: the next one corrects what rounding left.
	if !slices.ContainsFunc(s.equal, equality.tied) {
		converged = converged.Or(s.zonesCrossed(line).Below(0.5))
	}
	one := algebra.Constant(1, 1)
	line.Done = computed(g, batch, converged.Choose(one, one.Zero()))
	// Copies that have converged stay while others continue, so that no copy depends on the others.
	length := done.Choose(algebra.Constant(1, 0), s.lineSearch(line)).Materialize()

	n.Iteration = AddScalar(n.Iteration, 1)
	n.Done = line.Done
	move := func(x, by algebra.Num) algebra.Num {
		if x.Rows == 0 {
			return x
		}
		return moved(x, length, by)
	}
	for i := range s.dofs {
		n.Acceleration[i] = move(n.Acceleration[i], step[i])
		n.Residual[i] = move(n.Residual[i], product[i])
	}
	n.Rate = move(n.Rate, rate)
	for i := range n.Cones {
		n.Cones[i] = move(n.Cones[i], cones[i])
	}
	return n
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
		applied := n.Residual[i].Plus(n.Force[i])
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
