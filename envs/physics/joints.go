package physics

import (
	"math"
	"slices"
)

// jointGroup holds the joints below a level that have the same number of axes, one row per joint.
type jointGroup struct {
	axes      int
	parents   int   // level of the parents
	children  int   // level of the children
	parentRow []int // row of each parent in its level
	childRow  []int // row of each child in its level
	// toParents lists the rows of the level that each joint acts on: all copies of its parent, none
	// if the joint is a copy.
	toParents [][]int
	angle     []int  // index of each joint's first angle, in the order of the model
	first     []bool // whether the joint is not a copy

	parentOffset, childOffset vector
	parentAxis, childAxis     [3]vector // axes of the joint's frame, in the bodies' frames
	lower, upper              []num     // limits of each axis, rad
	damping                   num

	stiffness, springDamping, limitStrength num

	strength []num   // torque of an action of 1 about each axis; 0 without an actuator
	action   [][]int // index of that action

	parentWeights, childWeights weights
	reference                   []quat // the child's rotation in the parent's frame at angle 0
}

// jointRow is a row of a jointGroup under construction.
type jointRow struct {
	Joint
	angle          int     // index of the joint's first angle
	strength       float64 // of its actuator
	action         int     // index of the actuator's first action
	parents        int     // level of the parent; the child's is one more
	parent, child  int     // rows in these levels
	first          bool    // whether the child is the first copy of its body
	copiesOfParent []int   // rows
}

// jointRows lists the joints below each level, and counts angles and actions.
func (s *System) jointRows() (rows []jointRow) {
	m := s.model
	byChild := map[int]jointRow{}
	for _, j := range m.Joints {
		byChild[m.Body(j.Child)] = jointRow{Joint: j, angle: s.dofs}
		s.dofs += len(j.Limits)
	}
	for _, a := range m.Actuators {
		j := m.Joints[slices.IndexFunc(m.Joints, func(j Joint) bool { return j.Name == a.Joint })]
		known := byChild[m.Body(j.Child)]
		known.strength, known.action = f32(a.Strength), s.actions
		byChild[m.Body(j.Child)] = known
		s.actions += len(j.Limits)
	}
	for l := range s.levels[1:] {
		parents, children := s.levels[l], s.levels[l+1]
		parentRow := -1
		for row, child := range children.body {
			j := byChild[child]
			// Limbs keep their order from level to level.
			parentRow++
			for parents.body[parentRow] != m.Body(j.Parent) {
				parentRow++
			}
			j.parents, j.parent, j.child, j.first = l, parentRow, row, children.first[row]
			for r, body := range parents.body {
				if body == parents.body[parentRow] {
					j.copiesOfParent = append(j.copiesOfParent, r)
				}
			}
			rows = append(rows, j)
		}
	}
	return rows
}

// prepareJoints groups the joints by level and number of axes.
func (s *System) prepareJoints(rows []jointRow) {
	for l := range s.levels[1:] {
		for axes := 1; axes <= 3; axes++ {
			var list []jointRow
			for _, j := range rows {
				if j.parents == l && len(j.Limits) == axes {
					list = append(list, j)
				}
			}
			if len(list) > 0 {
				s.jointGroups = append(s.jointGroups, s.jointGroup(l, list))
			}
		}
	}
}

// jointGroup makes a group of joints that have the same number of axes.
func (s *System) jointGroup(parents int, list []jointRow) jointGroup {
	h := jointGroup{axes: len(list[0].Limits), parents: parents, children: parents + 1}
	column := func(f func(j Joint) float64) num {
		out := make([]float64, len(list))
		for row, j := range list {
			out[row] = f(j.Joint)
		}
		return known(out...)
	}
	points := func(f func(j Joint) Vec) vector {
		out := make([]Vec, len(list))
		for row, j := range list {
			out[row] = f(j.Joint)
		}
		return vectors(out...)
	}
	for _, j := range list {
		h.parentRow, h.childRow = append(h.parentRow, j.parent), append(h.childRow, j.child)
		h.angle, h.first = append(h.angle, j.angle), append(h.first, j.first)
		var to []int
		if j.first {
			to = j.copiesOfParent
		}
		h.toParents = append(h.toParents, to)
		h.reference = append(h.reference, euler(j.Reference))
	}
	h.parentOffset = points(func(j Joint) Vec { return j.ParentOffset.rounded() })
	h.childOffset = points(func(j Joint) Vec { return j.ChildOffset.rounded() })
	for axis := range 3 {
		unit := Vec{}
		unit[axis] = 1
		h.childAxis[axis] = points(func(j Joint) Vec { return euler(j.Rotation).rotate(unit) })
		h.parentAxis[axis] = points(func(j Joint) Vec {
			return euler(j.Reference).rotate(euler(j.Rotation).rotate(unit))
		})
	}
	for axis := range h.axes {
		h.lower = append(h.lower,
			column(func(j Joint) float64 { return f32(j.Limits[axis][0]) * degree }))
		h.upper = append(h.upper,
			column(func(j Joint) float64 { return f32(j.Limits[axis][1]) * degree }))
		strength, actions := make([]float64, len(list)), make([]int, len(list))
		for row, j := range list {
			strength[row] = j.strength
			if j.strength != 0 {
				actions[row] = j.action + axis
			}
		}
		h.strength, h.action = append(h.strength, known(strength...)), append(h.action, actions)
	}
	h.damping = column(func(j Joint) float64 { return f32(j.Damping) })
	h.stiffness = column(func(j Joint) float64 { return f32(j.Stiffness) })
	h.springDamping = column(Joint.springDamping)
	h.limitStrength = column(func(j Joint) float64 {
		if j.LimitStrength == 0 {
			return f32(j.Stiffness)
		}
		return f32(j.LimitStrength)
	})
	h.parentWeights = s.levels[parents].weights(h.parentRow)
	h.childWeights = s.levels[parents+1].weights(h.childRow)
	return h
}

// weights holds the inverse masses and inertias of bodies.
type weights struct {
	mass    num
	inertia vector
}

func (l level) weights(rows []int) weights {
	return weights{l.inverseMass.take(rows...), l.inverseInertia.take(rows...)}
}

// springDamping is the joint's SpringDamping. The default is a multiple of the square root of its
// stiffness: 0.5 for one axis, 2 for more.
func (j Joint) springDamping() float64 {
	if j.SpringDamping != 0 {
		return f32(j.SpringDamping)
	}
	multiple := 2.0
	if len(j.Limits) == 1 {
		multiple = 0.5
	}
	return multiple * math.Sqrt(f32(j.Stiffness))
}

// defaultAngles returns the default angles of all joints, rad, in the order of the model.
func (s *System) defaultAngles() []float64 {
	var angles []float64
	for _, j := range s.model.Joints {
		given, ok := s.model.Angles[j.Name]
		for axis, limits := range j.Limits {
			if ok {
				angles = append(angles, f32(given[axis])*degree)
			} else {
				angles = append(angles, (f32(limits[0])+f32(limits[1]))*degree/2)
			}
		}
	}
	if len(angles) == 0 {
		angles = []float64{0} // a num needs at least one row
	}
	return angles
}
