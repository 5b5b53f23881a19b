package physics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// pair is two floating bodies connected by a joint with some axes.
func pair(d physics.Dynamics, axes int) physics.Model {
	m := physics.Model{
		Dynamics: d, TimeStep: 0.02, Substeps: 20,
		Bodies: []physics.Body{{Name: "a", Mass: 1}, {Name: "b", Mass: 2}},
		Joints: []physics.Joint{{
			Name: "joint", Parent: "a", Child: "b", ParentOffset: physics.Vec{0.1, 0.2, -0.3},
			ChildOffset: physics.Vec{0, 0.1, 0.4},
			Rotation:    physics.Vec{10, 20, 30}, Stiffness: 5000, Damping: 2,
		}},
		Pose: map[string]physics.Vec{"a": {1, 2, 3}},
	}
	for range axes {
		m.Joints[0].Limits = append(m.Joints[0].Limits, [2]float64{-40, 40})
	}
	return m
}

// joints runs a test of joints of one to three axes in both dynamics.
func joints(t *testing.T, test func(t *testing.T, d physics.Dynamics, axes int)) {
	both(t, func(t *testing.T, d physics.Dynamics) {
		for axes := 1; axes <= 3; axes++ {
			t.Run(fmt.Sprintf("%d axes", axes), func(t *testing.T) { test(t, d, axes) })
		}
	})
}

// The angles and velocities of a pose are read back from it, velocities are the derivatives of
// angles, and a positive torque makes them grow.
func TestJointAngles(t *testing.T) {
	joints(t, func(t *testing.T, d physics.Dynamics, axes int) {
		if d == physics.PositionBased && axes == 2 {
			return // there, such a joint has a third angle with limits [0, 0]
		}
		m := pair(d, axes)
		m.TimeStep, m.Joints[0].Damping = 0.002, 0
		m.Actuators = []physics.Actuator{{Joint: "joint", Strength: 10}}
		s := system(t, m)
		angles, speeds := []float32{0.3, -0.2, 0.5}[:axes], []float32{0.5, -0.3, 0.4}[:axes]
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
			posed, _ := s.JointAngles(s.Pose(in[2], in[0]))
			state := s.Pose(ZerosLike(in[0]), in[0])
			before, speed := s.JointAngles(state)
			after, _ := s.Step(state, ZerosLike(in[1]))
			driven, _ := s.Step(state, in[1])
			end, _ := s.JointAngles(after)
			far, faster := s.JointAngles(driven)
			return []*Node{posed, DivScalar(Sub(end, before), m.TimeStep), speed, Sub(far, end), Sub(faster, speed)}
		}, xlatest.Tensor(speeds, axes, 1), xlatest.Tensor([]float32{1, 0, 0}[:s.Actions()], s.Actions(), 1),
			xlatest.Tensor(angles, axes, 1))
		at := func(i, axis int) float64 { return float64(xlatest.Flat[float32](t, out[i])[axis]) }
		for axis, speed := range speeds {
			near(t, "angle", at(0, axis), float64(angles[axis]), 1e-5)
			near(t, "change of the angle per second", at(1, axis), float64(speed), 0.06)
			near(t, "velocity", at(2, axis), float64(speed), 1e-4)
		}
		if at(3, 0) <= 0 || at(4, 0) <= 0 {
			t.Errorf("a torque of +10 N m adds %g rad and %g rad/s", at(3, 0), at(4, 0))
		}
	})
}

// A joint beyond its limits returns within them, and its bodies stay together.
func TestLimits(t *testing.T) {
	joints(t, func(t *testing.T, d physics.Dynamics, axes int) {
		s := system(t, pair(d, axes))
		start := make([]float32, s.Angles())
		start[0] = 1.2 // the limit is 0.7
		out := run(t, xlatest.Quick(t), s, posed(t, s, start, nil), nil, 75)
		end := load(out, 2)
		read := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
			a, _ := s.JointAngles(s.Import(in[0], in[1], in[2], in[3]))
			return []*Node{a}
		}, end.pos, end.rot, end.vel, end.ang)
		for i, angle := range xlatest.Flat[float32](t, read[0]) {
			if !(math.Abs(float64(angle)) < 0.75) {
				t.Errorf("angle %d is %g", i, angle)
			}
		}
		reach := 0.0
		for k := range 3 {
			reach += math.Pow(float64(out[0][k]-out[0][3+k]), 2)
		}
		most := math.Sqrt(0.01+0.04+0.09) + math.Sqrt(0.01+0.16)
		if math.Sqrt(reach) > most+0.02 {
			t.Errorf("the joint gap is %g, want at most %g", math.Sqrt(reach), most)
		}
	})
}

