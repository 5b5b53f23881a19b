package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// A face of a mesh of which a corner is not quite in the plane of the others has the contacts of a flat face: a wheel on
// its rim touches a plate along the same one of the two edges at its lowest corner.
func TestContactsOfFacesThatAreNearlyFlat(t *testing.T) {
	wheel := Hull{Faces: make([][]int, 2), Normals: [][3]float64{{0, 0, 1}, {0, 0, -1}}}
	const corners, radius, half, lean, depth = 64, 0.1, 0.02, 10 * math.Pi / 180, 0.001
	for i := range 2 * corners { // above, below, and so on
		sin, cos := math.Sincos(math.Pi / corners * float64(i-i%2))
		wheel.Vertices = append(wheel.Vertices, [3]float64{radius * cos, radius * sin, half * float64(1-2*(i%2))})
		wheel.Faces[i%2] = append(wheel.Faces[i%2], i)
	}
	slices.Reverse(wheel.Faces[1])
	for i := 0; i < 2*corners; i += 2 {
		sin, cos := math.Sincos(math.Pi / corners * float64(i+1))
		next := (i + 2) % (2 * corners)
		wheel.Faces = append(wheel.Faces, []int{i, i + 1, next + 1, next})
		wheel.Normals = append(wheel.Normals, [3]float64{cos, sin, 0})
	}
	contacts := func(raised float64, more ...[3]float64) [][]float64 {
		m := compiled("accepted/own_faces")
		table, rider := slices.Index(m.Names.Geom, "table"), slices.Index(m.Names.Geom, "on table")
		for i, v := range m.hull(table).Vertices {
			for axis, x := range v {
				if at := turnedBy(m.GeomQuat[table], v); slices.Min(at[:]) > 0 && math.Abs(x) < 0.1 { // a corner above, its height
					m.hull(table).Vertices[i][axis] += math.Copysign(raised, x)
				}
			}
		}
		q := m.GeomQuat[table]
		for _, v := range more {
			v = turnedBy([4]float64{q[0], -q[1], -q[2], -q[3]}, v)
			m.hull(table).Vertices = append(m.hull(table).Vertices, v)
		}
		*m.hull(rider) = wheel
		m.GeomPos[rider], m.GeomQuat[rider] = [3]float64{}, [4]float64{1}
		s := must.Get(NewSystem(m, Options{}))
		pair := [2]int{table, rider}
		set := s.contacts[slices.IndexFunc(s.contacts, func(c *contactSet) bool { return slices.Contains(c.geoms, pair) })]
		row := slices.Index(set.geoms, pair)
		var states [][]float64
		for spin := -1.5; spin < 2; spin++ { // degrees, of which a corner has 5.6
			q := slices.Clone(m.QPos0)
			angle := spin * math.Pi / 360
			upright := math.Pi/4 - lean/2
			// First the wheel turns about its axis, z, then this axis about x.
			at := m.JntQPosAdr[m.BodyJntAdr[m.GeomBodyID[rider]]]
			copy(q[at:], []float64{1.02, 0.01, 0.03 + radius*math.Cos(lean) + half*math.Sin(lean) - depth,
				math.Cos(upright) * math.Cos(angle), math.Sin(upright) * math.Cos(angle), -math.Sin(upright) * math.Sin(angle),
				math.Cos(upright) * math.Sin(angle)})
			states = append(states, q)
		}
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
			c := s.collide(s.kinematics(split(in[0], s.places), conditions{}), set)
			var all []*graph.Node
			for _, x := range []algebra.Num{c.Distance, c.Point.X, c.Point.Y, c.Frame[0].X, c.Frame[0].Y} {
				all = append(all, graph.Reshape(x.Spread(in[0].Graph(), len(states)), x.Rows, len(states)))
			}
			return []*graph.Node{graph.Concatenate(all, 0)}
		}, batchLast(states))
		var found [][]float64
		for _, all := range batchFirst(t, out[0]) {
			var own []float64
			for i := row; i < len(all); i += len(set.geoms) { // two contacts, of which all numbers follow
				own = append(own, min(all[i], 1))
			}
			found = append(found, own)
		}
		return found
	}
	flat, bent := contacts(0), contacts(3e-4)
	for i := range flat {
		if d := flat[i][1]; d > 0 || math.Abs(flat[i][0]+depth) > 1e-3 {
			t.Fatalf("wheel %d touches the flat plate with %v, want two contacts", i, flat[i])
		}
		if e := distance(bent[i], flat[i]); e > 2e-3 {
			t.Errorf("wheel %d: contacts of the bent plate are off by %.1e: %.5f, and of the flat one %.5f", i, e, bent[i], flat[i])
		}
	}
	// MuJoCo finds a vertex that is in none of the polygons, and then the deepest contact alone.
	for i, own := range contacts(0, [3]float64{0, 0, 0.03001}) {
		if own[0] > 0 || own[1] < 0.5 {
			t.Errorf("wheel %d touches a face with a vertex of no polygon with %v, want one contact", i, own)
		}
	}
}

