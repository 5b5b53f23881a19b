package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// Contacts between links are not stacked with the other constraints. Few of the many possible ones touch, and the solver
// visits only those that touch in some copy, one after the other. For each it builds what it builds for all other
// constraints, with a system whose only constraint is this contact.

// visits holds the deepest contacts of a set between links, the deepest first.
type visits struct {
	Count *Node // of those that touch in some copy, int32 scalar
	All   visit // with a first axis of contacts; those from Count on are 0
}

// visit is a contact between links, of each copy another one.
type visit struct {
	By        *Node   // how the dofs move it along and about its axes, [dim, nv, B]
	Friction  []*Node // [B] each, see [parameters]
	Stiffness *Node   // D of its rows, [n, B], or of its cone, [1, B]
	Reference *Node   // aref of its rows, or along the axes of its cone: [m, B]
	Point     *Node   // [3, B]
	Frame     *Node   // [9, B]
	Row       *Node   // among all contacts of the set, int32 [B]
}

// alone returns a system whose only constraint is a contact of a set.
func (s *System) alone(set *contactSet) *System {
	one := *set
	one.rows = 1
	return &System{model: s.model, options: s.options, poses: s.poses, groups: s.groups, dofs: s.dofs, places: s.places,
		acting: []*contactSet{&one}}
}

// constraint returns the contact of a system alone as its constraints, without their reference.
func (s *System) constraint(v visit) (c constraints) {
	found := contact{By: v.By}
	for i, f := range v.Friction {
		found.Friction[i] = algebra.Num{Rows: 1, Node: f}
	}
	c.Contacts = []contact{found}
	if s.elliptic(s.acting[0]) {
		c.ConeStiffness, c.ConeFriction = rowsOf(v.Stiffness), found.Friction
	} else {
		c.Stiffness = rowsOf(v.Stiffness)
	}
	return c
}

// separate returns rows [n, B] of the contact of a system alone as those that are stacked, or as those of its cone.
func (s *System) separate(x *Node) (stacked algebra.Num, cone perAxis) {
	if !s.elliptic(s.acting[0]) {
		return rowsOf(x), cone
	}
	for axis := range s.acting[0].dim {
		cone[axis] = rowsOf(x).Take(axis)
	}
	return stacked, cone
}

// united is the inverse of separate.
func united(g *Graph, batch int, stacked algebra.Num, cone perAxis) *Node {
	if stacked.Rows > 0 {
		return computed(g, batch, stacked).Matrix()
	}
	var rows []algebra.Num
	for _, x := range cone {
		if x.Rows > 0 {
			rows = append(rows, x)
		}
	}
	return computed(g, batch, materializedStack(rows)).Matrix()
}

// visitEach visits contacts in turn.
func visitEach[T any](v visits, state T, body func(n *Node, one visit, state T) T) T {
	type carry struct {
		All   visit
		State T
	}
	return xla.Repeat(v.Count, carry{v.All, state}, func(n *Node, c carry) carry {
		c.State = body(n, xla.Map(c.All, func(x *Node) *Node { return xla.Store(xla.Row(x, n)) }), c.State)
		return c
	}).State
}

