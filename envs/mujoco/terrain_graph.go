package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// Terrain is ground of columns: a grid of square cells, each with a height. It replaces the horizontal planes of a
// model. The grid is centred at their origin, and its outermost cells continue beyond it. Spheres and capsules
// stand on it, at any size of the grid for the same cost: each end has a contact with the top of the column below it,
// and one with the deepest of the three nearest columns that are higher.
type Terrain struct {
	Cell float64 `json:"cell"` // width of a cell, m; more than the diameter of what stands on it
	// Heights[i][j] is that of the i-th cell along x and the j-th along y, m above the plane.
	Heights [][]float64 `json:"heights"`
}

// Stairs is a terrain of steps up along x, of a width and a height in m, between flat ground before and after.
// Each copy of the grid has so many cells in width.
func Stairs(steps int, width, height, cell float64) Terrain {
	across := max(1, int(math.Round(width/cell)))
	t := Terrain{Cell: cell}
	half := (steps + 2) * across // flat ground on both sides of the origin
	for i := range 2 * half {
		level := min(max(0, (i-half)/across), steps)
		t.Heights = append(t.Heights, []float64{height * float64(level), height * float64(level)})
	}
	return t
}

// RoughGround is a terrain of n times n cells of random heights up to a height in m.
func RoughGround(n int, height, cell float64, seed uint64) Terrain {
	draw := rand.New(rand.NewPCG(seed, 0))
	t := Terrain{Cell: cell, Heights: make([][]float64, max(0, n))}
	for i := range t.Heights {
		for range n {
			t.Heights[i] = append(t.Heights[i], height*draw.Float64())
		}
	}
	return t
}

// Block is a box with sides along the axes, between two corners, m, relative to the origin of the plane that a terrain
// replaces.
type Block struct{ Low, High [3]float64 }

// outwards is how far the blocks of outermost cells continue, m.
const outwards = 1000

// Blocks returns boxes that together are a terrain: one for all cells of a height that make a rectangle.
func (t *Terrain) Blocks() []Block {
	blocks, _ := t.blocks()
	return blocks
}

// blocks also returns the number of the block of each cell.
func (t *Terrain) blocks() (blocks []Block, of [][]int) {
	known, bottom := map[Block]int{}, slices.Min(slices.Concat(t.Heights...))-1
	for i, heights := range t.Heights {
		row := make([]int, len(heights))
		for j := range heights {
			b := t.block(i, j, bottom)
			if _, ok := known[b]; !ok {
				known[b], blocks = len(blocks), append(blocks, b)
			}
			row[j] = known[b]
		}
		of = append(of, row)
	}
	return blocks, of
}

// block returns the block of a cell.
func (t *Terrain) block(i, j int, bottom float64) (b Block) {
	own, size := t.Heights[i][j], [2]int{len(t.Heights), len(t.Heights[0])}
	from, to := [2]int{i, j}, [2]int{i + 1, j + 1} // its cells
	// same reports whether all cells before or after them along an axis have their height.
	same := func(axis, at int) bool {
		if at < 0 || at == size[axis] {
			return false
		}
		for k := from[1-axis]; k < to[1-axis]; k++ {
			if cell := [2]int{at, k}; t.Heights[cell[axis]][cell[1-axis]] != own {
				return false
			}
		}
		return true
	}
	for axis := range 2 {
		for same(axis, from[axis]-1) {
			from[axis]--
		}
		for same(axis, to[axis]) {
			to[axis]++
		}
	}
	for axis := range 2 {
		start := -t.Cell * float64(size[axis]) / 2
		b.Low[axis], b.High[axis] = start+t.Cell*float64(from[axis]), start+t.Cell*float64(to[axis])
		if from[axis] == 0 {
			b.Low[axis] -= outwards
		}
		if to[axis] == size[axis] {
			b.High[axis] += outwards
		}
	}
	b.Low[2], b.High[2] = bottom, own
	return b
}

// check returns an error if a terrain is not a grid, or if others than spheres and capsules may touch it.
func (t *Terrain) check(m Model, pairs []Pair) error {
	if !(t.Cell > 0 && t.Cell < math.MaxFloat32) || len(t.Heights) == 0 || len(t.Heights[0]) == 0 {
		return fmt.Errorf("a Terrain needs cells of a width above 0 and at least one height")
	}
	for _, row := range t.Heights {
		if len(row) != len(t.Heights[0]) {
			return fmt.Errorf("the rows of a Terrain must have the same length, not %d and %d", len(t.Heights[0]), len(row))
		}
		for _, height := range row {
			if !(math.Abs(height) < math.MaxFloat32) {
				return fmt.Errorf("a Terrain has the height %g m: it must be finite", height)
			}
		}
	}
	for _, p := range pairs {
		if m.GeomType[p.Geom1] != Plane {
			continue
		}
		if kind := m.GeomType[p.Geom2]; kind != Sphere && kind != Capsule {
			return fmt.Errorf("only spheres and capsules stand on a Terrain, not %s: limit Contacts to those that do",
				m.geom(p.Geom2))
		}
		if wide := 2 * m.GeomSize[p.Geom2][0]; !(t.Cell > wide) {
			return fmt.Errorf("the cells of a Terrain are %g m wide, %s %g m: make Cell more than that", t.Cell,
				m.geom(p.Geom2), wide)
		}
		if q := m.GeomQuat[p.Geom1]; q != [4]float64{1} || m.BodyWeldID[m.GeomBodyID[p.Geom1]] != 0 {
			return fmt.Errorf("a Terrain cannot replace %s, which is not horizontal, turned or on a body that moves",
				m.geom(p.Geom1))
		}
	}
	return nil
}

