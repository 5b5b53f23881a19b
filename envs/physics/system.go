package physics

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// System is a model made ready for building graphs. The tree of its joints is laid out by limbs: level l of the state has a row
// for each limb, which is the limb's l-th body from the root. A body that several limbs share has a copy in each, all of which
// move alike. So the parents of the joints of a level stand beside their children, and nothing has to be gathered; the results
// for users keep the order of the model.
type System struct {
	model  Model
	dt     float64 // of a substep, s
	levels []level
	place  map[string]place // of the bodies that move
	still  []pose           // of bodies that do not move, by index in the model
	live   [13]bool         // which components of the state are carried: the others are as at rest
	rest   limbs            // the default pose

	hinges   []hinges
	dofs     int // angles of all joints
	actions  int
	contacts []contactGroup
	touched  []int // index in the model of each still body that something can touch
}

// level are the bodies at the same depth of the tree, a row for each limb that is long enough.
type level struct {
	body              []int  // index in the model
	first             []bool // the row is the first copy of its body
	mobile            num    // 1; 0 for a body that does not move but holds others
	mass, inverseMass num
	inverseInertia    vector
}

// place is where a body stands in the state: its first copy.
type place struct{ level, row int }

// pose is where a body is that does not move.
type pose struct {
	position Vec
	rotation quat
}

// hinges are the joints below a level with the same number of axes, a row each.
type hinges struct {
	axes      int
	level     int     // of the parents; the children are one below
	parentRow []int   // of the level
	childRow  []int   // of the level below
	toParents [][]int // rows of the level that each joint acts on: all copies of its parent, and none for copies of a joint
	angle     []int   // index of the first angle of each joint, in the order of the model
	first     []bool  // not a copy

	parentOffset, childOffset vector
	parentAxis, childAxis     [3]vector // of the joint's frame, in the bodies' frames
	lower, upper              []num     // limits of each axis, rad
	damping                   num

	stiffness, springDamping, limitStrength num

	strength []num   // torque of an action of 1 about each axis; 0 without an actuator
	action   [][]int // which action that is

	parentWeights, childWeights weights
	reference                   []quat // the child's rotation in the parent's frame at angle 0
}

// NewSystem prepares a model, or says what is wrong with it.
func NewSystem(m Model) (*System, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	s := &System{model: m, dt: f32(m.TimeStep) / float64(m.Substeps), place: map[string]place{}, still: make([]pose, len(m.Bodies))}
	if m.Dynamics == PositionBased { // there, two axes are three of which the last cannot turn
		s.model.Joints = slices.Clone(m.Joints)
		for i, j := range m.Joints {
			if len(j.Limits) == 2 {
				s.model.Joints[i].Limits = append(slices.Clone(j.Limits), [2]float64{})
			}
		}
	}
	if err := s.layOut(); err != nil {
		return nil, err
	}
	s.prepareJoints()
	s.placeStillBodies()
	s.prepareContacts()

	turns := m.Frozen.Rotation
	for axis := range 3 {
		// A body that does not turn about two axes turns about the third alone.
		one, other := !turns[(axis+1)%3], !turns[(axis+2)%3]
		s.live[axis] = !m.Frozen.Position[axis] || one || other // joints could not move it either
		s.live[4+axis] = !turns[axis] || one && other
		s.live[7+axis] = !m.Frozen.Position[axis]
		s.live[10+axis] = !turns[axis]
	}
	s.live[3] = true
	s.rest = s.pose(known(s.defaultAngles()...), constant(max(1, s.dofs), 0))
	return s, nil
}

// Model is the description of the system.
func (s *System) Model() Model { return s.model }

// Actions is the number of actions: one for each axis of each actuator's joint.
func (s *System) Actions() int { return s.actions }

// ActionsOf are the indices of the actions that turn joints, those of a joint of several axes beside each other. Joints that no
// actuator turns have none.
func (s *System) ActionsOf(joints ...string) (indices []int) {
	next := 0
	for _, a := range s.model.Actuators {
		axes := len(s.model.Joints[slices.IndexFunc(s.model.Joints, func(j Joint) bool { return j.Name == a.Joint })].Limits)
		for range axes {
			if slices.Contains(joints, a.Joint) {
				indices = append(indices, next)
			}
			next++
		}
	}
	return indices
}

