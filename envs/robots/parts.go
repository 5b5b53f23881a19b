package robots

import "example.com/qdnb/envs/physics"

// plane keeps a robot in the x-z plane: it rotates only about y.
var plane = physics.Frozen{Position: [3]bool{1: true}, Rotation: [3]bool{0: true, 2: true}}

func sphere(inertia float64) physics.Vec { return physics.Vec{inertia, inertia, inertia} }

// ground is the plane z = 0. Its mass has no effect.
func ground(name string, mass, friction float64) physics.Body {
	return physics.Body{Name: name, Mass: mass, Fixed: true,
		Colliders: []physics.Collider{{Shape: physics.Plane, Friction: friction}}}
}

// walls is a fixed body made of capsules. As in the source, its mass and inertia count in contacts
// although it does not move: it acts like a body of 1 kg that hardly rotates.
func walls(name string, capsules ...physics.Collider) physics.Body {
	return physics.Body{Name: name, Mass: 1, Inertia: sphere(10000), Fixed: true, Colliders: capsules}
}

// alongX is a capsule on the ground along x.
func alongX(x, y, radius, length, friction float64) physics.Collider {
	return lying(x, y, radius, length, friction, physics.Vec{0, 90, 0})
}

// alongY is a capsule on the ground along y.
func alongY(x, y, radius, length, friction float64) physics.Collider {
	return lying(x, y, radius, length, friction, physics.Vec{90, 0, 0})
}

func lying(x, y, radius, length, friction float64, rotation physics.Vec) physics.Collider {
	return physics.Collider{
		Radius: radius, Length: length, Position: physics.Vec{x, y, radius}, Rotation: rotation,
		Friction: friction,
	}
}
