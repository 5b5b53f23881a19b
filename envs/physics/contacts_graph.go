package physics

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// contactPoint holds the contact points of a set and the bodies in contact.
type contactPoint struct {
	*contactSet
	one, other      bodies // the two bodies; other is set only if it moves
	weights, others weights
	pos             algebra.Vector // in the world
	arm, otherArm   algebra.Vector // from the centres of the bodies
	normal          algebra.Vector // of the other surface
	penetration     algebra.Num    // positive where the two overlap
	mass            algebra.Num    // multiplier of all masses; no rows: 1
}

// findContacts finds the contact points of a set (brax/physics/colliders.py). If whole is set it also
// materializes their positions and penetrations, not only what impulses need.
func (c *contactSet) findContacts(all limbs, whole bool) contactPoint {
	m := contactPoint{contactSet: c, one: c.a.of(all), others: c.otherWeights}
	turn := m.one.rot.Rotation()
	m.weights = c.a.weights
	if c.plane {
		return m.onPlane(turn).materialize(whole)
	}
	otherCenter, otherHalf := c.otherCenter, c.otherHalf
	if c.b != nil {
		m.other = c.b.of(all)
		otherTurn := m.other.rot.Rotation()
		m.others = c.b.weights
		otherCenter, otherHalf = m.other.pos.Plus(otherTurn.Of(otherCenter)), otherTurn.Of(otherHalf)
	}
	center, half := m.one.pos.Plus(turn.Of(c.center)), turn.Of(c.half)
	if c.repeated != nil {
		otherCenter.X = c.repeated.nearest(center.X, otherCenter.X)
	}
	a0, a1 := center.Plus(half), center.Minus(half)
	b0, b1 := otherCenter.Plus(otherHalf), otherCenter.Minus(otherHalf)
	if c.chosen != nil {
		b0, b1 = c.chosen.from, c.chosen.to
	}
	a0, a1, b0, b1 = a0.Materialize(), a1.Materialize(), b0.Materialize(), b1.Materialize()
	other := segmentOf(b0, b1)
	if c.chosen != nil {
		other = *c.chosen
	}
	squared := func(v algebra.Vector) algebra.Num { return v.Dot(v) }
	d0, d1 := squared(b0.Minus(a0)), squared(b1.Minus(a0))
	d2, d3 := squared(b0.Minus(a1)), squared(b1.Minus(a1))
	nearest := d2.Min(d3).Less(d0.Max(d1)).ChooseVector(a1, a0).Materialize()
	otherNearest := other.closest(nearest).Materialize()
	nearest = segmentOf(a0, a1).closest(otherNearest).Materialize()

	normal, distance := nearest.Minus(otherNearest).Unit()
	m.normal, m.penetration = normal, c.radius.Plus(c.otherRadius).Minus(distance)
	m.pos = nearest.Plus(otherNearest).Scale(0.5)
	m.arm, m.otherArm = m.pos.Minus(m.one.pos), m.pos.Minus(c.otherPosition)
	if c.b != nil {
		m.otherArm = m.pos.Minus(m.other.pos)
	}
	return m.materialize(whole)
}

// nearest returns the x of the copy that is nearest to x, given the first copy's.
func (r *repetition) nearest(x, first algebra.Num) algebra.Num {
	index := x.Minus(first).Times(r.inverse).Add(0.5).Floor().Max(x.Zero()).Min(r.last)
	return first.Plus(index.Times(r.spacing))
}

// materialize materializes what impulses need or, if whole is set, everything.
func (m contactPoint) materialize(whole bool) contactPoint {
	m.arm, m.otherArm = m.arm.Materialize(), m.otherArm.Materialize()
	if !m.plane {
		m.normal = m.normal.Materialize()
	}
	if !m.plane || whole {
		m.penetration = m.penetration.Materialize()
	}
	if whole {
		m.pos = m.pos.Materialize()
	}
	return m
}

// under returns contacts with the friction and the masses of a drive.
func (m contactPoint) under(d drive) contactPoint {
	rows := m.friction.Rows
	if d.Friction != nil {
		set := *m.contactSet
		set.friction = set.friction.Times(eachRow(d.Friction, rows))
		m.contactSet = &set
	}
	if d.Mass != nil {
		m.mass = eachRow(d.Mass, rows)
	}
	return m
}

// of returns the bodies of a side.
func (c *side) of(all limbs) bodies {
	b := bodiesOf(func(i int) algebra.Num { return c.gather(all.component(i)) })
	if len(c.levels) > 1 || c.rows() > all[c.levels[0].level].pos.Z.Rows {
		return b.materialize() // joined and repeated rows are slow to read
	}
	return b
}

// gather returns the values of a side's bodies, given those of all bodies by level.
func (c *side) gather(of []algebra.Num) algebra.Num {
	var parts []algebra.Num
	for _, part := range c.levels {
		parts = append(parts, of[part.level].Take(part.rows...))
	}
	return algebra.ConcatSplit(parts...)
}

// eachLevel calls f for each level of a side, with the level's rows that each row of the side acts on.
func (c *side) eachLevel(f func(level int, to [][]int)) {
	next := 0
	for _, part := range c.levels {
		to := make([][]int, c.rows())
		next += copy(to[next:], part.to)
		f(part.level, to)
	}
}

// segment is the axis of a capsule.
type segment struct {
	from, to, along algebra.Vector
	square          algebra.Num // of the length, plus 1e-6
	inverse         algebra.Num // of square; no rows: square is not known when the graph is built
}

