package mujoco

import "example.com/qdnb/envs/algebra"

// factor is a factorisation of a matrix over the dofs whose pattern is that of the mass matrix: the sum of
// what stiffnesses of the links make of the motions of the dofs, and of blocks of single joints.
//
// It eliminates dofs from the leaves to the roots, as in the articulated-body algorithm: the stiffness
// that a link shows to its parent is what is left of it when its joint is free to give way. No entry is
// filled in, and limbs with the same structure are eliminated together.
type factor struct {
	Inverse []algebra.Num   // of each dof: 1 over its pivot
	Force   []spatial       // of each dof below another link: the force on the parent by a unit acceleration of the dof
	Within  [][]algebra.Num // of each dof: its entries with the later dofs of its joint, over the pivot
}

// factorize factorizes the matrix of links' stiffnesses and joints' blocks. A block has the entries
// (a, b), a <= b, of a joint's dofs; missing entries are 0.
func (s *System) factorize(k kinematics, links []stiffness, blocks map[[2]int]algebra.Num) factor {
	f := factor{make([]algebra.Num, len(s.dofs)), make([]spatial, len(s.dofs)), make([][]algebra.Num, len(s.dofs))}
	links = append([]stiffness{}, links...)
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := s.groups[i]
		link := links[i].materialize()
		for at := len(g.joints) - 1; at >= 0; at-- {
			j := g.joints[at]
			n := j.kind.Dofs()
			forces := make([]spatial, n)
			entries := map[[2]int]algebra.Num{}
			for b := range n {
				forces[b] = link.of(k.Axis[j.column+b]).materialize()
				for a := range b + 1 {
					entry := k.Axis[j.column+a].dot(forces[b])
					if extra, ok := blocks[[2]int{j.column + a, j.column + b}]; ok {
						entry = entry.Plus(extra)
					}
					entries[[2]int{a, b}] = entry.Materialize()
				}
			}
			last := g.parent < 0 && at == 0
			for a := range n {
				c := j.column + a
				f.Inverse[c] = algebra.Constant(g.rows(), 1).Over(entries[[2]int{a, a}])
				for b := a + 1; b < n; b++ {
					over := entries[[2]int{a, b}].Times(f.Inverse[c]).Materialize()
					f.Within[c] = append(f.Within[c], over)
					for d := a + 1; d <= b; d++ {
						key := [2]int{d, b}
						entries[key] = entries[key].Minus(over.Times(entries[[2]int{a, d}])).Materialize()
					}
					if !last {
						forces[b] = forces[b].minus(forces[a].by(over)).materialize()
					}
				}
				if !last {
					f.Force[c] = forces[a]
					link = link.minusDyad(forces[a], forces[a].by(f.Inverse[c]).materialize()).materialize()
				}
			}
		}
		if g.parent >= 0 {
			link = link.inward(k.Arm[i])
			links[g.parent] = links[g.parent].plus(link.each(func(x algebra.Num) algebra.Num { return s.sumDown(g, x) }))
		}
	}
	return f
}

// solve returns the solution x of the factorized matrix times x = b.
func (s *System) solve(k kinematics, f factor, b []algebra.Num) []algebra.Num {
	x := append([]algebra.Num{}, b...)
	over := make([]algebra.Num, len(b)) // x over its pivot
	pushes := make([]spatial, len(s.groups))
	for i, g := range s.groups {
		pushes[i] = noMotion(g.rows())
	}
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := s.groups[i]
		push := pushes[i]
		for at := len(g.joints) - 1; at >= 0; at-- {
			j := g.joints[at]
			n := j.kind.Dofs()
			for a := range n {
				c := j.column + a
				x[c] = x[c].Minus(k.Axis[c].dot(push)).Materialize()
			}
			for a := range n {
				c := j.column + a
				for b, entry := range f.Within[c] {
					x[c+1+b] = x[c+1+b].Minus(entry.Times(x[c])).Materialize()
				}
				over[c] = x[c].Times(f.Inverse[c])
				if g.parent >= 0 || at > 0 {
					push = push.plus(f.Force[c].by(over[c])).materialize()
				}
			}
		}
		if g.parent >= 0 {
			pushes[g.parent] = pushes[g.parent].plus(s.down(g, push.inward(k.Arm[i])))
		}
	}
	motions := make([]spatial, len(s.groups))
	for i, g := range s.groups {
		motion := noMotion(g.rows())
		if g.parent >= 0 {
			motion = motions[g.parent].take(g.parentRow).outward(k.Arm[i])
		}
		for at, j := range g.joints {
			for a := j.kind.Dofs() - 1; a >= 0; a-- {
				c := j.column + a
				x[c] = over[c]
				for b, entry := range f.Within[c] {
					x[c] = x[c].Minus(entry.Times(x[c+1+b]))
				}
				if g.parent >= 0 || at > 0 {
					x[c] = x[c].Minus(f.Force[c].dot(motion).Times(f.Inverse[c]))
				}
				x[c] = x[c].Materialize()
			}
			motion = motion.plus(j.motion(k, x)).materialize()
		}
		motions[i] = motion
	}
	return x
}

// links returns the inertias of the links as stiffnesses.
func (s *System) links(k kinematics) []stiffness {
	all, out := k.Inertia.stiffness(), make([]stiffness, len(s.groups))
	for i := range out {
		out[i] = all.each(func(x algebra.Num) algebra.Num { return s.ofGroup(x, i) })
	}
	return out
}

// armatures are the blocks of the mass matrix.
func (s *System) armatures(k kinematics) map[[2]int]algebra.Num {
	blocks := map[[2]int]algebra.Num{}
	for c := range s.dofs {
		blocks[[2]int{c, c}] = s.armature(k, c)
	}
	return blocks
}
