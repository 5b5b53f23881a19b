package mujoco

import (
	"math"

	"example.com/qdnb/envs/algebra"
)

// weigh sets the masses and inertias of a group's links: those of all bodies of a link together.
func (s *System) weigh(g *group) {
	m, n := s.model, g.rows()
	mass, center, moments := make([]float64, n), make([][3]float64, n), make([][3]float64, n)
	axes := make([][3][3]float64, n)
	for row, link := range g.body {
		var parts []int
		for b := range m.Sizes.NBody {
			if m.BodyWeldID[b] == link && m.BodyMass[b] > 0 {
				parts = append(parts, b)
			}
		}
		about := map[int][3]float64{}
		for _, b := range parts {
			about[b] = host(s.poses[b].then(pose{algebra.Vectors(m.BodyIPos[b]), algebra.KnownQuaternion(m.BodyIQuat[b])}).position)
			mass[row] += m.BodyMass[b]
			for i := range 3 {
				center[row][i] += m.BodyMass[b] * about[b][i]
			}
		}
		for i := range 3 {
			center[row][i] /= max(mass[row], 1e-300)
		}
		var tensor, columns [3][3]float64
		for _, b := range parts {
			turn := s.poses[b].rotation.Times(algebra.KnownQuaternion(m.BodyIQuat[b])).Rotation().Snap()
			columns = [3][3]float64{host(turn.X), host(turn.Y), host(turn.Z)}
			var d [3]float64
			for i := range 3 {
				d[i] = about[b][i] - center[row][i]
			}
			for i := range 3 {
				for j := range 3 {
					for k := range 3 {
						tensor[i][j] += columns[k][i] * m.BodyInertia[b][k] * columns[k][j]
						if i == j {
							tensor[i][j] += m.BodyMass[b] * d[k] * d[k]
						}
					}
					tensor[i][j] -= m.BodyMass[b] * d[i] * d[j]
				}
			}
		}
		if len(parts) == 1 { // exactly as given, with the odd moment first
			axes[row], moments[row] = columns, m.BodyInertia[parts[0]]
		} else {
			moments[row], axes[row] = eigen(tensor)
		}
		moments[row], axes[row] = oddFirst(moments[row], axes[row])
	}
	g.mass = algebra.Known(mass...)
	g.center = algebra.VectorsOf(center, snapped)
	g.moments = algebra.VectorsOf(moments, func(v [3]float64) [3]float64 { return v })
	column := func(k int) algebra.Vector {
		return algebra.VectorsOf(axes, func(a [3][3]float64) [3]float64 { return snapped(a[k]) })
	}
	g.principal = algebra.Rotation{X: column(0), Y: column(1), Z: column(2)}
}

// host returns a known vector of one row.
func host(v algebra.Vector) [3]float64 { return [3]float64{v.X.Known[0], v.Y.Known[0], v.Z.Known[0]} }

func snapped(v [3]float64) [3]float64 {
	return [3]float64{algebra.Snap(v[0]), algebra.Snap(v[1]), algebra.Snap(v[2])}
}

// oddFirst orders moments and axes so that the last two moments are the most alike.
func oddFirst(moments [3]float64, axes [3][3]float64) ([3]float64, [3][3]float64) {
	odd, gap := 0, math.Inf(1)
	for i := range 3 {
		if d := math.Abs(moments[(i+1)%3] - moments[(i+2)%3]); d < gap {
			odd, gap = i, d
		}
	}
	a, b := (odd+1)%3, (odd+2)%3
	if gap < 1e-12*moments[a] {
		moments[b] = moments[a]
	}
	return [3]float64{moments[odd], moments[a], moments[b]}, [3][3]float64{axes[odd], axes[a], axes[b]}
}

// eigen returns the eigenvalues and eigenvectors of a symmetric matrix by Jacobi's method.
func eigen(a [3][3]float64) (values [3]float64, vectors [3][3]float64) {
	vectors = [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	for range 30 {
		for p := range 2 {
			for q := p + 1; q < 3; q++ {
				if math.Abs(a[p][q]) < 1e-18*(a[p][p]+a[q][q]) {
					continue
				}
				theta := math.Atan2(2*a[p][q], a[q][q]-a[p][p]) / 2
				sin, cos := math.Sincos(theta)
				for k := range 3 {
					a[k][p], a[k][q] = cos*a[k][p]-sin*a[k][q], sin*a[k][p]+cos*a[k][q]
				}
				for k := range 3 {
					a[p][k], a[q][k] = cos*a[p][k]-sin*a[q][k], sin*a[p][k]+cos*a[q][k]
				}
				for k := range 3 {
					vectors[p][k], vectors[q][k] = cos*vectors[p][k]-sin*vectors[q][k], sin*vectors[p][k]+cos*vectors[q][k]
				}
			}
		}
	}
	return [3]float64{a[0][0], a[1][1], a[2][2]}, vectors
}
