package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// forward returns the motions of the links of each group by those of the dofs.
func (s *System) forward(k kinematics, x []algebra.Num) []spatial {
	out := make([]spatial, len(s.groups))
	for i, g := range s.groups {
		v := noMotion(g.rows())
		if g.parent >= 0 {
			v = out[g.parent].take(g.parentRow).outward(k.Arm[i])
		}
		for _, j := range g.joints {
			v = v.plus(j.motion(k, x)).each(algebra.Num.Store)
		}
		out[i] = v
	}
	return out
}

// motion returns the motion of a joint's links relative to their parents.
func (j joint) motion(k kinematics, x []algebra.Num) spatial {
	return sumOver(j.column, j.column+j.kind.Dofs(), k, x)
}

func sumOver(from, to int, k kinematics, x []algebra.Num) spatial {
	v := k.Axis[from].by(x[from])
	for c := from + 1; c < to; c++ {
		v = v.plus(k.Axis[c].by(x[c]))
	}
	return v
}

// subtree sums spatial forces on the links of each group over the links below them.
func (s *System) subtree(k kinematics, of []spatial) []spatial {
	out := append([]spatial{}, of...)
	for i := len(s.groups) - 1; i >= 0; i-- {
		out[i] = out[i].materialize()
		if g := s.groups[i]; g.parent >= 0 {
			out[g.parent] = out[g.parent].plus(s.down(g, out[i].inward(k.Arm[i])))
		}
	}
	return out
}

// down sums spatial vectors of a group over the children of each parent.
func (s *System) down(g *group, of spatial) spatial {
	return of.each(func(x algebra.Num) algebra.Num { return s.sumDown(g, x) })
}

func (s *System) sumDown(g *group, x algebra.Num) algebra.Num {
	return algebra.SegmentSum(s.groups[g.parent].rows(), algebra.Term{Value: x, To: algebra.Each(g.parentRow)})
}

// project returns the forces on the dofs by spatial forces on the links of each group.
func (s *System) project(k kinematics, of []spatial) []algebra.Num {
	sums := s.subtree(k, of)
	out := make([]algebra.Num, len(s.dofs))
	for c, dof := range s.dofs {
		out[c] = k.Axis[c].dot(sums[dof.group]).Materialize()
	}
	return out
}

// multiply returns the mass matrix times x, given the motions of the links by x.
func (s *System) multiply(k kinematics, x []algebra.Num, motions []spatial) []algebra.Num {
	out := s.project(k, s.byGroup(k.Inertia.of(s.ofLinks(motions)).materialize()))
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

// knownDof returns known numbers of a dof.
func (s *System) knownDof(column int, of []float64) algebra.Num {
	return algebra.ColumnOf(s.dofs[column].index, func(dof int) float64 { return of[dof] })
}

// motions is how the links of each group move.
type motions struct {
	Drifting     []spatial // velocities in the world
	Velocity     []spatial // in a frame that moves with the tree, see [System.inverseDynamics]
	Acceleration []spatial // less gravity
}

// inverseDynamics returns how the links of each group move, and the forces on the dofs that cause
// accelerations a, without armature. With a = nil these are MuJoCo's qfrc_bias. (The recursive
// Newton-Euler algorithm.)
//
// It computes in frames that move with the trees: with the velocities that the first joints of their roots
// give all of their bodies, which do not matter for forces, and of which float32 would leave noise.
func (s *System) inverseDynamics(k kinematics, v, a []algebra.Num) (of motions, forces []algebra.Num) {
	velocity, drifting := make([]spatial, len(s.groups)), make([]spatial, len(s.groups))
	acceleration := make([]spatial, len(s.groups))
	drifts := make([]algebra.Vector, len(s.groups))
	for i, g := range s.groups {
		vel, acc := noMotion(g.rows()), noMotion(g.rows())
		drift := zeroVector(g.rows())
		if g.parent >= 0 {
			drift = drifts[g.parent].Take(g.parentRow...)
			vel = velocity[g.parent].take(g.parentRow).outward(k.Arm[i])
			acc = acceleration[g.parent].take(g.parentRow).outward(k.Arm[i])
		} else if s.model.Opt.DisableFlags&DisableGravity == 0 {
			acc.Lin = s.gravity(k, slices.Repeat([]float64{-1}, g.rows()))
		}
		translates := g.parent < 0
		for _, j := range g.joints {
			from, to := j.column, j.column+j.kind.Dofs()
			if j.kind == Free {
				from += 3
			}
			if translates = translates && j.kind != Hinge && j.kind != Ball; translates {
				drift = drift.Plus(sumOver(j.column, min(to, j.column+3), k, v).Lin)
			}
			if translates && j.kind == Slide {
				if a != nil {
					acc = acc.plus(j.motion(k, a)).materialize()
				}
				continue
			}
			motion := sumOver(from, to, k, v).materialize()
			acc = acc.plus(vel.crossMotion(motion))
			vel = vel.plus(motion).materialize()
			if a != nil {
				acc = acc.plus(j.motion(k, a))
			}
			acc = acc.materialize()
		}
		velocity[i], acceleration[i] = vel.each(algebra.Num.Store), acc.each(algebra.Num.Store)
		drifts[i] = drift.Materialize()
		drifting[i] = spatial{vel.Ang, vel.Lin.Plus(drifts[i])}.materialize()
	}
	vel := s.ofLinks(velocity)
	momentum := k.Inertia.of(vel).materialize()
	force := k.Inertia.of(s.ofLinks(acceleration)).plus(vel.crossForce(momentum)).materialize()
	return motions{drifting, velocity, acceleration}, s.project(k, s.byGroup(force))
}
