package physics

// contactPoint holds the contact points of a set and the bodies in contact.
type contactPoint struct {
	*contactSet
	one, other    bodies // the two bodies; other is set only if it moves
	pos           vector // in the world
	arm, otherArm vector // from the centres of the bodies
	normal        vector // of the other surface
	penetration   num    // positive where the two overlap
}

// findContacts finds the contact points of a group. If whole is set it also materializes their
// positions and penetrations, not only what impulses need.
func (g *contactGroup) findContacts(all limbs, whole bool) []contactPoint {
	points := make([]contactPoint, len(g.sets))
	var made []*num
	for k := range g.sets {
		points[k] = g.sets[k].findContacts(all)
		made = append(made, points[k].components(whole)...)
	}
	materialize(made...)
	return points
}

// findContacts finds the contact points of a set (brax/physics/colliders.py).
func (c *contactSet) findContacts(all limbs) contactPoint {
	m := contactPoint{contactSet: c, one: c.a.of(all)}
	turn := m.one.rot.rotation()
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
		otherCenter, otherHalf = m.other.pos.plus(otherTurn.of(otherCenter)), otherTurn.of(otherHalf)
	}
	center, half := m.one.pos.plus(turn.of(c.center)), turn.of(c.half)
	if c.repeated != nil {
		otherCenter.x = c.repeated.nearest(center.x, otherCenter.x)
	}
	a0, a1 := center.plus(half), center.minus(half)
	b0, b1 := otherCenter.plus(otherHalf), otherCenter.minus(otherHalf)
	materializeVectors(&a0, &a1, &b0, &b1)
	squared := func(v vector) num { return v.dot(v) }
	d0, d1 := squared(b0.minus(a0)), squared(b1.minus(a0))
	d2, d3 := squared(b0.minus(a1)), squared(b1.minus(a1))
	nearest := d2.min(d3).less(d0.max(d1)).chooseVector(a1, a0)
	materializeVectors(&nearest)
	otherNearest := closest(b0, b1, nearest)
	materializeVectors(&otherNearest)
	nearest = closest(a0, a1, otherNearest)
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
	b := all[c.level].take(c.rows...)
	if len(c.rows) > all[c.level].pos.z.rows {
		components := b.components()
		materialize(components[:]...) // repeated rows are slow to read
	}
	return b
}

// closest is the point of the segment from a to b that is closest to p.
func closest(a, b, p vector) vector {
	ab := b.minus(a)
	t := p.minus(a).dot(ab).over(ab.dot(ab).add(1e-6))
	return a.plus(ab.by(t.max(t.zero()).min(constant(t.rows, 1))))
}

// effect is the effect of the contacts of a set on both of their bodies, and which are active.
type effect struct {
	on, onOther push
	active      mask
}

func (e *effect) components() []*num {
	on, other := e.on.components(), e.onOther.components()
	return append(append(on[:], other[:]...), &e.active.num)
}

// touch is the effect of contacts on bodies. For the fixed bodies that can be touched it is
// recorded without moving them.
type touch struct {
	moving pushes
	fixed  push
}

func (s *System) noTouch() touch { return touch{s.noPushes(), noPush(len(s.touched))} }

func (t touch) plus(o touch) touch {
	sum := touch{fixed: t.fixed.plus(o.fixed)}
	for l := range t.moving {
		sum.moving = append(sum.moving, t.moving[l].plus(o.moving[l]))
	}
	return sum
}

// components returns the components of the moving bodies, level by level, and of the fixed ones.
func (t *touch) components() (moving, fixed []*num) {
	for l := range t.moving {
		c := t.moving[l].components()
		moving = append(moving, c[:]...)
	}
	c := t.fixed.components()
	return moving, c[:]
}

// share averages the effects of a group's contacts on each body: their sum is divided by their
// number plus epsilon.
func (s *System) share(g *contactGroup, effects []effect, epsilon float64) touch {
	moving := make([][]portion, len(s.levels))
	var fixed []portion
	for i, e := range effects {
		set := &g.sets[i]
		moving[set.a.level] = append(moving[set.a.level], portion{e.on, set.a.to, e.active})
		switch {
		case set.b != nil:
			moving[set.b.level] = append(moving[set.b.level], portion{e.onOther, set.b.to, e.active})
		case g.twoWay:
			to := make([][]int, len(set.fixed))
			for row, touched := range set.fixed {
				if touched >= 0 {
					to[row] = []int{touched}
				}
			}
			fixed = append(fixed, portion{e.onOther, to, e.active})
		}
	}
	t := touch{fixed: shared(len(s.touched), true, epsilon, fixed)}
	for l, level := range s.levels {
		t.moving = append(t.moving, shared(len(level.body), g.many[l], epsilon, moving[l]))
	}
	return t
}

// portion is the effect of a set's contacts on the bodies of one side.
type portion struct {
	push
	to     [][]int // rows of the bodies
	active mask
}

func shared(rows int, many bool, epsilon float64, portions []portion) push {
	if len(portions) == 0 {
		return noPush(rows)
	}
	var parts [6][]addend
	var counts []addend
	for _, p := range portions {
		for k, c := range p.components() {
			parts[k] = append(parts[k], addend{*c, p.to})
		}
		counts = append(counts, addend{p.active.number(), p.to})
	}
	weight := constant(rows, 1/(1+epsilon))
	if many {
		// The source divides by count + epsilon; its sum is 0 where the count is 0. Here the compiler
		// may decide twice whether a contact is active, in two kernels that round differently. With a
		// count of 0 an impulse would then be scaled by 1/epsilon.
		count := sum(rows, counts...).max(constant(rows, 1))
		weight = constant(rows, 1).over(count.add(epsilon))
	}
	var total push
	for k, c := range total.components() {
		*c = sum(rows, parts[k]...).times(weight)
	}
	return total
}

// impulse is the velocity change of bodies by an impulse p at arm from their centres.
func impulse(p, arm vector, w weights) push {
	return push{p.by(w.mass), arm.cross(p).times(w.inertia)}
}

// others returns the weights of the bodies on the other side.
func (m contactPoint) others() weights {
	if m.b != nil {
		return m.b.weights
	}
	return m.otherWeights
}

// overlapping masks the contacts whose bodies overlap.
func (m contactPoint) overlapping() mask { return m.penetration.above(0).and(mask{m.present}) }

// relativeVelocity is the velocity of the body at the contact point relative to the other body's.
func (m contactPoint) relativeVelocity(one, other bodies) vector {
	v := one.vel.plus(one.ang.cross(m.arm))
	if m.b != nil {
		v = v.minus(other.vel.plus(other.ang.cross(m.otherArm)))
	}
	return v
}
