package algebra

import "math"

// Vector is a Vector in the world frame or a body's frame, one per row.
type Vector struct{ X, Y, Z Num }

func (a Vector) Each(f func(Num) Num) Vector { return Vector{f(a.X), f(a.Y), f(a.Z)} }

func (a Vector) with(b Vector, f func(a, b Num) Num) Vector {
	return Vector{f(a.X, b.X), f(a.Y, b.Y), f(a.Z, b.Z)}
}

func (a Vector) Plus(b Vector) Vector  { return a.with(b, Num.Plus) }
func (a Vector) Minus(b Vector) Vector { return a.with(b, Num.Minus) }

// Times multiplies componentwise, for example by an inertia.
func (a Vector) Times(b Vector) Vector { return a.with(b, Num.Times) }

func (a Vector) By(k Num) Vector        { return a.Each(func(c Num) Num { return c.Times(k) }) }
func (a Vector) Over(k Num) Vector      { return a.Each(func(c Num) Num { return c.Over(k) }) }
func (a Vector) Scale(k float64) Vector { return a.Each(func(c Num) Num { return c.Scale(k) }) }
func (a Vector) Neg() Vector            { return a.Each(Num.Neg) }

func (a Vector) Dot(b Vector) Num {
	return a.X.Times(b.X).Plus(a.Y.Times(b.Y)).Plus(a.Z.Times(b.Z))
}

func (a Vector) Cross(b Vector) Vector {
	return Vector{
		a.Y.Times(b.Z).Minus(a.Z.Times(b.Y)),
		a.Z.Times(b.X).Minus(a.X.Times(b.Z)),
		a.X.Times(b.Y).Minus(a.Y.Times(b.X)),
	}
}

// Norm is the length. As in the source it is exactly 0 for vectors that are almost 0.
func (a Vector) Norm() Num {
	square := a.Dot(a)
	if square.Known != nil {
		return square.Sqrt()
	}
	return square.Below(1e-16).Choose(square.Zero(), square.Sqrt())
}

// Unit is the Vector divided by its length plus 1e-6, and the length.
func (a Vector) Unit() (direction Vector, length Num) {
	length = a.Norm()
	return a.Over(length.Add(1e-6)), length
}

func (a Vector) Take(rows ...int) Vector {
	return a.Each(func(c Num) Num { return c.Take(rows...) })
}

func (a Vector) Materialize() Vector { return a.Each(Num.Materialize) }

func (m Mask) ChooseVector(a, b Vector) Vector { return a.with(b, m.Choose) }

// Vectors makes known vectors, one per row.
func Vectors[V ~[3]float64](rows ...V) Vector { return VectorsOf(rows, func(v V) V { return v }) }

// VectorsOf is a known Vector for each item of a list.
func VectorsOf[T any, V ~[3]float64](list []T, f func(T) V) Vector {
	component := func(axis int) Num { return ColumnOf(list, func(item T) float64 { return f(item)[axis] }) }
	return Vector{component(0), component(1), component(2)}
}

// Quaternion is a rotation, w + xi + yj + zk.
type Quaternion struct{ W, X, Y, Z Num }

// KnownQuaternion is the quaternion of the numbers w, x, y and z, one row.
func KnownQuaternion(q [4]float64) Quaternion {
	return Quaternion{Known(q[0]), Known(q[1]), Known(q[2]), Known(q[3])}
}

func (q Quaternion) Each(f func(Num) Num) Quaternion {
	return Quaternion{f(q.W), f(q.X), f(q.Y), f(q.Z)}
}

func (q Quaternion) Vector() Vector { return Vector{q.X, q.Y, q.Z} }

func (q Quaternion) Plus(p Quaternion) Quaternion {
	return Quaternion{q.W.Plus(p.W), q.X.Plus(p.X), q.Y.Plus(p.Y), q.Z.Plus(p.Z)}
}

func (q Quaternion) Scale(k float64) Quaternion {
	return q.Each(func(c Num) Num { return c.Scale(k) })
}

func (q Quaternion) By(k Num) Quaternion { return q.Each(func(c Num) Num { return c.Times(k) }) }

func (q Quaternion) Inverse() Quaternion { return Quaternion{q.W, q.X.Neg(), q.Y.Neg(), q.Z.Neg()} }

func (q Quaternion) Times(p Quaternion) Quaternion {
	return Quaternion{
		q.W.Times(p.W).Minus(q.X.Times(p.X)).Minus(q.Y.Times(p.Y)).Minus(q.Z.Times(p.Z)),
		q.W.Times(p.X).Plus(q.X.Times(p.W)).Plus(q.Y.Times(p.Z)).Minus(q.Z.Times(p.Y)),
		q.W.Times(p.Y).Minus(q.X.Times(p.Z)).Plus(q.Y.Times(p.W)).Plus(q.Z.Times(p.X)),
		q.W.Times(p.Z).Plus(q.X.Times(p.Y)).Minus(q.Y.Times(p.X)).Plus(q.Z.Times(p.W)),
	}
}

func (q Quaternion) SquaredLength() Num {
	return q.W.Square().Plus(q.X.Square()).Plus(q.Y.Square()).Plus(q.Z.Square())
}

// Normalized divides by the length.
func (q Quaternion) Normalized() Quaternion {
	square := q.SquaredLength()
	return q.By(Constant(square.Rows, 1).Over(square.Sqrt()))
}

func (q Quaternion) Materialize() Quaternion { return q.Each(Num.Materialize) }

// Pure is the Quaternion of a vector: w = 0.
func Pure(v Vector) Quaternion { return Quaternion{v.X.Zero(), v.X, v.Y, v.Z} }

