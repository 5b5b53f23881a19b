package envs

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

func makeHumanoidUni(task catalog.Task, _ options) (Env, error) {
	return walkingHumanoid(task, func(env *Rigid) {
		env.Describe = func(m StepView) *Node { return m.Touching(robots.HumanoidFeet...) }
		stands := env.Reward
		env.Reward = func(before, after StepView, action *Node) *Node {
			return Add(MulScalar(advance(before, after), 1.25), stands(before, after, action))
		}
	})
}

func makeHumanoidOmni(task catalog.Task, o options) (Env, error) {
	return walkingHumanoid(task, func(env *Rigid) {
		clipping := o.clipping(task.Descriptor, []float32{-far, -far}, []float32{far, far})
		env.Describe = func(m StepView) *Node { return position(m, "torso", clipping) }
	})
}

// walkingHumanoid builds the task of a humanoid that is rewarded for standing. define sets what differs.
func walkingHumanoid(task catalog.Task, define func(*Rigid)) (Env, error) {
	model := robots.Humanoid()
	return rigid(task, model, robots.HumanoidLeg, func(env *Rigid) {
		env.Noise, env.Contacts = 0.01, 6*len(model.Bodies)
		env.Settings.Zero = untouched(env)
		env.Settings.ObservationComponents = humanoidComponents(env.brax())
		env.Observe = humanoidObservation
		env.Done = func(m StepView) *Node { return outside(m.Frame("torso").Position[2], 0.8, 2.1) }
		env.Reward = func(_, _ StepView, action *Node) *Node { return AddScalar(Neg(cost(0.01, action)), 5) }
		define(env)
	})
}

// humanoidObservation is the observation of Brax's humanoid: its motion, with the joints by their number
// of axes; inertia and velocities of each body relative to the centre of mass; the torques of the
// actions; and the velocity changes of every body by contacts.
func humanoidObservation(m StepView) *Node {
	model := m.System.(*physics.System).Model()
	parts := motion(m, "torso", true)
	inOrder := func(x *Node, byJoint bool) *Node {
		var parts []*Node
		for _, row := range jointOrder(model, byJoint) {
			parts = append(parts, Slice(x, AxisRange(row, row+1)))
		}
		return rows(parts...)
	}
	last := len(parts) - 1
	parts[5], parts[last] = inOrder(parts[5], false), inOrder(parts[last], false)

	n, total := len(model.Bodies)-1, 0.0 // without the floor
	var masses, strengths []float32
	for _, body := range model.Bodies[:n] {
		masses, total = append(masses, float32(body.Mass)), total+body.Mass
	}
	for _, c := range actionComponents(model, 1) {
		strengths = append(strengths, float32(c.Scale))
	}
	position, _, velocity, _ := m.System.Export(m.State)
	center := m.System.CenterOfMass(m.State)
	var arm, speed [3]*Node // [bodies, B]
	for axis := range 3 {
		component := func(x *Node) *Node {
			return Transpose(Squeeze(Slice(x, AxisRange(), AxisRange(0, n), AxisElem(axis)), 2), 0, 1)
		}
		arm[axis], speed[axis] = component(position), component(velocity)
		arm[axis] = Sub(arm[axis], BroadcastToDims(InsertAxes(center[axis], 0), arm[axis].Shape().Dimensions...))
	}
	spread := func(column []float32) *Node {
		return BroadcastToDims(InsertAxes(Const(arm[0].Graph(), column), -1), len(column), center[0].Shape().Dimensions[0])
	}
	mass := spread(masses)
	square := Add(Add(Square(arm[0]), Square(arm[1])), Square(arm[2]))
	var inertia, share, spin []*Node
	for i := range 3 {
		for k := range 3 {
			x := Neg(Mul(arm[i], arm[k]))
			if i == k {
				x = Add(x, square)
			}
			x = Mul(mass, x)
			if i == k {
				x = AddScalar(x, 1) // the inertia of each body
			}
			inertia = append(inertia, x)
		}
		share = append(share, DivScalar(Mul(speed[i], mass), total))
		j, k := (i+1)%3, (i+2)%3
		cross := Sub(Mul(arm[j], speed[k]), Mul(arm[k], speed[j]))
		spin = append(spin, Div(cross, AddScalar(square, 1e-7)))
	}
	torque := spread(make([]float32, len(strengths)))
	if m.Action != nil {
		torque = Mul(m.Action, spread(strengths))
	}
	parts = append(parts, byBody(inertia...), byBody(share...), byBody(spin...), inOrder(torque, true),
		byBody(m.Contact.Velocity[:]...), byBody(m.Contact.AngularVelocity[:]...))
	return rows(parts...)
}
