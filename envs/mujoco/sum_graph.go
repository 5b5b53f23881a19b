package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// sumRows sums row i of x into row to[i] of n rows.
func sumRows(n int, x algebra.Num, to []int) algebra.Num {
	return algebra.SegmentSum(n, algebra.Term{Value: x, To: algebra.Each(to)})
}

// dots returns the sum over all dofs of a b, one row.
func (s *System) dots(a, b []algebra.Num) algebra.Num {
	sums := map[int]algebra.Num{}
	for c, dof := range s.dofs {
		product := a[c].Times(b[c])
		if sum, ok := sums[dof.group]; ok {
			product = product.Plus(sum)
		}
		sums[dof.group] = product
	}
	total := algebra.Constant(1, 0)
	for i := range s.groups {
		total = total.Plus(sums[i].Materialize().Sum())
	}
	return total
}

// spread returns a num of one row for each of n rows.
func spread(x algebra.Num, n int) algebra.Num { return x.Take(make([]int, n)...) }

// computed returns x as a tensor of the graph.
func computed(g *Graph, batch int, x algebra.Num) algebra.Num {
	return algebra.Num{Rows: x.Rows, Node: x.Spread(g, batch)}
}

// sizeOf returns the graph of nums and the number of copies.
func sizeOf(of []algebra.Num) (*Graph, int) {
	for _, x := range of {
		if x.Node != nil {
			return x.Node.Graph(), x.Node.Shape().Size() / x.Rows
		}
	}
	panic("all numbers are known")
}
