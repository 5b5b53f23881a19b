package envs

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

// planar builds the task of a robot that runs in the x-z plane.
func planar(task catalog.Task, model physics.Model, o options, leg []string) (*Rigid, error) {
	system, err := o.system(model, leg)
	if err != nil {
		return nil, err
	}
	return &Rigid{Settings: task.Spec, System: system, Leg: leg}, nil
}

// planarObservation is the observation of Brax's walker2d and halfcheetah: height and rotation of
// the torso, joint angles, velocity of the torso, its angular velocity if spin is set, and joint
// velocities.
func planarObservation(spin bool) func(StepView) *Node {
	return func(m StepView) *Node {
		torso := m.Frame("torso")
		angles, velocities := m.System.JointAngles(m.State)
		parts := []*Node{torso.Position[2]}
		parts = append(parts, torso.Rotation[:]...)
		parts = append(parts, angles)
		parts = append(parts, torso.Velocity[:]...)
		if spin {
			parts = append(parts, torso.AngularVelocity[:]...)
		}
		return rows(append(parts, velocities)...)
	}
}

func makeWalkerUni(task catalog.Task, o options) (Env, error) {
	env, err := planar(task, robots.Walker2d(), o, robots.Walker2dLeg)
	if err != nil {
		return nil, err
	}
	env.Noise = 0.005
	env.Observe = planarObservation(false)
	env.Done = func(m StepView) *Node { return outside(m.Frame("torso").Position[2], 0.7, 2) }
	env.Describe = func(m StepView) *Node { return feet(m, robots.Walker2dFeet...) }
	// As in the source, where it makes learning easier.
	env.Drive = func(action *Node) *Node { return Neg(action) }
	env.Reward = func(before, after StepView, action *Node) *Node {
		x := func(m StepView) *Node { return m.System.CenterOfMass(m.State)[0] }
		forward := velocity(after, x(before), x(after))
		return AddScalar(Sub(forward, cost(0.001, action)), 1)
	}
	return env, nil
}

func makeHalfCheetahUni(task catalog.Task, o options) (Env, error) {
	env, err := halfCheetah(task, robots.HalfCheetah(), o)
	if err != nil {
		return nil, err
	}
	env.Describe = func(m StepView) *Node { return feet(m, robots.HalfCheetahFeet...) }
	return env, nil
}

func makeHalfCheetahHurdles(task catalog.Task, o options) (Env, error) {
	env, err := halfCheetah(task, robots.Hurdles(robots.HalfCheetah()), o)
	if err != nil {
		return nil, err
	}
	env.Observe = located("torso", env.Observe, [2]float64{catalog.HurdlesHalfway, 0},
		[2]float64{catalog.HurdlesHalfway, 8})
	return env, nil
}

func halfCheetah(task catalog.Task, model physics.Model, o options) (*Rigid, error) {
	env, err := planar(task, model, o, robots.HalfCheetahLeg)
	if err != nil {
		return nil, err
	}
	env.Noise = 0.1
	env.Observe = planarObservation(true)
	env.Reward = func(before, after StepView, action *Node) *Node {
		x := func(m StepView) *Node { return m.Frame("torso").Position[0] }
		return Sub(velocity(after, x(before), x(after)), cost(0.1, action))
	}
	return env, nil
}
