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

	Stiffness algebra.Num // D of the stacked rows; 0 where they do not act
	Reference algebra.Num // aref

	ConeStiffness algebra.Num   // D of the normals of the stacked elliptic cones
	ConeReference []algebra.Num // along the axes of the contacts
	ConeFriction  []algebra.Num // along the axes but the normal
}

// contact holds the contacts of a set.
type contact struct {
	Distance algebra.Num
	Point    algebra.Vector    // relative to the origin of the tree of the second side, if it moves, else of the first
	Frame    [3]algebra.Vector // the normal, from the first geom to the second, and two tangents
	Friction [5]algebra.Num    // along the axes but the first, see [contactSet.dim]
	Wrenches []spatial         // of unit forces along the axes on the link that touches what cannot move
	Jacobian []*Node           // between links: of the motions along the axes by the dofs, [n, nv, B]
	Rows     *Node             // of deepest contacts: their rows among all of the set's, int32 [n, B]; nil: all
}

// total returns the force and the torque on the second geoms of contacts, given those along their axes.
func (c contact) total(along []algebra.Num) (force, torque algebra.Vector) {
	force, torque = zeroVector(along[0].Rows), zeroVector(along[0].Rows)
	for axis, x := range along {
		if axis < 3 {
			force = force.Plus(c.Frame[axis].By(x))
		} else {
			torque = torque.Plus(c.Frame[axis-3].By(x))
		}
	}
	return force.Materialize(), torque.Materialize()
}

// constrain finds the constraints of a state: positions q, velocities v and the links' velocities.
func (s *System) constrain(k kinematics, q, v []algebra.Num, velocity spatial) constraints {
	m := s.model
	var c constraints
	// Of the stacked rows: D, the damping B, and K d (r - margin).
	var stiffness, damping, pull []algebra.Num
	inverse := func(d, weight algebra.Num) algebra.Num { // of the regularisation
		return d.Over(algebra.Constant(d.Rows, 1).Minus(d).Times(weight.Max(algebra.Constant(d.Rows, 1e-15))))
	}
	stack := func(times int, d, weight algebra.Num, l law, violation algebra.Num, active algebra.Mask, isLoss bool) {
		D, by := inverse(d, weight), d.Zero()
		if !isLoss {
			D, by = active.Choose(D, D.Zero()), l.stiffness.Times(d).Times(violation).Materialize()
		}
		D = D.Materialize()
		for range times {
			stiffness, damping, pull = append(stiffness, D), append(damping, l.damping), append(pull, by)
		}
	}
	for _, r := range s.rows {
		n := r.weight.Rows
		j := s.groups[r.group].joints[r.joint]
		if r.loss.Rows > 0 {
			axis := algebra.Vector{X: algebra.Constant(n, 1)}
			if r.turns {
				turn := k.Rotation[r.group]
				axis = []algebra.Vector{turn.X, turn.Y, turn.Z}[r.axis]
			}
			c.Axes = append(c.Axes, axis)
			stack(1, r.law.impedance(algebra.Constant(n, 0)), s.rowWeight(k.Under, r), r.law, algebra.Num{}, algebra.Mask{}, true)
			continue
		}
		bounds := limitsOf(j.id, m.JntLimited, m.JntRange)
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
		}
		c.Axes = append(c.Axes, axis)
		violation := distance.Minus(j.known(m.JntMargin)).Materialize()
		stack(1, r.law.impedance(violation), s.rowWeight(k.Under, r), r.law, violation, violation.Below(0), false)
	}
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
		d, always := e.law.impedance(size), algebra.Mask{Num: algebra.Constant(1, 1)}
		for i, x := range violation {
			stack(1, d, e.weight[i/3], e.law, x, always, false)
			if e.tied() {
				pull[len(pull)-1] = pull[len(pull)-1].Plus(drift[i])
			}
		}
	}
	var coneStiffness, conePull, coneDamping, slipDamping []algebra.Num
	coneFriction := make([][]algebra.Num, max(0, s.coneAxes()-1))
	for _, set := range s.acting {
		var found contact
		var violation, d algebra.Num
		p := s.parametersUnder(k.Under, set)
		if set.parts != nil {
			found, p, violation, d = s.deepest(k, set, p)
		} else {
			found = s.collide(k, set)
			found.Friction, found.Wrenches = p.friction, s.wrenches(k, set, found)
			violation = found.Distance.Minus(p.margin).Materialize()
			d = p.law.impedance(violation)
		}
		c.Contacts = append(c.Contacts, found)
		active := violation.Below(0)
		if s.elliptic(set) {
			coneStiffness = append(coneStiffness, active.Choose(inverse(d, p.weight), d.Zero()).Materialize())
			conePull = append(conePull, p.law.stiffness.Times(d).Times(violation))
			coneDamping, slipDamping = append(coneDamping, p.law.damping), append(slipDamping, p.tangent.damping)
			for i := range coneFriction {
				friction := p.weight.Zero()
				if i+1 < set.dim {
					friction = p.friction[i]
				}
				coneFriction[i] = append(coneFriction[i], friction)
			}
			continue
		}
		weight := p.weight
		if set.dim > 1 {
			square := p.friction[0].Square()
			weight = weight.Times(square.Add(1)).Times(square.Scale(2 / m.Opt.ImpRatio))
		}
		stack(s.edges(set), d, weight, p.law, violation, active, false)
	}
	rate, coneRate := s.violationRates(k, c, v, velocity)
	if len(stiffness) > 0 {
		c.Stiffness = materializedStack(stiffness)
		c.Reference = rate.Times(algebra.Concat(damping...)).Plus(algebra.Concat(pull...)).Neg().Materialize()
	}
	if len(coneStiffness) > 0 {
		c.ConeStiffness = materializedStack(coneStiffness)
		for _, list := range coneFriction {
			c.ConeFriction = append(c.ConeFriction, algebra.Concat(list...))
		}
		normal, tangent := algebra.Concat(coneDamping...), algebra.Concat(slipDamping...)
		c.ConeReference = append(c.ConeReference,
			coneRate[0].Times(normal).Plus(algebra.Concat(conePull...)).Neg().Materialize())
		for _, rate := range coneRate[1:] {
			c.ConeReference = append(c.ConeReference, rate.Times(tangent).Neg().Materialize())
		}
	}
	return c
}