// visits returns the contacts of the i-th set that are visited, of those that were found, given velocities v.
func (s *System) visits(k kinematics, f found, i int, v []algebra.Num) visits {
	g, batch := k.size()
	set := s.selected[i]
	p := s.parametersUnder(k.Under, set)
	type state struct {
		Found      found
		Parameters []algebra.Num // of all contacts
		Masks      []algebra.Num
		Rows       *Node      // of the deepest among what was found, [n, B]
		Dofs       [][3]*Node // see motionsOfDofs
		Velocity   *Node      // [nv, B]
		All        visit
	}
	at := state{Found: f, Masks: set.acts, Rows: lowest(f.Violation, set.rows), Dofs: s.motionsOfDofs(k),
		Velocity: s.stack(g, batch, v), All: s.noVisits(g, batch, set)}
	for _, x := range p.numbers() {
		at.Parameters = append(at.Parameters, *x)
	}
	count, one := negative(f.Violation, set.rows), s.alone(set)
	return visits{count, xla.Repeat(count, at, func(n *Node, at state) state {
		take := func(x algebra.Num, row *Node) algebra.Num {
			if x.Rows == 0 {
				return x
			}
			return pick(x, row)
		}
		row := xla.Store(Reshape(xla.Row(at.Rows, n), 1, batch))
		vector := func(of [3]*Node) algebra.Vector {
			return algebra.Vector{X: pick(rowsOf(of[0]), row), Y: pick(rowsOf(of[1]), row), Z: pick(rowsOf(of[2]), row)}
		}
		f := at.Found
		violation, found, hint := pick(rowsOf(f.Violation), row), contact{Point: vector(f.Point)}, touch{normal: vector(f.Normal)}
		if f.Tangent[0] != nil {
			hint.tangent = vector(f.Tangent)
		}
		if f.Of != nil {
			row = pickRows(f.Of, row)
		}
		origin := algebra.Vector{X: take(f.Origin.X, row), Y: take(f.Origin.Y, row), Z: take(f.Origin.Z, row)}
		var p parameters
		for i, x := range p.numbers() {
			*x = take(at.Parameters[i], row)
		}
		var masks []algebra.Num
		for _, mask := range at.Masks {
			masks = append(masks, pick(mask, row))
		}
		found.Friction = p.friction
		aside, other := hint.frame()
		found.Frame = [3]algebra.Vector{hint.normal, aside, other}
		found.By = s.movedBy(at.Dofs, masks, found.Point, origin, slices.Concat(found.Frame[:], found.Frame[:])[:set.dim])
		at.All = xla.SetRow(at.All, n, one.visit(found, p, violation, at.Velocity, Reshape(row, batch)))
		return at
	}).All}
}

// noVisits returns contacts of a set that do not act.
func (s *System) noVisits(g *Graph, batch int, set *contactSet) (all visit) {
	zeros := func(dims ...int) *Node {
		return Zeros(g, shapes.Make(dtypes.Float32, slices.Concat([]int{set.rows}, dims, []int{batch})...))
	}
	rows, references := s.edges(set), s.edges(set)
	if s.elliptic(set) {
		rows, references = 1, set.dim
	}
	all = visit{By: zeros(set.dim, s.model.Sizes.NV), Stiffness: zeros(rows), Reference: zeros(references), Point: zeros(3),
		Frame: zeros(9), Row: Zeros(g, shapes.Make(dtypes.Int32, set.rows, batch))}
	for range set.dim - 1 {
		all.Friction = append(all.Friction, zeros())
	}
	return all
}

// visit returns the contact of a system alone, given the velocities of the dofs [nv, B].
func (s *System) visit(found contact, p parameters, violation algebra.Num, velocity, row *Node) visit {
	g, batch := row.Graph(), row.Shape().Size()
	var c constraints
	var rows stacked
	var cones coneRows
	s.constrainContact(&rows, &cones, s.acting[0], found, p, violation)
	rate, coneRate := s.visitRate(found, velocity)
	s.complete(&c, rows, cones, rate, coneRate)
	matrix := func(of ...algebra.Num) *Node { return computed(g, batch, algebra.Concat(of...)).Matrix() }
	v := visit{By: found.By, Stiffness: matrix(append(rowsIf(c.Stiffness), rowsIf(c.ConeStiffness)...)...),
		Reference: united(g, batch, c.Reference, c.ConeReference), Row: row,
		Point: matrix(found.Point.X, found.Point.Y, found.Point.Z)}
	var frame []algebra.Num
	for _, axis := range found.Frame {
		frame = append(frame, axis.X, axis.Y, axis.Z)
	}
	v.Frame = matrix(frame...)
	for _, f := range p.friction[:s.acting[0].dim-1] {
		v.Friction = append(v.Friction, Reshape(matrix(f), batch))
	}
	return v
}

// rowsIf returns numbers if there are any.
func rowsIf(x algebra.Num) []algebra.Num {
	if x.Rows == 0 {
		return nil
	}
	return []algebra.Num{x}
}

// visitRate returns the rates of the contact of a system alone under motions of the dofs [nv, B].
func (s *System) visitRate(c contact, x *Node) (stacked algebra.Num, cone perAxis) {
	set, all := s.acting[0], rowsOf(times(c.By, x))
	var m perAxis
	for axis := range set.dim {
		m[axis] = all.Take(axis)
	}
	if s.elliptic(set) {
		return stacked, m
	}
	return materializedStack(s.edgeRates(set, c, m)), cone
}

