package envs

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

const antTorso = "$ Torso"

// antObservation is the observation of Brax's ant: height and rotation of the torso, joint angles,
// velocities of torso and joints, and the velocity changes of every body by contacts, clipped to
// +-1.
func antObservation(m StepView) *Node {
	return rows(append(motion(m, antTorso, true), contacts(m.Contact.Velocity), contacts(m.Contact.AngularVelocity))...)
}

// contacts flattens velocity changes by contacts body by body, [3 * bodies, B], clipped to +-1.
func contacts(components [3]*Node) *Node { return ClipScalar(byBody(components[:]...), -1, 1) }

// byBody flattens components [bodies, B] body by body, [components * bodies, B].
func byBody(components ...*Node) *Node {
	dims := components[0].Shape().Dimensions
	return Reshape(Stack(components, 1), len(components)*dims[0], dims[1])
}

// untouched lists the components of contacts of bodies that nothing touches.
func untouched(env *Rigid) (components []int) {
	first := env.Settings.Observations - env.Contacts
	for i := range env.Contacts {
		if bodies := len(env.brax().Model().Bodies); !env.brax().Touchable(i / 3 % bodies) {
			components = append(components, first+i)
		}
	}
	return components
}

// antCost is the control and contact cost of Brax's ant.
func antCost(after StepView, action *Node) *Node {
	return Add(cost(0.5, action), cost(0.0005, contacts(after.Contact.Velocity)))
}

// antEffort is the cost of Brax's ant, minus the survive bonus.
func antEffort(after StepView, action *Node) *Node { return AddScalar(antCost(after, action), -1) }

// antForward is the reward for running along x.
func antForward(before, after StepView, action *Node) *Node {
	x := func(m StepView) *Node { return m.Frame(antTorso).Position[0] }
	return Sub(velocity(after, x(before), x(after)), antEffort(after, action))
}

func antFalls(ceiling float64) func(StepView) *Node {
	return func(m StepView) *Node { return outside(m.Frame(antTorso).Position[2], 0.2, ceiling) }
}

// ant builds the task of an ant in a model. define sets what differs from running along x.
func ant(task catalog.Task, model physics.Model, define func(*Rigid)) (Env, error) {
	return rigid(task, model, robots.AntLeg, func(env *Rigid) {
		env.Noise, env.Contacts = 0.1, 6*len(model.Bodies)
		env.Settings.ObservationComponents = slices.Concat(motionComponents(env.brax(), antTorso, true), contactComponents(model))
		env.Observe, env.Reward, env.Done = antObservation, antForward, antFalls(1)
		define(env)
		env.Settings.Zero = untouched(env)
		if env.Target == nil { // the distance is the only objective
			env.Objectives = rewardAndCost(env.Reward, antCost)
		}
	})
}

func makeAntUni(task catalog.Task, _ options) (Env, error) {
	return ant(task, robots.Ant(physics.Spring), func(env *Rigid) {
		env.Describe = func(m StepView) *Node { return m.Touching(robots.AntFeet...) }
	})
}

func makeAntOmni(task catalog.Task, o options) (Env, error) {
	return ant(task, robots.Ant(physics.Spring), func(env *Rigid) {
		env.Reward = func(_, after StepView, action *Node) *Node { return Neg(antEffort(after, action)) }
		clipping := o.clipping(task.Descriptor, []float32{-far, -far}, []float32{far, far})
		env.Describe = func(m StepView) *Node { return position(m, antTorso, clipping) }
	})
}

func makeAntTrap(task catalog.Task, o options) (Env, error) {
	return ant(task, robots.Trap(robots.Ant(physics.PositionBased)), func(env *Rigid) {
		clipping := o.clipping(task.Descriptor, []float32{0, -8}, []float32{far, 8})
		env.Describe = func(m StepView) *Node { return position(m, antTorso, clipping) }
		env.locate(antTorso, [2]float64{15, 0}, [2]float64{15, 8})
	})
}

// locate prepends the x, y position of a body to the observation, minus center, divided by scale.
func (r *Rigid) locate(body string, center, scale [2]float64) {
	observe := r.Observe
	r.Observe = func(m StepView) *Node {
		at := m.Frame(body).Position
		x := DivScalar(AddScalar(at[0], -center[0]), scale[0])
		y := DivScalar(AddScalar(at[1], -center[1]), scale[1])
		return rows(x, y, observe(m))
	}
	var first []Component
	for i, axis := range []string{"x", "y"} {
		first = append(first, Component{Name: fmt.Sprintf("(position of %s, %s - %g m) / %g m", body, axis, center[i], scale[i])})
	}
	r.Settings.ObservationComponents = append(first, r.Settings.ObservationComponents...)
}

func makeAntMaze(task catalog.Task, _ options) (Env, error) {
	target, limits := *task.Target, task.Descriptor
	return ant(task, robots.Maze(robots.Ant(physics.PositionBased), target), func(env *Rigid) {
		env.Describe = func(m StepView) *Node { return position(m, antTorso, limits) }
		env.locate(antTorso, [2]float64{17.5, 17.5}, [2]float64{22.5, 22.5})
		env.Done = antFalls(5)
		env.Target = &target
		env.Reward = func(_, after StepView, _ *Node) *Node {
			at, target := after.Frame(antTorso).Position, after.Target()
			return Neg(Sqrt(Add(Square(Sub(at[0], target[0])), Square(Sub(at[1], target[1])))))
		}
	})
}
