package watch

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/qdnb/plot/scene"
)

// mujoco adds the links of a robot of MuJoCo's engine: bodies with joints and what is welded to them, and
// what cannot move. Spheres, capsules, cylinders, ellipsoids and boxes are drawn; a link without any is drawn as
// bars to the links that it carries. It returns the indices of the bodies that move.
func (s *stage) mujoco(system *mujoco.System, places []algebra.Place) (moving []int) {
	m, names := system.Model(), system.BodyNames()
	tree, planar := map[string]attachment{}, true
	carries := map[int][]physics.Vec{}
	for i := range names {
		if m.BodyWeldID[i] != i || i == 0 {
			continue
		}
		moving = append(moving, i)
		if parent := m.BodyWeldID[m.BodyParentID[i]]; parent != 0 {
			// Links are attached where their frames are in the default pose.
			at := physics.Vec(local(places[parent], places[i].Position))
			tree[names[i]] = attachment{names[parent], at}
			carries[parent] = append(carries[parent], at)
		}
	}
	for _, axis := range m.JntAxis {
		planar = planar && (axis == [3]float64{1, 0, 0} || axis == [3]float64{0, 0, 1} || math.Abs(axis[1]) == 1)
	}
	planar = planar && !slices.Contains(m.JntType, mujoco.Free) && !slices.Contains(m.JntType, mujoco.Ball)
	limbs := limbsOf(names, tree)
	shapes, radius := map[int][]scene.Shape{}, 0.0
	for _, shape := range system.Shapes() {
		color := wallColor
		if shape.Link != 0 {
			color = limbs.color(names[shape.Link])
		}
		if drawn, ok := drawn(m.GeomType[shape.Geom], m.GeomSize[shape.Geom], shape.Place); ok {
			drawn.Color = color
			shapes[shape.Link] = append(shapes[shape.Link], drawn)
			if _, limb := limbs.of[names[shape.Link]]; limb && planar {
				radius = max(radius, drawn.Radius)
			}
		}
	}
	shifts := limbs.lateralShifts(radius)
	followed := math.MaxInt
	for number, i := range moving {
		body := scene.Body{Name: names[i], Shapes: shapes[i], Pose: poseOf(places[i])}
		if len(body.Shapes) == 0 {
			bar := scene.Shape{Radius: 0.01, Color: limbs.color(names[i])}
			body.Shapes = []scene.Shape{bar}
			for _, end := range carries[i] {
				bar.B = scene.Vec(end)
				body.Shapes = append(body.Shapes, bar)
			}
		}
		for k := range body.Shapes {
			body.Shapes[k].A[1] += shifts[names[i]]
			body.Shapes[k].B[1] += shifts[names[i]]
		}
		if depth := limbs.depth[names[i]]; depth < followed {
			s.Follow, followed = number, depth
		}
		s.Bodies = append(s.Bodies, body)
	}
	if len(shapes[0]) > 0 {
		s.Bodies = append(s.Bodies, scene.Body{Name: names[0], Fixed: true, Shapes: shapes[0], Pose: poseOf(places[0])})
	}
	return moving
}

func poseOf(p algebra.Place) scene.Pose {
	return scene.Pose{Position: scene.Vec(p.Position), Rotation: scene.Quat(p.Rotation)}
}

// local returns a point of the world in the frame of a body.
func local(at algebra.Place, point [3]float64) [3]float64 {
	q := at.Rotation
	v := turned([4]float64{q[0], -q[1], -q[2], -q[3]}, r3.Sub(vector(point), vector(at.Position)))
	return [3]float64{v.X, v.Y, v.Z}
}

func vector(v [3]float64) r3.Vec { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }

func turned(q [4]float64, v r3.Vec) r3.Vec {
	return r3.Rotation(quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}).Rotate(v)
}

// drawn returns a geom as a film shows it, in the frame of its link. Cylinders and ellipsoids are drawn as
// capsules, turned boxes as the boxes around them. ok is false for a plane, which is the ground, and for meshes.
func drawn(kind mujoco.GeomType, size [3]float64, at algebra.Place) (shape scene.Shape, ok bool) {
	axis, half := r3.Vec{Z: 1}, size[1]
	switch kind {
	case mujoco.Sphere:
		shape.Radius, half = size[0], 0
	case mujoco.Capsule:
		shape.Radius = size[0]
	case mujoco.Cylinder:
		shape.Radius = min(size[0], size[1])
		half -= shape.Radius
		if size[1] < size[0] { // a disc
			shape.Radius, half = size[0], 0
		}
	case mujoco.Ellipsoid:
		long := slices.Index(size[:], max(size[0], size[1], size[2]))
		axis = [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[long]
		shape.Radius = (size[(long+1)%3] + size[(long+2)%3]) / 2
		half = max(0, size[long]-shape.Radius)
	case mujoco.Box:
		var reach r3.Vec
		for i, unit := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
			edge := r3.Scale(size[i], turned(at.Rotation, unit))
			reach = r3.Add(reach, r3.Vec{X: math.Abs(edge.X), Y: math.Abs(edge.Y), Z: math.Abs(edge.Z)})
		}
		shape.Kind = scene.Box
		shape.A, shape.B = around(at.Position, reach)
		return shape, true
	default:
		return shape, false
	}
	shape.A, shape.B = around(at.Position, r3.Scale(half, turned(at.Rotation, axis)))
	return shape, shape.Radius > 0
}

// around returns the points on both sides of a centre.
func around(center [3]float64, reach r3.Vec) (a, b scene.Vec) {
	r := [3]float64{reach.X, reach.Y, reach.Z}
	for i := range r {
		a[i], b[i] = center[i]-r[i], center[i]+r[i]
	}
	return a, b
}