func segmentOf(from, to algebra.Vector) segment {
	along := to.Minus(from)
	return segment{from: from, to: to, along: along, square: along.Dot(along).Add(1e-6)}
}

// closest is the point of the segment that is closest to p.
func (s segment) closest(p algebra.Vector) algebra.Vector {
	t := p.Minus(s.from).Dot(s.along)
	if s.inverse.Rows > 0 {
		t = t.Times(s.inverse)
	} else {
		t = t.Over(s.square)
	}
	return s.from.Plus(s.along.By(t.Max(t.Zero()).Min(algebra.Constant(t.Rows, 1))))
}

// effect is the effect of contacts on both of their bodies.
type effect struct {
	on, onOther twist
	active      algebra.Num // 1 for contacts that count in the average of their bodies, else 0
	// scalar is the normal multiplier of a position correction, or the slip that a velocity
	// correction did not stop.
	scalar algebra.Num
}

func (e *effect) components() []*algebra.Num {
	on, other := e.on.components(), e.onOther.components()
	return append(append(on[:], other[:]...), &e.active, &e.scalar)
}

// materialize materializes all but the scalar.
func (e effect) materialize() effect {
	e.on, e.onOther = e.on.materialize(), e.onOther.materialize()
	return e
}

// contactEffect is the effect of contacts on bodies. For the obstacles it is recorded without moving
// them.
type contactEffect struct {
	moving twists
	fixed  twist
	// unstopped is above 0 in copies where the skipped walls may bound friction, one row; or no rows.
	unstopped algebra.Num
}

func (s *System) noContact() contactEffect {
	t := contactEffect{fixed: zeroTwist(len(s.obstacles))}
	for _, l := range s.levels {
		t.moving = append(t.moving, zeroTwist(len(l.body)))
	}
	return t
}

func (t contactEffect) plus(o contactEffect) contactEffect {
	sum := contactEffect{fixed: t.fixed.plus(o.fixed), unstopped: t.unstopped.Plus(o.unstopped)}
	for l := range t.moving {
		sum.moving = append(sum.moving, t.moving[l].plus(o.moving[l]))
	}
	return sum
}

// components returns the components that have rows: of the moving bodies, level by level, of the
// fixed ones, and unstopped.
func (t *contactEffect) components() (all []*algebra.Num) {
	for l := range t.moving {
		c := t.moving[l].components()
		all = append(all, c[:]...)
	}
	fixed := t.fixed.components()
	return slices.DeleteFunc(append(append(all, fixed[:]...), &t.unstopped), func(c *algebra.Num) bool { return c.Rows == 0 })
}

// effectAverage averages the effects of contacts on bodies.
type effectAverage struct {
	effects twistSum
	count   []algebra.Term // of active contacts
}

// add adds effects on the bodies in rows to.
func (a *effectAverage) add(on twist, active algebra.Num, to [][]int) {
	a.effects.add(on, to)
	a.count = append(a.count, algebra.Term{Value: active, To: to})
}

// of returns the sum of the effects on each of so many bodies, divided by the number of active contacts
// plus epsilon. many says that a body can have several.
func (a *effectAverage) of(bodies int, many bool, epsilon float64) twist {
	weight := algebra.Constant(bodies, 1/(1+epsilon))
	if many {
		// The source divides by count + epsilon; its sum is 0 where the count is 0. Here the compiler
		// may decide twice whether a contact is active, in two kernels that round differently. With a
		// count of 0 an impulse would then be scaled by 1/epsilon.
		count := algebra.SegmentSum(bodies, a.count...).Max(algebra.Constant(bodies, 1))
		weight = algebra.Constant(bodies, 1).Over(count.Add(epsilon))
	}
	return a.effects.of(func(terms []algebra.Term) algebra.Num {
		return algebra.SegmentSum(bodies, terms...).Times(weight)
	})
}

// average averages the effects of a group's contacts on each body.
func (s *System) average(g *contactGroup, sets []*contactSet, effects []effect, epsilon float64) contactEffect {
	moving, fixed := make([]effectAverage, len(s.levels)), effectAverage{}
	for i, e := range effects {
		sets[i].a.eachLevel(func(l int, to [][]int) { moving[l].add(e.on, e.active, to) })
		switch {
		case sets[i].b != nil:
			sets[i].b.eachLevel(func(l int, to [][]int) { moving[l].add(e.onOther, e.active, to) })
		case !sets[i].plane:
			fixed.add(e.onOther, e.active, sets[i].fixed)
		}
	}
	t := contactEffect{fixed: fixed.of(len(s.obstacles), true, epsilon)}
	for l, level := range s.levels {
		t.moving = append(t.moving, moving[l].of(len(level.body), g.many[l], epsilon))
	}
	return t
}

// impulse is the velocity change of bodies by an impulse p at arm from their centres.
func impulse(p, arm algebra.Vector, w weights) twist {
	return twist{p.By(w.mass), w.turnedBy(arm.Cross(p))}
}

// overlapping masks the contacts whose bodies overlap.
func (m contactPoint) overlapping() algebra.Mask { return m.penetration.Above(0).And(m.present) }

// relativeVelocity is the velocity of the body at the contact point relative to the other body's.
func (m contactPoint) relativeVelocity(one, other bodies) algebra.Vector {
	v := one.vel.Plus(one.ang.Cross(m.arm))
	if m.b != nil {
		v = v.Minus(other.vel.Plus(other.ang.Cross(m.otherArm)))
	}
	return v
}
