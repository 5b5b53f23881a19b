package algebra

import . "github.com/gomlx/gomlx/core/graph"

// State holds the coordinates of B copies of a system of bodies, as its engine lays them out. It is a
// pytree, so loops can carry it.
type State struct {
	Parts []*Node // [rows, B] each
	Under Conditions
}

// Conditions are what differs between the copies of a system, and from its model: multipliers, [B] each unless
// they say otherwise. What is nil is as in the model. Brax's engine knows Gravity, Strength, and Mass,
// Friction and Damping of all elements.
type Conditions struct {
	Gravity  *Node
	Strength *Node // of the forces of actuators, after their limits, [actions, B]

	Mass     []Change // of bodies, with their inertia; those that are welded to them change, too
	Center   []Offset // of the centres of mass of bodies
	Friction []Change // of the contacts of geoms, or of those of bodies
	Gain     []Change // of actuators by their joints: gain and bias, before the limits of force
	Damping  []Change // of joints
	Armature []Change // of joints

	Terrain       *Node    // of the heights of a terrain
	TerrainOffset [2]*Node // how far a terrain is shifted along -x and -y, m
}

// Nodes lists the nodes of the conditions.
func (c Conditions) Nodes() []*Node {
	all := []*Node{c.Gravity, c.Strength, c.Terrain, c.TerrainOffset[0], c.TerrainOffset[1]}
	for _, o := range c.Center {
		all = append(all, o.By[:]...)
	}
	for _, changes := range [][]Change{c.Mass, c.Friction, c.Gain, c.Damping, c.Armature} {
		for _, change := range changes {
			all = append(all, change.By)
		}
	}
	return all
}

// Change multiplies a number of an element by [B].
type Change struct {
	Of string // its name; "": all
	By *Node
}

// Offset shifts a vector of an element by [B] each, m.
type Offset struct {
	Of string // its name; "": all
	By [3]*Node
}

// Batch is the number of copies.
func (s State) Batch() int { return s.Parts[0].Shape().Dimensions[1] }

// Graph is the graph of the state.
func (s State) Graph() *Graph { return s.Parts[0].Graph() }

// Frame is the position (m), rotation and velocity (m/s, rad/s) of a body in the axes of the world, [B]
// each.
type Frame struct {
	Position        [3]*Node
	Rotation        [4]*Node // w, x, y, z
	Velocity        [3]*Node // of the position
	AngularVelocity [3]*Node
}

// Contact holds the velocity changes of all bodies by the contacts of a control step, linear and angular,
// [bodies, B] each, in the order of the model. They include fixed bodies, which do not move. Only Brax's
// engine computes them.
type Contact struct {
	Velocity, AngularVelocity [3]*Node
}

// Place is the position of a body, m, and its rotation as a quaternion w, x, y, z.
type Place struct {
	Position [3]float64
	Rotation [4]float64
}
