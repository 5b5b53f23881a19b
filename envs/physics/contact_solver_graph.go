package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// A contactLaw computes the effect of contacts that were found in one state of the bodies, given
// other states and the sums of the normal multipliers of their bodies. The laws are
// [System.collide], [System.solveContactPosition] and [System.solveContactVelocity].
type contactLaw func(m contactPoint, states []limbs, multiplier algebra.Num) effect

// contactSolver applies laws to the contacts of a group: to all at once, or one at a time to those
// with near walls.
type contactSolver struct {
	*System
	group  *contactGroup
	found  limbs          // state of the bodies in which contacts are found
	near   *nearWalls     // nil: all contacts
	points []contactPoint // of all contacts, once they are found
	drive  drive          // Friction and Mass
}

// contactSolvers returns the solver of each group of contacts. Unless EveryWall is 0 or nil, all
// walls count as near.
func (s *System) contactSolvers(all limbs, d drive) (solvers []*contactSolver) {
	g, everyWall := all.graph(), d.EveryWall
	for i := range s.contacts {
		c := &contactSolver{System: s, group: &s.contacts[i], found: all,
			drive: drive{Friction: d.Friction, Mass: d.Mass}}
		if c.group.walls != nil && !accelerated(g) {
			if everyWall == nil {
				everyWall = Const(g, int32(0))
			}
			c.near = c.group.walls.near(all, everyWall)
		}
		solvers = append(solvers, c)
	}
	return solvers
}

// solve returns the effects of the contacts, and their sets. If whole is set, the law reads the
// positions of contacts and returns scalars. multiplier is nil for laws that read none.
func (c *contactSolver) solve(whole bool, law contactLaw, multiplier func(a *side) algebra.Num,
	states ...limbs) (sets []*contactSet, effects []effect) {
	if c.near != nil {
		return []*contactSet{&c.group.walls.sets[0]}, []effect{c.eachWall(whole, law, multiplier, states)}
	}
	if c.points == nil {
		list := c.group.sets
		if c.group.onCPU != nil && !accelerated(c.found.graph()) {
			list = c.group.onCPU
		}
		for i := range list {
			c.points = append(c.points, list[i].findContacts(c.found, whole).under(c.drive))
		}
	}
	for _, p := range c.points {
		var input algebra.Num
		if multiplier != nil {
			input = multiplier(&p.a)
		}
		sets, effects = append(sets, p.contactSet), append(effects, law(p, states, input))
	}
	for i, e := range effects {
		effects[i] = e.materialize()
	}
	return sets, effects
}

// resolveContacts returns the velocity changes of spring dynamics by all contacts.
func (s *System) resolveContacts(all limbs, d drive) contactEffect {
	total := s.noContact()
	for _, c := range s.contactSolvers(all, drive{Friction: d.Friction, Mass: d.Mass}) {
		if c.near != nil {
			c.found = c.hidden(all)
		}
		sets, effects := c.solve(false, s.collide, nil)
		total = total.plus(s.average(c.group, sets, effects, 1e-8))
	}
	return total
}

// correctPositions returns the position corrections of position based dynamics by all contacts, given
// the state before the substep, and their multipliers.
func (s *System) correctPositions(contacts []*contactSolver, before limbs) (contactEffect, *multipliers) {
	total, m := s.noContact(), &multipliers{added: make([][]algebra.Term, len(s.levels))}
	for _, c := range contacts {
		sets, effects := c.solve(true, s.solveContactPosition, nil, before)
		for i, set := range sets {
			m.add(&m.added, &set.a, effects[i].scalar)
		}
		if c.near != nil {
			m.far = make([][]algebra.Term, len(s.levels))
			m.add(&m.far, &sets[0].a, c.near.far)
		}
		total = total.plus(s.average(c.group, sets, effects, 1e-6))
	}
	m.sum(s.levels)
	return total, m
}

// correctVelocities returns the velocity changes of position based dynamics by all contacts. shifted is
// the state after the position corrections, now the same with projected velocities.
func (s *System) correctVelocities(contacts []*contactSolver, now, shifted limbs, m *multipliers) contactEffect {
	total := s.noContact()
	for _, c := range contacts {
		sets, effects := c.solve(true, s.solveContactVelocity,
			func(a *side) algebra.Num { return a.gather(m.byLevel) }, now, shifted)
		t := s.average(c.group, sets, effects, 1e-6)
		for i, set := range sets {
			t.unstopped = t.unstopped.Plus(m.unstopped(&set.a, effects[i].scalar))
		}
		total = total.plus(t)
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
