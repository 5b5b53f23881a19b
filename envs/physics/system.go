package physics

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
)

// System is a model prepared for building graphs. Its kinematic tree is laid out by limbs, the
// paths from a root to a leaf: level l of the state has a row per limb, the limb's l-th body from
// the root. A body that several limbs share has a copy in each; all copies move alike. So the
// parents of a level's joints are in rows next to their children, and no gather is needed. Results
// for users keep the order of the model.
type System struct {
	model  Model
	dt     float64 // of a substep, s
	levels []level
	place  map[string]place // of the moving bodies
	fixed  []pose           // of the fixed bodies, by index in the model
	varies [13]bool         // components of the state that can change; the others are as in rest
	rest   limbs            // the default pose

	jointGroups []jointGroup
	dofs        int // number of joint angles
	actions     int
	contacts    []contactGroup
	thrusters   []thruster
	obstacles   []int  // index in the model of each fixed body that something can touch
	acted       []bool // by body of the model: whether contacts can act on it
}

// level holds the bodies at the same depth of the tree, one row per limb that reaches it.
type level struct {
	body    []int       // index in the model
	first   []bool      // whether the row is the first copy of its body
	mobile  algebra.Num // 1, or 0 for a fixed body that is a parent
	free    twist       // 1 for components of velocity and angular velocity that can change, else 0
	mass    algebra.Num
	weights weights
}

// thruster is one action of a [Thruster].
type thruster struct {
	level    int
	rows     []int // the copies of the body
	axis     int   // of the force
	strength float64
	action   int
}

// place locates the first copy of a body in the state.
type place struct{ level, row int }

// pose is the position and rotation of a fixed body.
type pose struct {
	position Vec
	rotation quat
}

// NewSystem prepares a copy of a model. It is an error if the model is not valid: see
// [Model.Validate].
func NewSystem(m Model) (*System, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	m = m.clone()
	s := &System{model: m, dt: f32(m.TimeStep) / float64(m.Substeps), place: map[string]place{},
		fixed: make([]pose, len(m.Bodies))}
	if m.Dynamics == PositionBased { // two axes become three, the last with limits [0, 0]
		for i, j := range m.Joints {
			if len(j.Limits) == 2 {
				s.model.Joints[i].Limits = append(j.Limits, [2]float64{})
			}
		}
	}
	if err := s.layOut(); err != nil {
		return nil, err
	}
	s.prepareJoints(s.jointRows())
	s.prepareThrusters()
	s.placeFixedBodies()
	s.prepareContacts()

	turns := m.Frozen.Rotation
	for axis := range 3 {
		// A body that cannot rotate about two axes rotates about the third only.
		one, other := !turns[(axis+1)%3], !turns[(axis+2)%3]
		s.varies[axis] = !m.Frozen.Position[axis] || one || other // joints could not move it either
		s.varies[4+axis] = !turns[axis] || one && other
		s.varies[7+axis] = !m.Frozen.Position[axis]
		s.varies[10+axis] = !turns[axis]
	}
	s.varies[3] = true
	s.rest = s.pose(algebra.Known(s.defaultAngles()...), algebra.Constant(max(1, s.dofs), 0))
	return s, nil
}

// Model returns a copy of the model of the system.
func (s *System) Model() Model { return s.model.clone() }

// Depth is the number of bodies in the longest chain of joints. Each adds its own code to a step, so
// the time to compile one grows with the square of the depth.
func (s *System) Depth() int { return len(s.levels) }

// Touchable reports whether contacts can act on a body of the model. The velocity changes of the
// others in a [algebra.Contact] are always 0.
func (s *System) Touchable(body int) bool { return s.acted[body] }

// Actions is the number of actions: one for each driven axis of each actuator's joint, then of each
// thruster.
func (s *System) Actions() int { return s.actions }

