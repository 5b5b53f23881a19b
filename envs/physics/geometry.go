package physics

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

const degree = math.Pi / 180

// quat is a rotation in a model, as a quaternion w, x, y, z.
type quat [4]float64

// euler converts Euler angles x-y-z in degrees to a rotation.
func euler(v Vec) quat {
	q := quat{1}
	for axis := range 3 {
		sin, cos := math.Sincos(f32(v[axis]) * degree / 2)
		turn := quat{cos}
		turn[1+axis] = sin
		q = q.times(turn)
	}
	return q
}

func (q quat) times(p quat) quat {
	return quat{
		q[0]*p[0] - q[1]*p[1] - q[2]*p[2] - q[3]*p[3],
		q[0]*p[1] + q[1]*p[0] + q[2]*p[3] - q[3]*p[2],
		q[0]*p[2] - q[1]*p[3] + q[2]*p[0] + q[3]*p[1],
		q[0]*p[3] + q[1]*p[2] - q[2]*p[1] + q[3]*p[0],
	}
}

// rotate rotates a vector. Components within rounding of an integer become exact: exact zeros and
// ones cost nothing in the graph.
func (q quat) rotate(v Vec) Vec {
	r := q.times(quat{0, v[0], v[1], v[2]}).times(quat{q[0], -q[1], -q[2], -q[3]})
	return Vec{algebra.Snap(r[1]), algebra.Snap(r[2]), algebra.Snap(r[3])}
}

func (v Vec) plus(w Vec) Vec       { return Vec{v[0] + w[0], v[1] + w[1], v[2] + w[2]} }
func (v Vec) scaled(k float64) Vec { return Vec{k * v[0], k * v[1], k * v[2]} }
func (v Vec) rounded() Vec         { return Vec{f32(v[0]), f32(v[1]), f32(v[2])} }

// Segment is the axis of a capsule in the frame of its body, from the centre of its lower cap to
// the centre of its upper cap.
func (c Collider) Segment() (from, to Vec) {
	half := c.half()
	return c.Position.plus(half.scaled(-1)), c.Position.plus(half)
}

// Corners are the corners of a box in the frame of its body; other shapes have none.
func (c Collider) Corners() (corners []Vec) {
	if c.Shape == Box {
		for _, p := range c.points() {
			corners = append(corners, p.at)
		}
	}
	return corners
}
