package envs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
)

// sense is a quantity that a robot observes.
type sense struct {
	of    string   // what has it: "frame" (a body or a site), "body", "joints" (one or all), or "" (the task)
	axes  []string // of a frame or a body; of joints, the name of one's number; nil: a number, or one of each action
	unit  string
	build func(m StepView, of string) *Node
}

// senses are the quantities of [StepView.Sense].
var senses map[string]sense

func init() { // refers to itself through StepView.Sense
	senses = map[string]sense{
		"position": {"frame", xyz, "m", func(m StepView, of string) *Node { return rows(three(m.Frame(of).Position)...) }},
		"rotation": {"frame", []string{"w", "x", "y", "z"}, "", func(m StepView, of string) *Node {
			q := m.Frame(of).Rotation
			return rows(q[:]...)
		}},
		"local velocity": {"frame", xyz, "m/s", func(m StepView, of string) *Node {
			f := m.Frame(of)
			return rows(three(toLocal(f, f.Velocity))...)
		}},
		"gyro": {"frame", xyz, "rad/s", func(m StepView, of string) *Node {
			f := m.Frame(of)
			return rows(three(toLocal(f, f.AngularVelocity))...)
		}},
		"projected gravity": {"frame", xyz, "", func(m StepView, of string) *Node {
			f := m.Frame(of)
			zero := ZerosLike(f.Position[0])
			return rows(three(toLocal(f, [3]*Node{zero, zero, AddScalar(zero, -1)}))...)
		}},
		"accelerometer": {"frame", xyz, "m/s²", func(m StepView, of string) *Node {
			return rows(three(toLocal(m.Frame(of), m.robot().Acceleration(m.State, m.told(), of)))...)
		}},
		"contact force": {"body", xyz, "N", func(m StepView, of string) *Node {
			return rows(three(m.robot().ContactForce(m.State, m.told(), of))...)
		}},
		"touch": {"body", nil, "", func(m StepView, of string) *Node { return m.Touching(of) }},
		"joint angles": {"joints", []string{"joint angle"}, "rad or m", func(m StepView, of string) *Node {
			angles, _ := m.joints(of)
			return angles
		}},
		"joint offsets": {"joints", []string{"joint offset"}, "rad or m", func(m StepView, of string) *Node {
			angles, _ := m.joints(of)
			var rest [][]float32
			for i, joint := range m.System.JointAxes() {
				if of == "" || joint == of {
					rest = append(rest, []float32{float32(m.System.DefaultAngles()[i])})
				}
			}
			return Sub(angles, BroadcastToShape(Const(angles.Graph(), rest), angles.Shape()))
		}},
		"joint velocities": {"joints", []string{"joint velocity"}, "rad/s or m/s", func(m StepView, of string) *Node {
			_, velocities := m.joints(of)
			return velocities
		}},
		"previous action": {"", nil, "", func(m StepView, _ string) *Node {
			if m.Action != nil {
				return m.Action
			}
			zero := ZerosLike(Slice(m.State.Parts[0], AxisRange(0, 1)))
			return Concatenate(slices.Repeat([]*Node{zero}, m.task.Spec().Actions), 0)
		}},
	}
}

// Sense returns a quantity by its name, [n, B]: a variable of the task's memory, or
//
//	position/FRAME           m, in the axes of the world
//	rotation/FRAME           quaternion w, x, y, z
//	local velocity/FRAME     m/s, in the frame's own axes
//	gyro/FRAME               angular velocity, rad/s, in the frame's own axes
//	projected gravity/FRAME  the direction down in the frame's own axes
//	accelerometer/FRAME      acceleration less gravity, m/s², in the frame's own axes; MuJoCo's engine
//	contact force/BODY       of what cannot move on the body, N, in the axes of the world; MuJoCo's engine
//	touch/BODY               1 where the body touches something, else 0
//	joint angles             rad or m, of all joints; joint angles/JOINT of one
//	joint offsets            the same less those of the default pose
//	joint velocities         rad/s or m/s
//	previous action          of the step that led here; at first 0
//
// A frame is a body or, of a robot of MuJoCo's engine, a site. Accelerations and forces are those of this very
// state under what the actuators are told, at the cost of a physics step; MuJoCo's sensors are one step late. It
// panics with the nearest names if there is no such quantity.
func (m StepView) Sense(name string) *Node {
	s, of, err := m.task.sense(name)
	if err != nil {
		panic(err)
	}
	if s.build == nil {
		return m.Recall(name)
	}
	return s.build(m, of)
}

