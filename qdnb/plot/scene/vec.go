package scene

import "math"

func (v Vec) plus(w Vec) Vec  { return v.xyz().plus(w.xyz()).vec() }
func (v Vec) minus(w Vec) Vec { return v.xyz().minus(w.xyz()).vec() }

// along returns v + t d.
func (v Vec) along(d Vec, t float64) Vec { return v.xyz().along(d.xyz(), t).vec() }

func (v Vec) scale(k float64) Vec { return v.xyz().scale(k).vec() }
func (v Vec) dot(w Vec) float64   { return v.xyz().dot(w.xyz()) }
func (v Vec) cross(w Vec) Vec     { return v.xyz().cross(w.xyz()).vec() }
func (v Vec) length() float64     { return v.xyz().length() }
func (v Vec) unit() Vec           { return v.xyz().unit().vec() }

// xyz is a [Vec] for computation. Go keeps fields in registers but array elements in memory, which
// is several times slower.
type xyz struct{ x, y, z float64 }

func (v Vec) xyz() xyz { return xyz{v[0], v[1], v[2]} }
func (v xyz) vec() Vec { return Vec{v.x, v.y, v.z} }

func (v xyz) plus(w xyz) xyz             { return xyz{v.x + w.x, v.y + w.y, v.z + w.z} }
func (v xyz) minus(w xyz) xyz            { return xyz{v.x - w.x, v.y - w.y, v.z - w.z} }
func (v xyz) along(d xyz, t float64) xyz { return xyz{v.x + t*d.x, v.y + t*d.y, v.z + t*d.z} }
func (v xyz) scale(k float64) xyz        { return xyz{k * v.x, k * v.y, k * v.z} }
func (v xyz) dot(w xyz) float64          { return v.x*w.x + v.y*w.y + v.z*w.z }
func (v xyz) cross(w xyz) xyz {
	return xyz{v.y*w.z - v.z*w.y, v.z*w.x - v.x*w.z, v.x*w.y - v.y*w.x}
}
func (v xyz) length() float64 { return math.Sqrt(v.dot(v)) }

// unit returns v scaled to length 1.
func (v xyz) unit() xyz { return v.scale(1 / v.length()) }

// matrix holds the columns of a rotation, the images of the axes.
type matrix struct{ x, y, z xyz }

// matrix returns the rotation of a quaternion of any nonzero length.
func (q Quat) matrix() matrix {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	w, x, y, z := q[0]/n, q[1]/n, q[2]/n, q[3]/n
	return matrix{
		xyz{1 - 2*(y*y+z*z), 2 * (x*y + w*z), 2 * (x*z - w*y)},
		xyz{2 * (x*y - w*z), 1 - 2*(x*x+z*z), 2 * (y*z + w*x)},
		xyz{2 * (x*z + w*y), 2 * (y*z - w*x), 1 - 2*(x*x+y*y)},
	}
}

func (m matrix) turn(v xyz) xyz { return m.x.scale(v.x).along(m.y, v.y).along(m.z, v.z) }

// inverse applies the inverse rotation.
func (m matrix) inverse(v xyz) xyz { return xyz{m.x.dot(v), m.y.dot(v), m.z.dot(v)} }

func (m matrix) column(axis int) xyz { return [3]xyz{m.x, m.y, m.z}[axis] }

// At returns the world position of a point in the body's frame.
func (p Pose) At(point Vec) Vec { return p.at(point).vec() }

func (p Pose) at(point Vec) xyz {
	return p.Position.xyz().plus(p.Rotation.matrix().turn(point.xyz()))
}
