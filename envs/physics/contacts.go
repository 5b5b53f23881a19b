package physics

import (
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/lists"
)

// contact is a possible contact of a moving body a: with a moving body b, where both act, or with a
// capsule or a plane of a fixed one.
type contact struct {
	a, b                 int // index of the bodies in the model
	plane                bool
	center, half         Vec // of a's capsule, in its frame; for planes, of the capsule's end
	otherCenter, other   Vec // of b's capsule, in its frame, or in the world if it is fixed
	radius, otherRadius  float64
	friction, elasticity float64

	copies  int     // of the other capsule, beyond the first
	spacing float64 // of the copies, along x
}

// repeats reports whether next is the next copy of the last capsule of c: an equal one, spacing
// further along x, where no capsule of c's body can touch two. Spring dynamics then need to look at
// the nearest copy alone.
func (c *contact) repeats(next contact) bool {
	at, spacing := next.otherCenter, next.otherCenter[0]-c.otherCenter[0]
	if c.copies > 0 {
		spacing = c.spacing
	}
	expected := c.otherCenter
	expected[0] = f32(c.otherCenter[0] + f32(float64(c.copies+1)*f32(spacing)))
	reach := c.half.length() + c.radius + math.Abs(c.other[0]) + c.otherRadius
	equal := next
	equal.otherCenter, equal.copies, equal.spacing = c.otherCenter, c.copies, c.spacing
	if equal != *c || at != expected || f32(spacing) != spacing || 2*reach >= spacing {
		return false
	}
	c.copies, c.spacing = c.copies+1, spacing
	return true
}

// prepareContacts lists the possible contacts and groups those whose effects on a body are averaged.
func (s *System) prepareContacts() {
	m := s.model
	s.acted = make([]bool, len(m.Bodies))
	may := map[[2]int]bool{}
	for _, pair := range m.Collide {
		a, b := m.Body(pair[0]), m.Body(pair[1])
		may[[2]int{a, b}], may[[2]int{b, a}] = true, true
	}
	var planes, walls, pairs []contact
	for a, body := range m.Bodies {
		for b, other := range m.Bodies {
			// Contacts between fixed bodies have no effect.
			if a == b || body.Fixed || !may[[2]int{a, b}] {
				continue
			}
			for _, own := range body.Colliders {
				for _, c := range other.Colliders {
					switch {
					case !own.meets(c):
					case c.Shape == Plane:
						planes = append(planes, planeContacts(newContact(a, own, b, c), own)...)
					case other.Fixed:
						wall := newContact(a, own, b, c)
						at := s.fixed[b]
						wall.otherCenter = at.rotation.rotate(wall.otherCenter).plus(at.position)
						wall.other = at.rotation.rotate(wall.other)
						if n := len(walls); m.Dynamics != Spring || n == 0 || !walls[n-1].repeats(wall) {
							walls = append(walls, wall)
						}
					case a < b:
						pairs = append(pairs, newContact(a, own, b, c))
					}
				}
			}
		}
	}
	s.addGroup(walls, pairs)
	if m.Dynamics == PositionBased && len(walls) > 0 && len(pairs) == 0 {
		s.contacts[0].walls = s.prepareWalls(walls)
	}
	s.addGroup(planes, nil)
}

// newContact returns a contact of colliders of two bodies.
func newContact(a int, own Collider, b int, other Collider) contact {
	c := contact{a: a, b: b, plane: other.Shape == Plane, center: own.Position.rounded(), half: own.half(),
		radius: f32(own.Radius), friction: f32(own.Friction) * f32(other.Friction),
		elasticity: f32(own.Elastic) * f32(other.Elastic)}
	if !c.plane {
		c.otherCenter, c.other, c.otherRadius = other.Position.rounded(), other.half(), f32(other.Radius)
	}
	return c
}

// contactGroup is a group of contacts whose effects on a body are averaged: those with planes, or all
// others.
type contactGroup struct {
	sets  []contactSet
	many  []bool // by level: whether some body can have several contacts of the group
	walls *walls // the same contacts for [contactSolver.eachWall]; nil if it cannot be used
	// onCPU holds the same contacts for XLA:CPU; nil if that is sets, too. With springs a set holds
	// one contact of each row's body: LLVM does not vectorize loops that read a body's row once per
	// contact. With position based dynamics, whose contacts take long to compile, one set holds all.
	onCPU []contactSet
}

