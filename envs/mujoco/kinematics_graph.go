package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// kinematics holds where the links are and how their dofs move them. Positions are relative to the
// origin of their tree, the position of its root, which keeps float32 accurate far from the world's
// origin.
//
// The engine computes with velocities whose rotations of ball and free joints are in the axes of the
// world, where MuJoCo's are in those of the body: their axes are then known. See [System.toWorld].
type kinematics struct {
	Origin   []algebra.Vector   // of the tree of each group's links, in the world
	Position []algebra.Vector   // of the links of each group
	Rotation []algebra.Rotation // of the links of each group
	Axis     []spatial          // of each dof, about the references of its links
	Arm      []algebra.Vector   // from the references of the parents of each group's links to their own
	Inertia  inertia            // of the links of all groups, one after the other: see [System.ofGroup]
	Links    [5]algebra.Vector  // those of placed, likewise
	Under    conditions
}

// placed returns the axes of rotation, positions and origins of a group's links.
func (k kinematics) placed(group int) [5]algebra.Vector {
	turn := k.Rotation[group]
	return [5]algebra.Vector{turn.X, turn.Y, turn.Z, k.Position[group], k.Origin[group]}
}

// size returns the graph, and the number of copies. Any one number may be known, as in a plane.
func (k kinematics) size() (*Graph, int) {
	var all []algebra.Num
	for i := range k.Origin {
		for _, v := range k.placed(i) {
			all = append(all, v.X, v.Y, v.Z)
		}
	}
	return sizeOf(all)
}

// gravity is the acceleration of gravity times a known number of each row.
func (s *System) gravity(k kinematics, times []float64) algebra.Vector {
	g := s.model.Opt.Gravity
	v := algebra.VectorsOf(times, func(x float64) [3]float64 { return [3]float64{g[0] * x, g[1] * x, g[2] * x} })
	if k.Under.Gravity.Rows > 0 {
		v = v.By(spread(k.Under.Gravity, len(times)))
	}
	return v
}

// kinematics places the links under conditions, given the positions of the joints by [System.places].
func (s *System) kinematics(q []algebra.Num, under conditions) kinematics {
	k := kinematics{Axis: make([]spatial, len(s.dofs)), Under: under}
	sines, cosines := s.hinges(q)
	hinge := 0
	for group, g := range s.groups {
		n := g.rows()
		position, turn := g.position, g.rotation
		if g.parent >= 0 {
			up := takeRotation(k.Rotation[g.parent], g.parentRow)
			position = k.Position[g.parent].Take(g.parentRow...).Plus(up.Of(g.position))
			turn = turned(up, g.rotation)
		}
		levers, axes := make([]algebra.Vector, len(g.joints)), make([]algebra.Vector, len(g.joints))
		move := func(by algebra.Vector, joints int) { // moves the link away from the anchors before
			position = position.Plus(by)
			for i := range joints {
				levers[i] = levers[i].Minus(by)
			}
		}
		for i, j := range g.joints {
			place := func(k int) algebra.Num { return q[j.place+k] }
			before := turn.Of(j.position)
			axes[i] = turn.Of(j.axis).Materialize()
			switch j.kind {
			case Free:
				position = algebra.Vector{X: place(0), Y: place(1), Z: place(2)}
				turn = quaternionAt(q[j.place+3:]).Normalized().Rotation()
				levers[i] = zeroVector(n)
				continue
			case Slide:
				move(axes[i].By(place(0).Minus(s.rest(j))), i)
				levers[i] = before
				continue
			case Ball:
				turn = turned(turn, quaternionAt(q[j.place:]).Normalized().Rotation())
			case Hinge:
				turn = turned(turn, aboutAxis(j.axis, sines.Slice(hinge, n), cosines.Slice(hinge, n)))
				hinge += n
			}
			turn = materializeRotation(turn)
			levers[i] = turn.Of(j.position)
			move(before.Minus(levers[i]), i)
		}
		position, turn = position.Materialize(), materializeRotation(turn)
		above := zeroVector(n) // the parents' references
		if g.parent < 0 {
			k.Origin, position = append(k.Origin, position), zeroVector(n)
		} else {
			k.Origin = append(k.Origin, k.Origin[g.parent].Take(g.parentRow...))
			above = s.reference(k, g.parent).Take(g.parentRow...)
		}
		k.Arm = append(k.Arm, zeroVector(n))
		if g.refers {
			k.Arm[group] = position.Plus(levers[len(levers)-1]).Minus(above).Materialize()
		}
		for i, j := range g.joints {
			anchor := position.Minus(above).Plus(levers[i]).Materialize() // from the reference
			if g.refers {
				anchor = g.fromAnchor(i, levers)
			}
			dofs := k.Axis[j.column:]
			switch j.kind {
			case Slide:
				dofs[0] = spatial{zeroVector(n), axes[i]}
			case Hinge:
				dofs[0] = spatial{axes[i], anchor.Cross(axes[i])}.each(algebra.Num.Store)
			case Free:
				for axis := range 3 {
					dofs[axis] = spatial{zeroVector(n), unit(n, axis)}
				}
				dofs = dofs[3:]
				fallthrough
			case Ball:
				for axis := range 3 {
					dofs[axis] = spatial{unit(n, axis), anchor.Cross(unit(n, axis))}.each(algebra.Num.Store)
				}
			}
		}
		k.Position, k.Rotation = append(k.Position, position), append(k.Rotation, turn)
	}
	for which := range k.Links {
		k.Links[which] = s.ofAllLinks(func(group int) algebra.Vector { return k.placed(group)[which] })
	}
	start := k.Links[3] // of the links, from their references
	if slices.ContainsFunc(s.groups, func(g *group) bool { return g.refers }) {
		start = s.ofAllLinks(func(i int) algebra.Vector { return s.fromReference(k, i, s.groups[i].anchor) })
	}
	k.Inertia = s.everyLink(under).inertia(start, algebra.Rotation{X: k.Links[0], Y: k.Links[1], Z: k.Links[2]})
	return k
}

