package physics

import "slices"

// contactGroup is a group of contacts whose effects on a body are averaged.
type contactGroup struct {
	twoWay bool // the contacts also act on the other body
	sets   []contactSet
	many   []bool // by level: whether some body can have several contacts of the group
}

// contactSet is a set of contacts of the same kind, one row per contact: between two capsules (the
// second on a moving or a fixed body), or between an end of a capsule and a plane.
type contactSet struct {
	a       side
	b       *side // nil: the other bodies are fixed
	fixed   []int // the other bodies, as indices in touched; -1 if the row counts for none
	present num   // 1, or 0 for rows that only pad the order

	center, half vector // of the capsule, in a's frame; for planes, of the capsule's end
	radius       num

	otherCenter, otherHalf vector // in b's frame, or in the world if it is fixed
	otherRadius            num
	plane                  bool

	otherWeights  weights // of fixed bodies
	otherPosition vector

	friction, elasticity num
}

// side holds the bodies on one side of contacts: their rows in a level, and the rows that each
// contact acts on.
type side struct {
	level   int
	rows    []int
	to      [][]int
	weights weights
}

// contact is one row of a contactSet under construction.
type contact struct {
	a, b                 int // index of the bodies in the model
	center, half         Vec
	otherCenter, other   Vec
	radius, otherRadius  float64
	friction, elasticity float64
}

// prepareContacts lists the possible contacts. Contacts between fixed bodies have no effect and are
// left out.
func (s *System) prepareContacts() {
	m := s.model
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
					c := contact{a: ia, b: ib, center: ca.Position.rounded(), half: ca.half(),
						radius:   f32(ca.Radius),
						friction: f32(ca.Friction) * f32(cb.Friction), elasticity: f32(ca.Elastic) * f32(cb.Elastic)}
					switch {
					case cb.Shape == Plane:
						for _, end := range []float64{-1, 1} {
							if ca.End == 0 || float64(ca.End) == end {
								e := c
								e.center = e.center.plus(e.half.scaled(end))
								planes = append(planes, e)
							}
						}
					case b.Fixed:
						c.otherCenter = cb.Position.rounded().plus(s.fixed[ib].position)
						c.other, c.otherRadius = cb.half(), f32(cb.Radius)
						walls = append(walls, c)
					case ia < ib:
						c.otherCenter, c.other, c.otherRadius = cb.Position.rounded(), cb.half(), f32(cb.Radius)
						pairs = append(pairs, c)
					}
				}
			}
		}
	}
	s.addGroup(true, append(s.rounds(walls, false), s.pairs(pairs)...))
	s.addGroup(false, s.rounds(planes, true))
}

func (s *System) addGroup(twoWay bool, sets []contactSet) {
	if len(sets) == 0 {
		return
	}
	g := contactGroup{twoWay: twoWay, sets: sets, many: make([]bool, len(s.levels))}
	for l, level := range s.levels {
		count := make([]int, len(level.body))
		for _, set := range sets {
			for _, side := range []*side{&set.a, set.b} {
				if side == nil || side.level != l {
					continue
				}
				for i, to := range side.to {
					for _, row := range to {
						count[row] += int(set.present.known[i])
					}
				}
			}
		}
		g.many[l] = slices.Max(count) > 1
	}
	s.contacts = append(s.contacts, g)
}

// rounds groups the contacts with fixed bodies into sets, per level: the first set holds the first
// contact of each row's body, the second set the second contacts, and so on.
func (s *System) rounds(list []contact, plane bool) []contactSet {
	byBody := map[int][]contact{}
	for _, c := range list {
		byBody[c.a] = append(byBody[c.a], c)
	}
	var sets []contactSet
	for l, level := range s.levels {
		most := 0
		for _, body := range level.body {
			most = max(most, len(byBody[body]))
		}
		if most == 0 {
			continue
		}
		var contacts []contact
		var present []float64
		var rows, fixed []int
		for round := range most {
			for row, body := range level.body {
				c, here, touched := contact{a: body, b: -1, radius: 1, otherRadius: 1}, 0.0, -1
				if round < len(byBody[body]) {
					c, here = byBody[body][round], 1
					if level.first[row] {
						touched = s.touch(c.b)
					}
				}
				contacts, present, rows, fixed = append(contacts, c), append(present, here), append(rows, row),
					append(fixed, touched)
			}
		}
		set := s.contactSet(contacts)
		set.a = side{l, rows, each(rows), level.weights(rows)}
		set.fixed, set.present, set.plane = fixed, known(present...), plane
		sets = append(sets, set)
	}
	return sets
}

// pairs makes one set per contact between two moving bodies.
func (s *System) pairs(list []contact) []contactSet {
	var sets []contactSet
	for _, c := range list {
		set := s.contactSet([]contact{c})
		b := s.sideOf(c.b)
		set.a, set.b, set.present = s.sideOf(c.a), &b, known(1)
		sets = append(sets, set)
	}
	return sets
}

func (s *System) sideOf(body int) side {
	at := s.place[s.model.Bodies[body].Name]
	var copies []int
	for row, other := range s.levels[at.level].body {
		if other == body {
			copies = append(copies, row)
		}
	}
	return side{at.level, []int{at.row}, [][]int{copies}, s.levels[at.level].weights([]int{at.row})}
}

// touch returns the index of a fixed body in s.touched and adds it if it is new.
func (s *System) touch(body int) int {
	if !slices.Contains(s.touched, body) {
		s.touched = append(s.touched, body)
	}
	return slices.Index(s.touched, body)
}

func (s *System) contactSet(list []contact) contactSet {
	column := func(f func(c contact) float64) num {
		out := make([]float64, len(list))
		for row, c := range list {
			out[row] = f(c)
		}
		return known(out...)
	}
	points := func(f func(c contact) Vec) vector {
		out := make([]Vec, len(list))
		for row, c := range list {
			out[row] = f(c)
		}
		return vectors(out...)
	}
	other := func(c contact) Body {
		if c.b < 0 {
			return Body{Mass: 1}
		}
		return s.model.Bodies[c.b]
	}
	return contactSet{
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
			column(func(c contact) float64 { return 1 / f32(other(c).Mass) }),
			points(func(c contact) Vec { return other(c).inverseInertia() }),
		},
	}
}
