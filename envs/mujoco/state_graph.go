package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// split returns the rows of a tensor [n, B], such as qpos, by elements of the groups.
func split(x *Node, elements []element) []algebra.Num {
	all := rowsOf(x)
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

// rowsOf returns a tensor [n, B] as n rows.
func rowsOf(x *Node) algebra.Num {
	return algebra.Num{Rows: x.Shape().Dimensions[0], Node: Reshape(x, -1)}
}