// visitRates returns the rates of visited contacts under motions of the dofs, [n, m, B] of each set.
func (s *System) visitRates(all []visits, x []algebra.Num) (rates []*Node) {
	for i, v := range all {
		one := s.alone(s.selected[i])
		g, batch := v.Count.Graph(), v.All.Row.Shape().Dimensions[1]
		type state struct{ X, Rates *Node }
		at := state{s.stack(g, batch, x), ZerosLike(v.All.Reference)}
		rates = append(rates, visitEach(v, at, func(n *Node, v visit, at state) state {
			rate, cone := one.visitRate(one.constraint(v).Contacts[0], at.X)
			at.Rates = xla.SetRow(at.Rates, n, united(n.Graph(), batch, rate, cone))
			return at
		}).Rates)
	}
	return rates
}

// visitForces returns the contact of a system alone, its response to rates [n, B], and its forces and torques, [dim, B].
func (s *System) visitForces(v visit, rates *Node) (c constraints, r response, along *Node) {
	c = s.constraint(v)
	rate, cone := s.separate(xla.Store(rates))
	r = s.respond(c, rate, cone)
	forces := s.contactForces(c, r.force, r.cone)[0][:s.acting[0].dim]
	return c, r, computed(rates.Graph(), rates.Shape().Dimensions[1], materializedStack(forces)).Matrix()
}

// visitedSlopes are the forces of visited contacts, and how they change.
type visitedSlopes struct {
	Push         *Node   // forces on the dofs, [nv, B]
	Matrix       *Node   // of crowded contacts: their slope by the dofs, [nv, nv, B]
	Rows, Slopes []*Node // of others: updates of each set
}

// visitSlopes returns the forces and slopes at rates of visited contacts.
func (s *System) visitSlopes(all []visits, rates []*Node) (sum visitedSlopes) {
	for i, v := range all {
		one := s.alone(s.selected[i])
		g, dims := v.Count.Graph(), v.All.By.Shape().Dimensions
		n, dim, nv, batch := dims[0], dims[1], dims[2], dims[3]
		type state struct{ Rates, Push, Matrix, Rows, Slopes *Node }
		zeros := func(dims ...int) *Node { return Zeros(g, shapes.Make(dtypes.Float32, dims...)) }
		at := state{Rates: rates[i], Push: sum.Push, Matrix: sum.Matrix}
		if at.Push == nil {
			at.Push = zeros(nv, batch)
		}
		switch {
		case !s.crowded:
			at.Rows, at.Slopes = zeros(n, dim, nv, batch), zeros(n, dim, batch)
		case at.Matrix == nil:
			at.Matrix = zeros(nv, nv, batch)
		}
		at = visitEach(v, at, func(n *Node, v visit, at state) state {
			c, r, along := one.visitForces(v, xla.Row(at.Rates, n))
			at.Push = xla.Store(Add(at.Push, xla.Store(weighted(v.By, along))))
			u := one.contactSlopes(c, r)[0].updates(v.By)
			if s.crowded {
				at.Matrix = xla.Store(Add(at.Matrix, u.matrix()))
				return at
			}
			at.Rows, at.Slopes = xla.SetRow(at.Rows, n, u.U), xla.SetRow(at.Slopes, n, u.D)
			return at
		})
		sum.Push, sum.Matrix = at.Push, at.Matrix
		if !s.crowded {
			sum.Rows = append(sum.Rows, Reshape(at.Rows, n*dim, nv, batch))
			sum.Slopes = append(sum.Slopes, Reshape(at.Slopes, n*dim, batch))
		}
	}
	return sum
}

// moved returns rates x + length by of the contacts.
func (v visits) moved(x *Node, length algebra.Num, by *Node) *Node {
	type state struct{ X, Length, By *Node }
	return xla.Repeat(v.Count, state{x, length.Matrix(), by}, func(n *Node, s state) state {
		step := xla.Row(s.By, n)
		s.X = xla.SetRow(s.X, n, xla.Store(Add(xla.Row(s.X, n), Mul(BroadcastToShape(s.Length, step.Shape()), step))))
		return s
	}).X
}

// visited are the contacts of a set along a step: their rates, and by how much those change.
type visited struct {
	Count      *Node
	Rate, Step *Node
	One        visit // their stiffness and friction
}

