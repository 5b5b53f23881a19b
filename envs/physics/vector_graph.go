package physics

import "math"

// vector is a vector in the world frame or a body's frame, one per row.
type vector struct{ x, y, z num }

func (a vector) each(f func(num) num) vector { return vector{f(a.x), f(a.y), f(a.z)} }

func (a vector) plus(b vector) vector {
	return vector{a.x.plus(b.x), a.y.plus(b.y), a.z.plus(b.z)}
}
func (a vector) minus(b vector) vector {
	return vector{a.x.minus(b.x), a.y.minus(b.y), a.z.minus(b.z)}
}

// times multiplies componentwise, for example by an inertia.
func (a vector) times(b vector) vector {
	return vector{a.x.times(b.x), a.y.times(b.y), a.z.times(b.z)}
}

func (a vector) by(k num) vector        { return a.each(func(c num) num { return c.times(k) }) }
func (a vector) over(k num) vector      { return a.each(func(c num) num { return c.over(k) }) }
func (a vector) scale(k float64) vector { return a.each(func(c num) num { return c.scale(k) }) }
func (a vector) neg() vector            { return a.each(num.neg) }

func (a vector) dot(b vector) num {
	return a.x.times(b.x).plus(a.y.times(b.y)).plus(a.z.times(b.z))
}

func (a vector) cross(b vector) vector {
	return vector{
		a.y.times(b.z).minus(a.z.times(b.y)),
		a.z.times(b.x).minus(a.x.times(b.z)),
		a.x.times(b.y).minus(a.y.times(b.x)),
	}
}

// norm is the length. As in the source it is exactly 0 for vectors that are almost 0.
func (a vector) norm() num { return a.dot(a).smallSqrt() }

// unit is the vector divided by its length plus 1e-6, and the length.
func (a vector) unit() (direction vector, length num) {
	length = a.norm()
	return a.over(length.add(1e-6)), length
}

func (a vector) take(rows ...int) vector {
	return a.each(func(c num) num { return c.take(rows...) })
}

func (a vector) materialize() vector { return a.each(num.materialize) }

func (m mask) chooseVector(a, b vector) vector {
	return vector{m.choose(a.x, b.x), m.choose(a.y, b.y), m.choose(a.z, b.z)}
}

// vectors makes known vectors, one per row.
func vectors(rows ...Vec) vector { return vectorsOf(rows, func(v Vec) Vec { return v }) }

// vectorsOf is a known vector for each item of a list.
func vectorsOf[T any](list []T, f func(T) Vec) vector {
	component := func(axis int) num { return columnOf(list, func(item T) float64 { return f(item)[axis] }) }
	return vector{component(0), component(1), component(2)}
}

// quaternion is a rotation, w + xi + yj + zk.
type quaternion struct{ w, x, y, z num }

func (q quaternion) each(f func(num) num) quaternion {
	return quaternion{f(q.w), f(q.x), f(q.y), f(q.z)}
}

func (q quaternion) vector() vector { return vector{q.x, q.y, q.z} }

func (q quaternion) plus(p quaternion) quaternion {
	return quaternion{q.w.plus(p.w), q.x.plus(p.x), q.y.plus(p.y), q.z.plus(p.z)}
}

func (q quaternion) scale(k float64) quaternion {
	return q.each(func(c num) num { return c.scale(k) })
}

func (q quaternion) by(k num) quaternion { return q.each(func(c num) num { return c.times(k) }) }

func (q quaternion) inverse() quaternion { return quaternion{q.w, q.x.neg(), q.y.neg(), q.z.neg()} }

func (q quaternion) times(p quaternion) quaternion {
	return quaternion{
		q.w.times(p.w).minus(q.x.times(p.x)).minus(q.y.times(p.y)).minus(q.z.times(p.z)),
		q.w.times(p.x).plus(q.x.times(p.w)).plus(q.y.times(p.z)).minus(q.z.times(p.y)),
		q.w.times(p.y).minus(q.x.times(p.z)).plus(q.y.times(p.w)).plus(q.z.times(p.x)),
		q.w.times(p.z).plus(q.x.times(p.y)).minus(q.y.times(p.x)).plus(q.z.times(p.w)),
	}
}

func (q quaternion) squaredLength() num {
	return q.w.square().plus(q.x.square()).plus(q.y.square()).plus(q.z.square())
}

// normalized divides by the length.
func (q quaternion) normalized() quaternion {
	square := q.squaredLength()
	return q.by(constant(square.rows, 1).over(square.sqrt()))
}

func (q quaternion) materialize() quaternion { return q.each(num.materialize) }

// pure is the quaternion of a vector: w = 0.
func pure(v vector) quaternion { return quaternion{v.x.zero(), v.x, v.y, v.z} }

// rotation is a quaternion's rotation v -> 2 (u.v) u + (w^2 - u.u) v + 2 w (u x v) as a matrix, by
// columns. Like the source's formula it scales by the squared length of the quaternion.
type rotation struct{ x, y, z vector }

func (q quaternion) rotation() rotation {
	ww, xx, yy, zz := q.w.square(), q.x.square(), q.y.square(), q.z.square()
	xy, xz, yz := q.x.times(q.y), q.x.times(q.z), q.y.times(q.z)
	wx, wy, wz := q.w.times(q.x), q.w.times(q.y), q.w.times(q.z)
	return rotation{
		x: vector{ww.plus(xx).minus(yy).minus(zz), xy.plus(wz).scale(2), xz.minus(wy).scale(2)},
		y: vector{xy.minus(wz).scale(2), ww.minus(xx).plus(yy).minus(zz), yz.plus(wx).scale(2)},
		z: vector{xz.plus(wy).scale(2), yz.minus(wx).scale(2), ww.minus(xx).minus(yy).plus(zz)},
	}
}

func (r rotation) of(v vector) vector { return r.x.by(v.x).plus(r.y.by(v.y)).plus(r.z.by(v.z)) }

// atanCoefficients are the coefficients of t^3, t^5 ... of an odd polynomial that approximates
// atan(t) to within 2e-8 for |t| <= 1 (Abramowitz and Stegun 4.4.49).
var atanCoefficients = []float64{
	-0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138,
	-0.0161657367, 0.0028662257,
}

// atan2 is the angle of the point (x, y), in (-pi, pi]. It is built from elementary operations
// because backends compute their own atan2 one value at a time, or do not have it.
func atan2(y, x num) num {
	if x.node == nil && y.node == nil {
		return combine(atan2, y, x, math.Atan2, nil)
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

// signedAngle is the angle from one vector to another about an axis, rad.
func signedAngle(axis, from, to vector) num {
	return atan2(from.cross(to).dot(axis).materialize(), from.dot(to).materialize())
}

// fromAxisAngle is the rotation by an angle about an axis.
func fromAxisAngle(axis vector, angle num) quaternion {
	half := angle.scale(0.5)
	v := axis.by(half.sin())
	return quaternion{half.cos(), v.x, v.y, v.z}
}
