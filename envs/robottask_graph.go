package envs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
)

// RobotTask is a task of a robot of the user on MuJoCo's engine. [RobotTask.Complete] guesses from the model what is
// not set. It is data: with the compiled model, a run keeps it.
type RobotTask struct {
	Name string `json:"name"` // of the environment; a name of no built-in one
	// Task is one of [RobotTasks], Walk by default.
	Task string `json:"task"`
	// Trunk is the body that walks. A guess is the heaviest that is free to move, or the first that moves at all.
	Trunk string `json:"trunk"`
	// Forward is x, -x, y or -y: an axis of the world, along which the distance counts, and, for Velocity, of the
	// trunk.
	Forward string `json:"forward"`
	// Feet are the bodies whose contacts are the descriptor. A guess is the lowest ends of the robot's limbs.
	Feet []string `json:"feet"`
	// Contacts is "feet" if only they touch the ground, and "all" for all contacts of the model.
	Contacts string `json:"contacts"`
	// Reach is by how much an action of 1 turns a position servo from the default pose, rad or m. Other actuators
	// have their control range for actions from -1 to 1.
	Reach        float64 `json:"reach"`
	ControlStep  float64 `json:"control_step"` // s
	Steps        int     `json:"steps"`        // of an episode
	Noise        float64 `json:"noise"`        // see [Rigid]
	Latency      [2]int  `json:"latency"`      // see [Rigid]
	Keyframe     string  `json:"keyframe,omitempty"`
	IgnorePairs  bool    `json:"ignore_pairs,omitempty"` // see [mujoco.Options]
	LinkContacts int     `json:"link_contacts,omitzero"` // see [mujoco.Options]
	// Commands are what Velocity commands in an episode, one after the other for equal times, so that all solutions
	// meet the same: velocities ahead and to the left, m/s, and of turning to the left, rad/s. Empty, but not nil: they
	// are drawn, others in each episode, as Playground does.
	Commands [][3]float64 `json:"commands,omitzero"`
	// Stride, for Velocity, makes the robot step in place under actions of 0, so many times a second: policies then shape
	// a gait rather than discover one. Position servos lift diagonal feet together, by 0.1 m in a linear estimate, and
	// the phase is observed. 0: nothing moves.
	Stride float64 `json:"stride,omitzero"`
	// Vary is drawn for each episode; see [Rigid]. Empty, but not nil: nothing, also where the robot.json of a run varies.
	Vary []Variation `json:"vary,omitempty"`
	// Terrain replaces the planes of the model. One without heights is none, also where the robot.json of a run has one.
	Terrain *mujoco.Terrain `json:"terrain,omitempty"`
}

// velocityCommands are the Commands of a task that has none: ahead, in curves and sideways.
var velocityCommands = [][3]float64{{0.8, 0, 0}, {0.8, 0, 0.8}, {0.8, 0, -0.8}, {0, 0.4, 0}, {0, -0.4, 0}}

// The tasks of a [RobotTask].
const (
	// Walk rewards the distance along Forward, m, less 0.002 times the mean square of the action in each step.
	Walk = "walk"
	// Velocity rewards following commanded velocities, as MuJoCo Playground's joystick tasks do.
	Velocity = "velocity"
)

// robotTask is a task of a [RobotTask].
type robotTask struct {
	name   string
	length float64                                 // of an episode, s
	define func(RobotTask, *Rigid, *mujoco.System) // sets observations and rewards
}

var robotTasks = []robotTask{{Walk, 4, RobotTask.walk}, {Velocity, 5, RobotTask.follow}}

// RobotTasks lists the tasks of a [RobotTask].
func RobotTasks() []string { return lists.Map(robotTasks, func(t robotTask) string { return t.name }) }

