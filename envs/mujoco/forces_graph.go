package mujoco

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// cone holds the parameters of stacked elliptic cones.
type cone struct {
	friction []algebra.Num // of all axes but the normal
	mu       algebra.Num   // the opening of the cone in the solver's scaled space
	impRatio float64
}

// cone returns the cones with coefficients of friction.
func (s *System) cone(friction [5]algebra.Num) cone {
	impRatio := s.model.Opt.ImpRatio
	mu := friction[0].Apply(func(f float64) float64 { return f / math.Sqrt(impRatio) }, func(f *Node) *Node {
		return DivScalar(f, math.Sqrt(impRatio))
	})
	return cone{friction[:s.coneDim()-1], mu, impRatio}
}

// response is what the solver needs of the constraints at violations' accelerations y: the forces, and how
// they change.
type response struct {
	force, slope algebra.Num            // of the stacked rows: slope is D where the force is not clipped
	cone         perAxis                // forces of elliptic cones
	coneSlope    map[[2]int]algebra.Num // (a, b), a <= b
}

// respond computes the response of the constraints.
func (s *System) respond(c constraints, y algebra.Num, cones perAxis) (r response) {
	if y.Rows > 0 {
		force := c.Stiffness.Times(y).Neg()
		bounds := s.bounds(y.Rows)
		r.force = clip(force, bounds).Store()
		r.slope = within(force, bounds).Choose(c.Stiffness, c.Stiffness.Zero()).Store()
	}
	if cones[0].Rows == 0 {
		return r
	}
	cone, d := s.cone(c.ConeFriction), c.ConeStiffness
	z := cone.zones(cones)
	none := d.Zero()
	choose := func(bottom, middle algebra.Num) algebra.Num {
		return z.top.Choose(none, z.bottom.Choose(bottom, middle)).Materialize()
	}
	dm := d.Times(cone.middle())
	gap := z.normal.Minus(cone.mu.Times(z.tangent))
	pull := dm.Times(gap).Times(cone.mu)
	scale := append([]algebra.Num{cone.mu}, cone.friction...)
	direction := []algebra.Num{algebra.Constant(d.Rows, 1)}
	for _, u := range z.u {
		direction = append(direction, u.Over(z.tangent).Materialize())
	}
	ratio := cone.mu.Times(z.normal).Over(z.tangent).Materialize()
	r.coneSlope = map[[2]int]algebra.Num{}
	for a := range scale {
		da := d.Times(cone.share(a))
		force := pull.Times(direction[a]).Times(scale[a])
		if a == 0 {
			force = pull.Neg()
		}
		r.cone[a] = choose(da.Times(cones[a]).Neg(), force)
		for b := a; b < len(scale); b++ {
			var slope algebra.Num
			bottom := none
			switch {
			case b == 0:
				slope = algebra.Constant(d.Rows, 1)
			case a == 0:
				slope = cone.mu.Times(direction[b]).Neg()
			default:
				slope = ratio.Times(direction[a]).Times(direction[b])
				if a == b {
					slope = slope.Plus(cone.mu.Square().Minus(ratio))
				}
			}
			if a == b {
				bottom = da
			}
			r.coneSlope[[2]int{a, b}] = choose(bottom, dm.Times(slope).Times(scale[a].Times(scale[b])))
		}
	}
	return r
}

// zones says in which zone of their cones contacts are.
type zones struct {
	top, bottom     algebra.Mask
	normal, tangent algebra.Num
	u               []algebra.Num
}

func (c cone) zones(y perAxis) (z zones) {
	z.normal = y[0].Times(c.mu).Materialize()
	var square algebra.Num
	for i, friction := range c.friction {
		u := y[1+i].Times(friction).Materialize()
		if z.u = append(z.u, u); i == 0 {
			square = u.Square()
		} else {
			square = square.Plus(u.Square())
		}
	}
	z.tangent = square.Sqrt().Max(algebra.Constant(c.mu.Rows, 1e-15)).Materialize()
	z.top = c.mu.Times(z.tangent).Less(z.normal)
	z.bottom = c.mu.Times(z.normal).Plus(z.tangent).Below(0)
	return z
}

// middle is the stiffness in the middle zone for a normal stiffness of 1.
func (c cone) middle() algebra.Num {
	return c.mu.Apply(func(mu float64) float64 { return 1 / (mu * mu * (1 + mu*mu)) }, func(mu *Node) *Node {
		square := Square(mu)
		return Inverse(Mul(square, AddScalar(square, 1)))
	})
}

