package envs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Rigid is a task of a robot. Its functions read a [StepView] of B copies of the
// system, with the batch on the last axis. Write these functions to define a new environment.
type Rigid struct {
	Settings Spec
	System   System // its control step, and so the number of physics steps, is the task's choice

	// An episode starts in a pose: that of the System, such as a keyframe, or Pose, the angles of all joints, rad or
	// m. Noise is the half width of the uniform noise on joint angles (rad) and velocities (rad/s).
	Pose  []float64
	Noise float64
	// Grounded puts a robot of MuJoCo's engine on the ground, so that its lowest geom touches it. (Brax's robots
	// always start there.)
	Grounded bool
	// Start draws the states in which episodes start, one for each of B keys, with the Parts that Pose of the System
	// makes; nil: as above.
	Start func(keys random.Key) algebra.State
	// Contacts is the number of contact components at the end of an observation.
	Contacts int

	// Memory lists what the task remembers from step to step. AutoReset draws it again for each episode.
	Memory []Variable
	// Latency is the least and the greatest number of control steps by which actions take effect later, drawn for
	// each episode. Until the first ones do, actions are 0.
	Latency [2]int
	// Stochastic tasks draw random numbers in their functions, or use the time ([StepView.Uniform],
	// [StepView.Time]). So can tasks with Memory or Latency.
	Stochastic bool

	// Observe returns the observation, [observations, B]; nil: the quantities of Senses.
	Observe func(m StepView) *Node
	// Senses names what is observed; see [StepView.Sense]. They describe the observation in the Spec, too.
	Senses []string
	// Reward returns the reward [B] of a step under action [actions, B].
	Reward func(before, after StepView, action *Node) *Node
	// Objectives returns the parts of the reward, [objectives, B]; nil if the task has one
	// objective.
	Objectives func(before, after StepView, action *Node) *Node
	// Done returns booleans [B]; nil means never.
	Done func(m StepView) *Node
	// Describe returns the state descriptor, [descriptor, B] or [B]; nil if the task has none.
	Describe func(m StepView) *Node
	// Drive maps an action to the inputs of the actuators, [actions, B] both; nil is that of the System.
	Drive func(action *Node) *Node
	// Guide returns what is added to these inputs, whatever the action, [actuators, B]; nil: nothing.
	Guide func(before StepView) *Node

	// Vary lists what is drawn for each episode, or set: domain randomisation, and adaptation.
	Vary []Variation
	// Leg lists the joints whose actuators [ActuatorsMultiplier] weakens together; nil: all.
	Leg []string
	// Target is a point x, y in m that functions refer to by [StepView.Target]; nil: none.
	Target *[2]float64

	robot *StoredRobot // see [Robot]
	made  *Rigid       // of it
	moved func(state algebra.State, input *Node) algebra.State
}

// Moved returns a copy of the task whose robot moves to the states that a function returns, given the present state
// and what the actuators are told, [actuators, B]: by another engine.
func (r *Rigid) Moved(by func(state algebra.State, input *Node) algebra.State) *Rigid {
	moved := *r
	moved.moved = by
	return &moved
}

// StepView is a state of a system with the contacts of the control step that led to it. The bodies and
// joints of the built-in robots are:
//
//	ant          $ Torso, Aux 1, $ Body 4, Aux 2, $ Body 7, Aux 3, $ Body 10, Aux 4, $ Body 13
//	             $ Torso_Aux 1, Aux 1_$ Body 4, $ Torso_Aux 2, Aux 2_$ Body 7,
//	             $ Torso_Aux 3, Aux 3_$ Body 10, $ Torso_Aux 4, Aux 4_$ Body 13
//	walker       torso, thigh, leg, foot, thigh_left, leg_left, foot_left
//	             thigh_joint, leg_joint, foot_joint, thigh_left_joint, leg_left_joint, foot_left_joint
//	halfcheetah  torso, bthigh, bshin, bfoot, fthigh, fshin, ffoot; the joints of the legs alike
//	hopper       torso, thigh, leg, foot; thigh_joint, leg_joint, foot_joint
//	humanoid     torso, lwaist, pelvis, right_thigh, right_shin, left_thigh, left_shin,
//	             right_upper_arm, right_lower_arm, left_upper_arm, left_lower_arm
//	             abdomen_z, abdomen_x, right_hip_x, right_knee, left_hip_x, left_knee,
//	             right_shoulder1, right_elbow, left_shoulder1, left_elbow
type StepView struct {
	System  System
	State   algebra.State
	Contact algebra.Contact
	Action  *Node // of the control step, [actions, B]; nil in the state before an episode's first step

	task   *Rigid
	under  conditions
	input  *Node // what the actuators were told; nil before the first step
	memory remembered
	keys   random.Key // of the episode; none without memory
	stream int
	draws  *int // how often a function drew
}

