package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// Constraints that push with one number each are stacked, so that the solver treats all of them at once:
// friction losses, limits, equalities, the edges of pyramidal cones, and contacts
// without friction. The cost of each is a spring's whose force is clipped. Elliptic cones have three numbers
// and are stacked separately.

// jointRow is a constraint of each link's joint of a group: a force on one dof, or on the three by
// which a ball or free joint turns.
type jointRow struct {
	group, joint int
	column       int // the first dof
	turns        bool
	loss         algebra.Num // the largest force of a friction loss; no rows: a limit
	far          bool        // a limit: the farther one of both
	axis         int         // of the friction loss of a joint that turns, in the axes of the body
	law          law
	weight       algebra.Num
}

// prepareRows lists the constraints of the joints.
func (s *System) prepareRows() {
	m, flags := s.model, s.model.Opt.DisableFlags
	if flags&DisableConstraint != 0 {
		return
	}
	for i, g := range s.groups {
		for at, j := range g.joints {
			first, turns := j.turns()
			for c := j.column; c < j.column+j.kind.Dofs() && flags&DisableFrictionLoss == 0; c++ {
				loss := s.knownDof(c, m.DofFrictionLoss)
				if loss.Is(0) {
					continue
				}
				dofs := s.dofs[c].index
				r := jointRow{group: i, joint: at, column: c, loss: loss, weight: s.knownDof(c, m.DofInvweight0),
					law: lawOf(s, dofs, func(d int) [2]float64 { return m.DofSolRef[d] },
						func(d int) [5]float64 { return m.DofSolImp[d] })}
				if turns && c >= first {
					r.column, r.turns, r.axis = first, true, c-first
				}
				s.rows = append(s.rows, r)
			}
			limited := slices.ContainsFunc(j.id, func(id int) bool { return m.JntLimited[id] })
			if flags&DisableLimit == 0 && limited && j.kind != Free {
				r := jointRow{group: i, joint: at, column: j.column, turns: j.kind == Ball,
					weight: s.knownDof(j.column, m.DofInvweight0),
					law: lawOf(s, j.id, func(id int) [2]float64 { return m.JntSolRef[id] },
						func(id int) [5]float64 { return m.JntSolImp[id] })}
				s.rows = append(s.rows, r)
				if r.far = !r.turns && slices.ContainsFunc(j.id, func(id int) bool {
					return m.JntLimited[id] && bothAct(m.JntRange[id], m.JntMargin[id])
				}); r.far {
					s.rows = append(s.rows, r)
				}
			}
		}
	}
}

// bothAct reports whether the limits of a range act at once somewhere.
func bothAct(of [2]float64, margin float64) bool { return of[1]-of[0] < 2*margin }

// edges returns the number of stacked rows of each contact of a set: those of a pyramid, one without
// friction, or none of an elliptic cone.
func (s *System) edges(c *contactSet) int {
	switch {
	case c.dim == 1:
		return 1
	case s.model.Opt.Cone == Pyramidal:
		return 2 * (c.dim - 1)
	}
	return 0
}

// bounds are the least and largest forces of so many stacked rows.
func (s *System) bounds(rows int) limits {
	var low, high []float64
	for _, r := range s.rows {
		for i := range r.weight.Rows {
			if r.loss.Rows > 0 {
				low, high = append(low, -r.loss.Known[i]), append(high, r.loss.Known[i])
			} else {
				low, high = append(low, 0), append(high, huge)
			}
		}
	}
	for _, e := range s.equal {
		for range e.count {
			low, high = append(low, e.bounds()[0]), append(high, e.bounds()[1])
		}
	}
	for len(low) < rows { // of contacts
		low, high = append(low, 0), append(high, huge)
	}
	return limits{algebra.Known(low...), algebra.Known(high...)}
}

// equalities is the number of stacked rows of the equalities.
func (s *System) equalities() (n int) {
	for _, e := range s.equal {
		n += e.count
	}
	return n
}

// coneDim is the number of axes of the stacked elliptic cones. Those of fewer have friction 0 about the others.
func (s *System) coneDim() (n int) {
	for _, c := range s.acting {
		if s.elliptic(c) {
			n = max(n, c.dim)
		}
	}
	return n
}

// elliptic reports whether a set's contacts have elliptic cones.
func (s *System) elliptic(c *contactSet) bool { return s.edges(c) == 0 }
