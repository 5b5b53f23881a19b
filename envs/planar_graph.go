package envs

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

// planar builds the task of a robot that runs in the x-z plane.
func planar(model physics.Model, o options, leg []string, spec Spec) (*Rigid, error) {
	if err := o.noTarget(); err != nil {
		return nil, err
	}
	model, err := robots.WithGravity(model, o.gravity)
	if err != nil {
		return nil, err
	}
	if model, err = robots.WithStrength(model, o.actuators, leg...); err != nil {
		return nil, err
	}
	system, err := physics.NewSystem(model)
	if err != nil {
		return nil, err
	}
	spec.Actions, spec.Length = system.Actions(), 250
	return &Rigid{Settings: spec, System: system, Leg: leg}, nil
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

func makeWalkerUni(o options) (Env, error) {
	env, err := planar(robots.Walker2d(), o, robots.Walker2dLeg, Spec{
		Name: "walker-uni", Observations: 20, Offset: 1.413, FitnessRange: [2]float64{-200, 1500},
		Descriptor: contactDescriptor("right foot", "left foot"),
	})
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

func makeHalfCheetahUni(o options) (Env, error) {
	env, err := halfCheetah(robots.HalfCheetah(), o, Spec{
		Name: "halfcheetah-uni", Observations: 23, Offset: 9.231, FitnessRange: [2]float64{-1000, 2200},
		Descriptor: contactDescriptor("front foot", "back foot"),
	})
	if err != nil {
		return nil, err
	}
	env.Describe = func(m StepView) *Node { return feet(m, robots.HalfCheetahFeet...) }
	return env, nil
}

// HurdlesHalfway is the x in metres that halfcheetah-hurdles observes as 0. It observes the origin
// as -1.
const HurdlesHalfway = 15.0

func makeHalfCheetahHurdles(o options) (Env, error) {
	env, err := halfCheetah(robots.Hurdles(robots.HalfCheetah()), o, Spec{
		Name: "halfcheetah-hurdles", Observations: 25, FitnessRange: [2]float64{-1000, 2200},
		Descriptor: Descriptor{Kind: None},
	})
	if err != nil {
		return nil, err
	}
	env.Observe = located("torso", env.Observe, [2]float64{HurdlesHalfway, 0},
		[2]float64{HurdlesHalfway, 8})
	return env, nil
}

func halfCheetah(model physics.Model, o options, spec Spec) (*Rigid, error) {
	env, err := planar(model, o, robots.HalfCheetahLeg, spec)
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