// sense finds a quantity of a robot, and what has it. The sense of a variable has no build.
func (r *Rigid) sense(name string) (s sense, of string, err error) {
	for _, v := range r.Memory {
		if v.Name == name {
			return sense{}, "", nil
		}
	}
	quantity, of, parted := strings.Cut(name, "/")
	s, ok := senses[quantity]
	variables := lists.Map(r.Memory, func(v Variable) string { return v.Name })
	if parted && (ok && s.of == "" || slices.Contains(variables, quantity)) {
		return s, of, names.Wrongf("%s has no parts: leave out /%s", quantity, of)
	}
	if !ok {
		return s, of, names.Unknown("quantity", quantity, slices.Concat(slices.Collect(maps.Keys(senses)), variables))
	}
	robot, isMuJoCo := r.System.(*mujoco.System)
	if (quantity == "accelerometer" || quantity == "contact force") && !isMuJoCo {
		return s, of, fmt.Errorf("Brax's engine has no %s: use a robot of MuJoCo's", quantity)
	}
	if s.of == "joints" && len(r.System.JointAxes()) == 0 {
		return s, of, fmt.Errorf("there are no %s, since the robot has no hinge or slide joints: leave them out", quantity)
	}
	known := map[string][]string{"body": r.System.BodyNames(), "joints": r.System.JointAxes()}
	known["frame"] = known["body"]
	if isMuJoCo {
		known["frame"] = slices.Concat(known["body"], robot.SiteNames())
	}
	if all := s.of == "" || s.of == "joints" && of == ""; !all && !slices.Contains(known[s.of], of) {
		kind := map[string]string{"frame": "body or site", "body": "body", "joints": "joint"}[s.of]
		return s, of, names.Unknown(kind+" of "+quantity, of, slices.Compact(known[s.of]))
	}
	return s, of, nil
}

// sensed describes the numbers of the Senses.
func (r *Rigid) sensed() (all []Component, err error) {
	for _, name := range r.Senses {
		s, of, err := r.sense(name)
		if err != nil {
			return nil, err
		}
		quantity, _, _ := strings.Cut(name, "/")
		add := func(names ...string) {
			for _, n := range names {
				all = append(all, Component{Name: n, Unit: s.unit})
			}
		}
		switch {
		case s.build == nil:
			for _, v := range r.Memory {
				for i := range v.Size {
					if v.Name == name {
						add(fmt.Sprintf("%s, %d", name, i))
					}
				}
			}
		case s.of == "joints":
			for _, joint := range r.System.JointAxes() {
				if of == "" || joint == of {
					add(s.axes[0] + " of " + joint)
				}
			}
		case s.of == "":
			for i := range cmp.Or(r.Settings.Actions, r.System.Actions()) {
				add(fmt.Sprintf("%s, %d", name, i))
			}
		case s.axes == nil:
			add(quantity + " of " + of)
		default:
			for _, axis := range s.axes {
				add(quantity + " of " + of + ", " + axis)
			}
		}
	}
	return all, nil
}

// senseAll is the observation of the Senses.
func (r *Rigid) senseAll(m StepView) *Node {
	return rows(lists.Map(r.Senses, m.Sense)...)
}

// joints returns the angles and velocities of a joint; of all without a name.
func (m StepView) joints(name string) (angles, velocities *Node) {
	if name != "" {
		return m.Joint(name)
	}
	return m.System.JointAngles(m.State)
}

// robot returns the system of a robot of MuJoCo's engine.
func (m StepView) robot() *mujoco.System { return m.System.(*mujoco.System) }

// told returns what the actuators are told: in the state before the first step, what an action of 0 tells them.
func (m StepView) told() *Node {
	if m.input != nil || m.System.Actions() == 0 {
		return m.input
	}
	return m.task.drive(senses["previous action"].build(m, ""))
}

// toLocal returns a vector in the axes of the world in those of a frame.
func toLocal(f algebra.Frame, v [3]*Node) [3]*Node {
	// v + 2 u x (u x v - w v), with the rotation w, u
	q := f.Rotation
	u := [3]*Node{q[1], q[2], q[3]}
	t := cross(u, v)
	for i := range t {
		t[i] = Sub(t[i], Mul(q[0], v[i]))
	}
	t = cross(u, t)
	for i := range t {
		t[i] = Add(v[i], MulScalar(t[i], 2))
	}
	return t
}

func three(v [3]*Node) []*Node { return v[:] }