// share is the stiffness of an axis for a normal stiffness of 1.
func (c cone) share(axis int) algebra.Num {
	if axis == 0 {
		return algebra.Constant(c.mu.Rows, 1)
	}
	return c.friction[axis-1].Over(c.friction[0]).Square().Scale(c.impRatio)
}

// push turns forces of the constraints into forces on the dofs by joints' constraints, and on the links by
// contacts.
func (s *System) push(c constraints, force algebra.Num, cones perAxis) (dofs []algebra.Num, links []spatial) {
	dofs, links = s.noForce(), make([]spatial, len(s.groups))
	for i, g := range s.groups {
		links[i] = noMotion(g.rows())
	}
	next := 0
	take := func(n int) algebra.Num {
		next += n
		return force.Slice(next-n, n)
	}
	for i, r := range s.rows {
		f := take(r.weight.Rows)
		for axis := range 1 + 2*int(number(r.turns)) {
			dof := &dofs[r.column+axis]
			*dof = dof.Plus(component(c.Axes[i], axis).Times(f))
		}
	}
	for i, jacobian := range c.Equal {
		s.pushAlong(jacobian, take(s.equal[i].count), dofs)
	}
	for i, along := range s.contactForces(c, force, cones) {
		set := s.acting[i]
		n := set.rows
		contact := c.Contacts[i]
		total, torque := zeroVector(n), zeroVector(n)
		for axis, direction := range contact.Frame {
			total = total.Plus(direction.By(along[axis].Materialize()))
			if 3+axis < set.dim {
				torque = torque.Plus(direction.By(along[3+axis].Materialize()))
			}
		}
		total = total.Materialize()
		for at, side := range set.sides {
			if side.group == static {
				continue
			}
			wrench := forceAt(total, contact.Point)
			wrench.Ang = wrench.Ang.Plus(torque)
			if at == 0 {
				wrench = wrench.each(algebra.Num.Neg)
			}
			s.toLinks(side, wrench.materialize(), set.points, links)
		}
	}
	return dofs, links
}

// contactForces returns the forces and torques of the contacts of each set.
func (s *System) contactForces(c constraints, force algebra.Num, cones perAxis) (all []perAxis) {
	next, cone := s.equalities(), 0
	for _, r := range s.rows {
		next += r.weight.Rows
	}
	take := func(n int) algebra.Num {
		next += n
		return force.Slice(next-n, n)
	}
	for i, set := range s.acting {
		n := set.rows
		var along perAxis
		switch {
		case set.dim == 1:
			along = perAxis{take(n), algebra.Constant(n, 0), algebra.Constant(n, 0)}
		case !s.elliptic(set):
			along[0] = algebra.Constant(n, 0)
			for t, friction := range c.Contacts[i].Friction[:set.dim-1] {
				if c.Contacts[i].Flat[t] {
					along[0], along[1+t] = along[0].Plus(take(n)), algebra.Constant(n, 0)
					continue
				}
				plus, minus := take(n), take(n)
				along[0] = along[0].Plus(plus.Plus(minus))
				along[1+t] = plus.Minus(minus).Times(friction)
			}
		default:
			for axis := range set.dim {
				along[axis] = cones[axis].Slice(cone, n)
			}
			cone += n
		}
		all = append(all, along)
	}
	return all
}

// toLinks adds spatial vectors of a side's contacts to those of the links.
func (s *System) toLinks(side side, of spatial, points int, links []spatial) {
	n := s.groups[side.group].rows()
	links[side.group] = links[side.group].plus(of.each(func(x algebra.Num) algebra.Num {
		return sumRows(n, x, slices.Repeat(side.link, points))
	}))
}

// springs are the slopes of forces as stiffnesses of links that touch what cannot move, and as blocks of
// joints. Equalities and contacts between links are not among them.
func (s *System) springs(c constraints, r response) (links []stiffness, blocks map[[2]int]algebra.Num) {
	links, blocks = make([]stiffness, len(s.groups)), map[[2]int]algebra.Num{}
	for i, g := range s.groups {
		links[i] = links[i].each(func(algebra.Num) algebra.Num { return algebra.Constant(g.rows(), 0) })
	}
	add := func(a, b int, x algebra.Num) {
		blocks[[2]int{a, b}] = sumOr(blocks, [2]int{a, b}, x)
	}
	next := 0
	take := func(n int) algebra.Num {
		next += n
		return r.slope.Slice(next-n, n)
	}
	for i, row := range s.rows {
		slope := take(row.weight.Rows)
		if !row.turns { // the axis is +-1
			add(row.column, row.column, slope)
			continue
		}
		for a := range 3 {
			for b := a; b < 3; b++ {
				add(row.column+a, row.column+b, slope.Times(component(c.Axes[i], a)).Times(component(c.Axes[i], b)))
			}
		}
	}
	for i, k := range s.contactSlopes(c, r) {
		set := s.acting[i]
		side := set.mover()
		world := k.stiffness(set.dim, c.Contacts[i]).materialize()
		group := s.groups[side.group].rows()
		links[side.group] = links[side.group].plus(world.each(func(x algebra.Num) algebra.Num {
			return sumRows(group, x, slices.Repeat(side.link, set.points))
		}))
	}
	return links, blocks
}