// Frame returns the position, rotation and velocity of a body. It panics if there is no such body.
func (m StepView) Frame(body string) algebra.Frame { return m.System.Frame(m.State, body) }

// Joint returns the angles (rad) and their velocities (rad/s) of a joint, [axes, B] each; m and m/s if it
// slides. It panics if there is no such joint.
func (m StepView) Joint(joint string) (angles, velocities *Node) {
	axes := m.System.JointAxes()
	first := slices.Index(axes, joint)
	if first < 0 {
		panic(names.Unknown("joint", joint, slices.Compact(axes)))
	}
	end := first + 1
	for end < len(axes) && axes[end] == joint {
		end++
	}
	angles, velocities = m.System.JointAngles(m.State)
	return Slice(angles, AxisRange(first, end)), Slice(velocities, AxisRange(first, end))
}

// Touching returns the contact bits [bodies, B] of bodies: 1 where a body touches something. It panics if
// there is no such body.
func (m StepView) Touching(bodies ...string) *Node {
	return rows(lists.Map(bodies, func(body string) *Node { return m.System.Touching(m.State, m.Contact, body) })...)
}

// WithDescriptor returns a copy of a task of rigid bodies with another name and another descriptor.
// describe returns the state descriptor, [components, B] or [B].
func WithDescriptor(env Env, name string, d Descriptor, describe func(m StepView) *Node) (*Rigid, error) {
	return with(env, name, func(r *Rigid) { r.Settings.Descriptor, r.Describe = d, describe })
}

// WithReward returns a copy of a task of rigid bodies with another name and another reward, which is its
// only objective. reward returns the reward of a step, [B], which must be at least -offset.
func WithReward(env Env, name string, offset float64,
	reward func(before, after StepView, action *Node) *Node) (*Rigid, error) {
	return with(env, name, func(r *Rigid) {
		r.Settings.Offset, r.Settings.Objectives = offset, nil
		r.Reward, r.Objectives = reward, nil
	})
}

func with(env Env, name string, change func(*Rigid)) (*Rigid, error) {
	original, ok := env.(*Rigid)
	if !ok {
		return nil, fmt.Errorf("%s is no task of rigid bodies, or wrapped: change a robot that Make "+
			"returns, without FixedStart", env.Spec().Name)
	}
	if slices.Contains(Names(), name) {
		return nil, fmt.Errorf("%s is the name of a built-in environment: choose another one", name)
	}
	r := *original
	r.Settings.Name = name
	r.robot = nil
	change(&r)
	return &r, Validate(&r)
}

// Spec implements [Env]: Settings, with the actions of the System and the observations of Senses if it has none.
func (r *Rigid) Spec() Spec {
	spec := r.Settings
	if spec.Actions == 0 && r.System != nil {
		spec.Actions = r.System.Actions()
	}
	if r.Observe == nil && r.System != nil {
		components, err := r.sensed()
		if spec.ObservationComponents == nil && err == nil {
			spec.ObservationComponents = components
		}
		spec.Observations = cmp.Or(spec.Observations, len(components))
	}
	return spec
}

