package robots

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/physics"
)

// inertial is a mass, its centre and axes, and its inertia about these axes.
type inertial struct {
	frame
	mass    float64
	inertia r3.Vec
}

// tensor is the inertia about the axes of the outer frame.
func (m inertial) tensor() *mat.SymDense {
	sum := mat.NewSymDense(3, nil)
	for i, moment := range []float64{m.inertia.X, m.inertia.Y, m.inertia.Z} {
		sum.SymRankOne(sum, moment, column(m.turned(units[i])))
	}
	return sum
}

func column(v r3.Vec) *mat.VecDense { return mat.NewVecDense(3, []float64{v.X, v.Y, v.Z}) }

// combine returns the inertial of several rigidly connected ones, about its principal axes.
func combine(parts []inertial) (total inertial) {
	for _, p := range parts {
		total.mass += p.mass
		total.at = r3.Add(total.at, r3.Scale(p.mass, p.at))
	}
	total.turn.Real = 1
	if total.mass == 0 {
		return total
	}
	total.at = r3.Scale(1/total.mass, total.at)
	sum := mat.NewSymDense(3, nil)
	for _, p := range parts {
		sum.AddSym(sum, p.tensor())
		d := r3.Sub(p.at, total.at)
		square := r3.Dot(d, d)
		sum.AddSym(sum, mat.NewDiagDense(3, []float64{p.mass * square, p.mass * square, p.mass * square}))
		sum.SymRankOne(sum, -p.mass, column(d))
	}
	total.turn, total.inertia = principal(sum)
	return total
}

// principal returns principal axes and moments. Of the possible axes it chooses those closest to the
// frame's own, so that a body which only turns in a plane keeps its axes in the plane.
func principal(tensor *mat.SymDense) (quat.Number, r3.Vec) {
	var e mat.EigenSym
	if !e.Factorize(tensor, true) { // of numbers that are not finite; such a body is refused
		return quat.Number{Real: 1}, r3.Vec{}
	}
	moments := e.Values(nil)
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	axis := func(i int) r3.Vec { return r3.Vec{X: vectors.At(0, i), Y: vectors.At(1, i), Z: vectors.At(2, i)} }
	equal := func(i, j int) bool { return moments[j]-moments[i] <= 1e-9*moments[2] }
	diagonal := func(turn quat.Number) (quat.Number, r3.Vec) {
		var out [3]float64
		for i, unit := range units {
			w := column(r3.Rotation(turn).Rotate(unit))
			out[i] = mat.Inner(w, tensor, w)
		}
		return turn, vector(out[:])
	}
	closest := func(v r3.Vec) (r3.Vec, r3.Vec) { // the frame's axis closest to v or -v
		best := units[0]
		for _, u := range units[1:] {
			if math.Abs(r3.Dot(u, v)) > math.Abs(r3.Dot(best, v))+1e-9 {
				best = u
			}
		}
		return best, r3.Scale(math.Copysign(1, r3.Dot(best, v)), v)
	}
	switch {
	case equal(0, 2):
		return diagonal(quat.Number{Real: 1})
	case equal(0, 1):
		return diagonal(turnTo(closest(axis(2))))
	case equal(1, 2):
		return diagonal(turnTo(closest(axis(0))))
	}
	best, turn := -1.0, quat.Number{}
	for _, p := range [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}} {
		x, y := axis(p[0]), axis(p[1])
		x = r3.Scale(math.Copysign(1, x.X), x)
		y = r3.Scale(math.Copysign(1, y.Y), y)
		if q := turnOf(x, y); math.Abs(q.Real) > best {
			best, turn = math.Abs(q.Real), q
		}
	}
	return diagonal(turn)
}

// solid returns the inertial of a geom of a given mass; with mass 0, that of density 1.
func (g *geom) solid(mass float64) inertial {
	a, b, c := g.size[0], g.size[1], g.size[2]
	var volume float64
	var perMass r3.Vec
	box := func(k, a, b, c float64) r3.Vec {
		return r3.Vec{X: k * (b*b + c*c), Y: k * (a*a + c*c), Z: k * (a*a + b*b)}
	}
	switch g.kind {
	case "sphere":
		volume, perMass = 4./3*math.Pi*a*a*a, box(1./5, a, a, a)
	case "ellipsoid":
		volume, perMass = 4./3*math.Pi*a*b*c, box(1./5, a, b, c)
	case "box":
		volume, perMass = 8*a*b*c, box(1./3, a, b, c)
	case "cylinder":
		volume = 2 * math.Pi * a * a * b
		across := a*a/4 + b*b/3
		perMass = r3.Vec{X: across, Y: across, Z: a * a / 2}
	case "capsule":
		middle, ends := 2*math.Pi*a*a*b, 4./3*math.Pi*a*a*a
		volume = middle + ends
		across := (middle*(a*a/4+b*b/3) + ends*(2./5*a*a+b*b+3./4*a*b)) / volume
		perMass = r3.Vec{X: across, Y: across, Z: (middle/2 + 2./5*ends) * a * a / volume}
	}
	if mass == 0 {
		mass = volume
	}
	return inertial{g.frame, mass, r3.Scale(mass, perMass)}
}

// degrees converts a rotation to Euler angles x-y'-z”. Angles within rounding of 0 become 0.
func degrees(q quat.Number) physics.Vec {
	turn := r3.Rotation(q)
	x, y, z := turn.Rotate(units[0]), turn.Rotate(units[1]), turn.Rotate(units[2])
	angles := physics.Vec{math.Atan2(-z.Y, z.Z), math.Asin(max(-1, min(1, z.X))), math.Atan2(-y.X, x.X)}
	if math.Hypot(x.X, y.X) < 1e-9 { // gimbal lock: only one of the outer angles counts
		angles[0], angles[2] = math.Atan2(y.Z, y.Y), 0
	}
	for i := range angles {
		if angles[i] *= 180 / math.Pi; math.Abs(angles[i]) < 1e-9 {
			angles[i] = 0
		}
	}
	return angles
}

func vec(v r3.Vec) physics.Vec {
	out := physics.Vec{v.X, v.Y, v.Z}
	for i := range out {
		if math.Abs(out[i]) < 1e-12 {
			out[i] = 0
		}
	}
	return out
}
