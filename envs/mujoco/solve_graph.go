package mujoco

import (
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// blocks holds the entries (a, b), a <= b, of a symmetric matrix over dofs, both of one joint; others are 0.
type blocks map[[2]int]algebra.Num

func (m blocks) add(a, b int, x algebra.Num) {
	if sum, ok := m[[2]int{a, b}]; ok {
		x = sum.Plus(x)
	}
	m[[2]int{a, b}] = x
}

// keys returns the keys in order: a program's text must not depend on the order of a map.
func (m blocks) keys() [][2]int {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
}

// at returns an entry, or 0.
func (m blocks) at(a, b, rows int) algebra.Num {
	if x, ok := m[[2]int{min(a, b), max(a, b)}]; ok {
		return x
	}
	return algebra.Constant(rows, 0)
}

// factor is a factorisation of a matrix over the dofs whose pattern is that of the mass matrix: the sum of
// what stiffnesses of the links make of the motions of the dofs, and of blocks of single joints.
//
// It eliminates dofs from the leaves to the roots, as in the articulated-body algorithm: the stiffness
// that a link shows to its parent is what is left of it when its joint is free to give way. No entry is
// filled in, and limbs with the same structure are eliminated together.
type factor struct {
	Inverse  []algebra.Num   // of each dof: 1 over its pivot
	Response []spatial       // of each dof below another link: the force on the parent by a unit force on the dof
	Within   [][]algebra.Num // of each dof: its entries with the later dofs of its joint, over the pivot
	Free     []stiffness     // of each group of links on free joints: the inverse of their stiffness
}

// free reports whether the links of a group are on free joints: their motions are those of the dofs.
func (g *group) free() bool { return g.joints[0].kind == Free }

// freeDofs returns the components of a spatial vector of links on free joints in the order of a vector over the dofs, or
// the other way round.
func freeDofs[T any](of [6]T) [6]T { return [6]T{of[3], of[4], of[5], of[0], of[1], of[2]} }

// factorize factorizes the matrix of all links' stiffnesses and joints' blocks.
func (s *System) factorize(k kinematics, all stiffness, joints blocks) factor {
	f := factor{make([]algebra.Num, len(s.dofs)), make([]spatial, len(s.dofs)), make([][]algebra.Num, len(s.dofs)),
		make([]stiffness, len(s.groups))}
	var links []stiffness
	for _, g := range s.groups {
		links = append(links, stiffness{rowsOf(all.Stack, all.rows, g.first, g.rows()), g.rows(), s.space})
	}
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := s.groups[i]
		link := links[i].materialize()
		if g.free() {
			f.Free[i] = s.freed(k, g, link, joints)
			continue
		}
		for at := len(g.joints) - 1; at >= 0; at-- {
			from, n := g.joints[at].column, g.joints[at].kind.Dofs()
			forces := make([]spatial, n)
			entries := blocks{}
			for b := range n {
				forces[b] = link.of(k.Axis[from+b].component).materialize()
				for a := range b + 1 {
					entry := forces[b].dot(k.Axis[from+a].component).Plus(joints.at(from+a, from+b, g.rows()))
					entries[[2]int{a, b}] = entry.Materialize()
				}
			}
			last := g.parent < 0 && at == 0
			for a := range n {
				c := from + a
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
					f.Response[c] = forces[a].by(f.Inverse[c]).materialize()
					link = link.minusDyad(forces[a], f.Response[c]).materialize()
				}
			}
		}
		if g.parent >= 0 {
			links[g.parent] = links[g.parent].plus(link.into(g.parentRow, s.groups[g.parent].rows()))
		}
	}
	return f
}

// freed returns the inverse of the stiffness of links on free joints.
func (s *System) freed(k kinematics, g *group, link stiffness, joints blocks) stiffness {
	dofs := freeDofs([6]int{0, 1, 2, 3, 4, 5})
	var parts []*Node
	own := false
	graph, batch := k.size()
	for _, a := range dofs {
		for _, b := range dofs {
			x := joints.at(g.joints[0].column+a, g.joints[0].column+b, g.rows())
			own = own || !x.Is(0)
			parts = append(parts, x.Spread(graph, batch))
		}
	}
	if own {
		link.Stack = xla.Store(Add(link.Stack, Reshape(xla.Join(parts), 6, 6, -1)))
	}
	link.Stack = inverted(link.Stack)
	return link
}