// ActionsOf returns the indices of the actions that drive joints. The actions of a joint with
// several axes are adjacent; a joint without an actuator has none.
func (s *System) ActionsOf(joints ...string) (indices []int) {
	next := 0
	for _, a := range s.model.Actuators {
		for range a.axes(s.model.Joints[s.model.joint(a.Joint)]) {
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

// ControlStep is the duration of a control step, s.
func (s *System) ControlStep() float64 { return s.model.TimeStep }

// BodyNames returns the names of the bodies.
func (s *System) BodyNames() []string { return s.model.BodyNames() }

// Actuated returns the names of the joints that have an actuator.
func (s *System) Actuated() []string { return s.model.Actuated() }

// JointAxes returns the name of the joint of each joint angle.
func (s *System) JointAxes() (all []string) {
	for _, j := range s.model.Joints {
		for range j.Limits {
			all = append(all, j.Name)
		}
	}
	return all
}

// layOut numbers the limbs by a depth-first walk that visits the longest branches first.
func (s *System) layOut() error {
	m := s.model
	children := map[string][]string{}
	isChild := map[string]bool{}
	for _, j := range m.Joints {
		children[j.Parent] = append(children[j.Parent], j.Child)
		isChild[j.Child] = true
		if m.Bodies[m.Body(j.Child)].Fixed {
			return fmt.Errorf("the child of joint %q is %q, a fixed body: make it the parent", j.Name, j.Child)
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
		list := make([]Body, len(bodies))
		for row, i := range bodies {
			list[row] = m.Bodies[i]
			_, copied := s.place[list[row].Name]
			lv.first = append(lv.first, !copied)
			if !copied {
				s.place[list[row].Name] = place{l, row}
			}
		}
		unless := func(fixed func(b Body) bool) algebra.Num {
			return algebra.ColumnOf(list, func(b Body) float64 {
				if fixed(b) {
					return 0
				}
				return 1
			})
		}
		lv.mobile = unless(func(b Body) bool { return b.Fixed })
		for axis, c := range lv.free.components() {
			frozen := func(f Frozen) bool { return slices.Concat(f.Position[:], f.Rotation[:])[axis] }
			*c = unless(func(b Body) bool { return b.Fixed || frozen(b.Frozen) || frozen(m.Frozen) })
		}
		lv.mass = algebra.ColumnOf(list, func(b Body) float64 { return f32(b.Mass) })
		lv.weights = weights{algebra.ColumnOf(list, Body.inverseMass), algebra.VectorsOf(list, Body.inverseInertia)}
		s.levels = append(s.levels, lv)
	}
	switch {
	case !moving:
		return errors.New("all bodies of the model are fixed: at least one must move")
	case len(s.place) < inTrees:
		return errors.New("the joints of the model form a cycle: they must form a tree")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Pose)) {
		if isChild[name] {
			return fmt.Errorf("the pose puts %q, which its joint places: set the pose of its parent, or Angles", name)
		}
	}
	return nil
}

// prepareThrusters counts the actions of the thrusters after those of the actuators.
func (s *System) prepareThrusters() {
	for _, t := range s.model.Thrusters {
		for _, axis := range axesOf(t.Axis, 3) {
			at := s.place[t.Body]
			thrust := thruster{level: at.level, axis: axis, strength: f32(t.Strength), action: s.actions}
			if body := s.model.Body(t.Body); !s.model.Bodies[body].Fixed {
				thrust.rows = s.levels[at.level].copies(body)
			}
			s.thrusters = append(s.thrusters, thrust)
			s.actions++
		}
	}
}

// joint is the index of the joint with a name, or -1.
func (m Model) joint(name string) int {
	return slices.IndexFunc(m.Joints, func(j Joint) bool { return j.Name == name })
}

// immovable reports whether a fixed body has an infinite mass.
func (b Body) immovable() bool { return f32(b.Mass) == 0 }

func (b Body) inverseMass() float64 {
	if b.immovable() {
		return 0
	}
	return 1 / f32(b.Mass)
}

func (b Body) inverseInertia() Vec {
	switch {
	case b.immovable():
		return Vec{}
	case b.Inertia == (Vec{}):
		return Vec{1, 1, 1}
	}
	return Vec{1 / f32(b.Inertia[0]), 1 / f32(b.Inertia[1]), 1 / f32(b.Inertia[2])}
}

// placeFixedBodies sets the positions of the fixed bodies: the model's pose, or resting on z = 0.
func (s *System) placeFixedBodies() {
	for i, b := range s.model.Bodies {
		if !b.Fixed {
			continue
		}
		p := pose{rotation: euler(s.model.Turn[b.Name])}
		if at, ok := s.model.Pose[b.Name]; ok {
			p.position = at.rounded()
		} else if low := b.lowest(); !math.IsInf(low, 1) {
			p.position[2] = algebra.Snap(-low)
		}
		s.fixed[i] = p
	}
}

// lowest is the z of the lowest point of a body's colliders when it is not rotated. A plane counts
// as 0.
func (b Body) lowest() float64 {
	low := math.Inf(1)
	for _, c := range b.Colliders {
		if c.Shape == Plane {
			low = min(low, 0)
			continue
		}
		for _, p := range c.points() {
			low = min(low, p.at[2]-p.radius)
		}
	}
	return low
}

// half is the vector from the centre of a capsule to the centre of its upper cap.
func (c Collider) half() Vec {
	half := euler(c.Rotation).rotate(Vec{0, 0, 1}).scaled(f32(c.Length)/2 - f32(c.Radius))
	return Vec{algebra.Snap(half[0]), algebra.Snap(half[1]), algebra.Snap(half[2])}
}
