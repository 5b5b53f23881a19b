package mujoco

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds the vertex of a mesh that is farthest along a direction. The faces of a cube about the origin are divided
// into squares, and each square has a list of the vertices that are farthest along a direction through it. Few are, of
// hundreds of vertices.

const (
	squares    = 16 // along an edge of the cube, a power of 2
	allSquares = 6 * squares * squares
	blockSize  = 8
)

// vertexTable holds the vertices of some hulls, and the lists of each of the squares of a hull after those of another.
// Square (i, j) of a face of the cube has the number (2 axis + side) squares^2 + squares i + j: the face is across an axis,
// on side 0 or, where the axis is negative, 1, and i and j are along the next two axes.
type vertexTable struct {
	hulls  []*Hull
	first  []int32      // of the vertices of each hull
	vertex [3][]float64 // coordinates of all
	// blocks are parts of lists, which are read at once: coordinates X of vertices, then Y, Z, and numbers in the hull, of
	// which the last one is repeated.
	blocks       [][]float64
	begin, count []int32 // of the blocks of each list
	most         int     // blocks of a list
}

// numbers adds the hulls of geoms, and returns the number of each, or 0 for a geom that is no mesh.
func (t *vertexTable) numbers(m *Model, geoms []int) algebra.Num {
	return algebra.ColumnOf(geoms, func(geom int) float64 {
		hull := m.hull(geom)
		if hull != nil && !slices.Contains(t.hulls, hull) {
			t.add(hull)
		}
		return float64(max(0, slices.Index(t.hulls, hull)))
	})
}

// add adds a hull.
func (t *vertexTable) add(h *Hull) {
	t.hulls, t.first = append(t.hulls, h), append(t.first, int32(len(t.vertex[0])))
	all := make([]int32, len(h.Vertices))
	for i, v := range h.Vertices {
		all[i] = int32(i)
		for axis, x := range v {
			t.vertex[axis] = append(t.vertex[axis], x)
		}
	}
	base := len(t.begin)
	t.begin, t.count = append(t.begin, make([]int32, allSquares)...), append(t.count, make([]int32, allSquares)...)
	for face := range 6 {
		t.divide(h, all, base+face*squares*squares, face, [2]int{}, squares)
	}
}

