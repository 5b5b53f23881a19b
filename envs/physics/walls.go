package physics

import (
	"math"
	"slices"
)

// walls holds the contacts with the capsules of one fixed body, here called walls: a set per wall,
// with a row per moving body. The moving bodies are the same in all sets.
type walls struct {
	sets  []contactSet
	box   []vector // for each wall: half the extents of its axis along the world axes
	reach []num    // for each wall: the sum of both radii
	arm   num      // the largest distance from the body's centre to a point of its axis
	// inverseMass is an upper bound on the generalised inverse mass of the contacts with each wall.
	inverseMass []num
}

// maxWalls is the largest number of walls: a float32 holds a bit for each.
const maxWalls = 24

// maxStretch is the largest squared length of a quaternion for which inverseMass holds. Joint
// corrections leave quaternions that are not normalised, which stretches bodies by this factor.
const maxStretch = 2

// prepareWalls returns nil if the contacts are too many or belong to several fixed bodies.
func (s *System) prepareWalls(list []contact) *walls {
	for _, c := range list {
		if c.b != list[0].b {
			return nil
		}
	}
	levels := s.roundsByLevel(list)
	most := 0
	for _, rounds := range levels {
		most = max(most, len(rounds))
	}
	for _, rounds := range levels {
		if len(rounds) < most || most > maxWalls {
			return nil
		}
	}
	w := &walls{}
	for n := range most {
		var round []round
		var contacts []contact
		for _, rounds := range levels {
			round, contacts = append(round, rounds[n]), append(contacts, rounds[n].contacts...)
		}
		set := s.roundSet(false, round...)
		var box []Vec
		var reach, arm, inverse []float64
		for row, c := range contacts {
			box = append(box, Vec{math.Abs(c.other[0]), math.Abs(c.other[1]), math.Abs(c.other[2])})
			far := c.center.length() + c.half.length()
			arm, reach = append(arm, far), append(reach, c.radius+c.otherRadius)
			inverse = append(inverse, set.a.weights.bound(row, maxStretch*far)+
				set.otherWeights.bound(row, c.otherReach(s)))
		}
		w.sets, w.box, w.reach = append(w.sets, set), append(w.box, vectors(box...)),
			append(w.reach, known(reach...))
		w.inverseMass = append(w.inverseMass, known(inverse...))
		w.arm = w.arm.larger(known(arm...))
	}
	return w
}

func (v Vec) length() float64 { return math.Hypot(math.Hypot(v[0], v[1]), v[2]) }

// larger returns the maximum of known nums. If a is the zero num, it returns b.
func (a num) larger(b num) num {
	if a.rows == 0 {
		return b
	}
	return a.max(b)
}

// otherReach is the distance from the centre of the wall's body to the farthest point of the wall's
// axis.
func (c contact) otherReach(s *System) float64 {
	if c.b < 0 {
		return 0
	}
	from := c.otherCenter.plus(s.fixed[c.b].position.scaled(-1))
	return max(from.plus(c.other).length(), from.plus(c.other.scaled(-1)).length())
}

// bound returns an upper bound on the generalised inverse mass of a body at a lever of at most the
// given length.
func (w weights) bound(row int, lever float64) float64 {
	inertia := slices.Max([]float64{w.inertia.x.known[row], w.inertia.y.known[row],
		w.inertia.z.known[row]})
	return 1.01 * (w.mass.known[row] + lever*lever*inertia + 1e-6)
}
