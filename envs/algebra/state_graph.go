package algebra

import . "github.com/gomlx/gomlx/core/graph"

// State holds the coordinates of B copies of a system of bodies, as its engine lays them out. It is a
// pytree, so loops can carry it.
type State struct {
	Parts []*Node // [rows, B] each
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