// Where the rim of a cylinder touches the side of another, the line on that side has two contacts with the end that the rim
// bounds, along the axis of that end. So it is in MuJoCo 4.0, up to 89.94 degrees from the direction of least depth.
func TestRimOnASide(t *testing.T) {
	m := compiled("accepted/own_cans")
	pair := [2]int{slices.Index(m.Names.Geom, "seat"), slices.Index(m.Names.Geom, "rider")}
	m.GeomPos[pair[1]], m.GeomQuat[pair[1]] = [3]float64{}, [4]float64{1}
	s := must.Get(NewSystem(m, Options{}))
	set := s.contacts[slices.IndexFunc(s.contacts, func(c *contactSet) bool { return slices.Contains(c.geoms, pair) })]
	row, seat, rider := slices.Index(set.geoms, pair), m.GeomSize[pair[0]], m.GeomSize[pair[1]]
	angles := []float64{10, 45, 65, 85, 89.5} // degrees, between the axis of the rider and the radius of the seat at its rim
	var states [][]float64
	for _, angle := range angles {
		const depth = 0.003
		sin, cos := math.Sincos(angle * math.Pi / 180)
		sinHalf, cosHalf := math.Sincos(angle * math.Pi / 360)
		q := slices.Clone(m.QPos0)
		copy(q[m.JntQPosAdr[m.BodyJntAdr[m.GeomBodyID[pair[1]]]]:], []float64{
			5 + seat[0] - depth + rider[1]*cos + rider[0]*sin, rider[1]*sin - rider[0]*cos, 0,
			cosHalf * math.Sqrt2 / 2, -sinHalf * math.Sqrt2 / 2, cosHalf * math.Sqrt2 / 2, sinHalf * math.Sqrt2 / 2})
		states = append(states, q)
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		c := s.collide(s.kinematics(split(in[0], s.places), conditions{}), set)
		var all []*graph.Node
		for _, x := range []algebra.Num{c.Distance, c.Frame[0].X, c.Frame[0].Y} {
			all = append(all, graph.Reshape(x.Spread(in[0].Graph(), len(states)), x.Rows, len(states)))
		}
		return []*graph.Node{graph.Concatenate(all, 0)}
	}, batchLast(states))
	for i, all := range batchFirst(t, out[0]) {
		sin, cos := math.Sincos(angles[i] * math.Pi / 180)
		rows := len(all) / 3
		for k := row; k < row+2*len(set.geoms); k += len(set.geoms) {
			if x, y := all[rows+k], all[2*rows+k]; all[k] > 0 || math.Hypot(x-cos, y-sin) > 1e-4 {
				t.Errorf("%g degrees: a contact at distance %.2e with the normal %.4f, %.4f, want two along the axis, %.4f, %.4f",
					angles[i], all[k], x, y, cos, sin)
			}
		}
	}
}

