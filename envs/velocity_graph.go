package envs

import (
	"cmp"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
)

// commands are the greatest commanded velocities ahead, to the left (m/s) and of turning to the left (rad/s), and
// the probabilities that a new one is not 0; a command changes every 5 s in the mean.
var commands = struct{ most, kept []float64 }{[]float64{1.5, 0.8, 1.2}, []float64{0.9, 0.25, 0.5}}

// peak is the height at which feet shall swing, m.
const peak = 0.1

// follow makes a task reward following commands, with the terms and weights of MuJoCo Playground's joystick task of
// the Go1 (mujoco_playground, locomotion/go1/joystick.py), without noise on observations. The pose of the last joint of
// each limb counts a tenth; feet are where their lowest geoms are, on a terrain above the lowest foot. Episodes start as
// those of walking.
func (t RobotTask) follow(r *Rigid, system *mujoco.System) {
	frame := t.Trunk
	if slices.Contains(system.SiteNames(), "imu") {
		frame = "imu"
	}
	feet := t.soles(system)
	heights := func(m StepView) (above, slip *Node) {
		above, slip = feet.motion(m)
		if ground := groundOf(system); t.Terrain != nil {
			above = Sub(above, BroadcastToShape(InsertAxes(ReduceMin(above, 0), 0), above.Shape()))
		} else if ground != 0 {
			above = AddScalar(above, -ground)
		}
		return above, slip
	}
	r.Memory = []Variable{
		t.command(),
		LastAction("last action", system.Actions()),
		AirTime("air time", t.Feet...),
		{Name: "touching", Size: len(feet), Next: func(_, after StepView, _ *Node) *Node { return after.Touching(t.Feet...) }},
		{Name: "swing peak", Size: len(feet), Next: func(before, after StepView, _ *Node) *Node {
			height, _ := heights(after)
			return Mul(Max(before.Recall("swing peak"), height), OneMinus(after.Touching(t.Feet...)))
		}},
	}
	senses := []string{"local velocity/" + frame, "gyro/" + frame, "projected gravity/" + frame, "joint offsets",
		"joint velocities", "previous action", "command"}
	if t.Stride > 0 {
		r.Memory, senses = append(r.Memory, Phase(stride, t.Stride)), append(senses, stride)
		r.Guide = t.steps(system)
	}
	t.observe(r, senses...)
	r.Settings.Offset = 0 // rewards are not negative
	r.Done = func(m StepView) *Node {
		return GreaterThan(row(m.Sense("projected gravity/"+frame), 2), ConstAs(m.State.Parts[0], 0))
	}
	last := t.lastJoints(system)
	r.Reward = func(before, after StepView, action *Node) *Node {
		command, touching := before.Recall("command"), after.Touching(t.Feet...)
		moves := func(x *Node) *Node { // counts only while a command is not 0
			return Mul(x, number(GreaterThan(Sqrt(sumOfSquares(command)), ConstAs(x, 0.01))))
		}
		velocity, gyro, gravity := after.Sense("local velocity/"+frame), after.Sense("gyro/"+frame),
			after.Sense("projected gravity/"+frame)
		world := after.Frame(frame)
		near := func(x *Node) *Node { return Exp(DivScalar(x, -0.25)) }
		angles, _ := after.System.JointAngles(after.State)
		offsets, speeds := after.Sense("joint offsets"), after.robot().State(after.State).QVel
		forces := after.robot().ActuatorForces(after.State, after.told())
		height, slip := heights(after)
		air := before.Recall("air time")
		peaks := Max(before.Recall("swing peak"), height)
		lands := Mul(number(GreaterThan(air, ZerosLike(air))), Max(touching, before.Recall("touching")))
		flat := func(x [3]*Node) *Node { return Add(Square(x[0]), Square(x[1])) }
		terms := []*Node{
			near(Add(Square(Sub(row(command, 0), t.ahead(nodes(velocity)))), Square(Sub(row(command, 1), t.left(nodes(velocity)))))),
			MulScalar(near(Square(Sub(row(command, 2), row(gyro, 2)))), 0.5),
			MulScalar(Square(world.Velocity[2]), -0.5),
			MulScalar(flat(world.AngularVelocity), -0.05),
			MulScalar(Add(Square(row(gravity, 0)), Square(row(gravity, 1))), -5),
			Neg(t.beyond(system, angles)),
			MulScalar(Exp(Neg(ReduceSum(Mul(Square(offsets), like(last, offsets)), 0))), 0.5),
			Neg(number(r.Done(after))),
			Neg(Sub(ReduceSum(Abs(offsets), 0), moves(ReduceSum(Abs(offsets), 0)))),
			MulScalar(Add(Sqrt(sumOfSquares(forces)), ReduceSum(Abs(forces), 0)), -2e-4),
			MulScalar(sumOfSquares(Sub(action, before.Recall("last action"))), -0.01),
			MulScalar(ReduceSum(Mul(Abs(speeds), Abs(forces)), 0), -1e-3),
			MulScalar(ReduceSum(Mul(Abs(AddScalar(height, -peak)), Sqrt(slip)), 0), -2),
			MulScalar(moves(ReduceSum(Mul(Square(AddScalar(DivScalar(peaks, peak), -1)), lands), 0)), -0.2),
			MulScalar(moves(ReduceSum(Mul(Square(slip), touching), 0)), -0.1),
			MulScalar(moves(ReduceSum(Mul(AddScalar(air, after.System.ControlStep()-0.1), lands), 0)), 0.1),
		}
		sum := terms[0]
		for _, term := range terms[1:] {
			sum = Add(sum, term)
		}
		return MaxScalar(MulScalar(sum, after.System.ControlStep()), 0)
	}
}

