package scene

import "math"

func (v Vec) plus(w Vec) Vec             { return Vec{v[0] + w[0], v[1] + w[1], v[2] + w[2]} }
func (v Vec) minus(w Vec) Vec            { return Vec{v[0] - w[0], v[1] - w[1], v[2] - w[2]} }
func (v Vec) scale(k float64) Vec        { return Vec{k * v[0], k * v[1], k * v[2]} }
func (v Vec) dot(w Vec) float64          { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }
func (v Vec) length() float64            { return math.Sqrt(v.dot(v)) }
func (v Vec) along(d Vec, t float64) Vec { return Vec{v[0] + t*d[0], v[1] + t*d[1], v[2] + t*d[2]} }

func (v Vec) cross(w Vec) Vec {
	return Vec{v[1]*w[2] - v[2]*w[1], v[2]*w[0] - v[0]*w[2], v[0]*w[1] - v[1]*w[0]}
}

// unit has length 1.
func (v Vec) unit() Vec { return v.scale(1 / v.length()) }

// matrix are the columns of a rotation: where it puts the axes.
type matrix [3]Vec

// matrix is the rotation of a quaternion of any length but 0.
func (q Quat) matrix() matrix {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	w, x, y, z := q[0]/n, q[1]/n, q[2]/n, q[3]/n
	return matrix{
		{1 - 2*(y*y+z*z), 2 * (x*y + w*z), 2 * (x*z - w*y)},
		{2 * (x*y - w*z), 1 - 2*(x*x+z*z), 2 * (y*z + w*x)},
		{2 * (x*z + w*y), 2 * (y*z - w*x), 1 - 2*(x*x+y*y)},
	}
}

func (m matrix) turn(v Vec) Vec {
	return m[0].scale(v[0]).plus(m[1].scale(v[1])).plus(m[2].scale(v[2]))
}

// back is the other way round.
func (m matrix) back(v Vec) Vec { return Vec{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

// At is where a point of the body's frame is.
func (p Pose) At(point Vec) Vec { return p.Position.plus(p.Rotation.matrix().turn(point)) }
