package physics

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
	var made []*num
	for k := range sets {
		points[k] = sets[k].findContacts(all)
		made = append(made, points[k].components(whole)...)
	}
	materialize(made...)
	return points
}

// findContacts finds the contact points of a set (brax/physics/colliders.py).
func (c *contactSet) findContacts(all limbs) contactPoint {
	m := contactPoint{contactSet: c, one: c.a.of(all), others: c.otherWeights}
	turn := m.one.rot.rotation()
	m.weights = c.a.weights.in(turn)
	if c.plane {
		m.normal = vector{c.radius.zero(), c.radius.zero(), constant(c.radius.rows, 1)}
		m.arm = turn.of(c.center).minus(m.normal.by(c.radius))
		m.pos = m.one.pos.plus(m.arm)
		m.penetration = c.otherPosition.minus(m.pos).dot(m.normal)
		return m
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
	materializeVectors(&a0, &a1, &b0, &b1)
	other := segmentOf(b0, b1)
	if c.chosen != nil {
		other = *c.chosen
	}
	squared := func(v vector) num { return v.dot(v) }
	d0, d1 := squared(b0.minus(a0)), squared(b1.minus(a0))
	d2, d3 := squared(b0.minus(a1)), squared(b1.minus(a1))
	nearest := d2.min(d3).less(d0.max(d1)).chooseVector(a1, a0)
	materializeVectors(&nearest)
	otherNearest := other.closest(nearest)
	materializeVectors(&otherNearest)
	nearest = segmentOf(a0, a1).closest(otherNearest)
	materializeVectors(&nearest)

	apart := nearest.minus(otherNearest)
	distance := apart.norm()
	m.normal = apart.over(distance.add(1e-6))
	m.penetration = c.radius.plus(c.otherRadius).minus(distance)
	m.pos = nearest.plus(otherNearest).scale(0.5)
	m.arm = m.pos.minus(m.one.pos)
	if c.b != nil {
		m.otherArm = m.pos.minus(m.other.pos)
	} else {
		m.otherArm = m.pos.minus(c.otherPosition)
	}
	return m
}

// nearest returns the x of the copy that is nearest to x, given the first copy's.
func (r *repetition) nearest(x, first num) num {
	index := x.minus(first).times(r.inverse).add(0.5).floor().max(x.zero()).min(r.last)
	return first.plus(index.times(r.spacing))
}

func (m *contactPoint) components(whole bool) []*num {
	all := m.arm.components()
	if !m.plane {
		all = append(append(append(all, m.otherArm.components()...), m.normal.components()...),
			&m.penetration)
	}
	if whole {
		all = append(append(all, m.pos.components()...), &m.penetration)
	}
	return all
}

// of returns the bodies of a side.
func (c *side) of(all limbs) bodies {
	var b bodies
	components := b.components()
	for i, component := range components {
		*component = c.gather(all.component(i))
	}
	if len(c.levels) > 1 || c.rows() > all[c.levels[0].level].pos.z.rows {
		materialize(components[:]...) // joined and repeated rows are slow to read
	}
	return b
}

// gather returns the values of a side's bodies, given those of all bodies by level.
func (c *side) gather(of []num) num {
	var parts []num
	for _, part := range c.levels {
		parts = append(parts, of[part.level].take(part.rows...))
	}
	return stack(parts, join)
}

// eachLevel calls f for each part of a side with a function that takes its rows of a num.
func (c *side) eachLevel(f func(part levelRows, take func(num) num)) {
	next := 0
	for _, part := range c.levels {
		var rows []int
		for range part.rows {
			rows = append(rows, next)
			next++
		}
		f(part, func(x num) num {
			if len(c.levels) == 1 {
				return x
			}
			return x.take(rows...)
		})
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

// effect is the effect of the contacts of a set on both of their bodies.
type effect struct {
	on, onOther twist
	active      mask // the contacts that count in the average of their bodies
	// scalar is the normal multiplier of a position correction, or the slip that a velocity
	// correction did not stop.
	scalar num
}

func (e *effect) components() []*num {
	on, other := e.on.components(), e.onOther.components()
	return append(append(on[:], other[:]...), &e.active.num)
}

// effectSum is a sum of effects, or the effect of one contact set.
type effectSum struct {
	on, onOther twist
	active      num // the number of active contacts
	scalar      num
}

func (e *effectSum) components() []*num {
	on, other := e.on.components(), e.onOther.components()
	return append(append(on[:], other[:]...), &e.active, &e.scalar)
}

// contactEffect is the effect of contacts on bodies. For the obstacles it is recorded without moving
// them.
type contactEffect struct {
	moving twists
	fixed  twist
	// unstopped is above 0 in copies where the skipped walls may bound friction, one row; or no rows.
	unstopped num
}

func (s *System) noContact() contactEffect {
	return contactEffect{moving: s.zeroTwists(), fixed: zeroTwist(len(s.obstacles))}
}

func (t contactEffect) plus(o contactEffect) contactEffect {
	sum := contactEffect{fixed: t.fixed.plus(o.fixed), unstopped: t.unstopped.plus(o.unstopped)}
	for l := range t.moving {
		sum.moving = append(sum.moving, t.moving[l].plus(o.moving[l]))
	}
	return sum
}

// components returns the components of the moving bodies, level by level, and of the fixed ones.
func (t *contactEffect) components() (moving, fixed []*num) {
	for l := range t.moving {
		c := t.moving[l].components()
		moving = append(moving, c[:]...)
	}
	c := t.fixed.components()
	return moving, c[:]
}

// contribution is a sum of effects on the bodies of a side, and the number of active contacts.
type contribution struct {
	twist
	to     [][]int // rows of the bodies
	active num
}

// share averages the effects of a group's contacts on each body: their sum is divided by their
// number plus epsilon.
func (s *System) share(g *contactGroup, sets []*contactSet, sums []effectSum,
	epsilon float64) contactEffect {
	moving := make([][]contribution, len(s.levels))
	var fixed []contribution
	add := func(c *side, on twist, active num) {
		c.eachLevel(func(part levelRows, take func(num) num) {
			moving[part.level] = append(moving[part.level],
				contribution{twist{on.vel.each(take), on.ang.each(take)}, part.to, take(active)})
		})
	}
	for i, e := range sums {
		add(&sets[i].a, e.on, e.active)
		switch {
		case sets[i].b != nil:
			add(sets[i].b, e.onOther, e.active)
		case g.twoWay:
			fixed = append(fixed, contribution{e.onOther, sets[i].toFixed(), e.active})
		}
	}
	t := contactEffect{fixed: average(len(s.obstacles), true, epsilon, fixed)}
	for l, level := range s.levels {
		t.moving = append(t.moving, average(len(level.body), g.many[l], epsilon, moving[l]))
	}
	return t
}

// toFixed maps the rows of a set to the fixed bodies that they touch.
func (c *contactSet) toFixed() [][]int {
	to := make([][]int, len(c.fixed))
	for row, obstacle := range c.fixed {
		if obstacle >= 0 {
			to[row] = []int{obstacle}
		}
	}
	return to
}

// average divides the sum of contributions by their number of active contacts.
func average(rows int, many bool, epsilon float64, contributions []contribution) twist {
	if len(contributions) == 0 {
		return zeroTwist(rows)
	}
	var parts [6][]term
	var counts []term
	for _, p := range contributions {
		for k, c := range p.components() {
			parts[k] = append(parts[k], term{*c, p.to})
		}
		counts = append(counts, term{p.active, p.to})
	}
	weight := constant(rows, 1/(1+epsilon))
	if many {
		// The source divides by count + epsilon; its sum is 0 where the count is 0. Here the compiler
		// may decide twice whether a contact is active, in two kernels that round differently. With a
		// count of 0 an impulse would then be scaled by 1/epsilon.
		count := segmentSum(rows, counts...).max(constant(rows, 1))
		weight = constant(rows, 1).over(count.add(epsilon))
	}
	var total twist
	for k, c := range total.components() {
		*c = segmentSum(rows, parts[k]...).times(weight)
	}
	return total
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
