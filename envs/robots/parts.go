package robots

import (
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
)

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

// wallsOf returns the walls of a task as capsules on the ground.
func wallsOf(name string, friction float64) (capsules []physics.Collider) {
	task, _ := catalog.Find(name)
	for _, w := range task.Walls {
		x, y, lengthX, lengthY := (w.X0+w.X1)/2, (w.Y0+w.Y1)/2, w.X1-w.X0, w.Y1-w.Y0
		if lengthX > lengthY {
			capsules = append(capsules, alongX(x, y, lengthY/2, lengthX, friction))
		} else {
			capsules = append(capsules, alongY(x, y, lengthX/2, lengthY, friction))
		}
	}
	return capsules
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
