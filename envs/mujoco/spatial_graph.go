package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// space lists the components of spatial vectors that a system needs, of 0 to 5: those in which its dofs move it, and
// gravity's. The links of a planar robot have three. What acts along others does no work.
type space []int

// spatial holds spatial vectors in the axes of the world about the origin of a tree: velocities or accelerations
// (angular, and linear of the point at the origin), or forces (torque about the origin, and force). All components
// are in one tensor, so that an operation is one loop.
type spatial struct {
	Stack *Node // [components of the space, rows * B]; nil: 0
	rows  int
	space space
}

// pack makes spatial vectors. The components may be known.
func (s space) pack(g *Graph, batch int, ang, lin algebra.Vector) spatial {
	out, zero := spatial{rows: ang.X.Rows, space: s}, true
	all := [6]algebra.Num{ang.X, ang.Y, ang.Z, lin.X, lin.Y, lin.Z}
	var parts []*Node
	for _, i := range s {
		zero = zero && all[i].Is(0)
		parts = append(parts, all[i].Spread(g, batch))
	}
	if !zero {
		out.Stack = Reshape(xla.Join(parts), len(s), -1)
	}
	return out
}

// component returns one of the six components.
func (a spatial) component(i int) algebra.Num {
	at := slices.Index(a.space, i)
	if a.Stack == nil || at < 0 {
		return algebra.Constant(a.rows, 0)
	}
	return algebra.Num{Rows: a.rows, Node: Reshape(Slice(a.Stack, AxisElem(at)), -1)}
}

func (a spatial) ang() algebra.Vector { return vectorOf(a.component, 0) }
func (a spatial) lin() algebra.Vector { return vectorOf(a.component, 3) }

// vectorOf returns three components from one on.
func vectorOf(component func(i int) algebra.Num, from int) algebra.Vector {
	return algebra.Vector{X: component(from), Y: component(from + 1), Z: component(from + 2)}
}

func (a spatial) plus(b spatial) spatial {
	a.Stack = sumOf(a.Stack, b.Stack)
	return a
}

func (a spatial) by(k algebra.Num) spatial {
	a.Stack = scaled(a.Stack, k)
	return a
}

func (a spatial) minus(b spatial) spatial {
	switch {
	case b.Stack == nil:
	case a.Stack == nil:
		a.Stack = Neg(b.Stack)
	default:
		a.Stack = Sub(a.Stack, b.Stack)
	}
	return a
}

func (a spatial) dot(component func(i int) algebra.Num) algebra.Num {
	sum := algebra.Constant(a.rows, 0)
	for _, i := range a.space {
		sum = sum.Plus(component(i).Times(a.component(i)))
	}
	return sum
}

func (a spatial) materialize() spatial {
	a.Stack = stored(a.Stack)
	return a
}

func (a spatial) take(rows []int) spatial {
	a.Stack, a.rows = takeRows(a.Stack, a.rows, rows), len(rows)
	return a
}

// into sums row i into row to[i] of so many rows.
func (a spatial) into(to []int, rows int) spatial {
	a.Stack, a.rows = sumRows(a.Stack, to, rows), rows
	return a
}

// at is the linear part of a motion at a point.
func (a spatial) at(point algebra.Vector) algebra.Vector { return a.lin().Plus(a.ang().Cross(point)) }

// crossMotion is the rate of change of a motion b that moves with velocity a.
func (a spatial) crossMotion(b spatial) spatial {
	return a.crossed(b, a.ang().Cross(b.ang()), a.ang().Cross(b.lin()).Plus(a.lin().Cross(b.ang())))
}

// crossForce is the rate of change of a momentum b that moves with velocity a.
func (a spatial) crossForce(b spatial) spatial {
	return a.crossed(b, a.ang().Cross(b.ang()).Plus(a.lin().Cross(b.lin())), a.ang().Cross(b.lin()))
}

func (a spatial) crossed(b spatial, ang, lin algebra.Vector) spatial {
	if a.Stack == nil || b.Stack == nil {
		return spatial{rows: a.rows, space: a.space}
	}
	return a.space.pack(a.Stack.Graph(), a.Stack.Shape().Dimensions[1]/a.rows, ang, lin)
}

// axis is the motion of links by a dof.
type axis struct {
	Motion spatial        // without a tensor on the host
	known  [6]algebra.Num // components that are known; others have no rows
}

func (s space) axis(g *Graph, batch int, ang, lin algebra.Vector) (a axis) {
	for i, x := range []algebra.Num{ang.X, ang.Y, ang.Z, lin.X, lin.Y, lin.Z} {
		if x.Node == nil {
			a.known[i] = x
		}
	}
	if a.Motion = (spatial{rows: ang.X.Rows, space: s}); g != nil {
		a.Motion = s.pack(g, batch, ang, lin)
	}
	return a
}

