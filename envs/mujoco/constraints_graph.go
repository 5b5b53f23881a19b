package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// constraints are those of a state. The rows are stacked: first those of [System.rows], then the equalities,
// then the edges of the contacts of each set.
type constraints struct {
	Axes     []algebra.Vector // of each of [System.rows]; the x alone where it acts on one dof
	Equal    []*Node          // of each equality: the changes of what it measures by the dofs, [n, nv, B]
	Contacts []contact        // of each set
	Visits   []visits         // of each of [System.selected]

	Stiffness algebra.Num // D of the stacked rows; 0 where they do not act
	Reference algebra.Num // aref

	ConeStiffness algebra.Num // D of the normals of the stacked elliptic cones
	ConeReference perAxis
	ConeFriction  [5]algebra.Num
}

// contact holds the contacts of a set.
type contact struct {
	Distance algebra.Num
	// Point is relative to the origin of the tree of the second side, if it moves, else of the first. Among constraints,
	// it is relative to the reference of the link that moves, unless both do.
	Point    algebra.Vector
	Frame    [3]algebra.Vector // the normal, from the first geom to the second, and two tangents
	Friction [5]algebra.Num    // see [parameters]
	Flat     [5]bool           // where nothing moves against friction: both edges of a pyramid are one row, twice as stiff
	By       *Node             // see [visit]
	Rows     *Node             // of some of the set's contacts: their rows among all, int32 [n, B]; nil: all
}

// perAxis holds numbers of contacts along their normals and both tangents, and of the turns about these three. Those
// of axes along which none acts have no rows.
type perAxis [6]algebra.Num

// constrain finds the constraints of a state: what [System.collisions] found, positions q, velocities v and the links'
// velocities. The contacts between links are found here unless they are given.
func (s *System) constrain(k kinematics, contacts []contact, selected []found, q, v []algebra.Num,
	velocity []spatial) constraints {
	var c constraints
	var rows stacked
	var cones coneRows
	s.constrainJoints(&c, &rows, k, q)
	s.constrainEqual(&c, &rows, k, q, v)
	s.constrainContacts(&c, &rows, &cones, k, contacts, v, velocity)
	rate, coneRate := s.violationRates(c, v, velocity)
	s.complete(&c, rows, cones, rate, coneRate)
	for i, set := range s.selected {
		if len(selected) <= i {
			selected = append(selected, s.found(k, contacts, set))
		}
		c.Visits = append(c.Visits, s.visits(k, selected[i], i, v))
	}
	return c
}

// complete sets the stiffness and the reference of rows and cones, given the rates at which their violations change.
func (s *System) complete(c *constraints, rows stacked, cones coneRows, rate algebra.Num, coneRate perAxis) {
	if len(rows.stiffness) > 0 {
		c.Stiffness = materializedStack(rows.stiffness)
		c.Reference = rate.Times(algebra.Concat(rows.damping...)).Plus(algebra.Concat(rows.pull...)).Neg().Materialize()
	}
	if len(cones.stiffness) > 0 {
		c.ConeStiffness = materializedStack(cones.stiffness)
		for i := range s.coneDim() - 1 {
			c.ConeFriction[i] = algebra.Concat(cones.friction[i]...)
		}
		normal, tangent := algebra.Concat(cones.damping[0]...), algebra.Concat(cones.damping[1]...)
		c.ConeReference[0] = coneRate[0].Times(normal).Plus(algebra.Concat(cones.pull...)).Neg().Materialize()
		for i := 1; i < s.coneDim(); i++ {
			c.ConeReference[i] = coneRate[i].Times(tangent).Neg().Materialize()
		}
	}
}

// stacked collects rows: D, the damping B, and K d (r - margin).
type stacked struct{ stiffness, damping, pull []algebra.Num }

// add adds rows that act where active, the same a number of times.
func (r *stacked) add(times int, d impedance, weight algebra.Num, l law, violation algebra.Num, active algebra.Mask) {
	stiffness := stiffnessOf(d, weight)
	stiffness = active.Choose(stiffness, stiffness.Zero())
	pull := l.stiffness.Times(d.d).Times(violation).Materialize()
	stiffness = stiffness.Materialize()
	for range times {
		r.append(stiffness, l.damping, pull)
	}
}

func (r *stacked) append(stiffness, damping, pull algebra.Num) {
	r.stiffness, r.damping, r.pull = append(r.stiffness, stiffness), append(r.damping, damping), append(r.pull, pull)
}

