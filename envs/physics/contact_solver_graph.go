package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// contactSolver computes the effects of a group's contacts in a state of the bodies.
type contactSolver interface {
	// impulses returns the velocity changes of spring dynamics.
	impulses() contactEffect
	// correctPositions returns the position corrections of position based dynamics, given the state
	// before the substep, and adds the contacts' normal multipliers to m.
	correctPositions(before limbs, m *multipliers) contactEffect
	// correctVelocities returns the velocity changes of position based dynamics. shifted is the state
	// after the position corrections, now the same with projected velocities.
	correctVelocities(now, shifted limbs, m *multipliers) contactEffect
}

// contactSolvers returns the solver of each group of contacts: all contacts at once, or near walls
// one at a time. Unless everyWall is 0 or nil, all walls count as near.
func (s *System) contactSolvers(all limbs, everyWall *Node) (solvers []contactSolver) {
	g := all.graph()
	for i := range s.contacts {
		group := &s.contacts[i]
		if group.walls == nil || accelerated(g) {
			solvers = append(solvers, &allContacts{s, group, all, nil})
			continue
		}
		if everyWall == nil {
			everyWall = Const(g, int32(0))
		}
		solvers = append(solvers, &nearContacts{s, group, all, group.walls.near(all, everyWall)})
	}
	return solvers
}

// correctPositions returns the position corrections of all contacts, and their multipliers.
func (s *System) correctPositions(contacts []contactSolver, before limbs) (contactEffect, *multipliers) {
	total, m := s.noContact(), &multipliers{added: make([][]algebra.Term, len(s.levels))}
	for _, c := range contacts {
		total = total.plus(c.correctPositions(before, m))
	}
	m.sum(s.levels)
	return total, m
}

// correctVelocities returns the velocity changes of all contacts.
func (s *System) correctVelocities(contacts []contactSolver, now, shifted limbs,
	m *multipliers) contactEffect {
	total := s.noContact()
	for _, c := range contacts {
		total = total.plus(c.correctVelocities(now, shifted, m))
	}
	return total
}

// multipliers sums the normal multipliers of the contacts of each body, which bound friction.
type multipliers struct {
	added   [][]algebra.Term // by level
	far     [][]algebra.Term // lower bounds of the walls that are not near; nil if there are no such walls
	byLevel []algebra.Num    // the sums, after [multipliers.sum]
	skipped []algebra.Num    // 1 for bodies with skipped walls, else 0; nil if there are no such walls
}

func (m *multipliers) add(of *[][]algebra.Term, a *side, x algebra.Num) {
	a.eachLevel(func(l int, to [][]int) { (*of)[l] = append((*of)[l], algebra.Term{Value: x, To: to}) })
}

// sum sums the multipliers. Where walls are skipped, the sum is the negative of a lower bound on its
// absolute value.
func (m *multipliers) sum(levels []level) {
	for l, level := range levels {
		total := algebra.SegmentSum(len(level.body), m.added[l]...)
		if m.far != nil {
			far := algebra.SegmentSum(len(level.body), m.far[l]...)
			some := far.Above(0)
			total = some.Choose(total.Minus(far).Min(far.Zero()), total)
			m.skipped = append(m.skipped, some.Number())
		}
		m.byLevel = append(m.byLevel, total)
	}
}

// unstopped is above 0 in copies where the skipped walls may bound friction, one row; no rows if no
// walls are skipped.
func (m *multipliers) unstopped(a *side, slip algebra.Num) algebra.Num {
	if m.skipped == nil {
		return algebra.Num{}
	}
	slip = slip.Times(a.gather(m.skipped)).Materialize()
	// over the rows of a copy
	return algebra.SegmentSum(1, algebra.Term{Value: slip, To: algebra.Each(make([]int, slip.Rows))})
}

// allContacts solves all contacts of a group at once.
type allContacts struct {
	*System
	group  *contactGroup
	found  limbs
	points []contactPoint // as found
}