// command is the variable that holds the commanded velocities.
func (t RobotTask) command() Variable {
	if len(t.Commands) == 0 {
		return Variable{Name: "command", Size: 3, Start: newCommand, Next: func(before, after StepView, _ *Node) *Node {
			return nextCommand(before.Recall("command"), after)
		}}
	}
	due := func(m StepView) *Node {
		step, time := m.System.ControlStep(), m.Time()
		wide := func(x *Node) *Node { return BroadcastToDims(InsertAxes(x, 0), 3, m.State.Batch()) }
		each := step * float64(t.Steps) / float64(len(t.Commands))
		var command *Node
		for i, c := range t.Commands {
			next := like([]float32{float32(c[0]), float32(c[1]), float32(c[2])}, wide(time))
			if command = cmp.Or(command, next); i > 0 {
				begun := GreaterThan(time, ConstAs(time, float64(i)*each-step/2))
				command = Where(wide(begun), next, command)
			}
		}
		return command
	}
	return Variable{Name: "command", Size: 3, Start: due, Next: func(_, after StepView, _ *Node) *Node { return due(after) }}
}

// newCommand draws a command at the start of an episode.
func newCommand(m StepView) *Node {
	var parts []*Node
	for _, most := range commands.most {
		parts = append(parts, m.Uniform(-most, most, 1))
	}
	return rows(parts...)
}

// nextCommand changes a command now and then: each component with probability 1/2, to 0 or to a new number.
func nextCommand(command *Node, m StepView) *Node {
	below := func(p float64, n int) *Node {
		x := m.Uniform(0, 1, n)
		return LessThan(x, ConstAs(x, p))
	}
	due := BroadcastToDims(below(m.System.ControlStep()/5, 1), command.Shape().Dimensions...)
	var kept []*Node
	for _, p := range commands.kept {
		kept = append(kept, number(below(p, 1)))
	}
	next := Mul(newCommand(m), rows(kept...))
	return Where(And(due, below(0.5, len(kept))), next, command)
}

// stride names the phase of steps in place.
const stride = "stride"

// steps returns what servos add to step in place. A foot is lifted by [peak] along the gradient of its height; two
// diagonal ones, or those of a side if none is ahead of the others, are lifted in one half of a stride.
func (t RobotTask) steps(system *mujoco.System) func(before StepView) *Node {
	m, driven := system.Model(), system.Actuated()
	servo, _ := t.servos(system)
	places, err := system.Places()
	if err != nil {
		panic(err) // the default angles fit
	}
	var feet [][3]float64
	middle := [2]float64{}
	for _, s := range t.soles(system) {
		feet = append(feet, s.home)
		middle[0], middle[1] = middle[0]+s.home[0]/float64(len(t.Feet)), middle[1]+s.home[1]/float64(len(t.Feet))
	}
	lifts := [2][]float32{make([]float32, m.Sizes.NU), make([]float32, m.Sizes.NU)} // of both halves, rad or m
	for i, foot := range feet {
		x, y := foot[0]-middle[0], foot[1]-middle[1]
		axis, sign := t.along()
		left := [2]float64{y, -x}[axis] * sign
		half := 0
		if (left > 0) != (t.Ahead(x, y) > 0.05) {
			half = 1
		}
		slopes, sum := map[int]float64{}, 0.0 // of the foot's height, by actuator
		for _, id := range t.limb(system, t.Feet[i]) {
			at := slices.Index(driven, m.Names.Joint[id])
			if at < 0 || !servo[at] || m.JntType[id] != mujoco.Hinge {
				continue
			}
			body := m.JntBodyID[id]
			turns, anchor := turned(places[body], m.JntAxis[id]), turned(places[body], m.JntPos[id])
			var arm [2]float64
			for i := range arm {
				arm[i] = foot[i] - anchor[i] - places[body].Position[i]
			}
			slopes[at] = turns[0]*arm[1] - turns[1]*arm[0]
			sum += slopes[at] * slopes[at]
		}
		for at, slope := range slopes {
			lifts[half][at] = float32(peak * slope / max(sum, 1e-6))
		}
	}
	return func(before StepView) *Node {
		sine := Slice(before.Recall(stride), AxisRange(1, 2))
		lift := func(half int, up *Node) *Node {
			up = BroadcastToDims(MaxScalar(up, 0), len(lifts[half]), up.Shape().Dimensions[1])
			return Mul(like(lifts[half], up), up)
		}
		return Add(lift(0, sine), lift(1, Neg(sine)))
	}
}

