package envs

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

// planarObservation is the observation of Brax's walker2d and halfcheetah: see motion.
func planarObservation(spin bool) func(StepView) *Node {
	return func(m StepView) *Node { return rows(motion(m, "torso", spin)...) }
}

// motion is how a robot is placed and moves: height and rotation of its torso, joint angles,
// velocity of the torso, its angular velocity if spin is set, and minus the joint velocities, as in
// the source.
func motion(m StepView, torso string, spin bool) []*Node {
	frame := m.Frame(torso)
	angles, velocities := m.System.JointAngles(m.State)
	parts := append([]*Node{frame.Position[2]}, frame.Rotation[:]...)
	parts = append(append(parts, angles), frame.Velocity[:]...)
	if spin {
		parts = append(parts, frame.AngularVelocity[:]...)
	}
	return append(parts, Neg(velocities))
}

func makeWalkerUni(task catalog.Task, _ options) (Env, error) {
	return upright(task, robots.Walker2d(), robots.Walker2dLeg, robots.Walker2dFeet,
		func(z *Node) *Node { return outside(z, 0.7, 2) })
}

func makeHopperUni(task catalog.Task, _ options) (Env, error) {
	return upright(task, robots.Hopper(), robots.HopperLeg, robots.HopperFoot,
		func(z *Node) *Node { return LessThan(z, ConstAs(z, 0.7)) })
}

// upright builds the task of a walker or hopper, which falls where the height [B] of its torso is out
// of range.
func upright(task catalog.Task, model physics.Model, leg, feet []string, falls func(z *Node) *Node) (Env, error) {
	return rigid(task, model, leg, func(env *Rigid) {
		env.Noise = 0.005
		env.Observe = planarObservation(false)
		env.Settings.ObservationComponents = motionComponents(env.brax(), "torso", false)
		env.Settings.ActionComponents = actionComponents(env.brax().Model(), -1)
		env.Done = func(m StepView) *Node { return falls(m.Frame("torso").Position[2]) }
		env.Describe = func(m StepView) *Node { return m.Touching(feet...) }
		// As in the source, where it makes learning easier.
		env.Drive = func(action *Node) *Node { return Neg(action) }
		env.Reward = func(before, after StepView, action *Node) *Node {
			return AddScalar(Sub(advance(before, after), cost(0.001, action)), 1)
		}
		env.Objectives = rewardAndCost(env.Reward, func(_ StepView, action *Node) *Node {
			return cost(0.001, action)
		})
	})
}

func makeHalfCheetahUni(task catalog.Task, _ options) (Env, error) {
	return halfCheetah(task, robots.HalfCheetah(), func(env *Rigid) {
		env.Describe = func(m StepView) *Node { return m.Touching(robots.HalfCheetahFeet...) }
	})
}

func makeHalfCheetahHurdles(task catalog.Task, _ options) (Env, error) {
	return halfCheetah(task, robots.Hurdles(robots.HalfCheetah()), func(env *Rigid) {
		env.locate("torso", [2]float64{catalog.HurdlesHalfway, 0}, [2]float64{catalog.HurdlesHalfway, 8})
	})
}

// halfCheetah builds the task of a half-cheetah in a model.
func halfCheetah(task catalog.Task, model physics.Model, define func(*Rigid)) (Env, error) {
	return rigid(task, model, robots.HalfCheetahLeg, func(env *Rigid) {
		env.Noise = 0.1
		env.Observe = planarObservation(true)
		env.Settings.ObservationComponents = motionComponents(env.brax(), "torso", true)
		env.Reward = func(before, after StepView, action *Node) *Node {
			x := func(m StepView) *Node { return m.Frame("torso").Position[0] }
			return Sub(velocity(after, x(before), x(after)), cost(0.1, action))
		}
		env.Objectives = rewardAndCost(env.Reward, func(_ StepView, action *Node) *Node {
			return cost(0.1, action)
		})
		define(env)
	})
}
