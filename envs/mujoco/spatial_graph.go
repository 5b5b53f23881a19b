package mujoco

import "example.com/qdnb/envs/rows"

// spatial is a spatial vector in the axes of the world about the origin of a tree: a velocity or an
// acceleration (angular, and linear of the point at the origin), or a force (torque about the origin, and
// force).
type spatial struct{ Ang, Lin rows.Vector }

func (a spatial) each(f func(rows.Num) rows.Num) spatial {
	return spatial{a.Ang.Each(f), a.Lin.Each(f)}
}
func (a spatial) plus(b spatial) spatial  { return spatial{a.Ang.Plus(b.Ang), a.Lin.Plus(b.Lin)} }
func (a spatial) minus(b spatial) spatial { return spatial{a.Ang.Minus(b.Ang), a.Lin.Minus(b.Lin)} }
func (a spatial) by(k rows.Num) spatial   { return spatial{a.Ang.By(k), a.Lin.By(k)} }
func (a spatial) dot(b spatial) rows.Num  { return a.Ang.Dot(b.Ang).Plus(a.Lin.Dot(b.Lin)) }
func (a spatial) materialize() spatial    { return a.each(rows.Num.Materialize) }

func (a spatial) take(of []int) spatial { return spatial{a.Ang.Take(of...), a.Lin.Take(of...)} }

func noMotion(n int) spatial { return spatial{zeroVector(n), zeroVector(n)} }

func zeroVector(n int) rows.Vector {
	return rows.Vector{X: rows.Constant(n, 0), Y: rows.Constant(n, 0), Z: rows.Constant(n, 0)}
}

// unit is a known unit vector of n rows.
func unit(n, axis int) rows.Vector {
	v := zeroVector(n)
	*[]*rows.Num{&v.X, &v.Y, &v.Z}[axis] = rows.Constant(n, 1)
	return v
}

// component returns a component of a vector.
func component(v rows.Vector, axis int) rows.Num { return [3]rows.Num{v.X, v.Y, v.Z}[axis] }

// crossMotion is the rate of change of a motion b that moves with velocity a.
func (a spatial) crossMotion(b spatial) spatial {
	return spatial{a.Ang.Cross(b.Ang), a.Ang.Cross(b.Lin).Plus(a.Lin.Cross(b.Ang))}
}

// crossForce is the rate of change of a momentum b that moves with velocity a.
func (a spatial) crossForce(b spatial) spatial {
	return spatial{a.Ang.Cross(b.Ang).Plus(a.Lin.Cross(b.Lin)), a.Ang.Cross(b.Lin)}
}

// at is the linear part of a motion at a point.
func (a spatial) at(point rows.Vector) rows.Vector { return a.Lin.Plus(a.Ang.Cross(point)) }

// forceAt is a force that acts at a point.
func forceAt(force, point rows.Vector) spatial { return spatial{point.Cross(force), force} }

// symmetric is a symmetric matrix.
type symmetric struct{ XX, YY, ZZ, XY, XZ, YZ rows.Num }

func (s *symmetric) entries() []*rows.Num {
	return []*rows.Num{&s.XX, &s.YY, &s.ZZ, &s.XY, &s.XZ, &s.YZ}
}

func (s symmetric) of(v rows.Vector) rows.Vector {
	return rows.Vector{
		X: s.XX.Times(v.X).Plus(s.XY.Times(v.Y)).Plus(s.XZ.Times(v.Z)),
		Y: s.XY.Times(v.X).Plus(s.YY.Times(v.Y)).Plus(s.YZ.Times(v.Z)),
		Z: s.XZ.Times(v.X).Plus(s.YZ.Times(v.Y)).Plus(s.ZZ.Times(v.Z)),
	}
}

// diagonal is k times the identity.
func diagonal(k rows.Num) symmetric {
	return symmetric{k, k, k, k.Zero(), k.Zero(), k.Zero()}
}

// dyad is k times v v'.
func dyad(v rows.Vector, k rows.Num) symmetric {
	w := v.By(k)
	return symmetric{w.X.Times(v.X), w.Y.Times(v.Y), w.Z.Times(v.Z), w.X.Times(v.Y), w.X.Times(v.Z), w.Y.Times(v.Z)}
}

// stiffness is a symmetric 6 x 6 matrix that makes spatial forces of motions, such as an inertia.
type stiffness struct {
	Ang    symmetric
	Couple rows.Rotation // torques of linear motions, by columns
	Lin    symmetric
}

func (k *stiffness) entries() []*rows.Num {
	out := k.Ang.entries()
	for _, v := range []*rows.Vector{&k.Couple.X, &k.Couple.Y, &k.Couple.Z} {
		out = append(out, &v.X, &v.Y, &v.Z)
	}
	return append(out, k.Lin.entries()...)
}