// The vertex found is as far along any direction as any other one: of a ball of points, a wheel and a box, along random
// directions, those through corners of the squares, and those near them.
func TestFarthestVertex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	hulls := []Hull{unitBox, {}, {}}
	for i := range 500 {
		v := [3]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		for axis, length := 0, norm(v[:]); axis < 3; axis++ {
			v[axis] /= length
		}
		sin, cos := math.Sincos(math.Pi / 250 * float64(i))
		hulls[1].Vertices = append(hulls[1].Vertices, v)
		hulls[2].Vertices = append(hulls[2].Vertices, [3]float64{cos, sin, float64(i % 2)})
	}
	table := &vertexTable{}
	for i := range hulls {
		table.add(&hulls[i])
	}
	var directions [3][]float64
	var hull []int32
	for i := range 6000 {
		v := [3]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		if i%2 == 0 {
			for axis := range v {
				v[axis] = float64(random.IntN(squares+1))*2/squares - 1 + float64(i%4)*1e-9*v[axis]
			}
			v[random.IntN(3)] = float64(1 - 2*random.IntN(2))
		}
		for axis, x := range v {
			directions[axis] = append(directions[axis], x)
		}
		hull = append(hull, int32(i%3))
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		num := func(i int) algebra.Num { return algebra.Num{Rows: 1, Node: in[i]} }
		return []*graph.Node{table.farthest(graph.Reshape(in[3], 1, -1), nil, algebra.Vector{X: num(0), Y: num(1), Z: num(2)})}
	}, tensors.FromValue(directions[0]), tensors.FromValue(directions[1]), tensors.FromValue(directions[2]),
		tensors.FromValue(hull))
	for i, found := range tensors.MustCopyFlatData[int32](out[0]) {
		along := func(v [3]float64) float64 {
			return directions[0][i]*v[0] + directions[1][i]*v[1] + directions[2][i]*v[2]
		}
		vertices := hulls[hull[i]].Vertices
		if farthest := slices.Max(lists.Map(vertices, along)); along(vertices[found]) < farthest-1e-12 {
			t.Fatalf("direction %d: vertex %d of hull %d is at %g, and another one at %g", i, found, hull[i],
				along(vertices[found]), farthest)
		}
	}
	if table.most < 2 || table.most > 60 {
		t.Errorf("the longest list has %d blocks", table.most)
	}
}

// Where a capsule is nearest to a box on an edge, close to its end, it has both contacts of an edge, as in MuJoCo, rather
// than those of a corner. The numbers are those of Unitree's H1 with an arm on its body.
func TestCapsuleNearTheEndOfAnEdge(t *testing.T) {
	known := func(x, y, z float64) algebra.Vector { return algebra.Vectors([3]float64{x, y, z}) }
	c := &contactSet{sizes: [2]algebra.Vector{known(0.03, 0.175, 0), known(0.07, 0.1, 0.22)}}
	box := place{position: known(0, 0, 0), turn: algebra.Rotation{X: known(1, 0, 0), Y: known(0, 1, 0), Z: known(0, 0, 1)}}
	capsule := place{position: known(0.12189408, -0.08144223, 0.22500327)}
	capsule.turn.Z = known(-0.62551044, -0.77297684, -0.10603532)
	both := capsuleBox(c, capsule, box)
	if d := both[1].distance.Minus(both[0].distance).Known[0]; math.Abs(d) > 1e-5 {
		t.Errorf("the second contact is %g m higher than the first, want at most 1e-5", d)
	}
}

// A face of a mesh, of which a corner points inwards, cuts along the lines through all of its edges, as in MuJoCo. The face
// is one of a low-cost robot arm, in mm, and cuts a line across it.
func TestCutByFaceThatIsNotConvex(t *testing.T) {
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		g := in[0].Graph()
		polygonOf := func(corners ...[2]float64) polygon {
			points := make([]float64, 30)
			for i, at := range corners {
				copy(points[3*i:], at[:])
			}
			return polygon{graph.Const(g, points), graph.Const(g, [][]int32{{int32(len(corners))}})}
		}
		line, up := polygonOf([2]float64{0, 39}, [2]float64{20, 39}), graph.Const(g, [][]float64{{0}, {0}, {1}})
		cut := line.clip(polygonOf([2]float64{10.28, 41.4}, [2]float64{-6.94, -17.67}, [2]float64{-8.02, -17.87},
			[2]float64{8.7, 41.1}, [2]float64{8.47, 42.04}), up)
		return []*graph.Node{graph.ConvertDType(cut.Point, dtypes.Float32), graph.ConvertDType(cut.Count, dtypes.Float32)}
	}, xlatest.Tensor([]float32{0}, 1))
	points, low, high := xlatest.Flat[float32](t, out[0]), math.Inf(1), math.Inf(-1)
	for i := range int(xlatest.Flat[float32](t, out[1])[0]) {
		low, high = min(low, float64(points[3*i])), max(high, float64(points[3*i]))
	}
	if math.Abs(low-9.214) > 1e-3 || math.Abs(high-9.580) > 1e-3 {
		t.Errorf("a line in the face is from %g to %g, want 9.214 to 9.580", low, high)
	}
}