// Limits of [-180, 180] limit nothing: a joint turns around as it does in Brax, whatever its axes.
func TestAFreeJointTurnsAround(t *testing.T) {
	for name, d := range dynamics {
		m := pendulum(d, 0)
		m.Gravity, m.Joints[0].Limits[0] = physics.Vec{}, [2]float64{-180, 180}
		s := system(t, m)
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
			state := s.Pose(in[0], in[1]) // 4 rad/s: one turn in 1.57 s, two in 3.14
			for range 5 {
				state = xla.For(in[0].Graph(), 50, state, func(_ *Node, state physics.State) physics.State {
					state, _ = s.Step(state, nil)
					return state
				})
				_, speed := s.JointAngles(state)
				in = append(in, speed)
			}
			return in[2:]
		}, xlatest.Tensor([]float32{0}, 1, 1), xlatest.Tensor([]float32{4}, 1, 1))
		for i := range out {
			near(t, name+": speed", math.Abs(float64(xlatest.Flat[float32](t, out[i])[0])), 4, 0.1)
		}
	}
}

func TestUnusableModels(t *testing.T) {
	type (
		model = physics.Model
		vec   = physics.Vec
	)
	collider := func(c physics.Collider) func(m *model) {
		return func(m *model) { m.Bodies[0].Colliders = []physics.Collider{c} }
	}
	for want, change := range map[string]func(m *model){
		"time step in [1e-18":                      func(m *model) { m.TimeStep = 1e-46 },
		"not 20 and 1e-17":                         func(m *model) { m.TimeStep = 1e-17 }, // 5e-19 a substep
		"about each axis, not [1e-40 1e-40 1e-40]": func(m *model) { m.Bodies[1].Inertia = vec{1e-40, 1e-40, 1e-40} },
		"not 1e-30":                                func(m *model) { m.Bodies[1].Mass = 1e-30 },
		"mass 1e-46: that of a fixed body":         func(m *model) { m.Bodies[0].Fixed, m.Bodies[0].Mass = true, 1e-46 },
		"has radius 1e-46":                         collider(physics.Collider{Radius: 1e-46, Length: 1}),
		"has friction 1e+20":                       collider(physics.Collider{Radius: 1, Length: 2, Friction: 1e20}),
		"the damping 1e+06 of the model multiplies velocities by +Inf": func(m *model) { m.AngularDamping = 1e6 },
		"substep":                   func(m *model) { m.Substeps = 0 },
		`two bodies are called "a"`: func(m *model) { m.Bodies[1].Name = "a" },
		`body "b" moves and needs a mass in [1e-18, 1e18], not 0`:            func(m *model) { m.Bodies[1].Mass = 0 },
		`"b" needs an inertia in [1e-18, 1e18] about each axis, not [1 0 1]`: func(m *model) { m.Bodies[1].Inertia = vec{1, 0, 1} },
		`joint "joint": unknown body "c"; known: a, b`:                       func(m *model) { m.Joints[0].Child = "c" },
		"has 0 axes, not 1 to 3":                                             func(m *model) { m.Joints[0].Limits = nil },
		"needs a stiffness in [1e-18, 1e18]":                                 func(m *model) { m.Joints[0].Stiffness = 0 },
		`unknown joint "jint"; did you mean "joint"? known: joint`:           func(m *model) { m.Actuators = []physics.Actuator{{Joint: "jint"}} },
		"the gravity of the model is [0 0 NaN]":                              func(m *model) { m.Gravity[2] = math.NaN() },
		"has two actuators":                                                  func(m *model) { m.Actuators = []physics.Actuator{{Joint: "joint"}, {Joint: "joint"}} },
		`the actuator of joint "joint" has strength +Inf`:                    func(m *model) { m.Actuators = []physics.Actuator{{Joint: "joint", Strength: math.Inf(1)}} },
		`the pose: unknown body "z"; known: a, b`:                            func(m *model) { m.Pose = map[string]vec{"z": {}} },
		`the default angles: unknown joint "a"`:                              func(m *model) { m.Angles = map[string]vec{"a": {}} },
		"has limits from 3 to 2 degrees":                                     func(m *model) { m.Joints[0].Limits = [][2]float64{{3, 2}} },
		`joint "joint" has an offset or rotation that is not finite`:         func(m *model) { m.Joints[0].ChildOffset[1] = math.Inf(-1) },
		"they must form a tree": func(m *model) {
			m.Joints = append(m.Joints, physics.Joint{Name: "back", Parent: "b", Child: "a",
				Limits: m.Joints[0].Limits, Stiffness: 1})
		},
		"all bodies of the model are fixed": func(m *model) {
			m.Joints, m.Bodies = nil, []physics.Body{{Name: "a", Fixed: true}}
		},
		"a fixed body: make it the parent":     func(m *model) { m.Bodies[1].Fixed = true },
		`"a" is a plane, but the body moves`:   collider(physics.Collider{Shape: physics.Plane}),
		"has radius 1 and length 1":            collider(physics.Collider{Radius: 1, Length: 1}),
		"has end 2":                            collider(physics.Collider{Radius: 1, Length: 2, End: 2}),
		"damping, stiffness or limit strength": func(m *model) { m.Joints[0].SpringDamping = math.Inf(1) },
		"limits from -Inf to +Inf": func(m *model) {
			m.Joints[0].Limits = [][2]float64{{math.Inf(-1), math.Inf(1)}}
		},
		"negative friction -1":                collider(physics.Collider{Radius: 1, Length: 2, Friction: -1}),
		"negative damping, spring damping or": func(m *model) { m.Joints[0].Damping = -1 },
		"limits from -400 to 10 degrees: angles are between -180 and 180; write -180 or 180, which limit " +
			"nothing, and the default angle (-195) into Angles": func(m *model) { m.Joints[0].Limits = [][2]float64{{-400, 10}} },
		`a collider of body "a" is a plane with a position`: func(m *model) {
			m.Bodies[0].Fixed = true
			m.Bodies[0].Colliders = []physics.Collider{{Shape: physics.Plane, Position: vec{0, 0, 1}}}
		},
		`puts "b", which its joint places`: func(m *model) { m.Pose = map[string]vec{"b": {}} },
		`"a" is fixed and has colliders and a joint`: func(m *model) {
			m.Bodies[0].Fixed, m.Pose = true, nil
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 2}}
		},
		`a pair of Collide: unknown body "z"; known: a, b`:          func(m *model) { m.Collide = [][2]string{{"a", "z"}} },
		`["a" "b"] of Collide touches nothing: both need colliders`: func(m *model) { m.Collide = [][2]string{{"a", "b"}} },
		`body "a" has colliders but touches nothing`:                collider(physics.Collider{Radius: 1, Length: 2}),
		`body "b" has colliders but touches nothing`: func(m *model) { // not even itself
			m.Bodies[1].Colliders = []physics.Collider{{Radius: 1, Length: 2}}
			m.Collide = [][2]string{{"b", "b"}}
		},
		`body "wall" has colliders but touches nothing`: func(m *model) { // two fixed bodies
			wall := physics.Body{Name: "wall", Fixed: true, Colliders: []physics.Collider{{Radius: 1, Length: 2}}}
			m.Bodies = append(m.Bodies, wall, wall)
			m.Bodies[3].Name = "other wall"
			m.Collide = [][2]string{{"wall", "other wall"}}
		},
	} {
		m := pair(physics.Spring, 1)
		change(&m)
		errtest.Want(t, errtest.Of(physics.NewSystem(m)), want)
	}
	drawn := pair(physics.Spring, 1)
	drawn.Bodies[0].Visual, drawn.Bodies[0].Colliders = true, []physics.Collider{{Radius: 1, Length: 2}}
	system(t, drawn)
	odd := pair(physics.PositionBased, 1)
	odd.Substeps = 3
	errtest.Want(t, errtest.Of(physics.NewSystem(odd)), "substeps")
}