// Angles is the number of joint angles.
func (s *System) Angles() int { return s.dofs }

// layOut numbers the limbs, in the order in which a walk through the tree comes to their ends, longest branches first.
func (s *System) layOut() error {
	m := s.model
	children := map[string][]string{}
	isChild := map[string]bool{}
	for _, j := range m.Joints {
		children[j.Parent] = append(children[j.Parent], j.Child)
		isChild[j.Child] = true
		if m.Bodies[m.Body(j.Child)].Fixed {
			return errors.Errorf("joint %q holds body %q, which does not move: make it the parent", j.Name, j.Child)
		}
	}
	var depth func(name string) int
	depth = func(name string) int {
		deepest := 0
		for _, child := range children[name] {
			deepest = max(deepest, 1+depth(child))
		}
		return deepest
	}
	var rows [][]int // bodies of each level
	inTrees, moving := 0, false
	var walk func(path []int)
	walk = func(path []int) {
		name := m.Bodies[path[len(path)-1]].Name
		next := slices.Clone(children[name])
		slices.SortStableFunc(next, func(a, b string) int { return depth(b) - depth(a) })
		for _, child := range next {
			walk(append(slices.Clone(path), m.Body(child)))
		}
		if len(next) > 0 {
			return
		}
		for l, body := range path {
			if l == len(rows) {
				rows = append(rows, nil)
			}
			rows[l] = append(rows[l], body)
		}
	}
	for i, b := range m.Bodies {
		if b.Fixed && len(children[b.Name]) == 0 {
			continue
		}
		inTrees++
		moving = moving || !b.Fixed
		if !isChild[b.Name] {
			walk([]int{i})
		}
	}
	for l, bodies := range rows {
		lv := level{body: bodies}
		mass, inertia, mobile := make([]float64, len(bodies)), make([]Vec, len(bodies)), make([]float64, len(bodies))
		for row, i := range bodies {
			b := m.Bodies[i]
			if !b.Fixed {
				mobile[row] = 1
			} else if b.Mass == 0 {
				b.Mass = 1 // it does not matter
			}
			_, copied := s.place[b.Name]
			lv.first = append(lv.first, !copied)
			if !copied {
				s.place[b.Name] = place{l, row}
			}
			mass[row], inertia[row] = f32(b.Mass), b.inverseInertia()
		}
		lv.mass, lv.inverseInertia, lv.mobile = known(mass...), vectors(inertia...), known(mobile...)
		lv.inverseMass = constant(len(bodies), 1).over(lv.mass)
		s.levels = append(s.levels, lv)
	}
	switch {
	case !moving:
		return errors.New("no body of the model moves")
	case len(s.place) < inTrees:
		return errors.New("the joints of the model close a circle: they must form a tree")
	}
	return nil
}

func (b Body) inverseInertia() Vec {
	if b.Inertia == (Vec{}) {
		return Vec{1, 1, 1}
	}
	return Vec{1 / f32(b.Inertia[0]), 1 / f32(b.Inertia[1]), 1 / f32(b.Inertia[2])}
}

