package physics

import "slices"

// contactGroup are the contacts that share their effect: when several of a group act on a body, each counts for its part only.
type contactGroup struct {
	twoWay bool
	sets   []contactSet
	many   bool // some body can have several contacts of the group
}

// contactSet are contacts of the same kind, a row each: between capsules (both of bodies that move, or the other one still),
// or of an end of a capsule with a plane.
type contactSet struct {
	a     []int // rows of the state
	b     []int // rows of the state, or nil: the other body is still
	still []int // the other bodies, as indices in touched

	center, half vector // of the capsule, in a's frame; of its end where it meets a plane
	radius       num

	otherCenter, otherHalf vector // in b's frame, or in the world if it is still
	otherRadius            num
	normal                 vector // of a plane
	plane                  bool

	otherInverseMass    num // of a still body
	otherInverseInertia vector
	otherPosition       vector

	friction, elasticity num
}

// contact is a row of a contactSet in the making.
type contact struct {
	a, b                 int // index of the bodies in the model
	center, half         Vec
	otherCenter, other   Vec
	radius, otherRadius  float64
	friction, elasticity float64
}

// prepareContacts lists the contacts that can occur. Contacts between still bodies have no effect and are left out.
func (s *System) prepareContacts() {
	m := s.model
	may := func(a, b int) bool {
		return slices.ContainsFunc(m.Collide, func(pair [2]string) bool {
			first, second := m.body(pair[0]), m.body(pair[1])
			return first == a && second == b || first == b && second == a
		})
	}
	var planes, walls, pairs []contact
	for ia, a := range m.Bodies {
		for ib, b := range m.Bodies {
			if ia == ib || a.Fixed && b.Fixed || !may(ia, ib) {
				continue
			}
			for _, ca := range a.Colliders {
				for _, cb := range b.Colliders {
					c := contact{a: ia, b: ib, center: ca.Position.rounded(), half: ca.half(), radius: f32(ca.Radius),
						friction: f32(ca.Friction) * f32(cb.Friction), elasticity: f32(ca.Elastic) * f32(cb.Elastic)}
					switch {
					case ca.Shape == Capsule && cb.Shape == Plane:
						for _, end := range []float64{-1, 1} {
							if ca.End == 0 || float64(ca.End) == end {
								e := c
								e.center = e.center.plus(e.half.scaled(end))
								planes = append(planes, e)
							}
						}
					case ca.Shape == Capsule && cb.Shape == Capsule && (b.Fixed || !a.Fixed && ia < ib):
						c.otherCenter, c.other, c.otherRadius = cb.Position.rounded(), cb.half(), f32(cb.Radius)
						if b.Fixed {
							c.otherCenter = c.otherCenter.plus(s.still[ib].position)
							walls = append(walls, c)
						} else {
							pairs = append(pairs, c)
						}
					}
				}
			}
		}
	}
	group := func(twoWay bool, lists ...[]contact) {
		g := contactGroup{twoWay: twoWay}
		count := map[int]int{}
		for _, list := range lists {
			if len(list) == 0 {
				continue
			}
			for _, c := range list {
				count[c.a]++
				count[c.b]++
			}
			g.sets = append(g.sets, s.contactSet(list))
		}
		for body, n := range count {
			g.many = g.many || n > 1 && !m.Bodies[body].Fixed
		}
		if len(g.sets) > 0 {
			s.contacts = append(s.contacts, g)
		}
	}
	group(true, walls, pairs)
	group(false, planes)
}

// contactSet makes rows of contacts. It sorts them in rounds of at most one contact per body, so that a round reads
// neighbouring rows of the state.
func (s *System) contactSet(list []contact) contactSet {
	m := s.model
	round, seen := map[int]int{}, map[int]int{}
	for i, c := range list {
		round[i] = seen[c.a]
		seen[c.a]++
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if round[i] != round[j] {
			return round[i] - round[j]
		}
		return s.row[m.Bodies[list[i].a].Name] - s.row[m.Bodies[list[j].a].Name]
	})
	var set contactSet
	column := func(f func(c contact) float64) num {
		out := make([]float64, len(list))
		for row, i := range order {
			out[row] = f(list[i])
		}
		return known(out...)
	}
	points := func(f func(c contact) Vec) vector {
		out := make([]Vec, len(list))
		for row, i := range order {
			out[row] = f(list[i])
		}
		return vectors(out...)
	}
	for _, i := range order {
		c := list[i]
		set.a = append(set.a, s.row[m.Bodies[c.a].Name])
		if !m.Bodies[c.b].Fixed {
			set.b = append(set.b, s.row[m.Bodies[c.b].Name])
			continue
		}
		if !slices.Contains(s.touched, c.b) {
			s.touched = append(s.touched, c.b)
		}
		set.still = append(set.still, slices.Index(s.touched, c.b))
	}
	set.center = points(func(c contact) Vec { return c.center })
	set.half = points(func(c contact) Vec { return c.half })
	set.radius = column(func(c contact) float64 { return c.radius })
	set.otherCenter = points(func(c contact) Vec { return c.otherCenter })
	set.otherHalf = points(func(c contact) Vec { return c.other })
	set.otherRadius = column(func(c contact) float64 { return c.otherRadius })
	set.friction = column(func(c contact) float64 { return c.friction })
	set.elasticity = column(func(c contact) float64 { return c.elasticity })
	set.plane = list[0].otherRadius == 0
	set.normal = points(func(contact) Vec { return Vec{0, 0, 1} })
	set.otherPosition = points(func(c contact) Vec { return s.still[c.b].position })
	set.otherInverseMass = column(func(c contact) float64 { return 1 / f32(m.Bodies[c.b].Mass) })
	set.otherInverseInertia = points(func(c contact) Vec {
		inertia := m.Bodies[c.b].Inertia
		if inertia == (Vec{}) {
			return Vec{1, 1, 1}
		}
		return Vec{1 / f32(inertia[0]), 1 / f32(inertia[1]), 1 / f32(inertia[2])}
	})
	return set
}