func materializedStack(of []algebra.Num) algebra.Num { return algebra.Concat(of...).Materialize() }

// collide finds the contacts of a set.
func (s *System) collide(k kinematics, set *contactSet) contact {
	at, _ := s.relativePlaces(k, set.sides)
	var touches []touch
	if set.onTerrain {
		touches = s.onTerrain(k, set, at[0], at[1])
	} else {
		touches = set.collide(set, at[0], at[1])
	}
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
		at[i] = place{side.pose.position, side.pose.rotation.Rotation().Snap()}
		if side.moves() {
			var on place
			on, origins[i] = k.Links.places(side.links)
			at[i].position = on.position.Plus(on.turn.Of(at[i].position)).Materialize()
			at[i].turn = materializeRotation(turned(on.turn, at[i].turn))
		}
	}
	switch {
	case !sides[0].moves():
		at[0].position = at[0].position.Minus(origins[1])
	case !sides[1].moves():
		at[1].position = at[1].position.Minus(origins[0])
		return at, origins[0]
	case s.trees() > 1:
		at[0].position = at[0].position.Minus(origins[1].Minus(origins[0]).Materialize()).Materialize()
	}
	return at, origins[1]
}

func (s side) moves() bool { return s.links[0] != static }

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

// wrenches returns the unit forces and torques along the axes of contacts with what cannot move.
func (s *System) wrenches(k kinematics, set *contactSet, c contact) (all []spatial) {
	for i := range set.dim {
		axis := c.Frame[i%3]
		if set.moving == 0 {
			axis = axis.Neg()
		}
		if i < 3 {
			all = append(all, s.forceAt(k, axis, c.Point))
		} else {
			all = append(all, s.pack(k, axis, zeroVector(set.rows)))
		}
	}
	return all
}

// pointMotion returns the motion of the second bodies relative to the first at contacts, along their axes, given the
// motions of the dofs and of all links.
func (s *System) pointMotion(set *contactSet, c contact, x []algebra.Num, motion spatial) (out []algebra.Num) {
	if set.parts != nil {
		all := s.stack(c.Jacobian[0].Graph(), c.Jacobian[0].Shape().Dimensions[2], x)
		for _, jacobian := range c.Jacobian {
			out = append(out, algebra.Num{Rows: set.rows, Node: Reshape(times(jacobian, all), -1)})
		}
		return out
	}
	link := motion.take(set.linksOf(set.moving))
	for _, wrench := range c.Wrenches {
		out = append(out, wrench.dot(link.component).Materialize())
	}
	return out
}

// violationRates returns the rates by which motions of the dofs and links change what constraints measure:
// J x of the stacked rows, and of the axes of elliptic cones.
func (s *System) violationRates(k kinematics, c constraints, x []algebra.Num, motion spatial) (stacked algebra.Num,
	cones []algebra.Num) {
	var list []algebra.Num
	along := make([][]algebra.Num, s.coneAxes())
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
		m := s.pointMotion(set, c.Contacts[i], x, motion)
		switch {
		case s.elliptic(set):
			for axis := range along {
				rate := algebra.Constant(set.rows, 0)
				if axis < set.dim {
					rate = m[axis]
				}
				along[axis] = append(along[axis], rate)
			}
		case set.dim == 1:
			list = append(list, m[0])
		default:
			for t, slip := range m[1:] {
				slip = slip.Times(c.Contacts[i].Friction[t]).Materialize()
				list = append(list, m[0].Plus(slip), m[0].Minus(slip))
			}
		}
	}
	if len(list) > 0 {
		stacked = materializedStack(list)
	}
	for _, list := range along {
		cones = append(cones, materializedStack(list))
	}
	return stacked, cones
}
