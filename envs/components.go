package envs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
)

// Described returns the Spec of a task. If it does not describe them, the actions of a [Rigid] are
// those of its actuators and thrusters, unless it has a Drive or MuJoCo's engine maps them to control ranges;
// the control step is its model's.
func Described(env Env) Spec {
	spec, rigid := env.Spec(), RigidOf(env)
	if rigid == nil {
		return spec
	}
	if spec.ControlStep == 0 {
		spec.ControlStep = rigid.System.ControlStep()
	}
	if _, brax := rigid.System.(*physics.System); brax && spec.ActionComponents == nil && rigid.Drive == nil {
		spec.ActionComponents = rigid.Inputs()
	}
	return spec
}

// RigidOf returns the task of a robot inside of an environment; nil if there is none.
func RigidOf(env Env) *Rigid {
	rigid, _ := Inner(env).(*Rigid)
	return rigid
}

// Inputs describes what the actuators and thrusters take, in their order: what Drive makes of an action.
func (r *Rigid) Inputs() (all []Component) {
	robot, ok := r.System.(*mujoco.System)
	if !ok {
		return actionComponents(r.brax().Model(), 1)
	}
	m := robot.Model()
	for i, joint := range robot.Actuated() {
		c := Component{Name: "control of " + cmp.Or(m.Names.Actuator[i], "an actuator") + " (" + joint + ")"}
		if m.ActuatorCtrlLimited[i] {
			c.Limits = &m.ActuatorCtrlRange[i]
		}
		all = append(all, c)
	}
	return all
}

// actionComponents describes the actions of a model, which are sign times the inputs of its actuators.
func actionComponents(m physics.Model, sign float64) (all []Component) {
	add := func(name string, axis, axes int, unit string, scale float64) {
		for i, letter := range xyz {
			if axis == i+1 || axis == 0 && i < axes {
				c := Component{Name: name, Unit: unit, Scale: sign * scale}
				if axes > 1 {
					c.Name += ", " + letter
				}
				all = append(all, c)
			}
		}
	}
	for _, a := range m.Actuators {
		what, unit, scale, axes := "torque of ", "N m", a.Strength, 1
		for _, j := range m.Joints {
			if j.Name == a.Joint {
				axes = len(j.Limits)
			}
		}
		if a.Angle {
			what, unit, scale = "target angle of ", "deg", 1
		}
		add(what+a.Joint, a.Axis, axes, unit, scale)
	}
	for _, t := range m.Thrusters {
		add("force on "+t.Body, t.Axis, 3, "N", t.Strength)
	}
	return all
}

var xyz = []string{"x", "y", "z"}

// vectorComponents describes the components of a vector.
func vectorComponents(name, unit string, limits *[2]float64) (all []Component) {
	for _, axis := range xyz {
		all = append(all, Component{Name: name + ", " + axis, Unit: unit, Limits: limits})
	}
	return all
}

// motionComponents describes what motion returns.
func motionComponents(system *physics.System, torso string, spin bool) []Component {
	unit := &[2]float64{-1, 1}
	all := []Component{{Name: "height of " + torso, Unit: "m"},
		{Name: "quaternion of " + torso + ", w", Limits: unit}}
	all = append(all, vectorComponents("quaternion of "+torso, "", unit)...)
	var velocities []Component
	for _, j := range system.Model().Joints {
		for axis, limits := range j.Limits {
			name := j.Name
			if len(j.Limits) > 1 {
				name += ", " + xyz[axis]
			}
			radians := &[2]float64{limits[0] * math.Pi / 180, limits[1] * math.Pi / 180}
			all = append(all, Component{Name: "joint angle of " + name, Unit: "rad", Limits: radians})
			velocities = append(velocities, Component{Name: "joint velocity of " + name, Unit: "rad/s", Scale: -1})
		}
	}
	all = append(all, vectorComponents("velocity of "+torso, "m/s", nil)...)
	if spin {
		all = append(all, vectorComponents("angular velocity of "+torso, "rad/s", nil)...)
	}
	return append(all, velocities...)
}

// jointOrder lists the axes of the joints as Brax groups them: those of joints with one axis first. In a
// group, they are by joint, or the first axes of all joints come first.
func jointOrder(m physics.Model, byJoint bool) (order []int) {
	var keys [][2]int
	for _, j := range m.Joints {
		for axis := range j.Limits {
			if byJoint {
				axis = 0
			}
			order, keys = append(order, len(order)), append(keys, [2]int{len(j.Limits), axis})
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(keys[a][:], keys[b][:]) })
	return order
}

// humanoidComponents describes the observation of a humanoid.
func humanoidComponents(system *physics.System) []Component {
	model := system.Model()
	all, n := motionComponents(system, "torso", true), system.Angles()
	order, last := jointOrder(model, false), len(all)-n
	given := slices.Clone(all)
	for i, axis := range order {
		all[5+i], all[last+i] = given[5+axis], given[last+axis]
	}
	moving := model.BodyNames()[:len(model.Bodies)-1]
	for _, body := range moving {
		for i := range 9 {
			all = append(all, Component{Name: fmt.Sprintf("inertia of %s about the centre of mass, %s%s", body,
				xyz[i/3], xyz[i%3]), Unit: "kg m²"})
		}
	}
	for _, kind := range [][2]string{{"share of the centre of mass's velocity by ", "m/s"},
		{"angular velocity about the centre of mass of ", "rad/s"}} {
		for _, body := range moving {
			all = append(all, vectorComponents(kind[0]+body, kind[1], nil)...)
		}
	}
	torques := actionComponents(model, 1)
	for _, i := range jointOrder(model, true) {
		all = append(all, Component{Name: torques[i].Name, Unit: torques[i].Unit})
	}
	contacts := contactComponents(model)
	for i := range contacts {
		contacts[i].Limits = nil
	}
	return append(all, contacts...)
}

// contactComponents describes the velocity changes by contacts in the observation of an ant.
func contactComponents(m physics.Model) (all []Component) {
	for _, kind := range [][2]string{{"velocity", "m/s"}, {"angular velocity", "rad/s"}} {
		for _, body := range m.Bodies {
			all = append(all, vectorComponents(kind[0]+" change of "+body.Name+" by contacts", kind[1], &[2]float64{-1, 1})...)
		}
	}
	return all
}
