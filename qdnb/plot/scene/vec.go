package scene

import (
	"math"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

func (v Vec) r3() r3.Vec    { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }
func vecOf(v r3.Vec) Vec    { return Vec{v.X, v.Y, v.Z} }
func same(x float64) r3.Vec { return r3.Vec{X: x, Y: x, Z: x} }

func along(v, d r3.Vec, t float64) r3.Vec { return r3.Add(v, r3.Scale(t, d)) }

// length is faster than r3.Norm, which cannot overflow.
func length(v r3.Vec) float64 { return math.Sqrt(r3.Norm2(v)) }

func unit(v r3.Vec) r3.Vec { return r3.Scale(1/length(v), v) }

// rotation returns the rotation of a quaternion of any nonzero length.
func (q Quat) rotation() r3.Rotation {
	n := quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
	return r3.Rotation(quat.Scale(1/quat.Abs(n), n))
}

// At returns the world position of a point in the body's frame.
func (p Pose) At(point Vec) Vec { return vecOf(p.at(point)) }

func (p Pose) at(point Vec) r3.Vec {
	return r3.Add(p.Position.r3(), p.Rotation.rotation().Rotate(point.r3()))
}

// emptyBox returns a box that [include] can only enlarge.
func emptyBox() r3.Box {
	return r3.Box{Min: same(math.Inf(1)), Max: same(math.Inf(-1))}
}

func include(b r3.Box, center r3.Vec, radius float64) r3.Box {
	low, high := r3.Sub(center, same(radius)), r3.Add(center, same(radius))
	return r3.Box{
		Min: r3.Vec{X: min(b.Min.X, low.X), Y: min(b.Min.Y, low.Y), Z: min(b.Min.Z, low.Z)},
		Max: r3.Vec{X: max(b.Max.X, high.X), Y: max(b.Max.Y, high.Y), Z: max(b.Max.Z, high.Z)},
	}
}
