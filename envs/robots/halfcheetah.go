package robots

import "example.com/qdnb/envs/physics"

// HalfCheetahFeet lists the bodies whose contacts are the descriptor of halfcheetah-uni, in its
// order (QDax, environments/locomotion_wrappers.py, FEET_NAMES).
var HalfCheetahFeet = []string{"ffoot", "bfoot"}

// HalfCheetahLeg lists the joints of the leg whose actuators the paper perturbs (qdbenchmark,
// adaptation/constants.py).
var HalfCheetahLeg = []string{"fthigh", "fshin", "ffoot"}

const cheetahFriction = 0.7745967 // a contact of two such colliders has friction 0.6

// cheetahTouching lists the bodies of the half-cheetah that collide with floor and hurdles.
var cheetahTouching = []string{"torso", "bfoot", "ffoot", "bthigh", "fthigh", "bshin", "fshin"}

// HalfCheetah is a torso with a head, on a back and a front leg of three links, in the x-z plane
// (Brax, envs/halfcheetah.py, _SYSTEM_CONFIG_SPRING).
func HalfCheetah() physics.Model {
	capsule := func(length, x, z float64, rotation physics.Vec) physics.Collider {
		return physics.Collider{Radius: 0.046, Length: length, Position: physics.Vec{x, 0, z},
			Rotation: rotation, Friction: cheetahFriction}
	}
	m := physics.Model{
		Dynamics:       physics.Spring,
		TimeStep:       0.05,
		Substeps:       16,
		Gravity:        physics.Vec{0, 0, -9.81},
		AngularDamping: -0.01,
		Baumgarte:      0.2,
		Frozen:         plane,
		Bodies: []physics.Body{
			{Name: "torso", Mass: 9.457333, Inertia: sphere(0.944797), Colliders: []physics.Collider{
				capsule(1.092, 0, 0, physics.Vec{0, 90, 0}),
				capsule(0.392, 0.6, 0.1, physics.Vec{0, 49.84733, 0}), // the head
			}},
		},
	}
	for _, part := range []struct {
		name, parent  string
		mass, inertia float64
		shape         physics.Collider
		x, z          float64 // position of the joint on the parent
		limits        [2]float64
		springDamping float64
		strength      float64
	}{
		{"bthigh", "torso", 2.335527, 0.02963628,
			capsule(0.382, 0.1, -0.13, physics.Vec{-180, 37.72396, -180}),
			-0.5, 0, [2]float64{-29.793806, 60.16057}, 60, 120},
		{"bshin", "bthigh", 2.402003, 0.032029107,
			capsule(0.392, -0.14, -0.07, physics.Vec{180, -63.689568, 180}),
			0.16, -0.25, [2]float64{-44.97719, 44.97719}, 60, 90},
		{"bfoot", "bshin", 1.6574708, 0.011705612,
			capsule(0.28, 0.03, -0.097, physics.Vec{0, -15.46986, 0}),
			-0.28, -0.14, [2]float64{-22.918312, 44.97719}, 60, 60},
		{"fthigh", "torso", 2.1759844, 0.024391336,
			capsule(0.358, -0.07, -0.12, physics.Vec{0, 29.793806, 0}),
			0.5, 0, [2]float64{-57.29578, 40.107044}, 60, 120},
		{"fshin", "fthigh", 1.8170134, 0.014954625,
			capsule(0.304, 0.065, -0.09, physics.Vec{0, -34.37747, 0}),
			-0.14, -0.24, [2]float64{-68.75494, 49.84733}, 80, 60},
		{"ffoot", "fshin", 1.3383855, 0.0067111105,
			capsule(0.232, 0.045, -0.07, physics.Vec{0, -34.37747, 0}),
			0.13, -0.18, [2]float64{-28.64789, 28.64789}, 50, 30},
	} {
		m.Bodies = append(m.Bodies, physics.Body{
			Name: part.name, Mass: part.mass, Inertia: sphere(part.inertia),
			Colliders: []physics.Collider{part.shape},
		})
		m.Joints = append(m.Joints, physics.Joint{
			Name: part.name, Parent: part.parent, Child: part.name,
			ParentOffset: physics.Vec{part.x, 0, part.z},
			Rotation:     physics.Vec{0, 0, 90}, // about y
			Limits:       [][2]float64{part.limits}, Stiffness: 25000, SpringDamping: part.springDamping,
			LimitStrength: 1000,
		})
		m.Actuators = append(m.Actuators, physics.Actuator{Joint: part.name, Strength: part.strength})
	}
	m.Bodies = append(m.Bodies, ground("floor", 0, cheetahFriction))
	for _, name := range cheetahTouching {
		m.Collide = append(m.Collide, [2]string{"floor", name})
	}
	m.Collide = append(m.Collide, [2]string{"bfoot", "ffoot"})
	return m
}