// stiffnessOf returns D, the inverse of the regularisation, of an impedance.
func stiffnessOf(i impedance, weight algebra.Num) algebra.Num {
	d, rest := i.d, i.rest
	if rest.Rows == 0 {
		rest = algebra.Constant(d.Rows, 1).Minus(d)
	}
	return d.Over(rest.Times(weight.Max(algebra.Constant(d.Rows, 1e-15))))
}

// coneRows collects elliptic cones: D, the damping of normals and of tangents, K d (r - margin), and friction.
type coneRows struct {
	stiffness, pull []algebra.Num
	damping         [2][]algebra.Num
	friction        [5][]algebra.Num
}

// constrainJoints adds the friction losses and the limits of joints.
func (s *System) constrainJoints(c *constraints, rows *stacked, k kinematics, q []algebra.Num) {
	for _, r := range s.rows {
		n := r.weight.Rows
		if r.loss.Rows > 0 {
			axis := algebra.Vector{X: algebra.Constant(n, 1)}
			if r.turns {
				turn := k.Rotation[r.group]
				axis = []algebra.Vector{turn.X, turn.Y, turn.Z}[r.axis]
			}
			c.Axes = append(c.Axes, axis)
			d := r.law.impedance(algebra.Constant(n, 0))
			rows.append(stiffnessOf(d, s.rowWeight(k.Under, r)).Materialize(), r.law.damping, d.d.Zero())
			continue
		}
		j := s.groups[r.group].joints[r.joint]
		bounds := limitsOf(j.id, s.model.JntLimited, s.model.JntRange)
		low, high := bounds.low, bounds.high
		var axis algebra.Vector
		var distance algebra.Num
		if r.turns {
			local, angle := axisAngle(quaternionAt(q[j.place:]).Normalized())
			axis = k.Rotation[r.group].Of(local.Neg())
			distance = low.Max(high).Minus(angle)
		} else {
			below, above := q[j.place].Minus(low), high.Minus(q[j.place])
			axis.X = below.Less(above).Choose(algebra.Constant(n, 1), algebra.Constant(n, -1)).Materialize()
			distance = below.Min(above)
			if r.far {
				axis.X, distance = axis.X.Neg(), below.Max(above)
			}
		}
		c.Axes = append(c.Axes, axis)
		violation := distance.Minus(j.known(s.model.JntMargin)).Materialize()
		rows.add(1, r.law.impedance(violation), s.rowWeight(k.Under, r), r.law, violation, violation.Below(0))
	}
}

// constrainEqual adds the equalities.
func (s *System) constrainEqual(c *constraints, rows *stacked, k kinematics, q, v []algebra.Num) {
	var of motions
	if slices.ContainsFunc(s.equal, equality.tied) {
		of, _ = s.inverseDynamics(k, v, nil)
	}
	for _, e := range s.equal {
		violation, jacobian, drift := s.measure(k, of, e, q)
		c.Equal = append(c.Equal, jacobian)
		size := violation[0]
		if e.tied() {
			size = algebra.Constant(1, 0)
			for _, x := range violation {
				size = size.Plus(x.Square())
			}
			size = size.Sqrt()
		}
		d, active := e.law.impedance(size), algebra.Mask{Num: algebra.Constant(1, 1)}
		if e.limits != nil {
			active = size.Below(0)
		}
		for i, x := range violation {
			rows.add(1, d, e.weight[i/3], e.law, x, active)
			if last := len(rows.pull) - 1; e.tied() {
				rows.pull[last] = rows.pull[last].Plus(drift[i])
			}
		}
	}
}

// constrainContacts adds the contacts that act: the edges of pyramids to the rows, and elliptic cones.
func (s *System) constrainContacts(c *constraints, rows *stacked, cones *coneRows, k kinematics, contacts []contact,
	v []algebra.Num, velocity []spatial) {
	for _, set := range s.acting {
		found, p := contacts[slices.Index(s.contacts, set)], s.parametersUnder(k.Under, set)
		found.Friction = p.friction
		found.Point = found.Point.Minus(s.referenceOf(k, set.mover(), set.points))
		found.Flat = s.flat(set, found, v, velocity)
		c.Contacts = append(c.Contacts, found)
		s.constrainContact(rows, cones, set, found, p, found.Distance.Minus(p.margin).Materialize())
	}
}