// visitSlope returns the derivatives of the cost of the contacts of the i-th set by the length of a step.
func (s *System) visitSlope(i int, v visited, length algebra.Num) (first, second algebra.Num) {
	sums := s.along(i, v, length, 2, func(one *System, l search) []algebra.Num {
		first, second := one.constraintSlope(l, algebra.Constant(1, 0), algebra.Constant(1, 0))
		return []algebra.Num{first, second}
	})
	return sums[0], sums[1]
}

// visitZones is [System.zonesCrossed] of the contacts of the i-th set.
func (s *System) visitZones(i int, v visited, length algebra.Num) algebra.Num {
	return s.along(i, v, length, 1, func(one *System, l search) []algebra.Num {
		return []algebra.Num{one.zonesCrossed(l)}
	})[0]
}

// along sums numbers of each contact of the i-th set at a length of a step.
func (s *System) along(i int, v visited, length algebra.Num, numbers int,
	of func(one *System, l search) []algebra.Num) []algebra.Num {
	one := s.alone(s.selected[i])
	batch := length.Node.Shape().Size()
	type state struct {
		All    visited
		Length algebra.Num
		Sums   []algebra.Num
	}
	at := state{All: v, Length: length}
	at.All.Count = nil
	for range numbers {
		at.Sums = append(at.Sums, computed(v.Count.Graph(), batch, algebra.Constant(1, 0)))
	}
	return xla.Repeat(v.Count, at, func(n *Node, at state) state {
		v := xla.Map(at.All, func(x *Node) *Node { return xla.Store(xla.Row(x, n)) })
		c := one.constraint(v.One)
		rate, cone := one.separate(v.Rate)
		step, coneStep := one.separate(v.Step)
		l := search{Length: at.Length, Cones: one.coneLine(c.ConeStiffness, c.ConeFriction, cone, coneStep)}
		if rate.Rows > 0 {
			l.rows(n.Graph(), batch, c.Stiffness, rate, step)
		}
		for i, x := range of(one, l) {
			at.Sums[i] = computed(n.Graph(), batch, at.Sums[i].Plus(x))
		}
		return at
	}).Sums
}

// touched are the contacts of a set, with the forces and torques along and about their axes.
type touched struct {
	set   *contactSet
	at    contact
	along perAxis
}

// force is the force on the second geoms, in the axes of the world.
func (t touched) force() algebra.Vector {
	total := zeroVector(t.set.rows)
	for axis, direction := range t.at.Frame {
		total = total.Plus(direction.By(t.along[axis]))
	}
	return total
}

// touching returns all contacts that act, at rates of the constraints less their references.
func (s *System) touching(c constraints, rate algebra.Num, cones perAxis, visits []*Node) (all []touched) {
	r := s.respond(c, rate, cones)
	for i, along := range s.contactForces(c, r.force, r.cone) {
		all = append(all, touched{s.acting[i], c.Contacts[i], along})
	}
	for i, v := range c.Visits {
		set, one := s.selected[i], s.alone(s.selected[i])
		g, batch := v.Count.Graph(), v.All.Row.Shape().Dimensions[1]
		type state struct{ Rates, Along *Node }
		at := state{visits[i], Zeros(g, shapes.Make(dtypes.Float32, set.rows, set.dim, batch))}
		at = visitEach(v, at, func(n *Node, v visit, at state) state {
			_, _, along := one.visitForces(v, xla.Row(at.Rates, n))
			at.Along = xla.SetRow(at.Along, n, along)
			return at
		})
		column := func(x *Node, i int) algebra.Num { // of [n, m, B]
			return algebra.Num{Rows: set.rows, Node: Reshape(Slice(x, AxisRange(), AxisElem(i)), -1)}
		}
		vector := func(x *Node, i int) algebra.Vector {
			return algebra.Vector{X: column(x, i), Y: column(x, i+1), Z: column(x, i+2)}
		}
		found := contact{Point: vector(v.All.Point, 0), Rows: v.All.Row,
			Frame: [3]algebra.Vector{vector(v.All.Frame, 0), vector(v.All.Frame, 3), vector(v.All.Frame, 6)}}
		var along perAxis
		for axis := range along {
			if along[axis] = algebra.Constant(set.rows, 0); axis < set.dim {
				along[axis] = column(at.Along, axis)
			}
		}
		all = append(all, touched{set, found, along})
	}
	return all
}
