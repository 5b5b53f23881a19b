package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// Contacts between links and equalities of joints do not keep the pattern of the mass matrix. The factor leaves
// them out, and preconditions the method of conjugate gradients, which takes about as many iterations as
// they have rows.

// coupled reports whether links can touch each other, or joints are held equal.
func (s *System) coupled() bool {
	if len(s.equal) > 0 {
		return true
	}
	for _, set := range s.contacts {
		if set.sides[0].group == anyLink {
			return true
		}
	}
	return false
}

const (
	conjugateIterations = 25
	conjugateTolerance  = 1e-6 // of the residual in the norm of the inverse factor
)

// descent is the state of the method.
type descent struct {
	Iteration              *Node
	X, Residual, Direction []algebra.Num
	Norm, Start            algebra.Num // of the residual, squared
	Kinematics             kinematics
	Constraints            constraints
	Factor                 factor
	Slope                  algebra.Num
	ConeSlope              [6]algebra.Num
}

// conjugate returns the solution x of the Newton system H x = b.
func (s *System) conjugate(k kinematics, c constraints, r response, f factor, b, first []algebra.Num) []algebra.Num {
	g, batch := sizeOf(b)
	d := descent{Iteration: Const(g, int32(0)), Kinematics: k, Constraints: c, Factor: f, Slope: r.slope}
	for i, key := range conePairs {
		d.ConeSlope[i] = r.coneSlope[key]
	}
	for i := range b {
		d.X = append(d.X, computed(g, batch, algebra.Constant(b[i].Rows, 0)))
		d.Residual = append(d.Residual, computed(g, batch, b[i]))
		d.Direction = append(d.Direction, computed(g, batch, first[i]))
	}
	d.Norm = computed(g, batch, s.dots(b, first))
	d.Start = d.Norm
	return xla.Loop(d, func(d descent) *Node {
		more := LessThan(d.Iteration, Const(d.Iteration.Graph(), int32(conjugateIterations)))
		left := d.Start.Scale(conjugateTolerance * conjugateTolerance).Less(d.Norm)
		return And(more, LogicalAny(left.Node))
	}, func(d descent) descent {
		g, batch := sizeOf(d.X)
		motion := s.forward(d.Kinematics, d.Direction)
		product := s.multiply(d.Kinematics, d.Direction, motion)
		rate, cones := s.violationRates(d.Kinematics, d.Constraints, d.Direction, motion)
		force := rate
		if rate.Rows > 0 {
			force = d.Slope.Times(rate).Materialize()
		}
		var coneForce [3]algebra.Num
		if cones[0].Rows > 0 {
			k := d.ConeSlope
			along := symmetric{k[0], k[1], k[2], k[3], k[4], k[5]}.of(algebra.Vector{X: cones[0], Y: cones[1], Z: cones[2]})
			along = along.Materialize()
			coneForce = [3]algebra.Num{along.X, along.Y, along.Z}
		}
		dofs, pushes := s.push(d.Constraints, force, coneForce)
		for i, pushed := range s.project(d.Kinematics, pushes) {
			product[i] = product[i].Plus(dofs[i]).Plus(pushed).Materialize()
		}
		tiny := algebra.Constant(1, 1e-30)
		length := d.Norm.Over(s.dots(d.Direction, product).Max(tiny)).Materialize()
		for i := range d.X {
			n := d.X[i].Rows
			d.X[i] = d.X[i].Plus(spread(length, n).Times(d.Direction[i]))
			d.Residual[i] = d.Residual[i].Minus(spread(length, n).Times(product[i]))
		}
		conditioned := s.solve(d.Kinematics, d.Factor, d.Residual)
		norm := s.dots(d.Residual, conditioned).Materialize()
		share := norm.Over(d.Norm.Max(tiny)).Materialize()
		for i := range d.X {
			d.Direction[i] = computed(g, batch, conditioned[i].Plus(spread(share, d.X[i].Rows).Times(d.Direction[i])))
		}
		d.Norm = computed(g, batch, norm)
		d.Iteration = AddScalar(d.Iteration, 1)
		return d
	}).X
}

// conePairs are the entries of the symmetric slopes of cones.
var conePairs = [6][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}