// addGroup adds a group of contacts with fixed bodies and between moving ones.
func (s *System) addGroup(fixed, pairs []contact) {
	if len(fixed)+len(pairs) == 0 {
		return
	}
	for _, c := range slices.Concat(fixed, pairs) {
		s.acted[c.a] = true
		s.acted[c.b] = s.acted[c.b] || !c.plane
	}
	levels := s.roundsByLevel(fixed)
	var sets, each []contactSet
	for _, rounds := range levels {
		sets = append(sets, s.roundSet(rounds...))
		for _, r := range rounds {
			each = append(each, s.roundSet(r))
		}
	}
	between := s.pairSets(pairs)
	sets = append(sets, between...)
	g := contactGroup{sets: sets, many: make([]bool, len(s.levels))}
	switch {
	case s.model.Dynamics == Spring:
		g.onCPU = append(each, between...)
	case sets[0].plane:
		g.onCPU = []contactSet{s.roundSet(slices.Concat(levels...)...)}
	}
	for l, level := range s.levels {
		count := make([]int, len(level.body))
		for _, set := range sets {
			for _, part := range set.parts() {
				for i, to := range part.to {
					for _, row := range to {
						if part.level == l {
							count[row] += int(set.present.Known[i])
						}
					}
				}
			}
		}
		g.many[l] = slices.Max(count) > 1
	}
	s.contacts = append(s.contacts, g)
}

// contactSet is a set of contacts of the same kind, one row per contact: between two capsules (the
// second on a moving or a fixed body), or between an end of a capsule and a plane.
type contactSet struct {
	a       side
	b       *side        // nil: the other bodies are fixed
	fixed   [][]int      // the other bodies, as indices in obstacles; none if the row counts for none
	present algebra.Mask // false for rows that only pad the order
	plane   bool

	center, half algebra.Vector // see contact
	radius       algebra.Num

	otherCenter, otherHalf algebra.Vector
	otherRadius            algebra.Num
	chosen                 *segment // the axis of the other capsule if it is one of several walls

	// The other capsule of a row is the nearest of last+1 equal ones, spacing apart along x. The
	// first is at otherCenter. nil: all stand alone.
	repeated *repetition

	otherWeights  weights // of fixed bodies
	otherPosition algebra.Vector

	friction, elasticity algebra.Num
}

// repetition describes rows of equal capsules of a fixed body.
type repetition struct {
	spacing, inverse algebra.Num // of the capsules; 0 for one that stands alone
	last             algebra.Num // index of the last capsule
}

// side holds the bodies on one side of contacts, one row per contact, level by level.
type side struct {
	levels  []levelRows
	weights weights
}

// levelRows holds consecutive rows of a side: their bodies' rows in a level, and the rows of that
// level which each contact acts on.
type levelRows struct {
	level int
	rows  []int
	to    [][]int
}

// rows is the number of rows of a side.
func (c *side) rows() (n int) {
	for _, part := range c.levels {
		n += len(part.rows)
	}
	return n
}

// side adds the bodies' weights to parts.
func (s *System) side(parts []levelRows) side {
	var mass, x, y, z []float64
	for _, part := range parts {
		w := s.levels[part.level].weights.take(part.rows)
		mass, x = append(mass, w.mass.Known...), append(x, w.inertia.X.Known...)
		y, z = append(y, w.inertia.Y.Known...), append(z, w.inertia.Z.Known...)
	}
	inertia := algebra.Vector{X: algebra.Known(x...), Y: algebra.Known(y...), Z: algebra.Known(z...)}
	return side{parts, weights{algebra.Known(mass...), inertia}}
}

// round is the n-th contact of each row's body in a level.
type round struct {
	level    int
	contacts []contact // one per row; b is -1 if the row's body has no n-th contact
}

// roundsByLevel returns the rounds of each level that has contacts.
func (s *System) roundsByLevel(list []contact) (levels [][]round) {
	byBody := map[int][]contact{}
	for _, c := range list {
		byBody[c.a] = append(byBody[c.a], c)
	}
	for l, level := range s.levels {
		most := 0
		for _, body := range level.body {
			most = max(most, len(byBody[body]))
		}
		var rounds []round
		for n := range most {
			r := round{level: l}
			for _, body := range level.body {
				c := contact{a: body, b: -1, plane: list[0].plane, radius: 1, otherRadius: 1}
				if n < len(byBody[body]) {
					c = byBody[body][n]
				}
				r.contacts = append(r.contacts, c)
			}
			rounds = append(rounds, r)
		}
		if most > 0 {
			levels = append(levels, rounds)
		}
	}
	return levels
}

