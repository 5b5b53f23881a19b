package physics

import "slices"

// contactPoint holds the contact points of a set and the bodies in contact.
type contactPoint struct {
	*contactSet
	one, other      bodies // the two bodies; other is set only if it moves
	weights, others weights
	pos             vector // in the world
	arm, otherArm   vector // from the centres of the bodies
	normal          vector // of the other surface
	penetration     num    // positive where the two overlap
}

// findContacts finds the contact points of a group. If whole is set it also materializes their
// positions and penetrations, not only what impulses need.
func (g *contactGroup) findContacts(all limbs, whole bool) []contactPoint {
	sets := g.sets
	if g.onCPU != nil && !accelerated(all[0].rot.w.graph()) {
		sets = g.onCPU
	}
	points := make([]contactPoint, len(sets))
	for k := range sets {
		points[k] = sets[k].findContacts(all, whole)
	}
	return points
}

// findContacts finds the contact points of a set (brax/physics/colliders.py).
func (c *contactSet) findContacts(all limbs, whole bool) contactPoint {
	m := contactPoint{contactSet: c, one: c.a.of(all), others: c.otherWeights}
	turn := m.one.rot.rotation()
	m.weights = c.a.weights.in(turn)
	if c.plane {
		m.normal = vector{c.radius.zero(), c.radius.zero(), constant(c.radius.rows, 1)}
		m.arm = turn.of(c.center).minus(m.normal.by(c.radius))
		m.pos = m.one.pos.plus(m.arm)
		m.penetration = c.otherPosition.minus(m.pos).dot(m.normal)
		return m.materialize(whole)
	}
	otherCenter, otherHalf := c.otherCenter, c.otherHalf
	if c.b != nil {
		m.other = c.b.of(all)
		otherTurn := m.other.rot.rotation()
		m.others = c.b.weights.in(otherTurn)
		otherCenter, otherHalf = m.other.pos.plus(otherTurn.of(otherCenter)), otherTurn.of(otherHalf)
	}
	center, half := m.one.pos.plus(turn.of(c.center)), turn.of(c.half)
	if c.repeated != nil {
		otherCenter.x = c.repeated.nearest(center.x, otherCenter.x)
	}
	a0, a1 := center.plus(half), center.minus(half)
	b0, b1 := otherCenter.plus(otherHalf), otherCenter.minus(otherHalf)
	if c.chosen != nil {
		b0, b1 = c.chosen.from, c.chosen.to
	}
	a0, a1, b0, b1 = a0.materialize(), a1.materialize(), b0.materialize(), b1.materialize()
	other := segmentOf(b0, b1)
	if c.chosen != nil {
		other = *c.chosen
	}
	squared := func(v vector) num { return v.dot(v) }
	d0, d1 := squared(b0.minus(a0)), squared(b1.minus(a0))
	d2, d3 := squared(b0.minus(a1)), squared(b1.minus(a1))
	nearest := d2.min(d3).less(d0.max(d1)).chooseVector(a1, a0).materialize()
	otherNearest := other.closest(nearest).materialize()
	nearest = segmentOf(a0, a1).closest(otherNearest).materialize()

	normal, distance := nearest.minus(otherNearest).unit()
	m.normal, m.penetration = normal, c.radius.plus(c.otherRadius).minus(distance)
	m.pos = nearest.plus(otherNearest).scale(0.5)
	m.arm, m.otherArm = m.pos.minus(m.one.pos), m.pos.minus(c.otherPosition)
	if c.b != nil {
		m.otherArm = m.pos.minus(m.other.pos)
	}
	return m.materialize(whole)
}

// sticking returns the impulse that changes the velocity of a contact point by v, and whether it is in
// the friction cone. The source computes normal impulse and friction as if neither caused the other's
// velocity, so feet of tilted legs creep.
func (m contactPoint) sticking(v vector) (impulse vector, sticks mask) {
	one, zero := constant(m.radius.rows, 1), constant(m.radius.rows, 0)
	var k [3]vector // velocity by a unit impulse along each axis
	for i, unit := range []vector{{one, zero, zero}, {zero, one, zero}, {zero, zero, one}} {
		k[i] = m.weights.response(m.arm, unit)
		if m.b != nil {
			k[i] = k[i].plus(m.others.response(m.otherArm, unit))
		}
		k[i] = k[i].materialize()
	}
	x := k[1].cross(k[2]).materialize()
	impulse = vector{v.dot(x), k[0].dot(v.cross(k[2])), k[0].dot(k[1].cross(v))}.over(k[0].dot(x)).materialize()
	pressure := impulse.dot(m.normal)
	_, shear := impulse.minus(m.normal.by(pressure)).unit()
	return impulse, shear.less(m.friction.times(pressure))
}

// nearest returns the x of the copy that is nearest to x, given the first copy's.
func (r *repetition) nearest(x, first num) num {
	index := x.minus(first).times(r.inverse).add(0.5).floor().max(x.zero()).min(r.last)
	return first.plus(index.times(r.spacing))
}

// materialize materializes what impulses need and, if whole is set, positions and penetrations.
func (m contactPoint) materialize(whole bool) contactPoint {
	m.arm, m.otherArm = m.arm.materialize(), m.otherArm.materialize()
	if !m.plane {
		m.normal = m.normal.materialize()
	}
	if !m.plane || whole {
		m.penetration = m.penetration.materialize()
	}
	if whole {
		m.pos = m.pos.materialize()
	}
	return m
}