// constrainContact adds contacts of a set.
func (s *System) constrainContact(rows *stacked, cones *coneRows, set *contactSet, found contact, p parameters,
	violation algebra.Num) {
	d, active := p.law.impedance(violation), violation.Below(0)
	if s.elliptic(set) {
		cones.stiffness = append(cones.stiffness, active.Choose(stiffnessOf(d, p.weight), d.d.Zero()).Materialize())
		cones.pull = append(cones.pull, p.law.stiffness.Times(d.d).Times(violation))
		cones.damping[0] = append(cones.damping[0], p.law.damping)
		cones.damping[1] = append(cones.damping[1], p.tangent.damping)
		for i := range s.coneDim() - 1 {
			cones.friction[i] = append(cones.friction[i], p.friction[i])
		}
		return
	}
	weight := p.weight
	if set.dim > 1 {
		square := p.friction[0].Square()
		weight = weight.Times(square.Add(1)).Times(square.Scale(2 / s.model.Opt.ImpRatio))
	}
	if slices.Contains(found.Flat[:], true) {
		for _, flat := range found.Flat[:set.dim-1] {
			if flat {
				rows.add(1, d, weight.Scale(0.5), p.law, violation, active)
			} else {
				rows.add(2, d, weight, p.law, violation, active)
			}
		}
		return
	}
	if set.acts == nil || set.dim <= 3 {
		rows.add(s.edges(set), d, weight, p.law, violation, active)
		return
	}
	rows.add(4, d, weight, p.law, violation, active)
	for _, friction := range p.friction[2 : set.dim-1] { // which some of the pairs may lack
		rows.add(2, d, weight, p.law, violation, active.And(friction.Above(0)))
	}
}

// flat reports along and about which tangents of contacts links never move, as all links of a robot in a plane.
func (s *System) flat(set *contactSet, c contact, v []algebra.Num, velocity []spatial) (all [5]bool) {
	if slices.ContainsFunc(set.sides[:], func(side side) bool {
		at := velocity[max(side.group, 0)].Lin
		return side.group != static && !at.X.Is(0) && !at.Y.Is(0) && !at.Z.Is(0)
	}) {
		return all
	}
	motion := s.pointMotion(set, c, v, velocity)
	for i := range set.dim - 1 {
		all[i] = !s.elliptic(set) && motion[1+i].Is(0)
	}
	return all
}

func materializedStack(of []algebra.Num) algebra.Num { return algebra.Concat(of...).Materialize() }

// collisions finds the contacts of each of [System.contacts].
func (s *System) collisions(k kinematics) (all []contact) {
	for _, set := range s.contacts {
		var found contact
		if set.near == 0 { // else see [System.found]
			found = s.collide(k, set)
		}
		if set.sides[0].group == anyLink || set.sides[1].group == anyLink { // tangents of the deepest suffice
			found.Frame[2] = algebra.Vector{}
			if !set.axial {
				found.Frame[1] = algebra.Vector{}
			}
		}
		all = append(all, found)
	}
	return all
}

// collide finds the contacts of all pairs of a set.
func (s *System) collide(k kinematics, set *contactSet) contact {
	at, _ := s.relativePlaces(k, set.sides)
	one := *set
	if set.onTerrain > 0 {
		at, one.sizes = s.onBlocks(k, set, at)
	}
	return contactOf(set.collide(&one, at[0], at[1]))
}

// contactOf returns touches as a contact of a row each.
func contactOf(touches []touch) contact {
	var distance []algebra.Num
	var point, normal, one, other []algebra.Vector
	for _, t := range touches {
		a, b := t.frame()
		distance, point, normal = append(distance, t.distance), append(point, t.point), append(normal, t.normal)
		one, other = append(one, a), append(other, b)
	}
	return contact{Distance: materializedStack(distance), Point: stackVectors(point),
		Frame: [3]algebra.Vector{stackVectors(normal), stackVectors(one), stackVectors(other)}}
}

// relativePlaces returns where both sides of constraints are, relative to the origin of the second one's tree, if
// it moves, else of the first one's, and this origin.
func (s *System) relativePlaces(k kinematics, sides [2]side) (at [2]place, origin algebra.Vector) {
	var origins [2]algebra.Vector
	for i, side := range sides {
		if side.group == static {
			at[i] = side.pose.place()
			continue
		}
		at[i], origins[i] = s.placesOf(k, side), s.placed(k, side, 4)
	}
	switch {
	case sides[0].group == static:
		at[0].position = at[0].position.Minus(origins[1])
	case sides[1].group == static:
		at[1].position = at[1].position.Minus(origins[0])
		return at, origins[0]
	case s.trees() > 1:
		at[0].position = at[0].position.Minus(origins[1].Minus(origins[0]).Materialize()).Materialize()
	}
	return at, origins[1]
}

