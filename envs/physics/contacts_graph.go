package physics

// meeting is where the contacts of a set are, and with which bodies.
type meeting struct {
	*contactSet
	one, other    bodies // the bodies; of the other side only if it moves
	pos           vector // in the world
	arm, otherArm vector // from the centres of the bodies
	normal        vector // of the other surface
	penetration   num    // positive where the two overlap
}

// meet finds the contacts of a set (brax/physics/colliders.py).
func (c *contactSet) meet(b bodies) meeting {
	m := meeting{contactSet: c, one: b.take(c.a...)}
	turn := m.one.rot.rotation()
	if c.plane {
		m.normal = c.normal
		m.arm = turn.of(c.center).minus(m.normal.by(c.radius))
		m.pos = m.one.pos.plus(m.arm)
		m.otherArm = m.pos.minus(c.otherPosition)
		m.penetration = c.otherPosition.minus(m.pos).dot(m.normal)
		return m
	}
	otherCenter, otherHalf := c.otherCenter, c.otherHalf
	if c.b != nil {
		m.other = b.take(c.b...)
		otherTurn := m.other.rot.rotation()
		otherCenter, otherHalf = m.other.pos.plus(otherTurn.of(otherCenter)), otherTurn.of(otherHalf)
	}
	center, half := m.one.pos.plus(turn.of(c.center)), turn.of(c.half)
	a0, a1 := center.plus(half), center.minus(half)
	b0, b1 := otherCenter.plus(otherHalf), otherCenter.minus(otherHalf)
	squared := func(v vector) num { return v.dot(v) }
	d0, d1 := squared(b0.minus(a0)), squared(b1.minus(a0))
	d2, d3 := squared(b0.minus(a1)), squared(b1.minus(a1))
	nearest := d2.min(d3).less(d0.max(d1)).chooseVector(a1, a0)
	otherNearest := closest(b0, b1, nearest)
	nearest = closest(a0, a1, otherNearest)

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

// closest is the point between a and b that is next to p.
func closest(a, b, p vector) vector {
	ab := b.minus(a)
	t := p.minus(a).dot(ab).over(ab.dot(ab).add(1e-6))
	return a.plus(ab.by(t.max(t.zero()).min(constant(t.rows, 1))))
}

// effect is what the contacts of a set do to the two bodies of each, and which of them are at work.
type effect struct {
	on, onOther push
	active      mask
}

// touch is what contacts did to bodies: to those that move, and to those of the rest that can be touched, which feel it
// without moving.
type touch struct{ moving, still push }

func (t touch) plus(o touch) touch { return touch{t.moving.plus(o.moving), t.still.plus(o.still)} }

// share adds up the effects of a group's contacts on each body. Contacts of a group that act on the same body share the work:
// their sum is divided by their number, epsilon more.
func (s *System) share(g *contactGroup, effects []effect, epsilon float64) touch {
	var moving, still []portion
	for i, e := range effects {
		set := &g.sets[i]
		moving = append(moving, portion{e.on, set.a, e.active})
		switch {
		case set.b != nil:
			moving = append(moving, portion{e.onOther, set.b, e.active})
		case g.twoWay:
			still = append(still, portion{e.onOther, set.still, e.active})
		}
	}
	return touch{shared(len(s.moving), g.many, epsilon, moving), shared(len(s.touched), true, epsilon, still)}
}

// portion is the effect of contacts on the bodies of one side.
type portion struct {
	push
	to     []int // rows of the bodies
	active mask
}

func shared(rows int, many bool, epsilon float64, portions []portion) push {
	var parts [6][]addend
	var counts []addend
	for _, p := range portions {
		for k, c := range p.components() {
			parts[k] = append(parts[k], addend{*c, p.to})
		}
		counts = append(counts, addend{p.active.number(), p.to})
	}
	weight := constant(rows, 1/(1+epsilon))
	if many && len(portions) > 0 {
		weight = constant(rows, 1).over(sum(rows, counts...).add(epsilon))
	}
	var total push
	for k, c := range total.components() {
		*c = sum(rows, parts[k]...).times(weight)
	}
	return total
}

func (p *push) components() [6]*num {
	return [6]*num{&p.vel.x, &p.vel.y, &p.vel.z, &p.ang.x, &p.ang.y, &p.ang.z}
}

// impulse is what an impulse does to a body at arm from its centre.
func impulse(p, arm vector, inverseMass num, inverseInertia vector) push {
	return push{p.by(inverseMass), arm.cross(p).times(inverseInertia)}
}

// weights are the inverse masses and inertias of the two bodies of each contact.
type weights struct {
	mass, otherMass       num
	inertia, otherInertia vector
}

func (s *System) weights(c *contactSet) weights {
	w := weights{s.inverseMass.take(c.a...), c.otherInverseMass, s.inverseInertia.take(c.a...), c.otherInverseInertia}
	if c.b != nil {
		w.otherMass, w.otherInertia = s.inverseMass.take(c.b...), s.inverseInertia.take(c.b...)
	}
	return w
}

// speed is the velocity of the body at the contact against the other body's.
func (m meeting) speed(b, other bodies) vector {
	v := b.vel.plus(b.ang.cross(m.arm))
	if m.b != nil {
		v = v.minus(other.vel.plus(other.ang.cross(m.otherArm)))
	}
	return v
}

func (p push) scale(k float64) push { return push{p.vel.scale(k), p.ang.scale(k)} }
