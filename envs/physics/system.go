package physics

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// System is a model made ready for building graphs. The bodies that move are sorted by their depth in the tree of joints, so
// that the children of joints are neighbours in memory; results for users keep the order of the model.
type System struct {
	model Model
	dt    float64 // of a substep, s

	moving []int          // index in the model of each row of the state
	row    map[string]int // row of the state of each body that moves
	still  []pose         // of bodies that do not move, by index in the model
	live   [13]bool       // which components of the state are carried: the others are as at rest
	rest   bodies         // the default pose

	mass, inverseMass num
	inverseInertia    vector

	hinges   []hinges // joints by number of axes
	dofs     int      // angles of all joints
	actions  int
	contacts []contactGroup
	touched  []int // index in the model of each still body that something can touch
}

// pose is where a body is that does not move.
type pose struct {
	position Vec
	rotation quat
}

// hinges are the joints with the same number of axes, a row each.
type hinges struct {
	axes          int
	angle         []int // index of the first angle of each joint, in the order of the model
	parent, child []int // rows of the state

	parentOffset, childOffset vector
	parentAxis, childAxis     [3]vector // of the joint's frame, in the bodies' frames
	lower, upper              []num     // limits of each axis, rad
	damping                   num

	stiffness, springDamping, limitStrength num

	strength []num   // torque of an action of 1 about each axis; 0 without an actuator
	action   [][]int // which action that is
}

// NewSystem prepares a model, or says what is wrong with it.
func NewSystem(m Model) (*System, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	s := &System{model: m, dt: f32(m.TimeStep) / float64(m.Substeps), row: map[string]int{}, still: make([]pose, len(m.Bodies))}
	s.sortBodies()
	if len(s.moving) == 0 {
		return nil, errors.New("no body of the model moves")
	}
	s.prepareJoints()
	if err := s.placeStillBodies(); err != nil {
		return nil, err
	}
	s.prepareContacts()

	s.live = [13]bool{true, true, true, true, true, true, true, true, true, true, true, true, true}
	s.rest = s.pose(known(s.defaultAngles()...), constant(max(1, s.dofs), 0))
	turns := m.Frozen.Rotation
	for axis := range 3 {
		others := turns[(axis+1)%3] && turns[(axis+2)%3]
		s.live[axis] = !(m.Frozen.Position[axis] && others)
		s.live[4+axis] = !(turns[axis] && (turns[(axis+1)%3] || turns[(axis+2)%3]))
		s.live[7+axis] = !m.Frozen.Position[axis]
		s.live[10+axis] = !turns[axis]
	}
	return s, nil
}

// Model is the description of the system.
func (s *System) Model() Model { return s.model }

// Actions is the number of actions: one for each axis of each actuator's joint.
func (s *System) Actions() int { return s.actions }

// Angles is the number of joint angles.
func (s *System) Angles() int { return s.dofs }

func (m Model) joint(name string) int {
	return slices.IndexFunc(m.Joints, func(j Joint) bool { return j.Name == name })
}

func (m Model) body(name string) int {
	return slices.IndexFunc(m.Bodies, func(b Body) bool { return b.Name == name })
}

// sortBodies numbers the bodies that move, by depth in the tree of joints.
func (s *System) sortBodies() {
	parent := map[string]string{}
	for _, j := range s.model.Joints {
		parent[j.Child] = j.Parent
	}
	depth := func(name string) (d int) {
		for parent[name] != "" && d <= len(s.model.Joints) {
			name, d = parent[name], d+1
		}
		return d
	}
	for i, b := range s.model.Bodies {
		if !b.Fixed {
			s.moving = append(s.moving, i)
		}
	}
	slices.SortStableFunc(s.moving, func(a, b int) int {
		return depth(s.model.Bodies[a].Name) - depth(s.model.Bodies[b].Name)
	})
	rows := len(s.moving)
	mass, inertia := make([]float64, rows), make([]Vec, rows)
	for row, i := range s.moving {
		b := s.model.Bodies[i]
		s.row[b.Name] = row
		mass[row] = f32(b.Mass)
		inertia[row] = Vec{1, 1, 1}
		if b.Inertia != (Vec{}) {
			for axis, k := range b.Inertia {
				inertia[row][axis] = 1 / f32(k)
			}
		}
	}
	s.mass, s.inverseInertia = known(mass...), vectors(inertia...)
	s.inverseMass = constant(rows, 1).over(s.mass)
}

// prepareJoints groups the joints by their number of axes and sorts them by child.
func (s *System) prepareJoints() {
	m := s.model
	first := make([]int, len(m.Joints)) // angle of each joint
	for i, j := range m.Joints {
		first[i] = s.dofs
		s.dofs += len(j.Limits)
	}
	type drive struct {
		strength float64
		action   int
	}
	drives := map[string]drive{}
	for _, a := range m.Actuators {
		drives[a.Joint] = drive{f32(a.Strength), s.actions}
		s.actions += len(m.Joints[m.joint(a.Joint)].Limits)
	}
	for axes := 1; axes <= 3; axes++ {
		var list []int
		for i, j := range m.Joints {
			if len(j.Limits) == axes {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b int) int { return s.row[m.Joints[a].Child] - s.row[m.Joints[b].Child] })
		h := hinges{axes: axes}
		column := func(f func(j Joint) float64) num {
			out := make([]float64, len(list))
			for row, i := range list {
				out[row] = f(m.Joints[i])
			}
			return known(out...)
		}
		points := func(f func(j Joint) Vec) vector {
			out := make([]Vec, len(list))
			for row, i := range list {
				out[row] = f(m.Joints[i])
			}
			return vectors(out...)
		}
		for _, i := range list {
			h.angle = append(h.angle, first[i])
			h.parent = append(h.parent, s.row[m.Joints[i].Parent])
			h.child = append(h.child, s.row[m.Joints[i].Child])
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
			h.strength = append(h.strength, column(func(j Joint) float64 { return drives[j.Name].strength }))
			actions := make([]int, len(list))
			for row, i := range list {
				if d, ok := drives[m.Joints[i].Name]; ok {
					actions[row] = d.action + axis
				}
			}
			h.action = append(h.action, actions)
		}
		h.damping = column(func(j Joint) float64 { return f32(j.Damping) })
		h.stiffness = column(func(j Joint) float64 { return f32(j.Stiffness) })
		h.springDamping = column(func(j Joint) float64 { return j.springDamping() })
		h.limitStrength = column(func(j Joint) float64 {
			if j.LimitStrength == 0 {
				return f32(j.Stiffness)
			}
			return f32(j.LimitStrength)
		})
		s.hinges = append(s.hinges, h)
	}
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
func (s *System) placeStillBodies() error {
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
		for _, j := range s.model.Joints {
			if j.Parent == b.Name || j.Child == b.Name {
				return errors.Errorf("joint %q holds body %q, which does not move", j.Name, b.Name)
			}
		}
		s.still[i] = p
	}
	return nil
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