// table has a row for each corner between four cells: the heights of those at (0, 0), (1, 0), (0, 1) and (1, 1).
func (t *Terrain) table() (rows [][]float32) {
	nx, ny := t.size()
	height := func(i, j int) float32 {
		return float32(t.Heights[min(i, len(t.Heights)-1)][min(j, len(t.Heights[0])-1)])
	}
	for i := range nx - 1 {
		for j := range ny - 1 {
			rows = append(rows, []float32{height(i, j), height(i+1, j), height(i, j+1), height(i+1, j+1)})
		}
	}
	return rows
}

// size is the number of cells along x and y, at least two.
func (t *Terrain) size() (nx, ny int) { return max(2, len(t.Heights)), max(2, len(t.Heights[0])) }

// touches finds the contacts of balls with a terrain, whose points are given relative to the origin of its plane:
// with the tops below them, and with the nearest of the higher neighbouring columns.
func (t *Terrain) touches(k kinematics, center algebra.Vector, radius algebra.Num) (top, edge touch) {
	nx, ny := t.size()
	rows := center.X.Rows
	g, batch := k.size()
	// corner returns the index of the nearest corner between cells along an axis, and how far the ball is from it.
	corner := func(x, shift algebra.Num, n, cells int) (index, offset algebra.Num) {
		if shift.Rows > 0 {
			x = x.Plus(spread(shift, rows))
		}
		middle := float64(cells) / 2 // in the grid as it was given
		index = clip(x.Scale(1/t.Cell).Add(middle-0.5).Floor(), limits{algebra.Constant(rows, 0),
			algebra.Constant(rows, float64(n-2))}).Materialize()
		return index, x.Minus(index.Add(1 - middle).Scale(t.Cell)).Materialize()
	}
	i, dx := corner(center.X, k.Under.Shift[0], nx, len(t.Heights))
	j, dy := corner(center.Y, k.Under.Shift[1], ny, len(t.Heights[0]))
	index := ConvertDType(i.Scale(float64(ny-1)).Plus(j).Spread(g, batch), dtypes.Int32)
	found := Gather(Const(g, t.table()), InsertAxes(index, -1)) // [rows * B, 4]
	var heights [4]algebra.Num
	for i := range heights {
		heights[i] = algebra.Num{Rows: rows, Node: Reshape(Slice(found, AxisRange(), AxisElem(i)), -1)}.Materialize()
		if k.Under.Terrain.Rows > 0 {
			heights[i] = heights[i].Times(spread(k.Under.Terrain, rows))
		}
	}
	// own, across x, across y, across both
	right, up := dx.Above(0), dy.Above(0)
	pick := func(flipX, flipY bool) algebra.Num {
		x := func(low, high algebra.Num) algebra.Num {
			if flipX {
				low, high = high, low
			}
			return right.Choose(high, low)
		}
		low, high := x(heights[0], heights[1]), x(heights[2], heights[3])
		if flipY {
			low, high = high, low
		}
		return up.Choose(high, low).Materialize()
	}
	own := pick(false, false)
	vertical := algebra.Vector{X: own.Zero(), Y: own.Zero(), Z: algebra.Constant(rows, 1)}
	contact := func(distance algebra.Num, normal algebra.Vector) touch {
		distance = distance.Materialize()
		return touch{distance: distance, normal: normal, point: center.Minus(normal.By(radius.Plus(distance.Scale(0.5))))}
	}
	top = contact(center.Z.Minus(own).Minus(radius), vertical)
	none := algebra.Constant(rows, far)
	least, normal := computed(g, batch, none), vertical
	for _, side := range []struct{ x, y bool }{{true, false}, {false, true}, {true, true}} {
		height := pick(side.x, side.y)
		away := algebra.Vector{X: own.Zero(), Y: own.Zero(), Z: center.Z.Minus(height).Max(own.Zero())}
		if side.x {
			away.X = dx
		}
		if side.y {
			away.Y = dy
		}
		length := away.Dot(away).Sqrt().Max(algebra.Constant(rows, 1e-9)).Materialize()
		distance := own.Less(height).Choose(length.Minus(radius), none)
		nearer := distance.Less(least)
		least = nearer.Choose(distance, least).Materialize()
		normal = nearer.ChooseVector(away.Over(length), normal).Materialize()
	}
	return top, contact(least, normal)
}

// onTerrain finds the contacts of a set of spheres or capsules with a terrain: first those with the tops.
func (s *System) onTerrain(k kinematics, set *contactSet, a, b place) []touch {
	center, radius := b.position.Minus(a.position), set.sizes[1].X
	ends := []algebra.Vector{center}
	if set.sizes[1].Y.Any() { // a sphere's is 0
		half := b.turn.Z.By(set.sizes[1].Y)
		ends = []algebra.Vector{center.Plus(half), center.Minus(half)}
	}
	var tops, sides []touch
	for _, end := range ends {
		top, edge := s.options.Terrain.touches(k, end.Materialize(), radius)
		for _, t := range []*touch{&top, &edge} {
			t.point = t.point.Plus(a.position)
			if len(ends) > 1 {
				t.tangent = b.turn.Z
			}
		}
		tops, sides = append(tops, top), append(sides, edge)
	}
	return append(tops, sides...)
}
