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
	m.Bodies = append(slices.Clone(m.Bodies), walls("Trap", wallsOf("ant-trap", antFriction)...))
	m.Collide = slices.Clone(m.Collide)
	for _, name := range antTouching() {
		m.Collide = append(m.Collide, [2]string{name, "Trap"})
	}
	m.Collide = append(m.Collide, [2]string{"Trap", "Ground"})
	return m
}

// Maze adds the walls of a maze to an [Ant], and a target at x, y that does not collide (QDax,
// environments/exploration_wrappers.py, MAZE_CONFIG and ANT_MAZE_COLLISIONS). ant-maze uses it.
func Maze(m physics.Model, target [2]float64) physics.Model {
	const targetRadius = 0.5
	m.Bodies = append(slices.Clone(m.Bodies), walls("Maze", wallsOf("ant-maze", antFriction)...),
		physics.Body{Name: "Target", Fixed: true, Visual: true, Colliders: []physics.Collider{
			{Radius: targetRadius, Length: 2 * targetRadius, End: 1, Friction: antFriction},
		}},
	)
	if m.Pose = maps.Clone(m.Pose); m.Pose == nil {
		m.Pose = map[string]physics.Vec{}
	}
	m.Pose["Target"] = physics.Vec{target[0], target[1], targetRadius}

	m.Collide = append(slices.Clone(m.Collide), [2]string{"Maze", "Ground"})
	for _, name := range antTouching() {
		m.Collide = append(m.Collide, [2]string{name, "Maze"})
	}
	m.Collide = append(m.Collide, [2]string{"Maze", "Ground"}) // once more, as in the source
	return m
}

// Hurdles adds to a [HalfCheetah] ten hurdles, 3 m apart (qdbenchmark,
// environments/hurdles_wrapper.py). halfcheetah-hurdles uses it.
func Hurdles(m physics.Model) physics.Model {
	const width = 1
	hurdles := make([]physics.Collider, catalog.HurdleNumber)
	for i := range hurdles {
		hurdles[i] = alongY(catalog.HurdleSpacing*float64(i+1), 0, catalog.HurdleRadius, width,
			cheetahFriction)
	}
	m.Bodies = append(slices.Clone(m.Bodies), walls("Hurdles", hurdles...))
	m.Collide = slices.Clone(m.Collide)
	for _, name := range cheetahTouching {
		m.Collide = append(m.Collide, [2]string{name, "Hurdles"})
	}
	// In the source "Hurdles" also collides with "Ground". That has no effect: this robot's ground
	// is called "floor".
	return m
}