// everyLink has the masses and moments of the links of all groups.
func (s *System) everyLink(under conditions) *group {
	groups := make([]*group, len(s.groups))
	for i := range groups {
		groups[i] = under.of(s.groups, i)
	}
	of := func(f func(g *group) algebra.Vector) algebra.Vector {
		return s.ofAllLinks(func(i int) algebra.Vector { return f(groups[i]) })
	}
	return &group{
		mass:    of(func(g *group) algebra.Vector { return algebra.Vector{X: g.mass, Y: g.mass, Z: g.mass} }).X,
		center:  of(func(g *group) algebra.Vector { return g.center.Minus(g.anchor) }),
		moments: of(func(g *group) algebra.Vector { return g.moments }),
		principal: algebra.Rotation{
			X: of(func(g *group) algebra.Vector { return g.principal.X }),
			Y: of(func(g *group) algebra.Vector { return g.principal.Y }),
			Z: of(func(g *group) algebra.Vector { return g.principal.Z }),
		},
	}
}

// inertia returns the inertias of links.
func (g *group) inertia(position algebra.Vector, turn algebra.Rotation) inertia {
	r := position.Plus(turn.Of(g.center)).Materialize()
	odd, one, other := g.moments.X, g.moments.Y, g.moments.Z
	moment := diagonal(other.Plus(r.Dot(r).Times(g.mass)))
	for _, part := range []symmetric{
		dyad(turn.Of(g.principal.X), odd.Minus(other)),
		dyad(turn.Of(g.principal.Y), one.Minus(other)),
		dyad(r, g.mass.Neg()),
	} {
		entries := part.entries()
		for i, entry := range moment.entries() {
			*entry = entry.Plus(*entries[i])
		}
	}
	for _, entry := range moment.entries() {
		*entry = entry.Materialize()
	}
	return inertia{moment, r.By(g.mass).Materialize(), g.mass}
}

// rest returns the positions of slides and hinges in the model's reference pose.
func (s *System) rest(j joint) algebra.Num {
	return algebra.ColumnOf(j.id, func(id int) float64 { return s.model.QPos0[s.model.JntQPosAdr[id]] })
}

func quaternionAt(q []algebra.Num) algebra.Quaternion {
	return algebra.Quaternion{W: q[0], X: q[1], Y: q[2], Z: q[3]}
}

// hinges returns the sines and cosines of the angles of all hinges, in their order, so that they are computed at
// once.
func (s *System) hinges(q []algebra.Num) (sines, cosines algebra.Num) {
	var angles []algebra.Num
	for _, g := range s.groups {
		for _, j := range g.joints {
			if j.kind == Hinge {
				angles = append(angles, q[j.place].Minus(s.rest(j)))
			}
		}
	}
	if len(angles) == 0 {
		return
	}
	return algebra.SinCos(algebra.Concat(angles...))
}

// aboutAxis is the rotation about a known axis by an angle, given its sine and cosine.
func aboutAxis(u algebra.Vector, sin, cos algebra.Num) algebra.Rotation {
	versine := algebra.Constant(cos.Rows, 1).Minus(cos)
	on := func(u algebra.Num) algebra.Num {
		square := u.Square()
		return cos.Times(algebra.Constant(u.Rows, 1).Minus(square)).Plus(square)
	}
	off := func(a, b, sign algebra.Num) algebra.Num { return versine.Times(a.Times(b)).Plus(sin.Times(sign)) }
	return algebra.Rotation{
		X: algebra.Vector{X: on(u.X), Y: off(u.X, u.Y, u.Z), Z: off(u.X, u.Z, u.Y.Neg())},
		Y: algebra.Vector{X: off(u.X, u.Y, u.Z.Neg()), Y: on(u.Y), Z: off(u.Y, u.Z, u.X)},
		Z: algebra.Vector{X: off(u.X, u.Z, u.Y), Y: off(u.Y, u.Z, u.X.Neg()), Z: on(u.Z)},
	}
}

// toWorld turns what is in MuJoCo's order of dofs' axes, a velocity or a force, into the axes that the
// engine computes with. toBody is its inverse.
func (s *System) toWorld(k kinematics, of []algebra.Num) []algebra.Num {
	return s.turnDofs(of, func(group int, v algebra.Vector) algebra.Vector { return k.Rotation[group].Of(v) })
}

func (s *System) toBody(k kinematics, of []algebra.Num) []algebra.Num {
	return s.turnDofs(of, func(group int, v algebra.Vector) algebra.Vector { return inverse(k.Rotation[group], v) })
}

// turnDofs applies a function to the rotations of ball and free joints.
func (s *System) turnDofs(of []algebra.Num, f func(group int, v algebra.Vector) algebra.Vector) []algebra.Num {
	out := append([]algebra.Num{}, of...)
	for i, g := range s.groups {
		for _, j := range g.joints {
			if at, ok := j.turns(); ok {
				v := f(i, algebra.Vector{X: of[at], Y: of[at+1], Z: of[at+2]}).Materialize()
				out[at], out[at+1], out[at+2] = v.X, v.Y, v.Z
			}
		}
	}
	return out
}

// turns returns the first of the three dofs by which a ball or free joint rotates.
func (j joint) turns() (column int, ok bool) {
	switch j.kind {
	case Free:
		return j.column + 3, true
	case Ball:
		return j.column, true
	}
	return 0, false
}
