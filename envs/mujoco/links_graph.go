package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// trees is the number of trees of links.
func (s *System) trees() (n int) {
	for _, g := range s.groups {
		if g.parent < 0 {
			n += g.rows()
		}
	}
	return n
}

// placed returns one of the vectors of [kinematics.placed] of the links of a side.
func (s *System) placed(k kinematics, side side, which int) algebra.Vector {
	if which == 4 && s.trees() == 1 { // all links have one origin
		return k.Origin[0].Each(func(x algebra.Num) algebra.Num { return spread(x, len(side.link)) })
	}
	if side.group == anyLink {
		return k.Links[which].Each(func(x algebra.Num) algebra.Num { return gather(x, side.link) })
	}
	return s.linksOf(side, func(group int) algebra.Vector { return k.placed(group)[which] })
}

// turnOf returns the rotations of the links of a side.
func (s *System) turnOf(k kinematics, side side) algebra.Rotation {
	return algebra.Rotation{X: s.placed(k, side, 0), Y: s.placed(k, side, 1), Z: s.placed(k, side, 2)}
}

// ofAllLinks stacks vectors of the links of all groups.
func (s *System) ofAllLinks(of func(group int) algebra.Vector) algebra.Vector {
	var all []algebra.Vector
	for i := range s.groups {
		all = append(all, of(i))
	}
	return stackVectors(all)
}

// ofLinks stacks spatial vectors of the links of all groups, given those of each. What is no recursion computes
// with them, in fewer operations.
func (s *System) ofLinks(each []spatial) spatial {
	return spatial{s.ofAllLinks(func(group int) algebra.Vector { return each[group].Ang }),
		s.ofAllLinks(func(group int) algebra.Vector { return each[group].Lin })}
}

// ofGroup returns the rows of a group of a num of all links.
func (s *System) ofGroup(x algebra.Num, group int) algebra.Num {
	first := 0
	for _, g := range s.groups[:group] {
		first += g.rows()
	}
	return x.Slice(first, s.groups[group].rows())
}

// byGroup returns the spatial vectors of each group, given those of all links.
func (s *System) byGroup(all spatial) (each []spatial) {
	for i := range s.groups {
		each = append(each, all.each(func(x algebra.Num) algebra.Num { return s.ofGroup(x, i) }))
	}
	return each
}

// linksOf returns vectors of the links of a side, given those of each group.
func (s *System) linksOf(side side, of func(group int) algebra.Vector) algebra.Vector {
	if side.group != anyLink {
		return of(side.group).Take(side.link...)
	}
	return s.ofAllLinks(of).Each(func(x algebra.Num) algebra.Num { return gather(x, side.link) })
}

// gather selects rows by an operation that costs the same however irregular they are.
func gather(x algebra.Num, of []int) algebra.Num {
	if x.Node == nil {
		return x.Take(of...)
	}
	index := make([][]int32, len(of))
	for i, row := range of {
		index[i] = []int32{int32(row)}
	}
	batch := x.Node.Shape().Size() / x.Rows
	picked := Gather(Reshape(x.Node, x.Rows, batch), Const(x.Node.Graph(), index))
	// Stored, because XLA:CPU would gather again for each user.
	return algebra.Num{Rows: len(of), Node: xla.Store(Reshape(xla.Store(picked), len(of)*batch))}
}