func (a axis) component(i int) algebra.Num {
	if a.known[i].Rows > 0 {
		return a.known[i]
	}
	return a.Motion.component(i)
}

func (a axis) ang() algebra.Vector { return vectorOf(a.component, 0) }
func (a axis) lin() algebra.Vector { return vectorOf(a.component, 3) }

// stiffness holds symmetric matrices that make spatial forces of motions, such as inertias.
type stiffness struct {
	Stack *Node // [components, components, rows * B]; nil: 0
	rows  int
	space space
}

func (k stiffness) plus(o stiffness) stiffness {
	k.Stack = sumOf(k.Stack, o.Stack)
	return k
}

func (k stiffness) materialize() stiffness {
	k.Stack = stored(k.Stack)
	return k
}

func (k stiffness) into(to []int, rows int) stiffness {
	k.Stack, k.rows = sumRows(k.Stack, to, rows), rows
	return k
}

// of returns the force of a motion with some components.
func (k stiffness) of(component func(i int) algebra.Num) spatial {
	out := spatial{rows: k.rows, space: k.space}
	for at, i := range k.space {
		if x := component(i); k.Stack != nil && !x.Is(0) {
			column := Reshape(Slice(k.Stack, AxisElem(at)), k.Stack.Shape().Dimensions[1:]...)
			out.Stack = sumOf(out.Stack, scaled(column, x))
		}
	}
	return out
}

// plusDyad returns k + u w', which must be symmetric.
func (k stiffness) plusDyad(u, w spatial) stiffness {
	if u.Stack != nil && w.Stack != nil {
		k.Stack = sumOf(k.Stack, outer(u.Stack, w.Stack))
	}
	return k
}

func (k stiffness) minusDyad(u, w spatial) stiffness {
	k.Stack = Sub(k.Stack, outer(u.Stack, w.Stack))
	return k
}

// outer returns the products of the first axes of tensors [n, m].
func outer(u, w *Node) *Node {
	n, m := u.Shape().Dimensions[0], u.Shape().Dimensions[1]
	return Mul(BroadcastToDims(Reshape(u, n, 1, m), n, n, m), BroadcastToDims(Reshape(w, 1, n, m), n, n, m))
}

// inertia returns the inertia of rigid bodies by moments about the origin, mass, and mass times the position of the
// centre.
func (s space) inertia(g *Graph, batch int, moment [3][3]algebra.Num, first algebra.Vector, mass algebra.Num) stiffness {
	zero := mass.Zero()
	h := [3][3]algebra.Num{{zero, first.Z.Neg(), first.Y}, {first.Z, zero, first.X.Neg()}, {first.Y.Neg(), first.X, zero}}
	entry := func(i, j int) algebra.Num {
		switch {
		case i < 3 && j < 3:
			return moment[i][j]
		case i < 3:
			return h[i][j-3]
		case j < 3:
			return h[j][i-3]
		case i == j:
			return mass
		}
		return zero
	}
	var parts []*Node
	for _, i := range s {
		for _, j := range s {
			parts = append(parts, entry(i, j).Spread(g, batch))
		}
	}
	return stiffness{Reshape(xla.Join(parts), len(s), len(s), -1), mass.Rows, s}
}

// momentsAbout returns the moments of inertia about a point at -r of bodies with two principal axes and moments: of
// the first two less the third.
func momentsAbout(r algebra.Vector, mass, third algebra.Num, axes [2]algebra.Vector,
	moments [2]algebra.Num) (out [3][3]algebra.Num) {
	diagonal := third.Plus(r.Dot(r).Times(mass))
	vectors := [3][3]algebra.Num{components(axes[0]), components(axes[1]), components(r)}
	weights := [3]algebra.Num{moments[0], moments[1], mass.Neg()}
	for i := range 3 {
		for j := i; j < 3; j++ {
			entry := mass.Zero()
			if i == j {
				entry = diagonal
			}
			for k, v := range vectors {
				entry = entry.Plus(v[i].Times(weights[k]).Times(v[j]))
			}
			out[i][j] = entry.Materialize()
			out[j][i] = out[i][j]
		}
	}
	return out
}

// What follows treats tensors whose last axis is [rows * B].

// sumOf returns a + b, of which nil is 0.
func sumOf(a, b *Node) *Node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return Add(a, b)
}

func stored(x *Node) *Node {
	if x == nil {
		return nil
	}
	return xla.Store(x)
}

// scaled multiplies the rows of a tensor.
func scaled(x *Node, by algebra.Num) *Node {
	if x == nil || by.Is(0) {
		return nil
	} else if by.Is(1) {
		return x
	}
	dims := slices.Clone(x.Shape().Dimensions)
	last := dims[len(dims)-1]
	for i := range dims[:len(dims)-1] {
		dims[i] = 1
	}
	factor := Reshape(by.Spread(x.Graph(), last/by.Rows), dims...)
	return Mul(x, BroadcastToShape(factor, x.Shape()))
}