// roundSet makes a set of the contacts of rounds, which must be in the order of levels.
func (s *System) roundSet(rounds ...round) contactSet {
	var contacts []contact
	var present []float64
	var fixed [][]int
	var parts []levelRows
	for _, r := range rounds {
		if n := len(parts); n == 0 || parts[n-1].level != r.level {
			parts = append(parts, levelRows{level: r.level})
		}
		part := &parts[len(parts)-1]
		for row, c := range r.contacts {
			here, obstacle := 0.0, []int(nil)
			if c.b >= 0 {
				here = 1
				if s.levels[r.level].first[row] {
					obstacle = []int{s.obstacle(c.b)}
				}
			}
			contacts, present, fixed = append(contacts, c), append(present, here), append(fixed, obstacle)
			part.rows, part.to = append(part.rows, row), append(part.to, []int{row})
		}
	}
	set := s.contactSet(contacts, s.side(parts))
	set.fixed, set.present = fixed, algebra.Mask{Num: algebra.Known(present...)}
	return set
}

// pairSets makes sets of the contacts between moving bodies, one per pair of levels.
func (s *System) pairSets(list []contact) (sets []contactSet) {
	for len(list) > 0 {
		var now, later []contact
		var a, b levelRows
		for _, c := range list {
			one, other := s.rowOf(c.a), s.rowOf(c.b)
			if len(now) == 0 {
				a.level, b.level = one.level, other.level
			}
			if one.level != a.level || other.level != b.level {
				later = append(later, c)
				continue
			}
			now = append(now, c)
			a.rows, a.to = append(a.rows, one.rows...), append(a.to, one.to...)
			b.rows, b.to = append(b.rows, other.rows...), append(b.to, other.to...)
		}
		set, other := s.contactSet(now, s.side([]levelRows{a})), s.side([]levelRows{b})
		set.b, set.present = &other, algebra.Mask{Num: algebra.Constant(len(now), 1)}
		sets, list = append(sets, set), later
	}
	return sets
}

// rowOf returns the row of a body, whose contacts act on all of its copies.
func (s *System) rowOf(body int) levelRows {
	level := s.place[s.model.Bodies[body].Name].level
	copies := s.levels[level].copies(body)
	return levelRows{level, copies[:1], [][]int{copies}}
}

// parts returns the rows of both sides.
func (c *contactSet) parts() []levelRows {
	if c.b == nil {
		return c.a.levels
	}
	return slices.Concat(c.a.levels, c.b.levels)
}

// obstacle returns the index of a fixed body in s.obstacles and adds it if it is new.
func (s *System) obstacle(body int) int {
	s.obstacles = lists.With(s.obstacles, body)
	return slices.Index(s.obstacles, body)
}

// contactSet makes a set of contacts of the bodies of side a.
func (s *System) contactSet(list []contact, a side) contactSet {
	column := func(f func(c contact) float64) algebra.Num { return algebra.ColumnOf(list, f) }
	points := func(f func(c contact) Vec) algebra.Vector { return algebra.VectorsOf(list, f) }
	other := func(c contact) Body {
		switch {
		case c.plane:
			return Body{} // which does not give way
		case c.b < 0:
			return Body{Mass: 1}
		}
		return s.model.Bodies[c.b]
	}
	set := contactSet{
		a: a, plane: list[0].plane,
		center:      points(func(c contact) Vec { return c.center }),
		half:        points(func(c contact) Vec { return c.half }),
		radius:      column(func(c contact) float64 { return c.radius }),
		otherCenter: points(func(c contact) Vec { return c.otherCenter }),
		otherHalf:   points(func(c contact) Vec { return c.other }),
		otherRadius: column(func(c contact) float64 { return c.otherRadius }),
		friction:    column(func(c contact) float64 { return c.friction }),
		elasticity:  column(func(c contact) float64 { return c.elasticity }),
		otherPosition: points(func(c contact) Vec {
			if c.b < 0 {
				return Vec{}
			}
			return s.fixed[c.b].position
		}),
		otherWeights: weights{
			column(func(c contact) float64 { return other(c).inverseMass() }),
			points(func(c contact) Vec { return other(c).inverseInertia() }),
		},
	}
	if slices.ContainsFunc(list, func(c contact) bool { return c.copies > 0 }) {
		set.repeated = &repetition{
			spacing: column(func(c contact) float64 { return c.spacing }),
			inverse: column(func(c contact) float64 {
				if c.copies == 0 {
					return 0
				}
				return 1 / c.spacing
			}),
			last: column(func(c contact) float64 { return float64(c.copies) }),
		}
	}
	return set
}