// Complete returns a task whose settings are all set: those that are not are guessed from the model. An error
// says which one cannot be, or does not fit.
func (t RobotTask) Complete(m mujoco.Model) (RobotTask, error) {
	t.Task, t.Forward, t.Contacts = cmp.Or(t.Task, Walk), cmp.Or(t.Forward, "x"), cmp.Or(t.Contacts, "feet")
	t.Reach, t.ControlStep, t.Noise = cmp.Or(t.Reach, 0.5), cmp.Or(t.ControlStep, 0.02), cmp.Or(t.Noise, 0.02)
	for _, setting := range []struct {
		name, value string
		known       []string
	}{{"task", t.Task, RobotTasks()}, {"forward", t.Forward, []string{"x", "-x", "y", "-y"}},
		{"contacts", t.Contacts, []string{"feet", "all"}}} {
		if !slices.Contains(setting.known, setting.value) {
			return t, names.Unknown(setting.name, setting.value, setting.known)
		}
	}
	switch {
	case !(t.Reach > 0 && t.Reach < math.MaxFloat32 && t.ControlStep > 0 && t.Steps >= 0 && t.Latency[0] >= 0 &&
		t.Latency[1] >= 0 && t.LinkContacts >= 0):
		return t, names.Wrongf("the reach %g rad, control steps of %g s, %d of them, a latency of %d and %d link contacts: want "+
			"finite numbers above 0, or 0 for the default", t.Reach, t.ControlStep, t.Steps, min(t.Latency[0], t.Latency[1]),
			t.LinkContacts)
	case !(t.Stride >= 0 && t.Stride*t.ControlStep <= 0.5):
		return t, names.Wrongf("a stride must be between 0 and %g a second, half of the control steps, not %g",
			0.5/t.ControlStep, t.Stride)
	case t.Task == Velocity && t.Commands == nil:
		t.Commands = velocityCommands
	case t.Task != Velocity && (t.Commands != nil || t.Stride != 0):
		return t, names.Wrongf("commands and stride are of the task %s: set it (Task, --task)", Velocity)
	}
	if t.Terrain != nil && reflect.ValueOf(*t.Terrain).IsZero() {
		t.Terrain = nil
	}
	for _, c := range t.Commands {
		if slices.ContainsFunc(c[:], func(v float64) bool { return !(math.Abs(v) <= 100) }) {
			return t, names.Wrongf("a command is up to 100 m/s or rad/s either way, not %g (Commands, --commands)", c)
		}
	}
	system, err := mujoco.NewSystem(m, mujoco.Options{IgnorePairs: true, LinkContacts: t.LinkContacts,
		ControlStep: t.ControlStep, Keyframe: t.Keyframe})
	if err != nil {
		return t, err
	}
	t.ControlStep = system.ControlStep() // of whole time steps
	length := robotTasks[slices.Index(RobotTasks(), t.Task)].length
	t.Steps = cmp.Or(t.Steps, max(1, int(math.Round(length/t.ControlStep))))
	t.Vary = slices.Clone(t.Vary)
	for i, v := range t.Vary { // pushes during an episode, which is shorter than the default allows for
		if whole := float64(t.Steps) * t.ControlStep; v.Quantity == PushSpeed && v.Every == ([2]float64{}) {
			t.Vary[i].Every = [2]float64{whole / 4, whole / 2}
		}
	}
	if len(system.JointAxes()) == 0 {
		return t, errors.New("the robot cannot walk, since it has no hinge or slide joints: write a task for it, as " +
			"docs/guides/add-an-environment.md says")
	}
	bodies := system.BodyNames()
	if t.Trunk == "" {
		if t.Trunk, err = trunkOf(m, bodies); err != nil {
			return t, err
		}
	}
	if !slices.Contains(bodies[1:], t.Trunk) { // the world does not walk
		return t, names.Unknown("trunk", t.Trunk, bodies[1:])
	}
	if t.Terrain != nil && !slices.ContainsFunc(grounded(system), func(g groundPair) bool {
		return m.GeomType[g.ground] == mujoco.Plane
	}) {
		return t, names.Wrongf("a terrain replaces the plane that the robot stands on, and there is none%s", noGround)
	}
	if t.Feet == nil {
		if t.Feet, err = feetOf(system, slices.Index(bodies, t.Trunk)); err != nil {
			return t, err
		}
	}
	if len(t.Feet) == 0 {
		return t, names.Wrongf("the robot has no feet, whose contacts are the descriptor: name bodies (Feet, --feet), or leave " +
			"this out for a guess")
	}
	for i, body := range t.Feet {
		if slices.Index(t.Feet, body) < i {
			return t, names.Wrongf("the foot %s is named twice: leave one out (Feet, --feet)", body)
		}
		if !slices.Contains(bodies, body) {
			return t, names.Unknown("foot", body, bodies)
		}
		if !slices.ContainsFunc(grounded(system), func(g groundPair) bool { return bodies[m.GeomBodyID[g.geom]] == body }) {
			return t, names.Wrongf("the foot %s cannot touch the ground%s, or name other feet (Feet, --feet)", body, noGround)
		}
	}
	if servo, _ := t.servos(system); t.Stride > 0 && !slices.Contains(servo, true) {
		return t, names.Wrongf("a stride is made by position servos, and the robot has none: leave it out (Stride, --stride)")
	}
	return t, nil
}

// isServo reports whether an actuator turns a joint to a position. The control of an integrator is a velocity.
func isServo(m mujoco.Model, actuator int) bool {
	const ofJoint = 0
	return m.ActuatorTrnType[actuator] == ofJoint && m.JntType[m.ActuatorTrnID[actuator][0]] >= mujoco.Slide &&
		m.ActuatorBiasType[actuator] != 0 && m.ActuatorBiasPrm[actuator][1] != 0 &&
		m.ActuatorDynType[actuator] != mujoco.DynIntegrator
}

