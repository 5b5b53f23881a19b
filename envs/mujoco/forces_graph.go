package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

// cone holds the parameters of stacked elliptic cones.
type cone struct {
	friction []algebra.Num // along the axes but the normal; 0 along those that a contact lacks
	mu       algebra.Num   // the opening of the cone in the solver's scaled space
	impRatio float64
}

// cone returns the cones with coefficients of friction.
func (s *System) cone(friction []algebra.Num) cone {
	impRatio := s.model.Opt.ImpRatio
	return cone{friction, friction[0].Scale(1 / math.Sqrt(impRatio)), impRatio}
}

// square holds the entries of symmetric matrices over the axes of contacts.
type square [][]algebra.Num

func newSquare(axes, rows int) square {
	k := make(square, axes)
	for i := range k {
		for range axes {
			k[i] = append(k[i], algebra.Constant(rows, 0))
		}
	}
	return k
}

// response is what the solver needs of the constraints at violations' accelerations y: the forces, and how
// they change.
type response struct {
	Force, Slope algebra.Num   // of the stacked rows: the slope is D where the force is not clipped
	Cone         []algebra.Num // forces of elliptic cones
	ConeSlope    square
}

// respond computes the response of the constraints.
func (s *System) respond(c constraints, y algebra.Num, cones []algebra.Num) (r response) {
	if y.Rows > 0 {
		force := c.Stiffness.Times(y).Neg()
		bounds := s.bounds()
		r.Force = clip(force, bounds).Store()
		r.Slope = within(force, bounds).Choose(c.Stiffness, c.Stiffness.Zero()).Store()
	}
	if len(cones) == 0 {
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
	scale, direction := []algebra.Num{cone.mu}, []algebra.Num{algebra.Constant(d.Rows, 1)}
	for i, u := range z.u {
		scale = append(scale, cone.friction[i])
		direction = append(direction, u.Over(z.tangent).Materialize())
	}
	ratio := cone.mu.Times(z.normal).Over(z.tangent).Materialize()
	r.ConeSlope = newSquare(len(cones), d.Rows)
	for a := range cones {
		da := d.Times(cone.share(a))
		force := pull.Times(direction[a]).Times(scale[a])
		if a == 0 {
			force = pull.Neg()
		}
		r.Cone = append(r.Cone, choose(da.Times(cones[a]).Neg(), force))
		for b := a; b < len(cones); b++ {
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
			r.ConeSlope[a][b] = choose(bottom, dm.Times(slope).Times(scale[a].Times(scale[b])))
			r.ConeSlope[b][a] = r.ConeSlope[a][b]
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

func (c cone) zones(y []algebra.Num) (z zones) {
	z.normal = y[0].Times(c.mu).Materialize()
	square := c.mu.Zero()
	for i, slip := range y[1:] {
		z.u = append(z.u, slip.Times(c.friction[i]).Materialize())
		square = square.Plus(z.u[i].Square())
	}
	z.tangent = square.Sqrt().Max(algebra.Constant(c.mu.Rows, 1e-15)).Materialize()
	z.top = c.mu.Times(z.tangent).Less(z.normal)
	z.bottom = c.mu.Times(z.normal).Plus(z.tangent).Below(0)
	return z
}

// middle is the stiffness in the middle zone for a normal stiffness of 1.
func (c cone) middle() algebra.Num {
	square := c.mu.Square()
	return algebra.Constant(square.Rows, 1).Over(square.Times(square.Add(1)))
}

// share is the stiffness of an axis for a normal stiffness of 1.
func (c cone) share(axis int) algebra.Num {
	if axis == 0 {
		return algebra.Constant(c.mu.Rows, 1)
	}
	return c.friction[axis-1].Over(c.friction[0]).Square().Scale(c.impRatio)
}

// stackedRows hands out the rows of a stack in order.
type stackedRows struct {
	of   algebra.Num
	next int
}

func (r *stackedRows) take(n int) algebra.Num {
	r.next += n
	return r.of.Slice(r.next-n, n)
}

// push turns forces of the constraints into forces on the dofs by joints' constraints, and on the links by
// contacts.
func (s *System) push(c constraints, force algebra.Num, cones []algebra.Num) (dofs []algebra.Num, links spatial) {
	dofs, links = s.noForce(), s.still(len(s.links))
	forces := stackedRows{of: force}
	for i, r := range s.rows {
		f := forces.take(r.weight.Rows)
		for axis := range 1 + 2*int(number(r.turns)) {
			dof := &dofs[r.column+axis]
			*dof = dof.Plus(component(c.Axes[i], axis).Times(f))
		}
	}
	for i, jacobian := range c.Equal {
		s.pushAlong(jacobian, forces.take(s.equal[i].count), dofs)
	}
	for i, along := range s.contactForces(c, force, cones) {
		set, contact := s.acting[i], c.Contacts[i]
		for axis, jacobian := range contact.Jacobian {
			s.pushAlong(jacobian, along[axis], dofs)
		}
		if set.parts != nil {
			continue
		}
		total := s.still(set.rows)
		for axis, wrench := range contact.Wrenches {
			total = total.plus(wrench.by(along[axis].Materialize()))
		}
		links = links.plus(total.materialize().into(set.linksOf(set.moving), links.rows))
	}
	return dofs, links
}

// jointRows is the number of stacked rows before those of the equalities.
func (s *System) jointRows() (n int) {
	for _, r := range s.rows {
		n += r.weight.Rows
	}
	return n
}

// contactForces returns the forces of the contacts of each set along their axes.
func (s *System) contactForces(c constraints, force algebra.Num, cones []algebra.Num) (all [][]algebra.Num) {
	forces, cone := stackedRows{force, s.jointRows() + s.equalities()}, 0
	for i, set := range s.acting {
		n := set.rows
		var along []algebra.Num
		switch {
		case s.elliptic(set):
			for _, force := range cones[:set.dim] {
				along = append(along, force.Slice(cone, n))
			}
			cone += n
		case set.dim == 1:
			along = append(along, forces.take(n))
		default:
			along = append(along, algebra.Constant(n, 0))
			for _, friction := range c.Contacts[i].Friction[:set.dim-1] {
				plus, minus := forces.take(n), forces.take(n)
				along[0] = along[0].Plus(plus.Plus(minus))
				along = append(along, plus.Minus(minus).Times(friction))
			}
		}
		all = append(all, along)
	}
	return all
}

// slopesOf returns the slopes of the forces of the contacts of each set, as matrices over their axes.
func (s *System) slopesOf(c constraints, r response) (all []square) {
	slopes, cone := stackedRows{r.Slope, s.jointRows() + s.equalities()}, 0
	for i, set := range s.acting {
		n := set.rows
		k := newSquare(set.dim, n)
		switch {
		case s.elliptic(set):
			for a := range k {
				for b := range k {
					k[a][b] = r.ConeSlope[a][b].Slice(cone, n)
				}
			}
			cone += n
		case set.dim == 1:
			k[0][0] = slopes.take(n)
		default:
			for t, friction := range c.Contacts[i].Friction[:set.dim-1] {
				plus, minus := slopes.take(n), slopes.take(n)
				sum, cross := plus.Plus(minus), plus.Minus(minus).Times(friction).Materialize()
				k[0][0] = k[0][0].Plus(sum)
				k[t+1][t+1] = sum.Times(friction.Square()).Materialize()
				k[0][t+1], k[t+1][0] = cross, cross
			}
		}
		all = append(all, k)
	}
	return all
}

// springs are the slopes of forces as stiffnesses of links that touch what cannot move, and as blocks of
// joints, given those of the contacts. Contacts between links and equalities are not among them.
func (s *System) springs(c constraints, r response, contacts []square) (links stiffness, joints blocks) {
	joints, links = blocks{}, stiffness{rows: len(s.links), space: s.space}
	slopes := stackedRows{of: r.Slope}
	for i, row := range s.rows {
		slope := slopes.take(row.weight.Rows)
		for a := range 1 + 2*int(number(row.turns)) {
			for b := a; b < 1+2*int(number(row.turns)); b++ {
				by := slope // the axis of a single dof is +-1
				if row.turns {
					by = slope.Times(component(c.Axes[i], a)).Times(component(c.Axes[i], b))
				}
				joints.add(row.column+a, row.column+b, by)
			}
		}
	}
	for i, set := range s.acting {
		if set.parts != nil {
			continue
		}
		k := stiffness{rows: set.rows, space: s.space}
		for a, wrench := range c.Contacts[i].Wrenches {
			force := s.still(set.rows) // of a unit motion along the axis
			for b, other := range c.Contacts[i].Wrenches {
				force = force.plus(other.by(contacts[i][a][b]))
			}
			k = k.plusDyad(wrench, force.materialize())
		}
		links = links.plus(k.materialize().into(set.linksOf(set.moving), links.rows))
	}
	return links, joints
}