// of returns the bodies of a side.
func (c *side) of(all limbs) bodies {
	b := bodiesOf(func(i int) num { return c.gather(all.component(i)) })
	if len(c.levels) > 1 || c.rows() > all[c.levels[0].level].pos.z.rows {
		return b.materialize() // joined and repeated rows are slow to read
	}
	return b
}

// gather returns the values of a side's bodies, given those of all bodies by level.
func (c *side) gather(of []num) num {
	var runs []rowRun
	split := false
	for _, part := range c.levels {
		rows := of[part.level].take(part.rows...)
		runs, split = append(runs, rowRun{rows, 1}), split || rows.split != nil
	}
	return stack(split, runs, join)
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
	from, to, along vector
	square          num // of the length, plus 1e-6
	inverse         num // of square; no rows: square is not known when the graph is built
}

func segmentOf(from, to vector) segment {
	along := to.minus(from)
	return segment{from: from, to: to, along: along, square: along.dot(along).add(1e-6)}
}

// closest is the point of the segment that is closest to p.
func (s segment) closest(p vector) vector {
	t := p.minus(s.from).dot(s.along)
	if s.inverse.rows > 0 {
		t = t.times(s.inverse)
	} else {
		t = t.over(s.square)
	}
	return s.from.plus(s.along.by(t.max(t.zero()).min(constant(t.rows, 1))))
}

// effect is the effect of contacts on both of their bodies.
type effect struct {
	on, onOther twist
	active      num // 1 for contacts that count in the average of their bodies, else 0
	// scalar is the normal multiplier of a position correction, or the slip that a velocity
	// correction did not stop.
	scalar num
}

func (e *effect) components() []*num {
	on, other := e.on.components(), e.onOther.components()
	return append(append(on[:], other[:]...), &e.active, &e.scalar)
}

// materialize materializes all but the scalar.
func (e effect) materialize() effect {
	e.on, e.onOther = e.on.materialize(), e.onOther.materialize()
	return e
}

// count is the mask as a number, materialized.
func (m mask) count() num { return mask{m.materialize()}.number() }

// contactEffect is the effect of contacts on bodies. For the obstacles it is recorded without moving
// them.
type contactEffect struct {
	moving twists
	fixed  twist
	// unstopped is above 0 in copies where the skipped walls may bound friction, one row; or no rows.
	unstopped num
}

func (s *System) noContact() contactEffect {
	t := contactEffect{fixed: zeroTwist(len(s.obstacles))}
	for _, l := range s.levels {
		t.moving = append(t.moving, zeroTwist(len(l.body)))
	}
	return t
}

func (t contactEffect) plus(o contactEffect) contactEffect {
	sum := contactEffect{fixed: t.fixed.plus(o.fixed), unstopped: t.unstopped.plus(o.unstopped)}
	for l := range t.moving {
		sum.moving = append(sum.moving, t.moving[l].plus(o.moving[l]))
	}
	return sum
}

// components returns the components that have rows: of the moving bodies, level by level, of the
// fixed ones, and unstopped.
func (t *contactEffect) components() (all []*num) {
	for l := range t.moving {
		c := t.moving[l].components()
		all = append(all, c[:]...)
	}
	fixed := t.fixed.components()
	return slices.DeleteFunc(append(append(all, fixed[:]...), &t.unstopped),
		func(c *num) bool { return c.rows == 0 })
}

// effectAverage averages the effects of contacts on bodies.
type effectAverage struct {
	sums  [6][]term
	count []term // of active contacts
}

// add adds effects on the bodies in rows to.
func (a *effectAverage) add(on twist, active num, to [][]int) {
	for k, c := range on.components() {
		a.sums[k] = append(a.sums[k], term{*c, to})
	}
	a.count = append(a.count, term{active, to})
}

// of returns the sum of the effects on each of so many bodies, divided by the number of active contacts
// plus epsilon. many says that a body can have several.
func (a *effectAverage) of(bodies int, many bool, epsilon float64) twist {
	weight := constant(bodies, 1/(1+epsilon))
	if many {
		// The source divides by count + epsilon; its sum is 0 where the count is 0. Here the compiler
		// may decide twice whether a contact is active, in two kernels that round differently. With a
		// count of 0 an impulse would then be scaled by 1/epsilon.
		count := segmentSum(bodies, a.count...).max(constant(bodies, 1))
		weight = constant(bodies, 1).over(count.add(epsilon))
	}
	var average twist
	for k, c := range average.components() {
		*c = segmentSum(bodies, a.sums[k]...).times(weight)
	}
	return average
}

// average averages the effects of a group's contacts on each body.
func (s *System) average(g *contactGroup, sets []*contactSet, effects []effect,
	epsilon float64) contactEffect {
	moving, fixed := make([]effectAverage, len(s.levels)), effectAverage{}
	for i, e := range effects {
		sets[i].a.eachLevel(func(l int, to [][]int) { moving[l].add(e.on, e.active, to) })
		switch {
		case sets[i].b != nil:
			sets[i].b.eachLevel(func(l int, to [][]int) { moving[l].add(e.onOther, e.active, to) })
		case g.twoWay:
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
func impulse(p, arm vector, w weights) twist {
	return twist{p.by(w.mass), w.turnedBy(arm.cross(p))}
}

// overlapping masks the contacts whose bodies overlap.
func (m contactPoint) overlapping() mask { return m.penetration.above(0).and(m.present) }

// relativeVelocity is the velocity of the body at the contact point relative to the other body's.
func (m contactPoint) relativeVelocity(one, other bodies) vector {
	v := one.vel.plus(one.ang.cross(m.arm))
	if m.b != nil {
		v = v.minus(other.vel.plus(other.ang.cross(m.otherArm)))
	}
	return v
}
