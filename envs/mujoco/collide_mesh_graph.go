package mujoco

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// planeMesh finds contacts of the lowest vertex of a convex hull and of at most three more vertices of the face
// there that is most parallel to the plane, which must be below the geom's centre. MuJoCo 4.0.0 has this rule; it
// was found by experiment, in 3 300 poses of 11 hulls.
func planeMesh(c *contactSet, a, b place) (out []touch) {
	up := inverse(b.turn, a.turn.Z).Materialize()
	g, copies := sizeOf(append(a.numbers(), b.numbers()...))
	pairs := up.X.Rows
	all, table := pairs*copies, c.hullTable()
	// along is the sum of products of the normal of the plane with n vectors for each pair and copy, [n, all].
	along := func(n int, vectors func(axis int) *Node) *Node {
		var sum *Node
		for axis := range 3 {
			direction := Reshape(component(up, axis).Spread(g, copies), 1, pairs, copies)
			product := Mul(BroadcastToDims(vectors(axis), n, pairs, copies), BroadcastToDims(direction, n, pairs, copies))
			if sum == nil {
				sum = product
			} else {
				sum = Add(sum, product)
			}
		}
		return xla.Store(Reshape(sum, n, all))
	}
	// rows returns columns of a table of known numbers at n rows for each pair and copy, [columns, n, pairs, copies].
	rows := func(table any, at *Node) *Node {
		found := xla.Store(Transpose(Gather(Const(g, table), Reshape(at, at.Shape().Size(), 1)), 0, 1))
		return Reshape(found, found.Shape().Dimensions[0], -1, pairs, copies)
	}
	column := func(of *Node, i int) *Node {
		return Reshape(Slice(of, AxisRange(i, i+1)), of.Shape().Dimensions[1:]...)
	}
	hull := xla.Store(Reshape(ConvertDType(c.hull.Spread(g, copies), dtypes.Int32), 1, all))
	down := up.Neg().Each(func(x algebra.Num) algebra.Num {
		return algebra.Num{Rows: pairs, Node: xla.Store(ConvertDType(x.Spread(g, copies), dtypes.Float64))}
	})
	lowest := xla.Store(Add(entries(c.meshes.first, hull), c.meshes.farthest(hull, nil, down)))
	corners := rows(table.corners, lowest) // the first, and the last
	slots := Add(Iota(g, shapes.Make(dtypes.Int32, table.faces, pairs, copies), 0),
		BroadcastToDims(column(corners, 0), table.faces, pairs, copies))
	slots = Min(slots, BroadcastToDims(column(corners, 1), table.faces, pairs, copies))
	normals := rows(table.normals, slots)
	// corner returns the corner, among those of the vertex, at which a number of theirs is lowest.
	corner := func(number func(axis int) *Node) *Node {
		face := lowestRow(along(table.faces, number))
		return Min(Add(Reshape(column(corners, 0), 1, all), face), Reshape(column(corners, 1), 1, all))
	}
	// Faces may be parallel to within rounding, so the best one is compared again, by differences of normals.
	near := rows(table.normals, corner(func(axis int) *Node { return column(normals, axis) }))
	at := corner(func(axis int) *Node {
		less := func(i int) *Node {
			of := column(normals, i)
			return Sub(of, BroadcastToShape(column(near, i), of.Shape()))
		}
		return Add(less(axis), less(3+axis))
	})
	quad := rows(table.quads, at)
	center := planePoint(a, b.position).distance
	for i := range 4 {
		id := column(quad, i)
		exists := algebra.Mask{Num: algebra.Num{Rows: pairs, Node: Reshape(GreaterOrEqual(id, ZerosLike(id)), all)}}
		number := func(axis int) algebra.Num {
			at := entries(c.meshes.vertex[axis], xla.Store(Max(id, ZerosLike(id))))
			return algebra.Num{Rows: pairs, Node: xla.Store(Reshape(ConvertDType(at, dtypes.Float32), all))}
		}
		vertex := algebra.Vector{X: number(0), Y: number(1), Z: number(2)}
		t := planePoint(a, b.position.Plus(b.turn.Of(vertex)).Materialize())
		if i > 0 {
			exists = exists.And(t.distance.Less(center))
			t.distance = exists.Choose(t.distance, algebra.Constant(pairs, far))
		}
		out = append(out, t)
	}
	return out
}

// hullTable holds the faces of the hulls of a set. A corner is a vertex of a face.
type hullTable struct {
	corners [][]int32   // of each of [vertexTable]'s vertices: the first and the last of its corners, [vertices, 2]
	faces   int         // most corners of a vertex
	normals [][]float32 // of the face of each corner, and what rounding left of them, [corners, 6]
	quads   [][]int32   // vertices or -1, see [Hull.quad], [corners, 4]
}

func (c *contactSet) hullTable() (t hullTable) {
	t.faces = 1
	for i, h := range c.meshes.hulls {
		facesOf := make([][]int, len(h.Vertices))
		for f, face := range h.Faces {
			for _, v := range face {
				facesOf[v] = append(facesOf[v], f)
				t.faces = max(t.faces, len(facesOf[v]))
			}
		}
		first := c.meshes.first[i]
		for v := range h.Vertices {
			start := int32(len(t.quads))
			if len(facesOf[v]) == 0 {
				t.normals, t.quads = append(t.normals, make([]float32, 6)), append(t.quads, []int32{first + int32(v), -1, -1, -1})
			}
			for _, f := range facesOf[v] {
				var normal [6]float32
				for axis, x := range h.Normals[f] {
					normal[axis] = float32(x)
					normal[3+axis] = float32(x - float64(normal[axis]))
				}
				quad := []int32{-1, -1, -1, -1}
				for i, v := range h.quad(v, h.Faces[f]) {
					quad[i] = first + int32(v)
				}
				t.normals = append(t.normals, normal[:])
				t.quads = append(t.quads, quad)
			}
			t.corners = append(t.corners, []int32{start, int32(len(t.quads)) - 1})
		}
	}
	return t
}

// quad returns at most four vertices of a face, from a given one on. Of more than four, it returns those that one
// walk around the face finds to span the largest area.
func (h Hull) quad(first int, face []int) []int {
	start := slices.Index(face, first)
	face = append(slices.Clone(face[start:]), face[:start]...)
	if len(face) <= 4 {
		return face
	}
	best := [4]int{0, 1, 2, 3}
	area := func(k [4]int) float64 {
		var u, v [3]float64 // the diagonals
		for axis := range u {
			at := func(i int) float64 { return h.Vertices[face[k[i]]][axis] }
			u[axis], v[axis] = at(2)-at(0), at(3)-at(1)
		}
		return math.Hypot(math.Hypot(u[1]*v[2]-u[2]*v[1], u[2]*v[0]-u[0]*v[2]), u[0]*v[1]-u[1]*v[0])
	}
	grows := func(corner int) bool {
		next := best
		next[corner] = (next[corner] + 1) % len(face)
		larger := area(next) > area(best)
		if larger {
			best = next
		}
		return larger
	}
	for grows(3) {
		for grows(2) {
		}
		for grows(1) {
		}
	}
	return []int{face[0], face[best[1]], face[best[2]], face[best[3]]}
}
