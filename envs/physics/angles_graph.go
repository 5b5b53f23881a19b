package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// atanCoefficients are the coefficients of t^3, t^5 ... of an odd polynomial that approximates
// atan(t) to within 2e-8 for |t| <= 1 (Abramowitz and Stegun 4.4.49).
var atanCoefficients = []float64{
	-0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138,
	-0.0161657367, 0.0028662257,
}

// atan2 is the angle of the point (x, y), in (-pi, pi]. It is built from elementary operations
// because backends compute their own atan2 one value at a time, or do not have it.
func atan2(y, x num) num {
	if x.split != nil || y.split != nil {
		return byRow(atan2, y, x)
	}
	if x.node == nil && y.node == nil {
		return combine(y, x, math.Atan2, nil)
	}
	ax, ay := x.abs(), y.abs()
	t := ax.min(ay).over(ax.max(ay).max(constant(ax.rows, 1e-30)))
	square := t.square()
	p := constant(t.rows, atanCoefficients[len(atanCoefficients)-1])
	for i := len(atanCoefficients) - 2; i >= 0; i-- {
		p = p.times(square).add(atanCoefficients[i])
	}
	angle := p.times(square).times(t).plus(t)
	angle = ax.less(ay).choose(constant(t.rows, math.Pi/2).minus(angle), angle)
	angle = x.below(0).choose(constant(t.rows, math.Pi).minus(angle), angle)
	return y.below(0).choose(angle.neg(), angle)
}

// acos is the arc cosine. Arguments that rounding pushed beyond +-1 are clipped.
func acos(x num) num {
	x = x.min(constant(x.rows, 1)).max(constant(x.rows, -1))
	return atan2(constant(x.rows, 1).minus(x.square()).max(x.zero()).sqrt(), x)
}

func (a num) sin() num { return a.apply(math.Sin, Sin) }
func (a num) cos() num { return a.apply(math.Cos, Cos) }

// signedAngle is the angle from one vector to another about an axis, rad.
func signedAngle(axis, from, to vector) num {
	sin, cos := from.cross(to).dot(axis), from.dot(to)
	materialize(&sin, &cos)
	return atan2(sin, cos)
}

// fromAxisAngle is the rotation by an angle about an axis.
func fromAxisAngle(axis vector, angle num) quaternion {
	half := angle.scale(0.5)
	v := axis.by(half.sin())
	return quaternion{half.cos(), v.x, v.y, v.z}
}
