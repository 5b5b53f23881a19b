package physics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
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
					// The source measures the velocity of the parent relative to the child.
					near(t, "velocity", float64(xlatest.Flat[float32](t, out[1])[0]), -1, 1e-5)
				})
			})
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
				state := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
					pos, rot, vel, ang := s.Export(s.Pose(in[0], ZerosLike(in[0])))
					return []*Node{pos, rot, vel, ang}
				}, xlatest.Tensor(start, s.Angles(), 1))
				out := run(t, xlatest.Best(t), s, coordinates{state[0], state[1], state[2], state[3]}, nil, 150)
				read := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
					a, _ := s.JointAngles(s.Import(in[0], in[1], in[2], in[3]))
					return []*Node{a}
				}, xlatest.Tensor(out[0], 1, 2, 3), xlatest.Tensor(out[1], 1, 2, 4),
					xlatest.Tensor(out[2], 1, 2, 3), xlatest.Tensor(out[3], 1, 2, 3))
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

func TestUnusableModels(t *testing.T) {
	for want, change := range map[string]func(m *physics.Model){
		"time step":                 func(m *physics.Model) { m.TimeStep = math.NaN() },
		"substep":                   func(m *physics.Model) { m.Substeps = 0 },
		`two bodies are called "a"`: func(m *physics.Model) { m.Bodies[1].Name = "a" },
		`body "b" moves and needs a positive finite mass, not 0`: func(m *physics.Model) {
			m.Bodies[1].Mass = 0
		},
		`"b" needs a positive finite inertia about`: func(m *physics.Model) {
			m.Bodies[1].Inertia = physics.Vec{1, 0, 1}
		},
		`"a" and "c", which are not both`: func(m *physics.Model) { m.Joints[0].Child = "c" },
		"has 0 axes, not 1 to 3":          func(m *physics.Model) { m.Joints[0].Limits = nil },
		"needs a stiffness above 0":       func(m *physics.Model) { m.Joints[0].Stiffness = 0 },
		`drives joint "x", which does not exist`: func(m *physics.Model) {
			m.Actuators = []physics.Actuator{{Joint: "x"}}
		},
		"the gravity of the model is not": func(m *physics.Model) { m.Gravity[2] = math.NaN() },
		"has two actuators": func(m *physics.Model) {
			m.Actuators = []physics.Actuator{{Joint: "joint"}, {Joint: "joint"}}
		},
		`the actuator of joint "joint" has strength +Inf`: func(m *physics.Model) {
			m.Actuators = []physics.Actuator{{Joint: "joint", Strength: math.Inf(1)}}
		},
		`the pose puts "z" at`: func(m *physics.Model) {
			m.Pose = map[string]physics.Vec{"z": {}}
		},
		`the default angles of "a" are`: func(m *physics.Model) {
			m.Angles = map[string]physics.Vec{"a": {}}
		},
		"has limits from 3 to 2 degrees": func(m *physics.Model) {
			m.Joints[0].Limits = [][2]float64{{3, 2}}
		},
		`joint "joint" has an offset or rotation that is not finite`: func(m *physics.Model) {
			m.Joints[0].ChildOffset[1] = math.Inf(-1)
		},
		"they must form a tree": func(m *physics.Model) {
			m.Joints = append(m.Joints, physics.Joint{Name: "back", Parent: "b", Child: "a",
				Limits: m.Joints[0].Limits, Stiffness: 1})
		},
		"all bodies of the model are fixed": func(m *physics.Model) {
			m.Joints, m.Bodies = nil, []physics.Body{{Name: "a", Fixed: true}}
		},
		"a fixed body: make it the parent": func(m *physics.Model) { m.Bodies[1].Fixed = true },
		"moves and has a plane collider": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Shape: physics.Plane}}
		},
		"has radius 1 and length 1": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 1}}
		},
		`"b" needs a positive finite inertia`: func(m *physics.Model) {
			m.Bodies[1].Inertia = physics.Vec{1, math.NaN(), 1}
		},
		"has friction NaN": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 2, Friction: math.NaN()}}
		},
		"has radius 1 and length +Inf": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: math.Inf(1)}}
		},
		"has end 2": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 2, End: 2}}
		},
		"damping, stiffness or limit strength": func(m *physics.Model) {
			m.Joints[0].SpringDamping = math.Inf(1)
		},
		"limits from -Inf to +Inf": func(m *physics.Model) {
			m.Joints[0].Limits = [][2]float64{{math.Inf(-1), math.Inf(1)}}
		},
		"negative friction -1": func(m *physics.Model) {
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 2, Friction: -1}}
		},
		"negative damping, spring damping or": func(m *physics.Model) { m.Joints[0].Damping = -1 },
		"limits from -200 to 10 degrees: angles": func(m *physics.Model) {
			m.Joints[0].Limits = [][2]float64{{-200, 10}}
		},
		"a plane collider of body \"a\" has a position": func(m *physics.Model) {
			m.Bodies[0].Fixed = true
			m.Bodies[0].Colliders = []physics.Collider{{Shape: physics.Plane,
				Position: physics.Vec{0, 0, 1}}}
		},
		`puts "b", which its joint places`: func(m *physics.Model) {
			m.Pose = map[string]physics.Vec{"b": {}}
		},
		`"a" is fixed and has colliders and a joint`: func(m *physics.Model) {
			m.Bodies[0].Fixed, m.Pose = true, nil
			m.Bodies[0].Colliders = []physics.Collider{{Radius: 1, Length: 2}}
		},
		"in Collide are not both bodies": func(m *physics.Model) {
			m.Collide = [][2]string{{"a", "z"}}
		},
	} {
		m := pair(physics.Spring, 1)
		change(&m)
		_, err := physics.NewSystem(m)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	odd := pair(physics.PositionBased, 1)
	odd.Substeps = 3
	if _, err := physics.NewSystem(odd); err == nil {
		t.Error("position based dynamics accept 3 substeps")
	}
}