// contactSlopes are the slopes of the contacts of each set.
func (s *System) contactSlopes(c constraints, r response) (all []contactSlope) {
	next, cone := s.equalities(), 0
	for _, row := range s.rows {
		next += row.weight.Rows
	}
	take := func(n int) algebra.Num {
		next += n
		return r.slope.Slice(next-n, n)
	}
	for i, set := range s.acting {
		n := set.rows
		k := contactSlope{}
		for a := range max(3, set.dim) {
			for b := a; b < max(3, set.dim); b++ {
				k[[2]int{a, b}] = algebra.Constant(n, 0)
			}
		}
		normal := [2]int{}
		switch {
		case set.dim == 1:
			k[normal] = take(n)
		case !s.elliptic(set):
			for t, friction := range c.Contacts[i].Friction[:set.dim-1] {
				if c.Contacts[i].Flat[t] {
					k[normal] = k[normal].Plus(take(n))
					continue
				}
				plus, minus := take(n), take(n)
				sum := plus.Plus(minus)
				k[normal] = k[normal].Plus(sum)
				k[[2]int{1 + t, 1 + t}] = sum.Times(friction.Square()).Materialize()
				k[[2]int{0, 1 + t}] = plus.Minus(minus).Times(friction).Materialize()
			}
		default:
			for _, pair := range keysOf(k) {
				k[pair] = r.coneSlope[pair].Slice(cone, n)
			}
			cone += n
		}
		all = append(all, k)
	}
	return all
}

// contactSlope is how the forces and torques of contacts change with the motions along and about their axes: the
// entries (a, b), a <= b, of symmetric matrices.
type contactSlope map[[2]int]algebra.Num

// block returns the entries of three axes with themselves.
func (k contactSlope) block(first int) symmetric {
	entry := func(a, b int) algebra.Num { return k[[2]int{first + a, first + b}] }
	return symmetric{entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)}
}

// stiffness returns the slope in the axes of the world, about its origin, of contacts of a dimension.
func (k contactSlope) stiffness(dim int, c contact) stiffness {
	at := stiffnessAt(k.block(0).turned(c.Frame), c.Point)
	if dim <= 3 {
		return at
	}
	none := k[[2]int{0, 0}].Zero()
	for a := range 6 {
		for b := max(a, dim); b < 6; b++ {
			k[[2]int{a, b}] = none
		}
	}
	// Of the torques of linear motions, by columns.
	var of [3]algebra.Vector
	for a := range of {
		of[a] = zeroVector(none.Rows)
		for b, axis := range c.Frame {
			of[a] = of[a].Plus(axis.By(k[[2]int{a, 3 + b}]))
		}
		of[a] = of[a].Materialize()
	}
	column := func(i int) algebra.Vector {
		return of[0].By(component(c.Frame[0], i)).Plus(of[1].By(component(c.Frame[1], i))).
			Plus(of[2].By(component(c.Frame[2], i))).Materialize()
	}
	couple := algebra.Rotation{X: column(0), Y: column(1), Z: column(2)}
	return at.plus(turningAt(couple, k.block(3).turned(c.Frame), c.Point))
}

// turned returns a matrix, given in the axes of a frame, in the axes of the world.
func (s symmetric) turned(frame [3]algebra.Vector) symmetric {
	mix := func(a, b, c algebra.Num) algebra.Vector {
		return frame[0].By(a).Plus(frame[1].By(b)).Plus(frame[2].By(c)).Materialize()
	}
	x, y, z := mix(s.XX, s.XY, s.XZ), mix(s.XY, s.YY, s.YZ), mix(s.XZ, s.YZ, s.ZZ)
	entry := func(i, j int) algebra.Num {
		return component(x, i).Times(component(frame[0], j)).Plus(component(y, i).Times(component(frame[1], j))).
			Plus(component(z, i).Times(component(frame[2], j))).Materialize()
	}
	return symmetric{entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)}
}