// soles are the lowest geoms of feet: where they are in the bodies.
type soles []sole

type sole struct {
	body     string
	at, home [3]float64 // in the body, and in the world in the default pose
}

// turned returns a vector of a body in the axes of the world.
func turned(body algebra.Place, v [3]float64) (at [3]float64) {
	turn := rotationOf(body.Rotation)
	for i := range at {
		at[i] = turn[i][0]*v[0] + turn[i][1]*v[1] + turn[i][2]*v[2]
	}
	return at
}

func (t RobotTask) soles(system *mujoco.System) (all soles) {
	m, bodies := system.Model(), system.BodyNames()
	places, err := system.Places()
	if err != nil {
		panic(err) // the default angles fit
	}
	for _, foot := range t.Feet {
		body, lowest := slices.Index(bodies, foot), -1
		for geom, of := range m.GeomBodyID {
			if of == body && (m.GeomConType[geom] != 0 || m.GeomConAffinity[geom] != 0) &&
				(lowest < 0 || bottom(m, geom, places[body]) < bottom(m, lowest, places[body])) {
				lowest = geom
			}
		}
		s := sole{body: foot}
		if lowest >= 0 {
			s.at = m.GeomPos[lowest]
		}
		s.home = turned(places[body], s.at)
		for i, x := range places[body].Position {
			s.home[i] += x
		}
		all = append(all, s)
	}
	return all
}

// motion returns the heights of the soles, m, and their speeds in the plane, m/s, [feet, B] each.
func (all soles) motion(m StepView) (height, speed *Node) {
	var heights, speeds []*Node
	for _, s := range all {
		f := m.Frame(s.body)
		arm := toWorld(f, s.at)
		heights = append(heights, Add(f.Position[2], arm[2]))
		turn := cross(f.AngularVelocity, arm)
		square := Add(Square(Add(f.Velocity[0], turn[0])), Square(Add(f.Velocity[1], turn[1])))
		speeds = append(speeds, Sqrt(AddScalar(square, 1e-12)))
	}
	return rows(heights...), rows(speeds...)
}

// cross is the cross product.
func cross(a, b [3]*Node) (c [3]*Node) {
	for i := range c {
		j, k := (i+1)%3, (i+2)%3
		c[i] = Sub(Mul(a[j], b[k]), Mul(a[k], b[j]))
	}
	return c
}

// toWorld returns a known vector of a frame in the axes of the world.
func toWorld(f algebra.Frame, v [3]float64) [3]*Node {
	for i := range f.Rotation[1:] {
		f.Rotation[1+i] = Neg(f.Rotation[1+i])
	}
	var nodes [3]*Node
	for i, x := range v {
		nodes[i] = AddScalar(ZerosLike(f.Position[0]), x)
	}
	return toLocal(f, nodes)
}

// left is the component of a vector in the plane to the left of Forward.
func (t RobotTask) left(v []*Node) *Node {
	axis, sign := t.along()
	if axis == 0 {
		return MulScalar(v[1], sign)
	}
	return MulScalar(v[0], -sign)
}

// beyond sums by how much joint angles are beyond 0.95 of their limits.
func (t RobotTask) beyond(system *mujoco.System, angles *Node) *Node {
	var low, high []float32
	for _, limits := range system.JointLimits() {
		low, high = append(low, float32(max(0.95*limits[0], -1e9))), append(high, float32(min(0.95*limits[1], 1e9)))
	}
	over := Add(MaxScalar(Sub(like(low, angles), angles), 0), MaxScalar(Sub(angles, like(high, angles)), 0))
	return ReduceSum(over, 0)
}

// lastJoints weighs the offsets of joints: 0.1 for those that no joint follows, else 1.
func (t RobotTask) lastJoints(system *mujoco.System) (weights []float32) {
	m := system.Model()
	followed := map[int]bool{}
	for body, joints := range m.BodyJntNum {
		if joints > 0 {
			followed[m.BodyWeldID[m.BodyParentID[body]]] = true
		}
	}
	for id, kind := range m.JntType {
		if kind == mujoco.Hinge || kind == mujoco.Slide {
			weight := float32(0.1)
			if followed[m.JntBodyID[id]] {
				weight = 1
			}
			weights = append(weights, weight)
		}
	}
	return weights
}

func number(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }

func sumOfSquares(x *Node) *Node { return ReduceSum(Square(x), 0) }

// row returns a row of [n, B], [B].
func row(x *Node, i int) *Node { return Reshape(Slice(x, AxisElem(i)), -1) }

// nodes returns the rows of [n, B].
func nodes(x *Node) (rows []*Node) {
	for i := range x.Shape().Dimensions[0] {
		rows = append(rows, row(x, i))
	}
	return rows
}

// like broadcasts a known column to the shape of x, [n, B].
func like(column []float32, x *Node) *Node {
	return BroadcastToShape(InsertAxes(Const(x.Graph(), column), 1), x.Shape())
}