// divide writes the lists of the squares of a part of a face, from a corner on, given the vertices that may be in them. A
// vertex that is less far than another one along the four corners of the part is less far along all directions through it.
func (t *vertexTable) divide(h *Hull, among []int32, base, face int, corner [2]int, size int) {
	var heights [5][]float64 // of the vertices along the middle of the part, and along its corners
	middle := [2]float64{float64(corner[0]) + float64(size)/2, float64(corner[1]) + float64(size)/2}
	for k, at := range [][2]float64{{0, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		var d [3]float64
		d[face/2] = float64(1 - 2*(face%2))
		for i := range at {
			d[(face/2+1+i)%3] = (middle[i]+at[i]*float64(size)/2)*2/squares - 1
		}
		for _, v := range among {
			x := h.Vertices[v]
			heights[k] = append(heights[k], x[0]*d[0]+x[1]*d[1]+x[2]*d[2])
		}
	}
	left := make([]int32, 0, 16)
	var best [5]int
	slack := 0.0 // what rounding may hide
	for k, of := range heights {
		highest := slices.Max(of)
		best[k], slack = slices.Index(of, highest), max(slack, 1e-9*math.Abs(highest))
	}
	for i, v := range among {
		isLess := func(other int) bool {
			for k := 1; k < 5; k++ {
				if heights[k][i] >= heights[k][other]-slack {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(best[:], isLess) {
			left = append(left, v)
		}
	}
	if half := size / 2; size > 1 && len(left) > blockSize {
		for i := range 4 {
			t.divide(h, left, base, face, [2]int{corner[0] + i/2*half, corner[1] + i%2*half}, half)
		}
		return
	}
	count := (len(left) + blockSize - 1) / blockSize
	t.most = max(t.most, count)
	for i := range size {
		for j := range size {
			at := base + (corner[0]+i)*squares + corner[1] + j
			t.begin[at], t.count[at] = int32(len(t.blocks)), int32(count)
		}
	}
	for part := range slices.Chunk(left, blockSize) {
		block := make([]float64, 4*blockSize)
		for i := range blockSize {
			v := part[min(i, len(part)-1)]
			for axis, x := range h.Vertices[v] {
				block[axis*blockSize+i] = x
			}
			block[3*blockSize+i] = float64(v)
		}
		t.blocks = append(t.blocks, block)
	}
}

// square returns the number of the square that a direction goes through, int32 [1, n].
func square(d algebra.Vector) *Node {
	row := func(axis int) *Node { return Reshape(component(d, axis%3).Node, 1, -1) }
	through := func(axis int) *Node {
		size := MaxScalar(Abs(row(axis)), tiny)
		number := ConvertDType(LessThan(row(axis), ZerosLike(size)), dtypes.Int32)
		for i := range 2 {
			at := MulScalar(AddScalar(Div(row(axis+1+i), size), 1), squares/2.)
			number = Add(MulScalar(number, squares), ConvertDType(ClipScalar(at, 0, squares-0.5), dtypes.Int32))
		}
		return AddScalar(number, 2*axis*squares*squares)
	}
	isLess := func(a, b int) *Node { return LessThan(Abs(row(a)), Abs(row(b))) }
	number := Where(isLess(0, 1), through(1), through(0))
	return xla.Store(Where(LogicalAnd(isLess(0, 2), isLess(1, 2)), through(2), number))
}

// entries returns what a table has in some places, in their shape, with a last axis if the table has rows.
func entries[T int32 | float64 | []float64](table []T, at *Node) *Node {
	return xla.Store(Gather(Const(at.Graph(), table), InsertAxes(at, -1)))
}

// farthest returns the numbers of the vertices of some hulls [1, n] that are farthest along directions, int32 [1, n], the
// lowest numbers if several are. Where a mask does not hold, another one may be returned; nil holds everywhere.
func (t *vertexTable) farthest(hull, where *Node, d algebra.Vector) *Node {
	type state struct {
		Direction        [3]*Node // [n, 1]
		Begin, Count     *Node    // [n, 1]
		Height, Farthest *Node    // of the best one, and its number, [n, 1]
	}
	list := xla.Store(Add(MulScalar(hull, allSquares), square(d)))
	n := list.Shape().Dimensions[1]
	column := func(x *Node) *Node { return xla.Store(Reshape(x, n, 1)) }
	s := state{Begin: column(entries(t.begin, list)), Count: column(entries(t.count, list))}
	for axis := range s.Direction {
		s.Direction[axis] = column(component(d, axis).Node)
	}
	s.Farthest, s.Height = ZerosLike(s.Direction[0]), MulScalar(OnesLike(s.Direction[0]), -huge)
	atOnce := 1 // blocks, a power of 2
	for xla.KindOf(list.Graph()).Accelerator() && atOnce < t.most {
		atOnce *= 2
	}
	farther := func(h0, v0, h1, v1 *Node) (height, vertex *Node) {
		is := xla.Store(LogicalOr(GreaterThan(h1, h0), LogicalAnd(Equal(h1, h0), LessThan(v1, v0))))
		return xla.Store(Where(is, h1, h0)), xla.Store(Where(is, v1, v0))
	}
	look := func(turn *Node, s state) state {
		block := Add(Iota(turn.Graph(), shapes.Make(dtypes.Int32, n, atOnce), 1), MulScalar(turn, atOnce))
		block = Add(Min(block, BroadcastToDims(AddScalar(s.Count, -1), n, atOnce)), BroadcastToDims(s.Begin, n, atOnce))
		blocks := entries(t.blocks, block) // [n, at once, 4 * size]
		width := atOnce * blockSize
		numbers := func(k int) *Node {
			of := Slice(blocks, AxisRange(), AxisRange(), AxisRange(k*blockSize, (k+1)*blockSize))
			return Reshape(of, n, width)
		}
		along := func(axis int) *Node { return Mul(numbers(axis), BroadcastToDims(s.Direction[axis], n, width)) }
		height, vertex := xla.Store(Add(Add(along(0), along(1)), along(2))), numbers(3)
		for width > 1 {
			width /= 2
			part := func(x *Node, i int) *Node { return Slice(x, AxisRange(), AxisRange(i*width, (i+1)*width)) }
			height, vertex = farther(part(height, 0), part(vertex, 0), part(height, 1), part(vertex, 1))
		}
		s.Height, s.Farthest = farther(s.Height, s.Farthest, height, vertex)
		return s
	}
	if t.most <= atOnce {
		s = look(ScalarZero(list.Graph(), dtypes.Int32), s)
	} else {
		count := s.Count
		if where != nil {
			count = Where(Reshape(where, n, 1), count, ZerosLike(count))
		}
		s = xla.Repeat(xla.Store(ReduceAllMax(count)), s, look)
	}
	return xla.Store(Reshape(ConvertDType(s.Farthest, dtypes.Int32), 1, n))
}