// Skipping the walls that are far changes no bit of the motion: in contact with walls, at their
// ends and in corners, at any height, and at speeds at which far walls bound the friction.
func TestFarWalls(t *testing.T) {
	const batch, steps = 96, 2
	for name, model := range map[string]physics.Model{
		"trap": robots.Trap(robots.Ant(physics.PositionBased)),
		"maze": robots.Maze(robots.Ant(physics.PositionBased), [2]float64{35, 35}),
	} {
		s := system(t, model)
		for _, speed := range []float64{2, 300} {
			t.Run(fmt.Sprintf("%s at %g m per s", name, speed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(speed)))
				start := antsNearWalls(t, s, random, batch, speed)
				actions := make([]float32, 8*batch)
				for i := range actions {
					actions[i] = float32(random.Float64()*2 - 1)
				}
				p := xlatest.Pure(t)
				got, want := run(t, p, s, start, actions, steps), run(t, p, s.EveryWall(), start, actions, steps)
				for k, component := range []string{"positions", "rotations", "velocities", "angular velocities"} {
					same(t, component, got[k], want[k])
				}
				if n := touching(t, p, s, start, actions); n < batch/8 {
					t.Errorf("only %d of %d ants touch a wall", n, batch)
				}
			})
		}
	}
}

// Bodies at the same depth of the tree may touch different numbers of walls.
func TestWallsThatOneBodyTouches(t *testing.T) {
	m := robots.Trap(robots.Ant(physics.PositionBased))
	m.Collide = slices.DeleteFunc(m.Collide, func(pair [2]string) bool {
		return slices.Contains(pair[:], "Trap") && !slices.Contains(pair[:], "$ Body 4")
	})
	s := system(t, m)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		angles := xlatest.Tensor(make([]float32, s.Angles()), s.Angles(), 1)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			state := s.Pose(in[0], ZerosLike(in[0]))
			return []*Node{ReduceAllSum(s.Contact(state).Velocity[0])}
		}, angles)
		if v := xlatest.Flat[float32](t, out[0])[0]; v != v {
			t.Errorf("the contact is %g", v)
		}
	})
}