func (c *allContacts) impulses() contactEffect {
	c.points = c.group.findContacts(c.found, false)
	return c.average(c.each(func(p contactPoint) effect { return c.collide(c.group, p) }), 1e-8)
}

func (c *allContacts) correctPositions(before limbs, m *multipliers) contactEffect {
	c.points = c.group.findContacts(c.found, true)
	return c.average(c.each(func(p contactPoint) effect {
		e := c.solveContactPosition(c.group, p, before)
		m.add(&m.added, &p.a, e.scalar)
		return e
	}), 1e-6)
}

func (c *allContacts) correctVelocities(now, shifted limbs, m *multipliers) contactEffect {
	effects := c.each(func(p contactPoint) effect {
		return c.solveContactVelocity(c.group, p, now, shifted, p.a.gather(m.byLevel))
	})
	t := c.average(effects, 1e-6)
	for k, p := range c.points {
		t.unstopped = t.unstopped.Plus(m.unstopped(&p.a, effects[k].scalar))
	}
	return t
}

func (c *allContacts) each(solve func(p contactPoint) effect) (effects []effect) {
	for _, p := range c.points {
		effects = append(effects, solve(p))
	}
	return effects
}

// average averages the effects of contacts on each body.
func (c *allContacts) average(effects []effect, epsilon float64) contactEffect {
	sets := make([]*contactSet, len(effects))
	for k := range effects {
		sets[k], effects[k] = c.points[k].contactSet, effects[k].materialize()
	}
	return c.System.average(c.group, sets, effects, epsilon)
}

// nearContacts solves the contacts with near walls one at a time.
type nearContacts struct {
	*System
	group *contactGroup
	found limbs
	near  nearWalls
}

func (c *nearContacts) impulses() contactEffect {
	// Parts of a start pose are constants. XLA would fold them, and take longer to compile.
	g, batch := c.near.bits.Node.Graph(), c.near.bits.Node.Shape().Size()/c.near.bits.Rows
	parts := c.varyingParts(g, batch, c.found)
	for i, part := range parts {
		parts[i] = Add(part, zeros(c.near.bits.Node, i, part.Shape().Size()/batch, batch))
	}
	sum := c.eachWall(false, []limbs{c.complete(parts)}, nil,
		func(set *contactSet, states []limbs, _ algebra.Num) effect {
			return c.collide(c.group, set.findContacts(states[0], false))
		})
	return c.average(sum, 1e-8)
}

func (c *nearContacts) correctPositions(before limbs, m *multipliers) contactEffect {
	sum := c.eachWall(true, []limbs{c.found, before}, nil,
		func(set *contactSet, states []limbs, _ algebra.Num) effect {
			return c.solveContactPosition(c.group, set.findContacts(states[0], true), states[1])
		})
	m.add(&m.added, c.side(), sum.scalar)
	m.far = make([][]algebra.Term, len(c.levels))
	m.add(&m.far, c.side(), c.near.far)
	return c.average(sum, 1e-6)
}

func (c *nearContacts) correctVelocities(now, shifted limbs, m *multipliers) contactEffect {
	multiplier := c.side().gather(m.byLevel)
	sum := c.eachWall(true, []limbs{c.found, now, shifted}, &multiplier,
		func(set *contactSet, states []limbs, multiplier algebra.Num) effect {
			return c.solveContactVelocity(c.group, set.findContacts(states[0], true), states[1], states[2],
				multiplier)
		})
	t := c.average(sum, 1e-6)
	t.unstopped = m.unstopped(c.side(), sum.scalar)
	return t
}

// side returns the moving bodies, one row per contact with the same wall.
func (c *nearContacts) side() *side { return &c.group.walls.sets[0].a }

func (c *nearContacts) average(sum effect, epsilon float64) contactEffect {
	return c.System.average(c.group, []*contactSet{&c.group.walls.sets[0]}, []effect{sum}, epsilon)
}
