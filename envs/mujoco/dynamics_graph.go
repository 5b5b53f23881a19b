package mujoco

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// Spatial vectors of all links are in the order of [System.links]; recursions over the tree have those of each group.

// still is no motion, or no force, of links.
func (s *System) still(rows int) spatial { return spatial{rows: rows, space: s.space} }

// together joins spatial vectors of the links of each group.
func (s *System) together(k kinematics, of []spatial) spatial {
	if !slices.ContainsFunc(of, func(group spatial) bool { return group.Stack != nil }) {
		return s.still(len(s.links))
	}
	var parts []*Node
	graph, batch := k.size()
	for _, group := range of {
		if group.Stack == nil {
			group.Stack = Zeros(graph, shapes.Make(dtypes.Float32, len(s.space), group.rows*batch))
		}
		parts = append(parts, group.Stack)
	}
	return spatial{joinAlong(parts), len(s.links), s.space}
}

// apart is the inverse of together.
func (s *System) apart(all spatial) (of []spatial) {
	for _, g := range s.groups {
		of = append(of, spatial{rowsOf(all.Stack, all.rows, g.first, g.rows()), g.rows(), s.space})
	}
	return of
}

// pack makes spatial vectors of components of which all may be known.
func (s *System) pack(k kinematics, ang, lin algebra.Vector) spatial {
	g, batch := k.size()
	return s.space.pack(g, batch, ang, lin)
}

// forceAt is a force that acts at a point.
func (s *System) forceAt(k kinematics, force, point algebra.Vector) spatial {
	return s.pack(k, point.Cross(force), force)
}

// forward returns the motions of all links by those of the dofs.
func (s *System) forward(k kinematics, x []algebra.Num) spatial {
	out := make([]spatial, len(s.groups))
	for i, g := range s.groups {
		out[i] = s.carried(g, out)
		for _, j := range g.joints {
			out[i] = out[i].plus(s.motion(k, j.column, j.column+j.kind.Dofs(), x)).materialize()
		}
	}
	return s.together(k, out)
}

// carried returns the motions of the parents of a group's links, given those of the groups before.
func (s *System) carried(g *group, of []spatial) spatial {
	if g.parent < 0 {
		return s.still(g.rows())
	}
	return of[g.parent].take(g.parentRow)
}

// motion returns the motion of links relative to their parents by some dofs.
func (s *System) motion(k kinematics, from, to int, x []algebra.Num) spatial {
	if to == from+1 {
		return k.Axis[from].Motion.by(x[from])
	}
	sum := func(i int) algebra.Num { // of several dofs, most components are known to be 0 or 1
		sum := x[from].Zero()
		for c := from; c < to; c++ {
			sum = sum.Plus(k.Axis[c].component(i).Times(x[c]))
		}
		return sum
	}
	return s.pack(k, vectorOf(sum, 0), vectorOf(sum, 3))
}

// project returns the forces on the dofs by spatial forces on all links.
func (s *System) project(k kinematics, all spatial) []algebra.Num {
	sums := s.apart(all) // over the links below
	for i := len(s.groups) - 1; i >= 0; i-- {
		sums[i] = sums[i].materialize()
		if g := s.groups[i]; g.parent >= 0 {
			sums[g.parent] = sums[g.parent].plus(sums[i].into(g.parentRow, s.groups[g.parent].rows()))
		}
	}
	out := make([]algebra.Num, len(s.dofs))
	for c, dof := range s.dofs {
		out[c] = sums[dof.group].dot(k.Axis[c].component).Materialize()
	}
	return out
}

// multiply returns the mass matrix times x, given the motions of the links by x.
func (s *System) multiply(k kinematics, x []algebra.Num, motion spatial) []algebra.Num {
	out := s.project(k, k.Inertia.of(motion.component))
	for c := range out {
		out[c] = out[c].Plus(s.armature(k, c).Times(x[c]))
	}
	return out
}

func (s *System) armature(k kinematics, column int) algebra.Num {
	a := s.knownDof(column, s.model.DofArmature)
	if k.Under.Armature != nil {
		a = a.Times(k.Under.Armature[column])
	}
	return a
}

// armatures are the blocks of the mass matrix.
func (s *System) armatures(k kinematics) blocks {
	b := blocks{}
	for c := range s.dofs {
		b[[2]int{c, c}] = s.armature(k, c)
	}
	return b
}

// knownDof returns known numbers of a dof.
func (s *System) knownDof(column int, of []float64) algebra.Num {
	return algebra.ColumnOf(s.dofs[column].index, func(dof int) float64 { return of[dof] })
}

// motions is how the links move.
type motions struct {
	Drifting     spatial // velocities in the world
	Velocity     spatial // in a frame that moves with the tree, see [System.inverseDynamics]
	Acceleration spatial // less gravity
}

// inverseDynamics returns how the links move, and the forces on the dofs that cause
// accelerations a, without armature. With a = nil these are MuJoCo's qfrc_bias. (The recursive
// Newton-Euler algorithm.)
//
// It computes in frames that move with the trees: with the velocities that the first joints of their roots
// give all of their bodies, which do not matter for forces, and of which float32 would leave noise.
func (s *System) inverseDynamics(k kinematics, v, a []algebra.Num) (of motions, forces []algebra.Num) {
	velocity, acceleration := make([]spatial, len(s.groups)), make([]spatial, len(s.groups))
	drifts := make([]algebra.Vector, len(s.groups))
	for i, g := range s.groups {
		vel, acc, drift := s.carried(g, velocity), s.carried(g, acceleration), zeroVector(g.rows())
		if g.parent >= 0 {
			drift = drifts[g.parent].Take(g.parentRow...)
		} else if s.model.Opt.DisableFlags&DisableGravity == 0 {
			acc = s.pack(k, zeroVector(g.rows()), s.gravity(k, slices.Repeat([]float64{-1}, g.rows())))
		}
		translates := g.parent < 0
		for _, j := range g.joints {
			from, to := j.column, j.column+j.kind.Dofs()
			if a != nil {
				acc = acc.plus(s.motion(k, from, to, a)).materialize()
			}
			if translates = translates && j.kind != Hinge && j.kind != Ball; translates {
				for c := from; c < min(to, from+3); c++ {
					drift = drift.Plus(k.Axis[c].lin().By(v[c]))
				}
				from += 3
			}
			if from < to {
				motion := s.motion(k, from, to, v).materialize()
				acc = acc.plus(vel.crossMotion(motion)).materialize()
				vel = vel.plus(motion).materialize()
			}
		}
		velocity[i], acceleration[i], drifts[i] = vel, acc, drift.Materialize()
	}
	of.Velocity, of.Acceleration = s.together(k, velocity), s.together(k, acceleration)
	momentum := k.Inertia.of(of.Velocity.component).materialize()
	force := k.Inertia.of(of.Acceleration.component).plus(of.Velocity.crossForce(momentum)).materialize()
	of.Drifting = of.Velocity.plus(s.pack(k, zeroVector(len(s.links)), stackVectors(drifts))).materialize()
	return of, s.project(k, force)
}