// The depth of polytopes in each other is the least one among the normals of their faces and the directions across their
// edges.
func TestDepthsOfPolytopes(t *testing.T) {
	m := compiled("accepted/own_faces")
	pair := [2]int{slices.Index(m.Names.Geom, "table"), slices.Index(m.Names.Geom, "on table")}
	*m.hull(pair[0]) = *m.hull(slices.Index(m.Names.Geom, "ramp"))
	for _, geom := range pair {
		m.GeomPos[geom], m.GeomQuat[geom] = [3]float64{}, [4]float64{1}
	}
	s := must.Get(NewSystem(m, Options{}))
	set := s.contacts[slices.IndexFunc(s.contacts, func(c *contactSet) bool { return slices.Contains(c.geoms, pair) })]
	random := rand.New(rand.NewPCG(1, 1))
	var states [][]float64
	var least []float64
	for range 300 {
		at, turn := make([]float64, 3), [4]float64{}
		for i := range turn {
			turn[i] = random.NormFloat64()
		}
		for i := range at {
			at[i] = 0.1 * (2*random.Float64() - 1)
		}
		for i, length := 0, norm(turn[:]); i < 4; i++ {
			turn[i] /= length
		}
		q := slices.Clone(m.QPos0)
		copy(q[m.JntQPosAdr[m.BodyJntAdr[m.GeomBodyID[pair[1]]]]:], slices.Concat(at, turn[:]))
		states, least = append(states, q), append(least, leastDepth(*m.hull(pair[0]), *m.hull(pair[1]), at, turn))
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		places, _ := s.relativePlaces(s.kinematics(split(in[0], s.places), conditions{}), set.sides)
		found := set.search(places[0], places[1]).Distance
		return []*graph.Node{graph.Reshape(found.Node, found.Rows, len(states))}
	}, batchLast(states))
	deep, wrong := 0, 0
	for i, found := range batchFirst(t, out[0]) {
		if least[i] > 0 {
			deep++
		}
		if depth := -found[slices.Index(set.geoms, pair)]; least[i] > 0 && math.Abs(depth-least[i]) > 1e-5*least[i] {
			wrong++
		}
	}
	if deep < 200 || wrong > 0 {
		t.Errorf("in %d of %d poses in which they overlap, the depth is not the least one", wrong, deep)
	}
}

// leastDepth returns how deep two hulls overlap, of which the second one is placed.
func leastDepth(one, other Hull, at []float64, turn [4]float64) float64 {
	placed := func(v [3]float64) [3]float64 {
		v = turnedBy(turn, v)
		return [3]float64{v[0] + at[0], v[1] + at[1], v[2] + at[2]}
	}
	other.Vertices = lists.Map(other.Vertices, placed)
	edges := func(h Hull) (all [][3]float64) {
		for _, face := range h.Faces {
			for i, v := range face {
				a, b := h.Vertices[v], h.Vertices[face[(i+1)%len(face)]]
				all = append(all, [3]float64{b[0] - a[0], b[1] - a[1], b[2] - a[2]})
			}
		}
		return all
	}
	directions := slices.Clone(one.Normals)
	for _, v := range other.Normals {
		v = turnedBy(turn, v)
		directions = append(directions, [3]float64{-v[0], -v[1], -v[2]})
	}
	for _, a := range edges(one) { // each is there in both directions
		for _, b := range edges(other) {
			v := [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
			if length := norm(v[:]); length > 1e-3*norm(a[:])*norm(b[:]) {
				directions = append(directions, [3]float64{v[0] / length, v[1] / length, v[2] / length})
			}
		}
	}
	least := math.Inf(1)
	for _, d := range directions {
		along := func(v [3]float64) float64 { return v[0]*d[0] + v[1]*d[1] + v[2]*d[2] }
		least = min(least, slices.Max(lists.Map(one.Vertices, along))-slices.Min(lists.Map(other.Vertices, along)))
	}
	return least
}
