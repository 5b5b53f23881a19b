package envs

import (
	"fmt"
	"math"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/xla/random"
)

// gymnasium is a task of Gymnasium's MuJoCo robots, version 5 (gymnasium/envs/mujoco/*_v5.py). Its actions are
// from -1 to 1 for the whole control range, as behind Gymnasium's RescaleAction.
//
// As there, what MuJoCo derives of positions and velocities lags behind them by one physics step, or by the
// last stage of a Runge-Kutta step: the place of an ant, the centre of mass of a humanoid, and inertias,
// velocities and forces in observations.
type gymnasium struct {
	robot  string // see [robots.Gymnasium]
	feet   []string
	leg    []string // see [Rigid]
	steps  int      // physics steps of a control step
	noise  float64  // of the start; half the width of uniform noise
	normal bool     // the noise of velocities is normal, with this standard deviation

	unseen int  // positions that an observation lacks, the first ones
	clips  bool // velocities in observations are clipped to +-10

	forward, survive, control float64 // weights in the reward
	// place is the x that the reward measures.
	place   func(m StepView) *Node
	healthy func(m StepView) *Node // bool [B]; nil: always
	// more is what an observation has besides positions and velocities; action is nil before the first step.
	more func(m StepView) []*Node
	// contact is the cost of contacts; nil if the task has none.
	contact func(m StepView) *Node
}

func gymnasiumTasks() map[string]gymnasium {
	between := func(row int, low, high float64) func(m StepView) *Node {
		return func(m StepView) *Node {
			x := qpos(m, row)
			return And(GreaterThan(x, ConstAs(x, low)), LessThan(x, ConstAs(x, high)))
		}
	}
	all := func(parts ...func(m StepView) *Node) func(m StepView) *Node {
		return func(m StepView) *Node {
			out := parts[0](m)
			for _, part := range parts[1:] {
				out = And(out, part(m))
			}
			return out
		}
	}
	first := func(m StepView) *Node { return qpos(m, 0) }
	ground := func(m StepView) *Node { return m.late().Frame("torso").Position[0] }
	center := func(m StepView) *Node { s := m.late(); return s.System.CenterOfMass(s.State)[0] }
	return map[string]gymnasium{
		"Ant-v5": {robot: "ant", feet: []string{"body 4", "body 7", "body 10", "body 13"},
			leg: []string{"hip_4", "ankle_4"}, steps: 5, noise: 0.1, normal: true, unseen: 2,
			forward: 1, survive: 1, control: 0.5, place: ground,
			healthy: func(m StepView) *Node { return LogicalNot(outside(qpos(m, 2), 0.2, 1)) },
			more:    func(m StepView) []*Node { return []*Node{ClipScalar(m.external(), -1, 1)} },
			contact: func(m StepView) *Node { return cost(5e-4, ClipScalar(m.external(), -1, 1)) }},
		"HalfCheetah-v5": {robot: "half_cheetah", feet: []string{"ffoot", "bfoot"},
			leg: []string{"fthigh", "fshin", "ffoot"}, steps: 5, noise: 0.1, normal: true, unseen: 1,
			forward: 1, control: 0.1, place: first},
		"Hopper-v5": {robot: "hopper", feet: []string{"foot"},
			leg: []string{"thigh_joint", "leg_joint", "foot_joint"}, steps: 4, noise: 5e-3, unseen: 1, clips: true,
			forward: 1, survive: 1, control: 1e-3, place: first,
			healthy: all(between(1, 0.7, math.Inf(1)), between(2, -0.2, 0.2), func(m StepView) *Node {
				s := m.robot().State(m.State)
				state := rows(Slice(s.QPos, AxisRange(2)), s.QVel)
				return LessThan(ReduceMax(Abs(state), 0), ConstAs(state, 100))
			})},
		"Humanoid-v5": {robot: "humanoid", feet: []string{"left_foot", "right_foot"},
			leg: []string{"left_hip_x", "left_hip_y", "left_hip_z", "left_knee"}, steps: 5, noise: 0.01, unseen: 2,
			forward: 1.25, survive: 5, control: 0.1, place: center, healthy: between(2, 1, 2),
			more: func(m StepView) []*Node {
				s, late := m.robot(), m.late().State
				forces := ZerosLike(m.robot().State(m.State).QVel)
				if m.Action != nil {
					forces = s.ActuatorForces(late, s.Drive(m.Action))
				}
				return []*Node{s.Inertias(late), s.Velocities(late), Slice(forces, AxisRange(6)), m.external()}
			},
			contact: func(m StepView) *Node { return MinScalar(cost(5e-7, m.external()), 10) }},
		"Swimmer-v5": {robot: "swimmer", leg: []string{"motor1_rot"}, steps: 4, noise: 0.1, unseen: 2,
			forward: 1, control: 1e-4, place: first},
		"Walker2d-v5": {robot: "walker2d", feet: []string{"foot", "foot_left"},
			leg: []string{"thigh_left_joint", "leg_left_joint", "foot_left_joint"}, steps: 4, noise: 5e-3, unseen: 1,
			clips: true, forward: 1, survive: 1, control: 1e-3, place: first,
			healthy: all(between(1, 0.8, 2), between(2, -1, 1))},
	}
}