// Validate returns an error if the constants of an environment are not valid, or parts of a [Rigid]
// are missing or do not fit its system.
func Validate(env Env) error {
	if r, ok := Inner(env).(*Rigid); ok { // the Spec takes its sizes from these
		switch {
		case r.System == nil:
			return fmt.Errorf("%s: it has no System", r.Settings.Name)
		case r.Observe != nil:
		case len(r.Senses) == 0:
			return fmt.Errorf("%s: it has no function Observe, and no Senses", r.Settings.Name)
		default:
			if _, err := r.sensed(); err != nil {
				return fmt.Errorf("%s: its Senses: %w", r.Settings.Name, err)
			}
		}
	}
	if err := env.Spec().Validate(); err != nil {
		return err
	}
	if s, ok := env.(*Simulator); ok && s.Bounded && s.Facts.Observations > 0 {
		return fmt.Errorf("%s is Bounded, but its policies have no range Initial", s.Facts.Name)
	}
	var wrong string
	switch r, ok := Inner(env).(*Rigid); {
	case !ok:
	case r.Drive == nil && r.Spec().Actions != r.System.Actions():
		wrong = fmt.Sprintf("its Spec has %d actions, its System %d actuators: set a Drive, or Actions to this",
			r.Settings.Actions, r.System.Actions())
	case !(r.Noise >= 0) || math.IsInf(r.Noise, 1):
		wrong = fmt.Sprintf("its Noise is %g: want 0 or more", r.Noise)
	case slices.ContainsFunc(r.Pose, func(angle float64) bool { return math.IsNaN(angle) || math.IsInf(angle, 0) }):
		wrong = fmt.Sprintf("its Pose is %v: want finite angles", r.Pose)
	case r.Pose != nil && len(r.Pose) != len(r.System.DefaultAngles()):
		wrong = fmt.Sprintf("its Pose has %d angles, its System %d", len(r.Pose), len(r.System.DefaultAngles()))
	case r.checkMemory() != "":
		wrong = r.checkMemory()
	case r.Reward == nil:
		wrong = "it has no function Reward"
	case r.Describe == nil && r.Spec().Descriptor.Kind != None:
		wrong = "its Spec has a descriptor, but it has no function Describe"
	default:
		driven := r.System.Actuated()
		for _, joint := range r.Leg {
			if !slices.Contains(driven, joint) {
				wrong = "its Leg: " + names.Unknown("joint with an actuator", joint, driven).Error()
			}
		}
		for _, v := range r.Vary {
			if err := r.checkVariation(v); err != nil && wrong == "" {
				wrong = "its Vary: " + err.Error()
			}
		}
	}
	if wrong != "" {
		return fmt.Errorf("%s: %s", env.Spec().Name, wrong)
	}
	return nil
}

// Walls returns the capsules along x or y on fixed bodies, seen from above, for figures.
func (r *Rigid) Walls() (walls []Wall) {
	brax, ok := r.System.(*physics.System)
	if !ok {
		return nil
	}
	model := brax.Model()
	for _, body := range model.Bodies {
		if !body.Fixed {
			continue
		}
		at := model.Pose[body.Name] // x and y of fixed bodies without a pose are 0
		for _, c := range body.Colliders {
			x, y := c.Radius, c.Radius // from the centre
			switch c.Rotation {
			case physics.Vec{0, 90, 0}:
				x = c.Length / 2
			case physics.Vec{90, 0, 0}:
				y = c.Length / 2
			default:
				continue
			}
			if c.Shape == physics.Capsule {
				cx, cy := at[0]+c.Position[0], at[1]+c.Position[1]
				walls = append(walls, Wall{X0: cx - x, Y0: cy - y, X1: cx + x, Y1: cy + y})
			}
		}
	}
	return walls
}

// Reset implements [Env].
func (r *Rigid) Reset(keys random.Key) State {
	var state algebra.State
	if r.Start != nil {
		state = r.started(keys)
	} else {
		rest := r.Pose
		if rest == nil {
			rest = r.System.DefaultAngles()
		}
		n, angles := keys.Hi.Shape().Dimensions[0], make([]float32, max(1, len(rest)))
		draw := func(purpose int) *Node {
			return keys.FoldIn(purpose).Uniform(-r.Noise, r.Noise, n, len(angles))
		}
		for i, a := range rest {
			angles[i] = float32(a)
		}
		noisy := Add(draw(0), InsertAxes(Const(keys.Hi.Graph(), angles), 0))
		state = r.System.Pose(Transpose(noisy, 0, 1), Transpose(draw(1), 0, 1))
	}
	return r.Begin(keys, state)
}

