package physics

import (
	"cmp"
	"math"

	"example.com/qdnb/envs/algebra"
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

	parentOffset, childOffset algebra.Vector
	parentAxis, childAxis     [3]algebra.Vector // axes of the joint's frame, in the bodies' frames
	lower, upper              []algebra.Num     // limits of each axis, rad
	damping                   algebra.Num

	stiffness, springDamping, limitStrength algebra.Num

	strength []algebra.Num // torque of an action of 1 about each axis; 0 without an actuator
	servo    []servo       // of each axis
	action   [][]int       // index of that action

	parentWeights, childWeights weights
	reference                   []quat // the child's rotation in the parent's frame at angle 0
}

// servo holds what drives axes whose actions are angles; see [Actuator].
type servo struct {
	stiffness algebra.Num  // torque of a radian
	target    algebra.Num  // 1 if actions are angles
	motor     algebra.Mask // whether the actuator stops at limits
}

// axisDrive is the actuator of a joint's axis.
type axisDrive struct {
	*Actuator
	action int // index of its action
}

// jointRow is a row of a jointGroup under construction.
type jointRow struct {
	Joint
	angle         int          // index of the joint's first angle
	drives        [3]axisDrive // of each axis, if it has an actuator
	parents       int          // level of the parent; the child's is one more
	parent, child int          // rows in these levels
	first         bool         // whether the child is the first copy of its body
	toParents     []int        // rows of the parent's copies; none unless first
}

// jointRows lists the joints below each level, and counts angles and actions.
func (s *System) jointRows() (rows []jointRow) {
	m := s.model
	byChild := map[int]jointRow{}
	for _, j := range m.Joints {
		byChild[m.Body(j.Child)] = jointRow{Joint: j, angle: s.dofs}
		s.dofs += len(j.Limits)
	}
	for i, a := range m.Actuators {
		child := m.Body(m.Joints[m.joint(a.Joint)].Child)
		row := byChild[child]
		for _, axis := range a.axes(row.Joint) {
			row.drives[axis] = axisDrive{&m.Actuators[i], s.actions}
			s.actions++
		}
		byChild[child] = row
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
			if j.first {
				j.toParents = parents.copies(parents.body[parentRow])
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
	column := func(f func(j jointRow) float64) algebra.Num { return algebra.ColumnOf(list, f) }
	points := func(f func(j jointRow) Vec) algebra.Vector { return algebra.VectorsOf(list, f) }
	h := jointGroup{
		axes: len(list[0].Limits), parents: parents, children: parents + 1,
		parentOffset: points(func(j jointRow) Vec { return j.ParentOffset.rounded() }),
		childOffset:  points(func(j jointRow) Vec { return j.ChildOffset.rounded() }),
		damping:      column(func(j jointRow) float64 { return f32(j.Damping) }),
		stiffness:    column(func(j jointRow) float64 { return f32(j.Stiffness) }),
		springDamping: column(func(j jointRow) float64 {
			if j.SpringDamping == 0 { // a multiple of the square root of the stiffness
				multiple := map[bool]float64{true: 0.5, false: 2}[len(j.Limits) == 1]
				return multiple * math.Sqrt(f32(j.Stiffness))
			}
			return f32(j.SpringDamping)
		}),
		limitStrength: column(func(j jointRow) float64 { return f32(cmp.Or(j.LimitStrength, j.Stiffness)) }),
	}
	for _, j := range list {
		h.parentRow, h.childRow = append(h.parentRow, j.parent), append(h.childRow, j.child)
		h.angle, h.first = append(h.angle, j.angle), append(h.first, j.first)
		h.toParents = append(h.toParents, j.toParents)
		h.reference = append(h.reference, euler(j.Reference))
	}
	for axis := range 3 {
		unit := Vec{}
		unit[axis] = 1
		h.childAxis[axis] = points(func(j jointRow) Vec { return euler(j.Rotation).rotate(unit) })
		h.parentAxis[axis] = points(func(j jointRow) Vec {
			return euler(j.Reference).rotate(euler(j.Rotation).rotate(unit))
		})
	}
	for axis := range h.axes {
		limit := func(k int) algebra.Num {
			return column(func(j jointRow) float64 { return f32(j.Limits[axis][k]) * degree })
		}
		h.lower, h.upper = append(h.lower, limit(0)), append(h.upper, limit(1))
		n := len(list)
		zero := func() algebra.Num { return algebra.Constant(n, 0) }
		strength, actions := zero(), make([]int, n)
		v := servo{stiffness: zero(), target: zero(), motor: algebra.Mask{Num: algebra.Constant(n, 1)}}
		for row, j := range list {
			strength.Known[row], actions[row] = j.drive(axis, row, v)
		}
		h.strength, h.action, h.servo = append(h.strength, strength), append(h.action, actions), append(h.servo, v)
	}
	h.parentWeights = s.levels[parents].weights.take(h.parentRow)
	h.childWeights = s.levels[parents+1].weights.take(h.childRow)
	return h
}

// drive returns the strength and action of an axis, and sets a row of its servo.
func (j jointRow) drive(axis, row int, s servo) (strength float64, action int) {
	if a := j.drives[axis]; a.Actuator != nil {
		if strength = f32(a.Strength); strength != 0 {
			action = a.action
		}
		if a.Angle {
			s.stiffness.Known[row], s.target.Known[row], s.motor.Known[row] = strength, 1, 0
			strength = f32(strength * degree)
		}
	}
	return strength, action
}

// weights holds the inverse masses and inertias of bodies.
type weights struct {
	mass    algebra.Num
	inertia algebra.Vector
}

// turnedBy is the angular acceleration by a torque, or the change of velocity by an angular impulse.
func (w weights) turnedBy(torque algebra.Vector) algebra.Vector { return torque.Times(w.inertia) }

func (w weights) take(rows []int) weights {
	return weights{w.mass.Take(rows...), w.inertia.Take(rows...)}
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
		angles = []float64{0} // an algebra.Num needs at least one row
	}
	return angles
}