// late returns the state that MuJoCo's derived quantities are of.
func (m StepView) late() StepView {
	m.State = m.robot().Late(m.State)
	return m
}

// external returns MuJoCo's cfrc_ext, which is 0 before the first step.
func (m StepView) external() *Node {
	if m.Action == nil {
		return ZerosLike(m.robot().Velocities(m.State))
	}
	return m.robot().ExternalForces(m.State)
}

// qpos returns one of MuJoCo's positions, [B].
func qpos(m StepView, row int) *Node { return Reshape(Slice(m.State.Parts[0], AxisElem(row)), -1) }

// environment builds the task with the descriptor that its name says.
func (g gymnasium) environment(task catalog.Task, o options) (Env, error) {
	model := robots.Gymnasium(g.robot)
	system, err := mujoco.NewSystem(model, mujoco.Options{Late: true, ControlStep: float64(g.steps) * model.Opt.TimeStep})
	if err != nil {
		return nil, err
	}
	env := &Rigid{Settings: task.Spec, System: system, Leg: g.leg, Start: g.start(system), Observe: g.observe}
	env.Settings.ObservationComponents = g.components(system)
	env.Settings.ActionComponents = g.actions(env)
	env.Reward = func(before, after StepView, action *Node) *Node {
		reward := MulScalar(velocity(after, g.place(before), g.place(after)), g.forward)
		if g.survive > 0 {
			reward = Add(reward, MulScalar(ConvertDType(g.healthy(after), reward.DType()), g.survive))
		}
		reward = Sub(reward, cost(g.control, system.Drive(action)))
		if g.contact != nil {
			reward = Sub(reward, g.contact(after))
		}
		return reward
	}
	if g.healthy != nil {
		env.Done = func(m StepView) *Node { return LogicalNot(g.healthy(m)) }
	}
	switch d := task.Descriptor; {
	case d.Kind == Final:
		limits := o.clipping(d, []float32{-far, -far}, []float32{far, far})
		env.Describe = func(m StepView) *Node { return position(m, "torso", limits) }
	case strings.HasSuffix(task.Name, "-torso"):
		env.Describe = func(m StepView) *Node { return tilt(m, len(d.Lower)) }
	default:
		env.Describe = func(m StepView) *Node { return m.Touching(g.feet...) }
	}
	return env, nil
}

// tilt returns the pitch of the torso, [B], or its roll and pitch if n is 2, [2, B], rad.
func tilt(m StepView, n int) *Node {
	q := m.Frame("torso").Rotation // w, x, y, z
	num := func(x *Node) algebra.Num { return algebra.Num{Rows: 1, Node: x} }
	twice := func(x *Node) *Node { return MulScalar(x, 2) }
	sine := ClipScalar(twice(Sub(Mul(q[0], q[2]), Mul(q[3], q[1]))), -1, 1)
	pitch := algebra.Angle(num(sine), num(Sqrt(OneMinus(Square(sine))))).Node
	if n == 1 {
		return pitch
	}
	up := OneMinus(twice(Add(Square(q[1]), Square(q[2]))))
	return rows(algebra.Angle(num(twice(Add(Mul(q[0], q[1]), Mul(q[2], q[3])))), num(up)).Node, pitch)
}

