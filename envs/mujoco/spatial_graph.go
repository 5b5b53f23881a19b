package mujoco

import "example.com/qdnb/envs/algebra"

// spatial is a spatial vector in the axes of the world about a reference, see [System.refer]: a velocity or
// an acceleration (angular, and linear of the point at the reference), or a force (torque about the reference, and
// force).
type spatial struct{ Ang, Lin algebra.Vector }

func (a spatial) each(f func(algebra.Num) algebra.Num) spatial {
	return spatial{a.Ang.Each(f), a.Lin.Each(f)}
}
func (a spatial) plus(b spatial) spatial    { return spatial{a.Ang.Plus(b.Ang), a.Lin.Plus(b.Lin)} }
func (a spatial) minus(b spatial) spatial   { return spatial{a.Ang.Minus(b.Ang), a.Lin.Minus(b.Lin)} }
func (a spatial) by(k algebra.Num) spatial  { return spatial{a.Ang.By(k), a.Lin.By(k)} }
func (a spatial) dot(b spatial) algebra.Num { return a.Ang.Dot(b.Ang).Plus(a.Lin.Dot(b.Lin)) }
func (a spatial) materialize() spatial      { return a.each(algebra.Num.Materialize) }

func (a spatial) take(of []int) spatial { return spatial{a.Ang.Take(of...), a.Lin.Take(of...)} }

func noMotion(n int) spatial { return spatial{zeroVector(n), zeroVector(n)} }

func zeroVector(n int) algebra.Vector {
	return algebra.Vector{X: algebra.Constant(n, 0), Y: algebra.Constant(n, 0), Z: algebra.Constant(n, 0)}
}

// unit is a known unit vector of n rows.
func unit(n, axis int) algebra.Vector {
	v := zeroVector(n)
	*[]*algebra.Num{&v.X, &v.Y, &v.Z}[axis] = algebra.Constant(n, 1)
	return v
}

// component returns a component of a vector.
func component(v algebra.Vector, axis int) algebra.Num { return [3]algebra.Num{v.X, v.Y, v.Z}[axis] }

// crossMotion is the rate of change of a motion b that moves with velocity a.
func (a spatial) crossMotion(b spatial) spatial {
	return spatial{a.Ang.Cross(b.Ang), a.Ang.Cross(b.Lin).Plus(a.Lin.Cross(b.Ang))}
}

// crossForce is the rate of change of a momentum b that moves with velocity a.
func (a spatial) crossForce(b spatial) spatial {
	return spatial{a.Ang.Cross(b.Ang).Plus(a.Lin.Cross(b.Lin)), a.Ang.Cross(b.Lin)}
}

// at is the linear part of a motion at a point.
func (a spatial) at(point algebra.Vector) algebra.Vector { return a.Lin.Plus(a.Ang.Cross(point)) }

// forceAt is a force that acts at a point.
func forceAt(force, point algebra.Vector) spatial { return spatial{point.Cross(force), force} }

// symmetric is a symmetric matrix.
type symmetric struct{ XX, YY, ZZ, XY, XZ, YZ algebra.Num }

func (s *symmetric) entries() []*algebra.Num {
	return []*algebra.Num{&s.XX, &s.YY, &s.ZZ, &s.XY, &s.XZ, &s.YZ}
}

func (s symmetric) of(v algebra.Vector) algebra.Vector {
	return algebra.Vector{
		X: s.XX.Times(v.X).Plus(s.XY.Times(v.Y)).Plus(s.XZ.Times(v.Z)),
		Y: s.XY.Times(v.X).Plus(s.YY.Times(v.Y)).Plus(s.YZ.Times(v.Z)),
		Z: s.XZ.Times(v.X).Plus(s.YZ.Times(v.Y)).Plus(s.ZZ.Times(v.Z)),
	}
}

// diagonal is k times the identity.
func diagonal(k algebra.Num) symmetric {
	return symmetric{k, k, k, k.Zero(), k.Zero(), k.Zero()}
}

// dyad is k times v v'.
func dyad(v algebra.Vector, k algebra.Num) symmetric {
	w := v.By(k)
	return symmetric{w.X.Times(v.X), w.Y.Times(v.Y), w.Z.Times(v.Z), w.X.Times(v.Y), w.X.Times(v.Z), w.Y.Times(v.Z)}
}

// stiffness is a symmetric 6 x 6 matrix that makes spatial forces of motions, such as an inertia.
type stiffness struct {
	Ang    symmetric
	Couple algebra.Rotation // torques of linear motions, by columns
	Lin    symmetric
}

func (k *stiffness) entries() []*algebra.Num {
	out := k.Ang.entries()
	for _, v := range []*algebra.Vector{&k.Couple.X, &k.Couple.Y, &k.Couple.Z} {
		out = append(out, &v.X, &v.Y, &v.Z)
	}
	return append(out, k.Lin.entries()...)
}

func combineStiffness(a, b stiffness, f func(a, b algebra.Num) algebra.Num) stiffness {
	others := b.entries()
	for i, entry := range a.entries() {
		*entry = f(*entry, *others[i])
	}
	return a
}

func (k stiffness) plus(o stiffness) stiffness { return combineStiffness(k, o, algebra.Num.Plus) }

func (k stiffness) each(f func(algebra.Num) algebra.Num) stiffness {
	for _, entry := range k.entries() {
		*entry = f(*entry)
	}
	return k
}

func (k stiffness) materialize() stiffness { return k.each(algebra.Num.Materialize) }