// System prepares the robot of a complete task.
func (t RobotTask) System(m mujoco.Model) (*mujoco.System, error) {
	options := mujoco.Options{IgnorePairs: t.IgnorePairs, LinkContacts: t.LinkContacts, ControlStep: t.ControlStep,
		Keyframe: t.Keyframe}
	if t.Contacts == "feet" {
		m.Names.Geom, options.IgnorePairs = slices.Clone(m.Names.Geom), true
		for i, name := range m.Names.Geom {
			m.Names.Geom[i] = cmp.Or(name, fmt.Sprintf("geom %d", i))
		}
		probe, err := mujoco.NewSystem(m, options)
		if err != nil {
			return nil, err
		}
		bodies := probe.BodyNames()
		options.Contacts = [][2]string{}
		for _, pair := range grounded(probe) {
			if slices.Contains(t.Feet, bodies[m.GeomBodyID[pair.geom]]) {
				options.Contacts = append(options.Contacts, [2]string{m.Names.Geom[pair.ground], m.Names.Geom[pair.geom]})
			}
		}
	}
	options.Terrain = t.Terrain
	return mujoco.NewSystem(m, options)
}

// Environment builds the task of a robot, which is completed first.
func (t RobotTask) Environment(m mujoco.Model) (*Rigid, error) {
	t, err := t.Complete(m)
	if err != nil {
		return nil, err
	}
	system, err := t.System(m)
	if err != nil {
		return nil, err
	}
	if system.Actions() == 0 {
		return nil, errors.New("the robot has no actuators: add a position or motor element for each joint that it shall drive")
	}
	d := Descriptor{Kind: Mean}
	for _, foot := range t.Feet {
		d.Lower, d.Upper = append(d.Lower, 0), append(d.Upper, 1)
		d.Components = append(d.Components, "contact of "+foot)
	}
	r := &Rigid{System: system, Noise: t.Noise, Latency: t.Latency, Drive: t.drive(system), Vary: t.Vary,
		Settings: Spec{Name: t.Name, Actions: system.Actions(), Length: t.Steps, Descriptor: d},
		Describe: func(m StepView) *Node { return m.Touching(t.Feet...) }}
	r.Done, r.Grounded = t.fallen(system)
	r.Leg = t.leg(system)
	robotTasks[slices.Index(RobotTasks(), t.Task)].define(t, r, system)
	made := *r
	made.Memory = slices.Clone(r.Memory)
	r.robot, r.made = &StoredRobot{t, m}, &made
	return r, Validate(r)
}

// along returns the x, y of Forward.
func (t RobotTask) along() (axis int, sign float64) {
	axis = strings.IndexByte("xy", t.Forward[len(t.Forward)-1])
	if t.Forward[0] == '-' {
		return axis, -1
	}
	return axis, 1
}

// Ahead is the component along Forward of a way in the plane.
func (t RobotTask) Ahead(x, y float64) float64 {
	axis, sign := t.along()
	return sign * [2]float64{x, y}[axis]
}

// ahead is the component of a vector in the plane along Forward.
func (t RobotTask) ahead(v []*Node) *Node {
	axis, sign := t.along()
	return MulScalar(v[axis], sign)
}

// servos finds the actuators that are position servos, and the default angles of their joints.
func (t RobotTask) servos(system *mujoco.System) (servo []bool, home []float32) {
	m, axes, rest := system.Model(), system.JointAxes(), system.DefaultAngles()
	servo, home = make([]bool, m.Sizes.NU), make([]float32, m.Sizes.NU)
	for i, joint := range system.Actuated() {
		if isServo(m, i) {
			servo[i], home[i] = true, float32(rest[slices.Index(axes, joint)])
		}
	}
	return servo, home
}

// drive maps actions: those of position servos to targets around the default pose, others to control ranges.
func (t RobotTask) drive(system *mujoco.System) func(action *Node) *Node {
	servo, home := t.servos(system)
	if !slices.Contains(servo, true) {
		return nil
	}
	return func(action *Node) *Node {
		column := func(x any) *Node {
			return BroadcastToShape(InsertAxes(Const(action.Graph(), x), 1), action.Shape())
		}
		target := Add(MulScalar(ClipScalar(action, -1, 1), t.Reach), column(home))
		return Where(BroadcastToDims(InsertAxes(Const(action.Graph(), servo), 1), action.Shape().Dimensions...), target,
			system.Drive(action))
	}
}