// started returns the states that Start draws, if they have the parts of those that the System makes.
func (r *Rigid) started(keys random.Key) algebra.State {
	state, other := r.Start(keys.FoldIn(streamStart)), NewGraph(keys.Hi.Graph().Backend(), "parts of a state")
	defer other.Finalize()
	zero := Zeros(other, shapes.Make(dtypes.Float32, max(1, len(r.System.DefaultAngles())), keys.Hi.Shape().Dimensions[0]))
	xla.CheckLike(r.Start, "", "Parts", state.Parts, r.System.Pose(zero, zero).Parts)
	return state
}

// land puts a state on the ground.
func (r *Rigid) land(state algebra.State) algebra.State {
	if robot, ok := r.System.(*mujoco.System); ok && r.Grounded {
		return robot.Land(state)
	}
	return state
}

// Begin starts episodes in states of the system. What the task remembers and varies is drawn from keys, one for
// each copy; a task without memory needs none.
func (r *Rigid) Begin(keys random.Key, state algebra.State) State {
	var k remembered
	if len(r.Vary) > 0 {
		k.Conditions = r.drawConditions(keys, Reshape(Slice(state.Parts[0], AxisElem(0)), -1))
	}
	m := r.view(state, k)
	m.State = r.land(m.State)
	m.Contact = r.System.Contact(m.State)
	m.memory = r.remember(keys, m)
	m.keys = m.memory.Keys
	zero := Zeros(state.Parts[0].Graph(), shapes.Make(dtypes.Float32, state.Parts[0].Shape().Dimensions[1]))
	return r.state(m, zero, zero)
}

// View returns the view of a state of the task, without what the step to it did.
func (r *Rigid) View(s State) StepView {
	system, k := r.recall(s)
	return r.view(algebra.State{Parts: system}, k)
}

// view returns the view of a state with its memory.
func (r *Rigid) view(state algebra.State, k remembered) StepView {
	m := StepView{System: r.System, State: state, task: r, memory: k, keys: k.Keys, draws: new(int)}
	m.under = r.condition(k.Conditions)
	m.State.Under = m.under.Conditions
	return m
}

func (r *Rigid) state(m StepView, reward, done *Node) State {
	b, spec := reward.Shape().Dimensions[0], r.Spec()
	byCopy := func(function any, result string, x *Node, size int) *Node {
		if x != nil && x.Rank() == 1 {
			x = InsertAxes(x, 0)
		}
		if size > 0 {
			xla.CheckShape(function, "", result, x, dtypes.Float32, size, b)
		}
		return Transpose(x, 0, 1)
	}
	observe := r.Observe
	if observe == nil {
		observe = r.senseAll
	}
	s := State{PhysicsState: m.State.Parts, Reward: reward, Done: done,
		Observation: byCopy(observe, "observations", observe(m.on(streamObserve)), spec.Observations)}
	if kept := xla.Flatten(m.memory); len(kept) > 0 {
		s.PhysicsState = slices.Concat(s.PhysicsState, kept)
	}
	if r.Describe != nil {
		s.Descriptor = byCopy(r.Describe, "descriptors", r.Describe(m.on(streamDescribe)), len(spec.Descriptor.Lower))
	}
	return s
}

