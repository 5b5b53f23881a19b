package robots

import "example.com/qdnb/envs/physics"

// Walker2dFeet lists the bodies whose contacts are the descriptor of walker-uni, in its order
// (QDax, environments/locomotion_wrappers.py, FEET_NAMES).
var Walker2dFeet = []string{"foot", "foot_left"}

// Walker2dLeg lists the joints of the leg whose actuators the paper perturbs (qdbenchmark,
// adaptation/constants.py).
var Walker2dLeg = []string{"thigh_left_joint", "leg_left_joint", "foot_left_joint"}

const walkerFriction = 0.9486833 // a contact of two such colliders has friction 0.9

// Walker2d is a torso on two legs of three links, in the x-z plane (Brax, envs/walker2d.py,
// _SYSTEM_CONFIG_SPRING). It stands upright, with straight legs.
func Walker2d() physics.Model {
	m := physics.Model{
		Dynamics:        physics.Spring,
		TimeStep:        0.02,
		Substeps:        4,
		Gravity:         physics.Vec{0, 0, -9.81},
		VelocityDamping: 1, // positive as in the source: it accelerates moving bodies
		AngularDamping:  -0.05,
		Baumgarte:       0.1,
		Frozen:          plane,
		Pose:            map[string]physics.Vec{"torso": {0, 0, 1.19}},
		Angles:          map[string]physics.Vec{},
	}
	part := func(name string, mass float64, shape physics.Collider) {
		shape.Friction = walkerFriction
		m.Bodies = append(m.Bodies, physics.Body{Name: name, Mass: mass,
			Colliders: []physics.Collider{shape}})
	}
	joint := func(parent, child, side string, parentOffset, childOffset physics.Vec,
		limits [2]float64) {
		name := child + side + "_joint"
		if parent != "torso" {
			parent += side
		}
		m.Joints = append(m.Joints, physics.Joint{
			Name: name, Parent: parent, Child: child + side, ParentOffset: parentOffset,
			ChildOffset: childOffset,
			Rotation:    physics.Vec{0, 0, -90}, // about -y
			Limits:      [][2]float64{limits}, Damping: 20, Stiffness: 10000,
		})
		m.Actuators = append(m.Actuators, physics.Actuator{Joint: name, Strength: 100})
	}

	part("torso", 3.6651914, physics.Collider{Radius: 0.05, Length: 0.5})
	for _, side := range []string{"", "_left"} {
		part("thigh"+side, 4.0578904, physics.Collider{Radius: 0.05, Length: 0.55,
			Position: physics.Vec{0, 0, -0.225}})
		part("leg"+side, 2.7813568, physics.Collider{Radius: 0.04, Length: 0.58})
		part("foot"+side, 3.1667254, physics.Collider{Radius: 0.06, Length: 0.32,
			Position: physics.Vec{-0.1, -0.2, -0.1}, Rotation: physics.Vec{0, 90, 0}})

		joint("torso", "thigh", side, physics.Vec{0, 0, -0.2}, physics.Vec{}, [2]float64{-150, 0})
		joint("thigh", "leg", side, physics.Vec{0, 0, -0.45}, physics.Vec{0, 0, 0.25},
			[2]float64{-150, 0})
		joint("leg", "foot", side, physics.Vec{0, 0, -0.25}, physics.Vec{-0.2, -0.2, -0.1},
			[2]float64{-45, 45})

		// Otherwise these would start midway between their limits, as the feet do.
		m.Angles["thigh"+side+"_joint"] = physics.Vec{}
		m.Angles["leg"+side+"_joint"] = physics.Vec{}
	}
	for _, body := range m.Bodies {
		m.Collide = append(m.Collide, [2]string{"floor", body.Name})
	}
	m.Bodies = append(m.Bodies, ground("floor", 0, walkerFriction))
	return m
}
