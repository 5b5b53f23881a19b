package robots

import (
	"maps"
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
)

// Trap adds a dead end in front of an [Ant]: three walls, open towards the origin (QDax,
// environments/exploration_wrappers.py, TRAP_CONFIG and ANT_TRAP_COLLISIONS). ant-trap uses it.
func Trap(m physics.Model) physics.Model {
	return withWalls(m, "Trap", wallsOf("ant-trap"), slices.Concat(antTouching, []string{"Ground"}))
}

// Maze adds the walls of a maze to an [Ant], and a target at x, y that does not collide (QDax,
// environments/exploration_wrappers.py, MAZE_CONFIG and ANT_MAZE_COLLISIONS). ant-maze uses it.
func Maze(m physics.Model, target [2]float64) physics.Model {
	const targetRadius = 0.5
	// The pair with the ground is there twice, as in the source.
	m = withWalls(m, "Maze", wallsOf("ant-maze"), slices.Concat([]string{"Ground"}, antTouching, []string{"Ground"}))
	m.Bodies = append(m.Bodies, physics.Body{Name: "Target", Fixed: true, Visual: true,
		Colliders: []physics.Collider{{Radius: targetRadius, Length: 2 * targetRadius, End: 1, Friction: antFriction}}})
	m.Pose = maps.Clone(m.Pose)
	m.Pose["Target"] = physics.Vec{target[0], target[1], targetRadius}
	return m
}

// Hurdles adds to a [HalfCheetah] ten hurdles, 3 m apart (qdbenchmark,
// environments/hurdles_wrapper.py). halfcheetah-hurdles uses it. In the source they also collide with
// "Ground". That has no effect: this robot's ground is called "floor".
func Hurdles(m physics.Model) physics.Model {
	const width = 1
	hurdles := make([]physics.Collider, catalog.HurdleNumber)
	for i := range hurdles {
		hurdles[i] = lying(catalog.HurdleSpacing*float64(i+1), 0, catalog.HurdleRadius, width, cheetahFriction, alongY)
	}
	return withWalls(m, "Hurdles", hurdles, cheetahTouching)
}

// withWalls adds a fixed body made of capsules, which collides with others. As in the source, its mass and
// inertia count in contacts although it does not move: it acts like a body of 1 kg that hardly rotates.
func withWalls(m physics.Model, name string, capsules []physics.Collider, others []string) physics.Model {
	m.Bodies = append(slices.Clone(m.Bodies), physics.Body{Name: name, Mass: 1,
		Inertia: physics.Vec{10000, 10000, 10000}, Fixed: true, Colliders: capsules})
	m.Collide = slices.Clone(m.Collide)
	for _, other := range others {
		m.Collide = append(m.Collide, [2]string{other, name})
	}
	return m
}

// wallsOf returns the walls of a task of an ant as capsules on the ground.
func wallsOf(name string) (capsules []physics.Collider) {
	task, _ := catalog.Find(name)
	for _, w := range task.Walls {
		x, y, lengthX, lengthY := (w.X0+w.X1)/2, (w.Y0+w.Y1)/2, w.X1-w.X0, w.Y1-w.Y0
		if lengthX > lengthY {
			capsules = append(capsules, lying(x, y, lengthY/2, lengthX, antFriction, alongX))
		} else {
			capsules = append(capsules, lying(x, y, lengthX/2, lengthY, antFriction, alongY))
		}
	}
	return capsules
}

// Rotations of capsules that lie along x and y.
var alongX, alongY = physics.Vec{0, 90, 0}, physics.Vec{90, 0, 0}

// lying is a capsule on the ground.
func lying(x, y, radius, length, friction float64, rotation physics.Vec) physics.Collider {
	return physics.Collider{Radius: radius, Length: length, Position: physics.Vec{x, y, radius},
		Rotation: rotation, Friction: friction}
}