// inverted returns the inverses of matrices [n, n, m] that are positive definite, by Gauss and Jordan's method.
func inverted(x *Node) *Node {
	n, m := x.Shape().Dimensions[0], x.Shape().Dimensions[2]
	wide := func(x *Node) *Node { return BroadcastToDims(x, n, n, m) }
	for i := range n {
		others := make([]float32, n) // 0 at i
		for j := range others {
			others[j] = number32(j != i)
		}
		rows, columns := Const(x.Graph(), others), Const(x.Graph(), others)
		rows, columns = Reshape(rows, n, 1, 1), Reshape(columns, 1, n, 1)
		row := Slice(x, AxisElem(i))
		pivot := Inverse(Slice(row, AxisRange(), AxisElem(i)))
		keep := BroadcastToDims(columns, 1, n, m)
		over := xla.Store(Mul(BroadcastToDims(pivot, 1, n, m), Add(Mul(row, keep), OneMinus(keep))))
		column := Mul(Slice(x, AxisRange(), AxisElem(i)), BroadcastToDims(rows, n, 1, m))
		rest := Sub(Mul(x, Mul(wide(rows), wide(columns))), Mul(wide(column), wide(over)))
		x = xla.Store(Add(rest, Mul(OneMinus(wide(rows)), wide(over))))
	}
	return x
}

func number32(b bool) float32 { return float32(number(b)) }

// solve returns the solution x of the factorized matrix times x = b.
func (s *System) solve(k kinematics, f factor, b []algebra.Num) []algebra.Num {
	x := append([]algebra.Num{}, b...)
	pushes := s.apart(s.still(len(s.links)))
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := s.groups[i]
		pushes[i] = pushes[i].materialize()
		if g.free() {
			continue
		}
		push := pushes[i]
		for at := len(g.joints) - 1; at >= 0; at-- {
			from, n := g.joints[at].column, g.joints[at].kind.Dofs()
			for c := from; c < from+n; c++ {
				x[c] = x[c].Minus(push.dot(k.Axis[c].component)).Materialize()
			}
			for c := from; c < from+n; c++ {
				for b, over := range f.Within[c] {
					x[c+1+b] = x[c+1+b].Minus(over.Times(x[c])).Materialize()
				}
				if g.parent >= 0 || at > 0 {
					push = push.plus(f.Response[c].by(x[c])).materialize()
				}
			}
		}
		if g.parent >= 0 {
			pushes[g.parent] = pushes[g.parent].plus(push.into(g.parentRow, s.groups[g.parent].rows()))
		}
	}
	motions := make([]spatial, len(s.groups))
	for i, g := range s.groups {
		motions[i] = s.carried(g, motions)
		if g.free() {
			force := s.motion(k, g.joints[0].column, g.joints[0].column+6, x).minus(pushes[i]).materialize()
			motions[i] = f.Free[i].of(force.component).materialize()
			for a, component := range freeDofs([6]int{0, 1, 2, 3, 4, 5}) {
				x[g.joints[0].column+a] = motions[i].component(component)
			}
			continue
		}
		for at, j := range g.joints {
			for c := j.column + j.kind.Dofs() - 1; c >= j.column; c-- {
				x[c] = x[c].Times(f.Inverse[c])
				for b, over := range f.Within[c] {
					x[c] = x[c].Minus(over.Times(x[c+1+b]))
				}
				if g.parent >= 0 || at > 0 {
					x[c] = x[c].Minus(f.Response[c].dot(motions[i].component))
				}
				x[c] = x[c].Materialize()
			}
			motions[i] = motions[i].plus(s.motion(k, j.column, j.column+j.kind.Dofs(), x)).materialize()
		}
	}
	return x
}
