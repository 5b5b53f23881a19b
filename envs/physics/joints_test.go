package physics_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
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

// The angles and velocities of a pose are read back from it.
func TestAnglesOfAPose(t *testing.T) {
	for name, d := range dynamics {
		for axes := 1; axes <= 3; axes++ {
			if d == physics.PositionBased && axes == 2 {
				continue // there, such a joint has a third angle with limits [0, 0]
			}
			t.Run(fmt.Sprintf("%s, %d axes", name, axes), func(t *testing.T) {
				s := system(t, pair(d, axes))
				angles, speeds := []float32{0.3, -0.2, 0.5}[:axes], []float32{1, 0, 0}[:axes]
				xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
					out := xlatest.Run(t, p, func(in []*Node) []*Node {
						a, v := s.JointAngles(s.Pose(in[0], in[1]))
						return []*Node{a, v}
					}, xlatest.Tensor(angles, axes, 1), xlatest.Tensor(speeds, axes, 1))
					for i, got := range xlatest.Flat[float32](t, out[0]) {
						near(t, "angle", float64(got), float64(angles[i]), 1e-5)
					}
					near(t, "velocity", float64(xlatest.Flat[float32](t, out[1])[0]), 1, 1e-5)
				})
			})
		}
	}
}

// Joint velocities are the derivatives of joint angles, and a positive torque makes them grow.
func TestJointVelocities(t *testing.T) {
	for name, d := range dynamics {
		for axes := 1; axes <= 3; axes++ {
			if d == physics.PositionBased && axes == 2 {
				continue // see above
			}
			m := pair(d, axes)
			m.TimeStep, m.Joints[0].Damping = 0.002, 0
			m.Actuators = []physics.Actuator{{Joint: "joint", Strength: 10}}
			s := system(t, m)
			speeds := []float32{0.5, -0.3, 0.4}[:axes]
			out := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
				state := s.Pose(ZerosLike(in[0]), in[0])
				before, speed := s.JointAngles(state)
				after, _ := s.Step(state, ZerosLike(in[1]))
				driven, _ := s.Step(state, in[1])
				end, _ := s.JointAngles(after)
				far, faster := s.JointAngles(driven)
				return []*Node{DivScalar(Sub(end, before), m.TimeStep), speed, Sub(far, end), Sub(faster, speed)}
			}, xlatest.Tensor(speeds, axes, 1), xlatest.Tensor([]float32{1, 0, 0}[:s.Actions()], s.Actions(), 1))
			at := func(i, axis int) float64 { return float64(xlatest.Flat[float32](t, out[i])[axis]) }
			for axis, want := range speeds {
				what := fmt.Sprintf("%s, axis %d of %d: ", name, axis, axes)
				near(t, what+"velocity", at(1, axis), float64(want), 1e-4)
				near(t, what+"change of the angle per second", at(0, axis), float64(want), 0.06)
			}
			if at(2, 0) <= 0 || at(3, 0) <= 0 {
				t.Errorf("%s: a torque of +10 N m about one of %d axes adds %g rad and %g rad/s", name, axes,
					at(2, 0), at(3, 0))
			}
		}
	}
}

// A joint beyond its limits returns within them, and its bodies stay together.
func TestLimits(t *testing.T) {
	for name, d := range dynamics {
		for axes := 1; axes <= 3; axes++ {
			t.Run(fmt.Sprintf("%s, %d axes", name, axes), func(t *testing.T) {
				s := system(t, pair(d, axes))
				start := make([]float32, s.Angles())
				start[0] = 1.2 // the limit is 0.7
				out := run(t, xlatest.Best(t), s, posed(t, s, start, nil), nil, 150)
				end := load(out, 2)
				read := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
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
	}
}

// Limits of [-180, 180] limit nothing: a joint turns around as it does in Brax, whatever its axes.
func TestAFreeJointTurnsAround(t *testing.T) {
	for name, d := range dynamics {
		m := pendulum(d, 0)
		m.Gravity, m.Joints[0].Limits[0] = physics.Vec{}, [2]float64{-180, 180}
		s := system(t, m)
		out := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
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
			m.Bodies[0].Colliders = []physics.Collider{{Shape: physics.Plane,
				Position: vec{0, 0, 1}}}
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
			wall := physics.Body{Name: "wall", Fixed: true,
				Colliders: []physics.Collider{{Radius: 1, Length: 2}}}
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
	if _, err := physics.NewSystem(odd); err == nil {
		t.Error("position based dynamics accept 3 substeps")
	}
}
