package physics

import (
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
)

// contactGroup is a group of contacts whose effects on a body are averaged.
type contactGroup struct {
	twoWay bool // the contacts also act on the other body
	sets   []contactSet
	many   []bool // by level: whether some body can have several contacts of the group
	walls  *walls // the same contacts for [System.eachWall]; nil if it cannot be used
	// onCPU holds the same contacts for XLA:CPU; nil if that is sets, too. With springs a set holds
	// one contact of each row's body: LLVM does not vectorize loops that read a body's row once per
	// contact. With position based dynamics, whose contacts take long to compile, one set holds all.
	onCPU []contactSet
}

// contactSet is a set of contacts of the same kind, one row per contact: between two capsules (the
// second on a moving or a fixed body), or between an end of a capsule and a plane.
type contactSet struct {
	a       side
	b       *side        // nil: the other bodies are fixed
	fixed   [][]int      // the other bodies, as indices in obstacles; none if the row counts for none
	present algebra.Mask // false for rows that only pad the order

	center, half algebra.Vector // of the capsule, in a's frame; for planes, of the capsule's end
	radius       algebra.Num

	otherCenter, otherHalf algebra.Vector // in b's frame, or in the world if it is fixed
	otherRadius            algebra.Num
	chosen                 *segment // the axis of the other capsule if it is one of several walls
	plane                  bool

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

// contact is one row of a contactSet under construction.
type contact struct {
	a, b                 int // index of the bodies in the model
	center, half         Vec
	otherCenter, other   Vec
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
	reach := math.Hypot(math.Hypot(c.half[0], c.half[1]), c.half[2]) + c.radius +
		math.Abs(c.other[0]) + c.otherRadius
	equal := next
	equal.otherCenter, equal.copies, equal.spacing = c.otherCenter, c.copies, c.spacing
	if equal != *c || at != expected || f32(spacing) != spacing || 2*reach >= spacing {
		return false
	}
	c.copies, c.spacing = c.copies+1, spacing
	return true
}

// prepareContacts lists the possible contacts. Contacts between fixed bodies have no effect and are
// left out.
func (s *System) prepareContacts() {
	m := s.model
	s.acted = make([]bool, len(m.Bodies))
	may := map[[2]int]bool{}
	for _, pair := range m.Collide {
		a, b := m.Body(pair[0]), m.Body(pair[1])
		may[[2]int{a, b}], may[[2]int{b, a}] = true, true
	}
	var planes, walls, pairs []contact
	for ia, a := range m.Bodies {
		for ib, b := range m.Bodies {
			if ia == ib || a.Fixed || !may[[2]int{ia, ib}] {
				continue
			}
			for _, ca := range a.Colliders {
				for _, cb := range b.Colliders {
					if !ca.meets(cb) {
						continue
					}
					c := contact{a: ia, b: ib, center: ca.Position.rounded(), half: ca.half(),
						radius:   f32(ca.Radius),
						friction: f32(ca.Friction) * f32(cb.Friction), elasticity: f32(ca.Elastic) * f32(cb.Elastic)}
					switch {
					case cb.Shape == Plane && ca.Shape == Box:
						for _, corner := range ca.points() {
							c.center, c.half, c.radius = corner.at, Vec{}, 0
							planes = append(planes, c)
						}
					case cb.Shape == Plane:
						for _, end := range []float64{-1, 1} {
							both := ca.End == 0 && (end == 1 || c.half != Vec{}) // the ends of a sphere are one
							if both || float64(ca.End) == end {
								e := c
								e.center = e.center.plus(e.half.scaled(end))
								planes = append(planes, e)
							}
						}
					case b.Fixed:
						at := s.fixed[ib]
						c.otherCenter = at.rotation.rotate(cb.Position.rounded()).plus(at.position)
						c.other, c.otherRadius = at.rotation.rotate(cb.half()), f32(cb.Radius)
						if n := len(walls); m.Dynamics != Spring || n == 0 || !walls[n-1].repeats(c) {
							walls = append(walls, c)
						}
					case ia < ib:
						c.otherCenter, c.other, c.otherRadius = cb.Position.rounded(), cb.half(), f32(cb.Radius)
						pairs = append(pairs, c)
					}
				}
			}
		}
	}
	s.addGroup(true, walls, pairs)
	if m.Dynamics == PositionBased && len(walls) > 0 && len(pairs) == 0 {
		s.contacts[0].walls = s.prepareWalls(walls)
	}
	s.addGroup(false, planes, nil)
}

// addGroup adds a group of contacts: with capsules on fixed bodies and between moving bodies, which
// act both ways, or with planes.
func (s *System) addGroup(twoWay bool, fixed, pairs []contact) {
	if len(fixed)+len(pairs) == 0 {
		return
	}
	for _, c := range slices.Concat(fixed, pairs) {
		s.acted[c.a] = true
		s.acted[c.b] = s.acted[c.b] || twoWay
	}
	levels, plane := s.roundsByLevel(fixed), !twoWay
	var sets, each []contactSet
	for _, rounds := range levels {
		sets = append(sets, s.roundSet(plane, rounds...))
		for _, r := range rounds {
			each = append(each, s.roundSet(plane, r))
		}
	}
	between := s.pairs(pairs)
	sets = append(sets, between...)
	g := contactGroup{twoWay: twoWay, sets: sets, many: make([]bool, len(s.levels))}
	switch {
	case s.model.Dynamics == Spring:
		g.onCPU = append(each, between...)
	case plane:
		g.onCPU = []contactSet{s.roundSet(plane, slices.Concat(levels...)...)}
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
				c := contact{a: body, b: -1, radius: 1, otherRadius: 1}
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
func (s *System) roundSet(plane bool, rounds ...round) contactSet {
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
	set := s.contactSet(contacts)
	set.a = s.side(parts)
	set.fixed, set.present, set.plane = fixed, algebra.Mask{Num: algebra.Known(present...)}, plane
	return set
}

// pairs makes sets of the contacts between moving bodies, one per pair of levels.
func (s *System) pairs(list []contact) (sets []contactSet) {
	levels := func(c contact) [2]int {
		return [2]int{s.place[s.model.Bodies[c.a].Name].level, s.place[s.model.Bodies[c.b].Name].level}
	}
	for len(list) > 0 {
		var now, later []contact
		a, b := levelRows{level: levels(list[0])[0]}, levelRows{level: levels(list[0])[1]}
		for _, c := range list {
			if levels(c) != levels(list[0]) {
				later = append(later, c)
				continue
			}
			now = append(now, c)
			s.addRow(&a, c.a)
			s.addRow(&b, c.b)
		}
		set, other := s.contactSet(now), s.side([]levelRows{b})
		set.a, set.b, set.present = s.side([]levelRows{a}), &other, algebra.Mask{Num: algebra.Constant(len(now), 1)}
		sets, list = append(sets, set), later
	}
	return sets
}

// addRow adds a body of the level.
func (s *System) addRow(part *levelRows, body int) {
	copies := s.levels[part.level].copies(body)
	part.rows, part.to = append(part.rows, copies[0]), append(part.to, copies)
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

// parts returns the rows of both sides.
func (c *contactSet) parts() []levelRows {
	if c.b == nil {
		return c.a.levels
	}
	return slices.Concat(c.a.levels, c.b.levels)
}

// obstacle returns the index of a fixed body in s.obstacles and adds it if it is new.
func (s *System) obstacle(body int) int {
	if !slices.Contains(s.obstacles, body) {
		s.obstacles = append(s.obstacles, body)
	}
	return slices.Index(s.obstacles, body)
}

func (s *System) contactSet(list []contact) contactSet {
	column := func(f func(c contact) float64) algebra.Num { return algebra.ColumnOf(list, f) }
	points := func(f func(c contact) Vec) algebra.Vector { return algebra.VectorsOf(list, f) }
	other := func(c contact) Body {
		if c.b < 0 {
			return Body{Mass: 1}
		}
		return s.model.Bodies[c.b]
	}
	set := contactSet{
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