// start returns the noisy states in which episodes start.
func (g gymnasium) start(system *mujoco.System) func(keys random.Key) algebra.State {
	m := system.Model()
	return func(keys random.Key) algebra.State {
		batch := keys.Hi.Shape().Dimensions[0]
		positions, speeds := keys.FoldIn(0).Uniform(-g.noise, g.noise, batch, m.Sizes.NQ), keys.FoldIn(1)
		rest := make([]float32, m.Sizes.NQ)
		for i, x := range m.QPos0 {
			rest[i] = float32(x)
		}
		positions = Add(positions, InsertAxes(Const(keys.Hi.Graph(), rest), 0))
		var velocities *Node
		if g.normal {
			velocities = MulScalar(speeds.Normal(batch, m.Sizes.NV), g.noise)
		} else {
			velocities = speeds.Uniform(-g.noise, g.noise, batch, m.Sizes.NV)
		}
		velocities = Transpose(velocities, 0, 1)
		return system.Of(mujoco.State{QPos: Transpose(positions, 0, 1), QVel: velocities, QAcc: ZerosLike(velocities)})
	}
}

func (g gymnasium) observe(m StepView) *Node {
	s := m.robot().State(m.State)
	velocities := s.QVel
	if g.clips {
		velocities = ClipScalar(velocities, -10, 10)
	}
	parts := []*Node{Slice(s.QPos, AxisRange(g.unseen)), velocities}
	if g.more != nil {
		parts = append(parts, g.more(m)...)
	}
	return rows(parts...)
}

// actions describes the actions.
func (g gymnasium) actions(env *Rigid) (all []Component) {
	for _, c := range env.Inputs() {
		c.Scale, c.Limits = c.Limits[1], nil // the ranges are symmetric
		all = append(all, c)
	}
	return all
}

// components describes the observation.
func (g gymnasium) components(system *mujoco.System) []Component {
	m := system.Model()
	var positions, velocities []Component
	for i, kind := range m.JntType {
		name := m.Names.Joint[i]
		switch kind {
		case mujoco.Free:
			positions = append(positions, vectorComponents("position of torso", "m", nil)...)
			positions = append(positions, Component{Name: "quaternion of torso, w"})
			positions = append(positions, vectorComponents("quaternion of torso", "", nil)...)
			velocities = append(velocities, vectorComponents("velocity of torso", "m/s", nil)...)
			velocities = append(velocities, vectorComponents("angular velocity of torso, in its own axes", "rad/s", nil)...)
		case mujoco.Slide:
			positions = append(positions, Component{Name: "position of " + name, Unit: "m"})
			velocities = append(velocities, Component{Name: "velocity of " + name, Unit: "m/s"})
		default:
			positions = append(positions, Component{Name: "joint angle of " + name, Unit: "rad"})
			velocities = append(velocities, Component{Name: "joint velocity of " + name, Unit: "rad/s"})
		}
	}
	all := append(positions[g.unseen:], velocities...)
	if g.more == nil {
		return all
	}
	bodies := system.BodyNames()[1:]
	if g.robot == "humanoid" {
		for _, body := range bodies {
			for _, part := range []string{"xx", "yy", "zz", "xy", "xz", "yz"} {
				all = append(all, Component{Name: fmt.Sprintf("inertia of %s about the centre of mass, %s", body, part),
					Unit: "kg m²"})
			}
			all = append(all, vectorComponents("mass times position from the centre of mass of "+body, "kg m", nil)...)
			all = append(all, Component{Name: "mass of " + body, Unit: "kg"})
		}
		for _, body := range bodies {
			all = append(all, vectorComponents("angular velocity of "+body, "rad/s", nil)...)
			all = append(all, vectorComponents("velocity at the centre of mass of "+body, "m/s", nil)...)
		}
		for i, kind := range m.JntType {
			if kind == mujoco.Hinge {
				all = append(all, Component{Name: "torque of actuators on " + m.Names.Joint[i], Unit: "N m"})
			}
		}
	}
	var limits *[2]float64
	if g.robot == "ant" {
		limits = &[2]float64{-1, 1}
	}
	for _, body := range bodies {
		all = append(all, vectorComponents("torque of contacts on "+body, "N m", limits)...)
		all = append(all, vectorComponents("force of contacts on "+body, "N", limits)...)
	}
	return all
}