// placesOf returns where the geoms or points of a side are. Geoms of links that are in several pairs are placed once.
func (s *System) placesOf(k kinematics, side side) place {
	own, each := side.pose.place(), func(x algebra.Num) algebra.Num { return x }
	if side.group == anyLink && side.geom != nil {
		var pair, link []int // of each geom
		for geom := range 1 + slices.Max(side.geom) {
			pair = append(pair, slices.Index(side.geom, geom))
			link = append(link, side.link[pair[geom]])
		}
		own, side.link = place{own.position.Take(pair...), takeRotation(own.turn, pair)}, link
		each = func(x algebra.Num) algebra.Num { return gather(x, side.geom) }
	}
	turn := s.turnOf(k, side)
	position := s.placed(k, side, 3).Plus(turn.Of(own.position)).Materialize()
	turn = materializeRotation(turned(turn, own.turn))
	return place{position.Each(each), algebra.Rotation{X: turn.X.Each(each), Y: turn.Y.Each(each), Z: turn.Z.Each(each)}}
}

func stackVectors(of []algebra.Vector) (out algebra.Vector) {
	if len(of) == 1 {
		return of[0].Materialize()
	}
	var x, y, z []algebra.Num
	for _, v := range of {
		x, y, z = append(x, v.X), append(y, v.Y), append(z, v.Z)
	}
	return algebra.Vector{X: algebra.Concat(x...), Y: algebra.Concat(y...), Z: algebra.Concat(z...)}
}

// pointMotion returns the motion of the second bodies relative to the first at contacts.
func (s *System) pointMotion(set *contactSet, c contact, x []algebra.Num, motions []spatial) (out perAxis) {
	var relative, turning algebra.Vector
	for i, side := range set.sides {
		if side.group == static {
			continue
		}
		link := motions[side.group].take(slices.Repeat(side.link, set.points))
		if relative = link.at(c.Point).Materialize(); i == 0 {
			relative = relative.Neg()
		}
		if turning = link.Ang; i == 0 {
			turning = turning.Neg()
		}
	}
	for i, axis := range c.Frame {
		out[i] = axis.Dot(relative).Materialize()
		if 3+i < set.dim {
			out[3+i] = axis.Dot(turning).Materialize()
		}
	}
	return out
}

// violationRates returns the rates by which motions of the dofs and links change what constraints measure:
// J x of the stacked rows, and of elliptic cones.
func (s *System) violationRates(c constraints, x []algebra.Num, motions []spatial) (stacked algebra.Num, cones perAxis) {
	var list []algebra.Num
	var along [6][]algebra.Num
	for i, r := range s.rows {
		axis := c.Axes[i]
		if r.turns {
			list = append(list, axis.Dot(algebra.Vector{X: x[r.column], Y: x[r.column+1], Z: x[r.column+2]}))
		} else {
			list = append(list, axis.X.Times(x[r.column]))
		}
	}
	for i, jacobian := range c.Equal {
		all := s.stack(jacobian.Graph(), jacobian.Shape().Dimensions[2], x)
		list = append(list, algebra.Num{Rows: s.equal[i].count, Node: Reshape(times(jacobian, all), -1)})
	}
	for i, set := range s.acting {
		m := s.pointMotion(set, c.Contacts[i], x, motions)
		list = append(list, s.edgeRates(set, c.Contacts[i], m)...)
		for axis := range s.coneDim() {
			if !s.elliptic(set) {
				break
			}
			if axis >= set.dim {
				m[axis] = algebra.Constant(set.rows, 0)
			}
			along[axis] = append(along[axis], m[axis])
		}
	}
	if len(list) > 0 {
		stacked = materializedStack(list)
	}
	if len(along[0]) > 0 {
		for axis := range s.coneDim() {
			cones[axis] = materializedStack(along[axis])
		}
	}
	return stacked, cones
}

// edgeRates are the rates of the rows of a set's contacts, given motions along and about their axes.
func (s *System) edgeRates(set *contactSet, c contact, m perAxis) (list []algebra.Num) {
	if set.dim == 1 {
		return []algebra.Num{m[0]}
	}
	if s.elliptic(set) {
		return nil
	}
	for t, friction := range c.Friction[:set.dim-1] {
		if c.Flat[t] {
			list = append(list, m[0])
			continue
		}
		slip := m[1+t].Times(friction).Materialize()
		list = append(list, m[0].Plus(slip), m[0].Minus(slip))
	}
	return list
}