// Rotation is a quaternion's Rotation v -> 2 (u.v) u + (w^2 - u.u) v + 2 w (u x v) as a matrix, by
// columns. Like the source's formula it scales by the squared length of the Quaternion.
type Rotation struct{ X, Y, Z Vector }

func (q Quaternion) Rotation() Rotation {
	ww, xx, yy, zz := q.W.Square(), q.X.Square(), q.Y.Square(), q.Z.Square()
	xy, xz, yz := q.X.Times(q.Y), q.X.Times(q.Z), q.Y.Times(q.Z)
	wx, wy, wz := q.W.Times(q.X), q.W.Times(q.Y), q.W.Times(q.Z)
	return Rotation{
		X: Vector{ww.Plus(xx).Minus(yy).Minus(zz), xy.Plus(wz).Scale(2), xz.Minus(wy).Scale(2)},
		Y: Vector{xy.Minus(wz).Scale(2), ww.Minus(xx).Plus(yy).Minus(zz), yz.Plus(wx).Scale(2)},
		Z: Vector{xz.Plus(wy).Scale(2), yz.Minus(wx).Scale(2), ww.Minus(xx).Minus(yy).Plus(zz)},
	}
}

func (r Rotation) Of(v Vector) Vector { return r.X.By(v.X).Plus(r.Y.By(v.Y)).Plus(r.Z.By(v.Z)) }

// atanCoefficients are the coefficients of t^3, t^5 ... of an odd polynomial that approximates
// atan(t) to within 2e-8 for |t| <= 1 (Abramowitz and Stegun 4.4.49).
var atanCoefficients = []float64{
	-0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138,
	-0.0161657367, 0.0028662257,
}

// Angle is the angle of the point (x, y), in (-pi, pi]. It is built from elementary operations
// because backends compute their own atan2 one value at a time, or do not have it.
func Angle(y, x Num) Num {
	if x.Node == nil && y.Node == nil {
		return combine(Angle, y, x, math.Atan2, nil)
	}
	ax, ay := x.Abs(), y.Abs()
	t := ax.Min(ay).Over(ax.Max(ay).Max(Constant(ax.Rows, 1e-30)))
	square := t.Square()
	p := Constant(t.Rows, atanCoefficients[len(atanCoefficients)-1])
	for i := len(atanCoefficients) - 2; i >= 0; i-- {
		p = p.Times(square).Add(atanCoefficients[i])
	}
	angle := p.Times(square).Times(t).Plus(t)
	angle = ax.Less(ay).Choose(Constant(t.Rows, math.Pi/2).Minus(angle), angle)
	angle = x.Below(0).Choose(Constant(t.Rows, math.Pi).Minus(angle), angle)
	return y.Below(0).Choose(angle.Neg(), angle)
}

// Acos is the arc cosine. Arguments that rounding pushed beyond +-1 are clipped.
func Acos(x Num) Num {
	x = x.Min(Constant(x.Rows, 1)).Max(Constant(x.Rows, -1))
	return Angle(Constant(x.Rows, 1).Minus(x.Square()).Max(x.Zero()).Sqrt(), x)
}

// SinCos returns the sine and the cosine of angles to within 1e-7, for angles up to 1e4 rad. It is built from
// elementary operations because XLA:CPU calls a function of the C library for each number. Both are
// polynomials in what is left of the angle after turns by pi/2 (Cephes, sinf.c).
func SinCos(angle Num) (sin, cos Num) {
	if angle.Node == nil && angle.Split == nil {
		return angle.Sin(), angle.Cos()
	}
	polynomial := func(x Num, coefficients ...float64) Num {
		sum := Constant(x.Rows, coefficients[0])
		for _, c := range coefficients[1:] {
			sum = sum.Times(x).Add(c)
		}
		return sum
	}
	turns := angle.Scale(2 / math.Pi).Add(0.5).Floor().Materialize() // by pi/2
	rest := angle
	for _, part := range []float64{1.5703125, 4.837512969970703e-4, 7.549789948768648e-8} { // of pi/2
		rest = rest.Minus(turns.Scale(part))
	}
	rest = rest.Materialize()
	square := rest.Square()
	s := polynomial(square, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1).Times(square).Times(rest).Plus(rest)
	c := polynomial(square, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1)
	fraction := func(x Num) Num { return x.Minus(x.Floor()) }
	odd := fraction(turns.Scale(0.5)).Above(0.25)
	sign := func(x Num, of Num) Num { return fraction(x.Scale(0.25)).Above(0.4).Choose(of.Neg(), of) }
	return sign(turns, odd.Choose(c, s)).Materialize(), sign(turns.Add(1), odd.Choose(s, c)).Materialize()
}

// FromAxisAngle is the Rotation by an angle about an axis.
func FromAxisAngle(axis Vector, angle Num) Quaternion {
	half := angle.Scale(0.5)
	v := axis.By(half.Sin())
	return Quaternion{half.Cos(), v.X, v.Y, v.Z}
}

// Snap makes known components exact that are within rounding of an integer: exact zeros and ones cost
// nothing in the graph.
func (r Rotation) Snap() Rotation {
	snap := func(v Vector) Vector { return v.Each(func(c Num) Num { return c.Apply(Snap, nil) }) }
	return Rotation{snap(r.X), snap(r.Y), snap(r.Z)}
}

// Snap returns the integer within rounding of x, else x.
func Snap(x float64) float64 {
	if whole := math.Round(x); math.Abs(x-whole) < 1e-12 {
		return whole + 0 // never -0
	}
	return x
}