func combineStiffness(a, b stiffness, f func(a, b rows.Num) rows.Num) stiffness {
	others := b.entries()
	for i, entry := range a.entries() {
		*entry = f(*entry, *others[i])
	}
	return a
}

func (k stiffness) plus(o stiffness) stiffness { return combineStiffness(k, o, rows.Num.Plus) }

func (k stiffness) each(f func(rows.Num) rows.Num) stiffness {
	for _, entry := range k.entries() {
		*entry = f(*entry)
	}
	return k
}

func (k stiffness) materialize() stiffness { return k.each(rows.Num.Materialize) }

// of returns the force of a motion.
func (k stiffness) of(v spatial) spatial {
	return spatial{
		k.Ang.of(v.Ang).Plus(k.Couple.Of(v.Lin)),
		rows.Vector{X: k.Couple.X.Dot(v.Ang), Y: k.Couple.Y.Dot(v.Ang), Z: k.Couple.Z.Dot(v.Ang)}.Plus(k.Lin.of(v.Lin)),
	}
}

// minusDyad returns k - u w', which is symmetric.
func (k stiffness) minusDyad(u, w spatial) stiffness {
	columns := func(v rows.Vector) [3]rows.Num { return [3]rows.Num{v.X, v.Y, v.Z} }
	ua, ul, wa, wl := columns(u.Ang), columns(u.Lin), columns(w.Ang), columns(w.Lin)
	pairs := [][2]int{{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}}
	for i, entry := range k.Ang.entries() {
		*entry = entry.Minus(ua[pairs[i][0]].Times(wa[pairs[i][1]]))
	}
	for i, entry := range k.Lin.entries() {
		*entry = entry.Minus(ul[pairs[i][0]].Times(wl[pairs[i][1]]))
	}
	for j, column := range []*rows.Vector{&k.Couple.X, &k.Couple.Y, &k.Couple.Z} {
		for i, entry := range []*rows.Num{&column.X, &column.Y, &column.Z} {
			*entry = entry.Minus(ua[i].Times(wl[j]))
		}
	}
	return k
}

// stiffnessAt is that of springs k at a point.
func stiffnessAt(k symmetric, p rows.Vector) stiffness {
	b := rows.Rotation{
		X: p.Cross(rows.Vector{X: k.XX, Y: k.XY, Z: k.XZ}),
		Y: p.Cross(rows.Vector{X: k.XY, Y: k.YY, Z: k.YZ}),
		Z: p.Cross(rows.Vector{X: k.XZ, Y: k.YZ, Z: k.ZZ}),
	}
	minor := func(a, ka, b, kb rows.Num) rows.Num { return a.Times(ka).Minus(b.Times(kb)) }
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

// inertia is the stiffness of a rigid body: its moment about the origin, its mass, and its mass times the
// position of its centre.
type inertia struct {
	Moment symmetric
	First  rows.Vector
	Mass   rows.Num
}

func (i inertia) of(v spatial) spatial {
	return spatial{i.Moment.of(v.Ang).Plus(i.First.Cross(v.Lin)), v.Lin.By(i.Mass).Minus(i.First.Cross(v.Ang))}
}

func (i inertia) stiffness() stiffness {
	h, zero := i.First, i.Mass.Zero()
	return stiffness{i.Moment, rows.Rotation{
		X: rows.Vector{X: zero, Y: h.Z, Z: h.Y.Neg()},
		Y: rows.Vector{X: h.Z.Neg(), Y: zero, Z: h.X},
		Z: rows.Vector{X: h.Y, Y: h.X.Neg(), Z: zero},
	}, diagonal(i.Mass)}
}

// turned is the rotation's product with another.
func turned(r, o rows.Rotation) rows.Rotation {
	return rows.Rotation{X: r.Of(o.X), Y: r.Of(o.Y), Z: r.Of(o.Z)}
}

// inverse returns the components of v along the columns of a rotation.
func inverse(r rows.Rotation, v rows.Vector) rows.Vector {
	return rows.Vector{X: r.X.Dot(v), Y: r.Y.Dot(v), Z: r.Z.Dot(v)}
}

// takeRotation selects rows of a rotation.
func takeRotation(r rows.Rotation, of []int) rows.Rotation {
	return rows.Rotation{X: r.X.Take(of...), Y: r.Y.Take(of...), Z: r.Z.Take(of...)}
}

func materializeRotation(r rows.Rotation) rows.Rotation {
	return rows.Rotation{X: r.X.Materialize(), Y: r.Y.Materialize(), Z: r.Z.Materialize()}
}