// prepareJoints groups the joints by level and number of axes.
func (s *System) prepareJoints() {
	m := s.model
	type about struct {
		joint, firstAngle, action int
		strength                  float64
	}
	byChild := map[int]about{}
	for i, j := range m.Joints {
		byChild[m.Body(j.Child)] = about{joint: i, firstAngle: s.dofs}
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
		for axes := 1; axes <= 3; axes++ {
			h := hinges{axes: axes, level: l}
			var list []about
			parentRow := -1
			for row, child := range children.body {
				a := byChild[child]
				j := m.Joints[a.joint]
				// Limbs keep their order from level to level.
				parentRow++
				for parents.body[parentRow] != m.Body(j.Parent) {
					parentRow++
				}
				if len(j.Limits) != axes {
					continue
				}
				list = append(list, a)
				h.parentRow, h.childRow = append(h.parentRow, parentRow), append(h.childRow, row)
				h.angle, h.first = append(h.angle, a.firstAngle), append(h.first, children.first[row])
				var to []int
				for r, body := range parents.body {
					if body == parents.body[parentRow] && children.first[row] {
						to = append(to, r)
					}
				}
				h.toParents = append(h.toParents, to)
			}
			if len(list) == 0 {
				continue
			}
			column := func(f func(j Joint) float64) num {
				out := make([]float64, len(list))
				for row, a := range list {
					out[row] = f(m.Joints[a.joint])
				}
				return known(out...)
			}
			points := func(f func(j Joint) Vec) vector {
				out := make([]Vec, len(list))
				for row, a := range list {
					out[row] = f(m.Joints[a.joint])
				}
				return vectors(out...)
			}
			h.parentOffset = points(func(j Joint) Vec { return j.ParentOffset.rounded() })
			h.childOffset = points(func(j Joint) Vec { return j.ChildOffset.rounded() })
			for axis := range 3 {
				unit := Vec{}
				unit[axis] = 1
				h.childAxis[axis] = points(func(j Joint) Vec { return euler(j.Rotation).rotate(unit) })
				h.parentAxis[axis] = points(func(j Joint) Vec { return euler(j.Reference).rotate(euler(j.Rotation).rotate(unit)) })
			}
			for axis := range axes {
				h.lower = append(h.lower, column(func(j Joint) float64 { return f32(j.Limits[axis][0]) * degree }))
				h.upper = append(h.upper, column(func(j Joint) float64 { return f32(j.Limits[axis][1]) * degree }))
				strength, actions := make([]float64, len(list)), make([]int, len(list))
				for row, a := range list {
					strength[row] = a.strength
					if a.strength != 0 {
						actions[row] = a.action + axis
					}
				}
				h.strength, h.action = append(h.strength, known(strength...)), append(h.action, actions)
			}
			for _, a := range list {
				h.reference = append(h.reference, euler(m.Joints[a.joint].Reference))
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
			h.parentWeights = parents.weights(h.parentRow)
			h.childWeights = children.weights(h.childRow)
			s.hinges = append(s.hinges, h)
		}
	}
}

// weights are the inverse masses and inertias of bodies.
type weights struct {
	mass    num
	inertia vector
}

func (l level) weights(rows []int) weights {
	return weights{l.inverseMass.take(rows...), l.inverseInertia.take(rows...)}
}

// springDamping is what a joint sets, or a multiple of the root of its stiffness: 0.5 for one axis, 2 for more.
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

// defaultAngles are the angles of all joints, rad, in the order of the model.
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
		angles = []float64{0} // a num has rows
	}
	return angles
}

// placeStillBodies finds where the bodies are that do not move: where the model says, or upon z = 0.
func (s *System) placeStillBodies() {
	for i, b := range s.model.Bodies {
		if !b.Fixed {
			continue
		}
		p := pose{rotation: quat{1}}
		if at, ok := s.model.Pose[b.Name]; ok {
			p.position = at.rounded()
		} else if low := b.lowest(); !math.IsInf(low, 1) {
			p.position[2] = snap(-low)
		}
		s.still[i] = p
	}
}

// lowest is the z of the lowest point of a body's colliders, as long as it is not turned; a plane counts as 0.
func (b Body) lowest() float64 {
	low := math.Inf(1)
	for _, c := range b.Colliders {
		if c.Shape == Plane {
			low = min(low, 0)
			continue
		}
		for _, end := range []float64{-1, 1} {
			low = min(low, c.Position.rounded()[2]+end*c.half()[2]-f32(c.Radius))
		}
	}
	return low
}

// half is the vector from the centre of a capsule to the centre of its upper cap.
func (c Collider) half() Vec {
	half := euler(c.Rotation).rotate(Vec{0, 0, 1}).scaled(f32(c.Length)/2 - f32(c.Radius))
	return Vec{snap(half[0]), snap(half[1]), snap(half[2])}
}