// antsNearWalls places ants next to walls, their ends and their corners, in any direction, each
// with a velocity of up to speed along each axis.
func antsNearWalls(t *testing.T, s *physics.System, random *rand.Rand, batch int, speed float64) coordinates {
	var walls []physics.Collider
	for _, b := range s.Model().Bodies {
		for _, c := range b.Colliders {
			if b.Fixed && c.Shape == physics.Capsule && c.Length > 2 {
				walls = append(walls, c)
			}
		}
	}
	angles := make([]float32, 8*batch)
	for i := range angles {
		angles[i] = float32(s.DefaultAngles()[i/batch] + random.NormFloat64()/4)
	}
	flat := posed(t, s, angles, nil).flat(t)
	bodies := s.Model().Bodies
	uniform := func(half float64) float64 { return half * (2*random.Float64() - 1) }
	for i := range batch {
		wall := walls[random.IntN(len(walls))]
		from, to := wall.Segment()
		along := random.Float64()
		if i%2 == 0 { // at an end, which is a corner where two walls meet
			along = float64(random.IntN(2))
		}
		x := from[0] + along*(to[0]-from[0]) + uniform(1.3)
		y := from[1] + along*(to[1]-from[1]) + uniform(1.3)
		up, turn := math.Abs(uniform(0.8)), uniform(math.Pi)
		sin, cos := math.Sincos(turn)
		half, whole := math.Sincos(turn / 2)
		vx, vy, vz := uniform(speed), uniform(speed), uniform(speed)
		for b := range bodies {
			if bodies[b].Fixed {
				continue
			}
			p, q := flat[0][3*(i*len(bodies)+b):][:3], flat[1][4*(i*len(bodies)+b):][:4]
			px, py := float64(p[0]), float64(p[1])
			p[0], p[1] = float32(x+cos*px-sin*py), float32(y+sin*px+cos*py)
			p[2] += float32(up)
			w, qx, qy, qz := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
			q[0], q[1] = float32(whole*w-half*qz), float32(whole*qx-half*qy)
			q[2], q[3] = float32(whole*qy+half*qx), float32(whole*qz+half*w)
			v := flat[2][3*(i*len(bodies)+b):][:3]
			v[0], v[1], v[2] = float32(vx), float32(vy), float32(vz)
		}
	}
	return load(flat, len(bodies))
}

// touching counts the copies that touch a wall in a control step.
func touching(t *testing.T, p *xla.Platform, s *physics.System, c coordinates, actions []float32) (n int) {
	t.Helper()
	batch := len(actions) / s.Actions()
	walls := slices.IndexFunc(s.Model().Bodies, func(b physics.Body) bool {
		return b.Fixed && len(b.Colliders) > 1
	})
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		_, contact := s.Step(s.Import(in[0], in[1], in[2], in[3]), in[4])
		return []*Node{Slice(contact.Velocity[0], AxisElem(walls))}
	}, c.pos, c.rot, c.vel, c.ang, xlatest.Tensor(actions, s.Actions(), batch))
	for _, v := range xlatest.Flat[float32](t, out[0]) {
		if v != 0 {
			n++
		}
	}
	return n
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	differ := 0
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d %s differ", differ, len(want), what)
	}
}