// fallen reports where the trunk is below half of its height above the ground when the robot stands in the default pose,
// or tilted by more than 60 degrees from there. On a terrain, its height is that above the lowest foot. lands says that
// episodes have to be put on the ground: there is no keyframe, or it is off the ground by more than a quarter of the
// trunk's height, or the ground is a terrain.
func (t RobotTask) fallen(system *mujoco.System) (down func(m StepView) *Node, lands bool) {
	places, err := system.Places()
	trunk := slices.Index(system.BodyNames(), t.Trunk)
	if err != nil {
		panic(err) // the default angles fit
	}
	stands, up := places[trunk].Position[2], rotationOf(places[trunk].Rotation)[2] // up in the frame of the trunk
	m, ground, gap := system.Model(), groundOf(system), math.Inf(1)                // gap is below the lowest geom
	root := m.BodyRootID[trunk]
	for _, pair := range grounded(system) {
		if body := m.GeomBodyID[pair.geom]; m.BodyRootID[body] == root && m.GeomType[pair.ground] == mujoco.Plane {
			gap = min(gap, bottom(m, pair.geom, places[body])-ground)
		}
	}
	off := !math.IsInf(gap, 1) && math.Abs(gap) > (stands-ground)/4
	lands = len(m.KeyQPos) == 0 || t.Terrain != nil || off
	falls := gap > 0 && off // else it stands, unless it can be put on the ground
	if free := m.BodyJntNum[root] == 1 && m.JntType[m.BodyJntAdr[root]] == mujoco.Free; !math.IsInf(gap, 1) &&
		(lands && free || falls) {
		stands -= gap
	}
	least, feet := ground+(stands-ground)/2, t.soles(system)
	if t.Terrain != nil {
		least = math.Inf(-1)
		for _, s := range feet {
			least = max(least, (places[trunk].Position[2]-s.home[2])/2)
		}
	}
	return func(m StepView) *Node {
		frame := m.Frame(t.Trunk)
		now := toLocal(frame, [3]*Node{ZerosLike(frame.Position[2]), ZerosLike(frame.Position[2]), OnesLike(frame.Position[2])})
		upright := Add(Add(MulScalar(now[0], up[0]), MulScalar(now[1], up[1])), MulScalar(now[2], up[2]))
		height := frame.Position[2]
		if t.Terrain != nil {
			heights, _ := feet.motion(m)
			height = Sub(height, ReduceMin(heights, 0))
		}
		return Or(LessThan(height, ConstAs(upright, least)), LessThan(upright, ConstAs(upright, 0.5)))
	}, lands
}

// leg returns the joints with actuators between the trunk and the first foot, which ActuatorsMultiplier weakens.
func (t RobotTask) leg(system *mujoco.System) (joints []string) {
	for _, id := range t.limb(system, t.Feet[0]) {
		if name := system.Model().Names.Joint[id]; slices.Contains(system.Actuated(), name) {
			joints = append(joints, name)
		}
	}
	return joints
}

// limb returns the joints between the trunk and a foot.
func (t RobotTask) limb(system *mujoco.System, foot string) (ids []int) {
	m, bodies := system.Model(), system.BodyNames()
	trunk := m.BodyWeldID[slices.Index(bodies, t.Trunk)]
	for body := m.BodyWeldID[slices.Index(bodies, foot)]; body != 0 && body != trunk; {
		for k := range m.BodyJntNum[body] {
			ids = append(ids, m.BodyJntAdr[body]+k)
		}
		body = m.BodyWeldID[m.BodyParentID[body]]
	}
	return ids
}

// observe returns quantities as an observation, those of joints' velocities divided by 10.
func (t RobotTask) observe(r *Rigid, senses ...string) {
	r.Senses = senses
	components, err := r.sensed()
	if err != nil {
		panic(err) // the names are those of the robot
	}
	for i, c := range components {
		if strings.HasPrefix(c.Name, "joint velocity") {
			components[i].Scale = 10
		}
	}
	r.Senses, r.Settings.ObservationComponents, r.Settings.Observations = nil, components, len(components)
	r.Observe = func(m StepView) *Node {
		var parts []*Node
		for _, name := range senses {
			part := m.Sense(name)
			if name == "joint velocities" {
				part = DivScalar(part, 10)
			}
			parts = append(parts, part)
		}
		return rows(parts...)
	}
}

// felt are the quantities that both tasks observe.
func (t RobotTask) felt() []string {
	return []string{"projected gravity/" + t.Trunk, "gyro/" + t.Trunk, "joint offsets", "joint velocities"}
}

// walk makes a task reward the distance.
func (t RobotTask) walk(r *Rigid, _ *mujoco.System) {
	senses := t.felt()
	for _, foot := range t.Feet {
		senses = append(senses, "touch/"+foot)
	}
	t.observe(r, senses...)
	r.Settings.Offset = 0.05
	r.Reward = func(before, after StepView, action *Node) *Node {
		at := func(m StepView) *Node {
			p := m.Frame(t.Trunk).Position
			return t.ahead(p[:])
		}
		return Sub(Sub(at(after), at(before)), MulScalar(ReduceMean(Square(action), 0), 0.002))
	}
}
