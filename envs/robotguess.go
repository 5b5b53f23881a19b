package envs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
)

// trunkOf guesses the trunk of a robot: the heaviest body that is free to move or, in a planar robot, slides.
func trunkOf(m mujoco.Model, bodies []string) (string, error) {
	best, heaviest, slides := 0, 0.0, 0
	for body, joints := range m.BodyJntNum {
		if joints == 0 {
			continue
		}
		kinds := m.JntType[m.BodyJntAdr[body]:][:joints]
		if slides == 0 && m.BodyWeldID[m.BodyParentID[body]] == 0 && slices.Contains(kinds, mujoco.Slide) {
			slides = body
		}
		if !slices.Contains(kinds, mujoco.Free) {
			continue
		}
		mass := 0.0
		for other, kg := range m.BodyMass {
			if m.BodyRootID[other] == body {
				mass += kg
			}
		}
		if mass > heaviest {
			best, heaviest = body, mass
		}
	}
	if best = cmp.Or(best, slides); best == 0 {
		return "", errors.New("the robot cannot walk, since no body has a free joint, or slide joints to the world as in " +
			"planar robots: add <freejoint/> to the body of the trunk, or name the trunk (Trunk, --trunk)")
	}
	return bodies[best], nil
}

// feetOf guesses the feet of a robot: of the bodies at the ends of the tree of joints below the trunk those whose
// lowest geom, of those that may touch what cannot move, is about as low as the lowest of all.
func feetOf(system *mujoco.System, trunk int) ([]string, error) {
	m, bodies := system.Model(), system.BodyNames()
	places, err := system.Places()
	if err != nil {
		return nil, err
	}
	parents := map[int]bool{}
	for body, joints := range m.BodyJntNum {
		if joints > 0 {
			parents[m.BodyWeldID[m.BodyParentID[body]]] = true
		}
	}
	type end struct {
		body int
		z    float64
	}
	lowest := map[int]end{} // of each link
	for _, pair := range grounded(system) {
		body := m.GeomBodyID[pair.geom]
		if m.BodyRootID[body] != m.BodyRootID[trunk] || parents[m.BodyWeldID[body]] {
			continue
		}
		z, link := bottom(m, pair.geom, places[body]), m.BodyWeldID[body]
		if before, ok := lowest[link]; !ok || z < before.z {
			lowest[link] = end{body, z}
		}
	}
	if len(lowest) == 0 {
		return nil, fmt.Errorf("no end of a limb of %s can touch the ground%s, or name its feet (Feet, --feet)", bodies[trunk],
			noGround)
	}
	ground := math.Inf(1)
	for _, e := range lowest {
		ground = min(ground, e.z)
	}
	var feet []string
	for link := range m.Sizes.NBody {
		if e, ok := lowest[link]; ok && e.z-ground <= 0.2*max(0.05, places[trunk].Position[2]-ground) {
			feet = append(feet, bodies[e.body])
		}
	}
	return feet, nil
}

// noGround says what helps a robot without a ground.
const noGround = ", as far as the engine models contacts: add a floor, such as <geom type=\"plane\" size=\"0 0 1\"/>, or " +
	"give the scene.xml of a robot in MuJoCo Menagerie"

// groundPair are a geom and one that cannot move, which may touch.
type groundPair struct{ ground, geom int }

// grounded lists the contacts with what cannot move.
func grounded(system *mujoco.System) (list []groundPair) {
	m := system.Model()
	for _, pair := range system.Pairs() {
		for _, p := range []groundPair{{pair.Geom2, pair.Geom1}, {pair.Geom1, pair.Geom2}} {
			if m.BodyWeldID[m.GeomBodyID[p.ground]] == 0 {
				list = append(list, p)
			}
		}
	}
	return list
}

// groundOf returns the height of the plane that a robot stands on, m; 0 without one.
func groundOf(system *mujoco.System) (z float64) {
	m := system.Model()
	places, err := system.Places()
	for _, pair := range grounded(system) {
		if err == nil && m.GeomType[pair.ground] == mujoco.Plane {
			z = places[m.GeomBodyID[pair.ground]].Position[2] + m.GeomPos[pair.ground][2]
		}
	}
	return z
}

// bottom returns the height of the lowest point of a geom, m, given the place of its body.
func bottom(m mujoco.Model, geom int, body algebra.Place) float64 {
	turn := rotationOf(body.Rotation)
	own := rotationOf(m.GeomQuat[geom])
	down, z := [3]float64{}, body.Position[2]
	for i := range 3 {
		z += turn[2][i] * m.GeomPos[geom][i]
		for k := range 3 {
			down[i] += turn[2][k] * own[k][i] // how far each axis of the geom points up
		}
	}
	size := m.GeomSize[geom]
	switch axis := math.Abs(down[2]); m.GeomType[geom] {
	case mujoco.Sphere:
		return z - size[0]
	case mujoco.Capsule:
		return z - size[0] - size[1]*axis
	case mujoco.Cylinder:
		return z - size[0]*math.Sqrt(max(0, 1-axis*axis)) - size[1]*axis
	case mujoco.Ellipsoid:
		return z - math.Sqrt(math.Pow(size[0]*down[0], 2)+math.Pow(size[1]*down[1], 2)+math.Pow(size[2]*down[2], 2))
	case mujoco.Box:
		return z - size[0]*math.Abs(down[0]) - size[1]*math.Abs(down[1]) - size[2]*axis
	}
	return z
}

// rotationOf returns the rotation matrix of a quaternion.
func rotationOf(q [4]float64) [3][3]float64 {
	w, x, y, z := q[0], q[1], q[2], q[3]
	return [3][3]float64{
		{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)},
		{2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)},
	}
}
