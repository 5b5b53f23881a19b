package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// split returns the rows of a tensor [n, B], such as qpos, by elements of the groups.
func split(x *Node, elements []element) []algebra.Num {
	n, batch := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	all := algebra.Num{Rows: n, Node: Reshape(x, n*batch)}
	out := make([]algebra.Num, len(elements))
	for i, e := range elements {
		out[i] = all.Take(e.index...)
	}
	return out
}

// join is the inverse of split.
func join(g *Graph, n, batch int, of []algebra.Num, elements []element) *Node {
	rows, at := make([]int, n), 0
	var parts []algebra.Num
	for i, e := range elements {
		for _, to := range e.index {
			rows[to] = at
			at++
		}
		parts = append(parts, computed(g, batch, of[i]))
	}
	all := materializedStack(parts)
	if !slices.IsSorted(rows) {
		all = gather(all, rows)
	}
	return all.Matrix()
}

// splitControl returns the controls [nu, B] of the drives.
func (s *System) splitControl(u *Node) []algebra.Num {
	if u == nil {
		return nil
	}
	elements := make([]element, len(s.drives))
	for i, d := range s.drives {
		elements[i].index = make([]int, len(d.id))
		for row, id := range d.id {
			elements[i].index[row] = max(id, 0)
		}
	}
	return split(u, elements)
}