// Step implements [Env].
func (r *Rigid) Step(s State, action *Node) State {
	action = Transpose(action, 0, 1)
	before := r.View(s)
	start, k := r.pushed(before)
	k, late := r.delayed(k, action)
	input := r.drive(late)
	if r.Guide != nil {
		guide := r.Guide(before)
		xla.CheckShape(r.Guide, "", "inputs", guide, dtypes.Float32, input.Shape().Dimensions...)
		input = Add(input, guide)
	}
	if start.Under.Strength == nil {
		input = r.weaken(before.under.weakened, input)
	}
	var state algebra.State
	var contact algebra.Contact
	if r.moved != nil {
		state = r.moved(start, input)
	} else {
		state, contact = r.System.StepUnder(start, input)
	}
	if r.remembers() {
		k.Steps = AddScalar(k.Steps, int32(1))
	}
	after := r.view(state, k)
	after.Contact, after.Action, after.input = contact, action, input
	after.memory = r.advance(k, before, after, action)
	done := ZerosLike(s.Reward)
	if r.Done != nil {
		ends := r.Done(after.on(streamDone))
		xla.CheckShape(r.Done, "", "ends", ends, dtypes.Bool, s.Reward.Shape().Dimensions...)
		done = ConvertDType(ends, dtypes.Float32)
	}
	reward := r.Reward(before, after.on(streamReward), action)
	xla.CheckShape(r.Reward, "", "rewards", reward, dtypes.Float32, s.Reward.Shape().Dimensions...)
	next := r.state(after, reward, done)
	switch {
	case s.Objectives == nil:
	case r.Objectives == nil:
		next.Objectives = InsertAxes(next.Reward, -1)
	default:
		parts := r.Objectives(before, after.on(streamReward), action)
		xla.CheckShape(r.Objectives, "", "objectives", parts, dtypes.Float32, len(r.Settings.Objectives),
			s.Reward.Shape().Dimensions[0])
		next.Objectives = Transpose(parts, 0, 1)
	}
	return next
}

// drive returns what an action, [actions, B], tells the actuators.
func (r *Rigid) drive(action *Node) *Node {
	if r.Drive != nil {
		input := r.Drive(action)
		if n := r.System.Actions(); n > 0 { // else what it returns is not used
			xla.CheckShape(r.Drive, "", "inputs", input, dtypes.Float32, n, action.Shape().Dimensions[1])
		}
		return input
	}
	return r.System.Drive(action)
}

// AroundPose returns a Drive for position servos: each is told the angle of its joint in the default pose of the
// system, plus scale (rad or m) times an action that is clipped to +-1.
func AroundPose(system System, scale float64) func(action *Node) *Node {
	axes, rest := system.JointAxes(), system.DefaultAngles()
	var home [][]float32
	for _, joint := range system.Actuated() {
		angle := 0.0
		if i := slices.Index(axes, joint); i >= 0 {
			angle = rest[i]
		}
		home = append(home, []float32{float32(angle)})
	}
	return func(action *Node) *Node {
		center := BroadcastToShape(Const(action.Graph(), home), action.Shape())
		return Add(MulScalar(ClipScalar(action, -1, 1), scale), center)
	}
}

// rewardAndCost returns the objectives of a reward that includes a cost: the rest of it, and minus the
// cost.
func rewardAndCost(reward func(before, after StepView, action *Node) *Node,
	cost func(after StepView, action *Node) *Node) func(before, after StepView, action *Node) *Node {
	return func(before, after StepView, action *Node) *Node {
		spent := cost(after, action)
		return rows(Add(reward(before, after, action), spent), Neg(spent))
	}
}

// rows concatenates quantities [B] or [rows, B] to one [rows, B].
func rows(parts ...*Node) *Node {
	for i, p := range parts {
		if p.Rank() == 1 {
			parts[i] = InsertAxes(p, 0)
		}
	}
	return Concatenate(parts, 0)
}

// outside masks where a value [B] is outside of a range.
func outside(x *Node, low, high float64) *Node {
	return Or(LessThan(x, ConstAs(x, low)), GreaterThan(x, ConstAs(x, high)))
}

// position is the clipped x, y of a body, [2, B] (QDax, XYPositionWrapper).
func position(m StepView, body string, limits Descriptor) *Node {
	at := m.Frame(body).Position
	clip := func(x *Node, axis int) *Node {
		return MinScalar(MaxScalar(x, limits.Lower[axis]), limits.Upper[axis])
	}
	return rows(clip(at[0], 0), clip(at[1], 1))
}

// cost is the weighted sum of squares of an array [rows, B], [B].
func cost(weight float64, x *Node) *Node { return MulScalar(ReduceSum(Square(x), 0), weight) }

// advance is the mean velocity of the centre of mass along x over a control step, [B].
func advance(before, after StepView) *Node {
	x := func(m StepView) *Node { return m.System.CenterOfMass(m.State)[0] }
	return velocity(after, x(before), x(after))
}

// velocity is the mean velocity of a coordinate [B] over a control step.
func velocity(m StepView, before, after *Node) *Node {
	return DivScalar(Sub(after, before), m.System.ControlStep())
}