// rowsOf returns count rows of n from one on.
func rowsOf(x *Node, n, from, count int) *Node {
	if x == nil || count == n {
		return x
	}
	spec := make([]SliceAxisSpec, x.Rank())
	for i := range spec {
		spec[i] = AxisRange()
	}
	batch := x.Shape().Dimensions[x.Rank()-1] / n
	spec[x.Rank()-1] = AxisRange(from*batch, (from+count)*batch)
	return Slice(x, spec...)
}

// takeRows selects rows of n, in any order and with repetitions.
func takeRows(x *Node, n int, rows []int) *Node {
	if x == nil {
		return nil
	}
	runs := 1
	for i := 1; i < len(rows); i++ {
		if rows[i] != rows[i-1]+1 {
			runs++
		}
	}
	if runs > maxRuns {
		return gatherRows(x, n, rows)
	}
	return joinRows(x, len(rows), func(start int) (*Node, int) {
		end := start + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		return rowsOf(x, n, rows[start], end-start), end
	})
}

// maxRuns is the number of runs up to which rows are copied one run after the other.
const maxRuns = 12

// gatherRows is takeRows by an operation that costs the same however irregular the rows are.
func gatherRows(x *Node, n int, rows []int) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	batch := dims[len(dims)-1] / n
	var index [][]int32
	for block := range x.Shape().Size() / (n * batch) {
		for _, row := range rows {
			index = append(index, []int32{int32(block*n + row)})
		}
	}
	dims[len(dims)-1] = len(rows) * batch
	return Reshape(xla.Store(Gather(Reshape(x, -1, batch), Const(x.Graph(), index))), dims...)
}

// sumRows sums row i into row to[i] of so many rows.
func sumRows(x *Node, to []int, rows int) *Node {
	if x == nil {
		return nil
	}
	sources := make([][]int, rows)
	for i, row := range to {
		sources[row] = append(sources[row], i)
	}
	return joinRows(x, rows, func(start int) (sum *Node, end int) {
		follows := func(a, b int) bool { return b == a+1 }
		for end = start + 1; end < rows && slices.EqualFunc(sources[end-1], sources[end], follows); {
			end++
		}
		if len(sources[start]) == 0 {
			return ZerosLike(rowsOf(x, len(to), 0, 1)), start + 1
		}
		for _, row := range sources[start] {
			sum = sumOf(sum, rowsOf(x, len(to), row, end-start))
		}
		return sum, end
	})
}

// joinRows joins runs of rows, given each and where the next one starts.
func joinRows(x *Node, rows int, run func(start int) (part *Node, end int)) *Node {
	var parts []*Node
	for start := 0; start < rows; {
		part, end := run(start)
		parts, start = append(parts, part), end
	}
	return joinAlong(parts)
}

// joinAlong is [xla.Join] along the last axis.
func joinAlong(parts []*Node) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	for i := range parts {
		parts[i] = xla.Store(parts[i])
	}
	return xla.Store(Concatenate(parts, parts[0].Rank()-1))
}

func zeroVector(n int) algebra.Vector {
	return algebra.Vector{X: algebra.Constant(n, 0), Y: algebra.Constant(n, 0), Z: algebra.Constant(n, 0)}
}

// unit is a known unit vector of n rows.
func unit(n, axis int) algebra.Vector {
	v := [3]algebra.Num{algebra.Constant(n, 0), algebra.Constant(n, 0), algebra.Constant(n, 0)}
	v[axis] = algebra.Constant(n, 1)
	return algebra.Vector{X: v[0], Y: v[1], Z: v[2]}
}

func components(v algebra.Vector) [3]algebra.Num { return [3]algebra.Num{v.X, v.Y, v.Z} }

// component returns a component of a vector.
func component(v algebra.Vector, axis int) algebra.Num { return components(v)[axis] }

// turned is the rotation's product with another.
func turned(r, o algebra.Rotation) algebra.Rotation {
	return algebra.Rotation{X: r.Of(o.X), Y: r.Of(o.Y), Z: r.Of(o.Z)}
}

// inverse returns the components of v along the columns of a rotation.
func inverse(r algebra.Rotation, v algebra.Vector) algebra.Vector {
	return algebra.Vector{X: r.X.Dot(v), Y: r.Y.Dot(v), Z: r.Z.Dot(v)}
}

// takeRotation selects rows of a rotation.
func takeRotation(r algebra.Rotation, of []int) algebra.Rotation {
	return algebra.Rotation{X: r.X.Take(of...), Y: r.Y.Take(of...), Z: r.Z.Take(of...)}
}

func materializeRotation(r algebra.Rotation) algebra.Rotation {
	return algebra.Rotation{X: r.X.Materialize(), Y: r.Y.Materialize(), Z: r.Z.Materialize()}
}
