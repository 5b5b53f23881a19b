package robots

import (
	"fmt"

	"example.com/qdnb/envs/physics"
)

// AntFeet lists the bodies whose contacts are the descriptor of ant-uni, in its order: the lower
// legs (QDax, environments/locomotion_wrappers.py, FEET_NAMES).
var AntFeet = []string{"$ Body 4", "$ Body 7", "$ Body 10", "$ Body 13"}

// AntLeg lists the joints of the leg whose actuators the paper perturbs (qdbenchmark,
// adaptation/constants.py).
var AntLeg = []string{"$ Torso_Aux 4", "Aux 4_$ Body 13"}

const (
	antTorso    = "$ Torso"
	antFriction = 1
)

// Ant is a torso on four legs of two links, with a hip and a knee each (Brax, envs/ant.py). With
// spring dynamics, used by ant-uni and ant-omni, it is _SYSTEM_CONFIG_SPRING. With position based
// dynamics, used by ant-trap and ant-maze, it is _SYSTEM_CONFIG.
func Ant(dynamics physics.Dynamics) physics.Model {
	m := physics.Model{
		Dynamics:       dynamics,
		TimeStep:       0.05,
		Substeps:       10,
		Gravity:        physics.Vec{0, 0, -9.8},
		AngularDamping: -0.05,
		Bodies: []physics.Body{
			{Name: antTorso, Mass: 10, Colliders: []physics.Collider{{Radius: 0.25, Length: 0.5, End: 1,
				Friction: antFriction}}},
		},
	}
	if dynamics == physics.Spring {
		m.Baumgarte = 0.1
	}
	// The legs point to the corners of a square: x and y are the signs of their directions.
	for i, leg := range []struct{ x, y float64 }{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}} {
		addAntLeg(&m, fmt.Sprintf("Aux %d", i+1), AntFeet[i], leg.x, leg.y)
	}
	m.Bodies = append(m.Bodies, ground("Ground", 1, antFriction))
	for _, name := range antTouching() {
		m.Collide = append(m.Collide, [2]string{name, "Ground"})
	}
	return m
}

func addAntLeg(m *physics.Model, upper, lower string, x, y float64) {
	// Rotates a capsule's z axis towards the torso, so its lower end is the outer one.
	inward := physics.Vec{90 * y, -45 * x, 0}
	part := func(name string, length float64, end int) physics.Body {
		capsule := physics.Collider{Radius: 0.08, Length: length, Rotation: inward, End: end,
			Friction: antFriction}
		return physics.Body{Name: name, Mass: 1, Visual: name == upper,
			Colliders: []physics.Collider{capsule}}
	}
	m.Bodies = append(m.Bodies, part(upper, 0.44284272, 0), part(lower, 0.7256854, -1))

	at := func(distance float64) physics.Vec { return physics.Vec{distance * x, distance * y, 0} }
	hip := physics.Joint{
		Name: antTorso + "_" + upper, Parent: antTorso, Child: upper,
		ParentOffset: at(0.2), ChildOffset: at(-0.1),
		Rotation: physics.Vec{0, -90, 0}, // about the vertical
		Limits:   [][2]float64{{-30, 30}},
	}
	knee := physics.Joint{
		Name: upper + "_" + lower, Parent: upper, Child: lower,
		ParentOffset: at(0.1), ChildOffset: at(-0.2),
		// about the horizontal axis perpendicular to the leg
		Rotation: physics.Vec{0, 0, 90 + 45*x*y},
		Limits:   [][2]float64{{30, 70}},
	}
	if x < 0 { // there, a negative angle about that axis bends the leg down
		knee.Limits = [][2]float64{{-70, -30}}
	}
	for _, joint := range []physics.Joint{hip, knee} {
		joint.Damping = 20
		if m.Dynamics == physics.Spring {
			joint.Stiffness, joint.SpringDamping = 18000, 80
		}
		m.Joints = append(m.Joints, joint)
		m.Actuators = append(m.Actuators, physics.Actuator{Joint: joint.Name, Strength: 350})
	}
}

// antTouching lists the bodies of the ant that collide with ground and obstacles.
func antTouching() []string { return append([]string{antTorso}, AntFeet...) }