// of returns the force of a motion.
func (k stiffness) of(v spatial) spatial {
	return spatial{
		k.Ang.of(v.Ang).Plus(k.Couple.Of(v.Lin)),
		algebra.Vector{X: k.Couple.X.Dot(v.Ang), Y: k.Couple.Y.Dot(v.Ang), Z: k.Couple.Z.Dot(v.Ang)}.Plus(k.Lin.of(v.Lin)),
	}
}

// minusDyad returns k - u w', which is symmetric.
func (k stiffness) minusDyad(u, w spatial) stiffness {
	columns := func(v algebra.Vector) [3]algebra.Num { return [3]algebra.Num{v.X, v.Y, v.Z} }
	ua, ul, wa, wl := columns(u.Ang), columns(u.Lin), columns(w.Ang), columns(w.Lin)
	pairs := [][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}
	for i, entry := range k.Ang.entries() {
		*entry = entry.Minus(ua[pairs[i][0]].Times(wa[pairs[i][1]]))
	}
	for i, entry := range k.Lin.entries() {
		*entry = entry.Minus(ul[pairs[i][0]].Times(wl[pairs[i][1]]))
	}
	for j, column := range []*algebra.Vector{&k.Couple.X, &k.Couple.Y, &k.Couple.Z} {
		for i, entry := range []*algebra.Num{&column.X, &column.Y, &column.Z} {
			*entry = entry.Minus(ua[i].Times(wl[j]))
		}
	}
	return k
}

// stiffnessAt is that of springs k at a point.
func stiffnessAt(k symmetric, p algebra.Vector) stiffness {
	b := algebra.Rotation{
		X: p.Cross(algebra.Vector{X: k.XX, Y: k.XY, Z: k.XZ}),
		Y: p.Cross(algebra.Vector{X: k.XY, Y: k.YY, Z: k.YZ}),
		Z: p.Cross(algebra.Vector{X: k.XZ, Y: k.YZ, Z: k.ZZ}),
	}
	minor := func(a, ka, b, kb algebra.Num) algebra.Num { return a.Times(ka).Minus(b.Times(kb)) }
	return stiffness{
		Ang: symmetric{
			XX: minor(b.Z.X, p.Y, b.Y.X, p.Z),
			YY: minor(b.X.Y, p.Z, b.Z.Y, p.X),
			ZZ: minor(b.Y.Z, p.X, b.X.Z, p.Y),
			XY: minor(b.X.X, p.Z, b.Z.X, p.X),
			XZ: minor(b.Y.X, p.X, b.X.X, p.Y),
			YZ: minor(b.Y.Y, p.X, b.X.Y, p.Y),
		},
		Couple: b,
		Lin:    k,
	}
}

// turningAt is that of springs at a point whose torques depend on linear motions of the point, by columns, and on
// turns, and whose forces depend on turns by the transpose of the former.
func turningAt(couple algebra.Rotation, turning symmetric, p algebra.Vector) stiffness {
	var lever [3]algebra.Vector // torques of the forces of turns, by columns
	for j := range lever {
		lever[j] = p.Cross(algebra.Vector{X: component(couple.X, j), Y: component(couple.Y, j),
			Z: component(couple.Z, j)}).Materialize()
	}
	both := func(i, j int) algebra.Num { return component(lever[i], j).Plus(component(lever[j], i)) }
	own := symmetric{both(0, 0), both(1, 1), both(2, 2), both(0, 1), both(0, 2), both(1, 2)}
	for i, entry := range own.entries() {
		*entry = entry.Plus(*turning.entries()[i])
	}
	return stiffness{Ang: own, Couple: couple, Lin: diagonal(p.X.Zero())}
}

// inertia is the stiffness of a rigid body: its moment about the reference, its mass, and its mass times
// the position of its centre from there.
type inertia struct {
	Moment symmetric
	First  algebra.Vector
	Mass   algebra.Num
}

func (i inertia) of(v spatial) spatial {
	return spatial{i.Moment.of(v.Ang).Plus(i.First.Cross(v.Lin)), v.Lin.By(i.Mass).Minus(i.First.Cross(v.Ang))}
}

func (i inertia) stiffness() stiffness {
	h, zero := i.First, i.Mass.Zero()
	return stiffness{i.Moment, algebra.Rotation{
		X: algebra.Vector{X: zero, Y: h.Z, Z: h.Y.Neg()},
		Y: algebra.Vector{X: h.Z.Neg(), Y: zero, Z: h.X},
		Z: algebra.Vector{X: h.Y, Y: h.X.Neg(), Z: zero},
	}, diagonal(i.Mass)}
}

// turned is the rotation's product with another.
func turned(r, o algebra.Rotation) algebra.Rotation {
	return algebra.Rotation{X: r.Of(o.X), Y: r.Of(o.Y), Z: r.Of(o.Z)}
}

// inverse returns the components of v along the columns of a rotation.
func inverse(r algebra.Rotation, v algebra.Vector) algebra.Vector {
	return algebra.Vector{X: r.X.Dot(v), Y: r.Y.Dot(v), Z: r.Z.Dot(v)}
}

// takeRotation selects rows of a rotation.
func takeRotation(r algebra.Rotation, of []int) algebra.Rotation {
	return algebra.Rotation{X: r.X.Take(of...), Y: r.Y.Take(of...), Z: r.Z.Take(of...)}
}

func materializeRotation(r algebra.Rotation) algebra.Rotation {
	return algebra.Rotation{X: r.X.Materialize(), Y: r.Y.Materialize(), Z: r.Z.Materialize()}
}
