package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/lists"
)

// Terrain is ground of columns: a grid of square cells, each with a height. It replaces the horizontal planes of a
// model. The grid is centred at their origin, and its outermost cells continue beyond it. Contacts are those with the
// boxes of [Terrain.Blocks], at any size of the grid for the same cost: of each geom with those that it may reach.
type Terrain struct {
	Cell float64 `json:"cell"` // width of a cell, m
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

// mostAcross is the largest number of cells in a row that a geom may touch.
const mostAcross = 8

// check returns an error if a terrain is not a grid, or too fine.
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
		if most := t.across(m.reach(p.Geom2)); most > mostAcross {
			return fmt.Errorf("the cells of a Terrain are %g m wide, of which %s may touch %d in a row: make Cell larger, for at "+
				"most %d", t.Cell, m.geom(p.Geom2), most, mostAcross)
		}
		if q := m.GeomQuat[p.Geom1]; q != [4]float64{1} || m.BodyWeldID[m.GeomBodyID[p.Geom1]] != 0 {
			return fmt.Errorf("a Terrain cannot replace %s, which is not horizontal, turned or on a body that moves",
				m.geom(p.Geom1))
		}
	}
	return nil
}

// table has a row for each cell: where its block begins and ends along x and y, the height, and whether the cells before
// it along x and along y have the same block, as those beyond the grid have.
func (t *Terrain) table() (rows [][]float32) {
	blocks, of := t.blocks()
	for i, row := range of {
		for j, block := range row {
			b := blocks[block]
			numbers := []float32{float32(b.Low[0]), float32(b.High[0]), float32(b.Low[1]), float32(b.High[1]), float32(b.High[2])}
			for _, same := range []bool{i == 0 || of[i-1][j] == block, j == 0 || row[j-1] == block} {
				if same {
					numbers = append(numbers, 1)
				} else {
					numbers = append(numbers, 0)
				}
			}
			rows = append(rows, numbers)
		}
	}
	return rows
}

// size is the number of cells along x and y.
func (t *Terrain) size() [2]int { return [2]int{len(t.Heights), len(t.Heights[0])} }

// across is the number of cells that a geom touches at most along an axis.
func (t *Terrain) across(reach float64) int { return int(1 + math.Ceil(2*reach/t.Cell)) }

// look returns the numbers of [Terrain.table] of the cells of numbers along x and y, or of the nearest ones.
func (t *Terrain) look(k kinematics, numbers [2]algebra.Num) (found []algebra.Num) {
	rows, size := numbers[0].Rows, t.size()
	g, batch := k.size()
	for axis, n := range size {
		numbers[axis] = clip(numbers[axis], limits{algebra.Constant(rows, 0), algebra.Constant(rows, float64(n-1))}).Materialize()
	}
	index := ConvertDType(numbers[0].Scale(float64(size[1])).Plus(numbers[1]).Spread(g, batch), dtypes.Int32)
	all := Gather(Const(g, t.table()), InsertAxes(index, -1)) // [rows * B, columns]
	for i := range all.Shape().Dimensions[1] {
		found = append(found, algebra.Num{Rows: rows, Node: Reshape(Slice(all, AxisRange(), AxisElem(i)), -1)}.Materialize())
	}
	return found
}

// heights multiplies heights by what the episode has.
func (k kinematics) heights(x algebra.Num) algebra.Num {
	if k.Under.Terrain.Rows == 0 {
		return x
	}
	return x.Times(spread(k.Under.Terrain, x.Rows)).Materialize()
}

// shifted returns the x and y of points relative to the origin of a plane, on its terrain.
func (k kinematics) shifted(v algebra.Vector) (x [2]algebra.Num) {
	for axis := range x {
		x[axis] = component(v, axis)
		if shift := k.Under.Shift[axis]; shift.Rows > 0 {
			x[axis] = x[axis].Plus(spread(shift, x[axis].Rows))
		}
		x[axis] = x[axis].Materialize()
	}
	return x
}

// below returns the height of a terrain at points relative to the origin of its plane.
func (t *Terrain) below(k kinematics, v algebra.Vector) algebra.Num {
	numbers := k.shifted(v)
	for axis, n := range t.size() {
		numbers[axis] = numbers[axis].Scale(1 / t.Cell).Add(float64(n) / 2).Floor()
	}
	return k.heights(t.look(k, numbers)[4])
}

// onBlocks places the blocks of a terrain that geoms of a set may touch, and returns half their sizes, too: in each row
// that of one cell, counted along x and y from the first that the geom may touch.
func (s *System) onBlocks(k kinematics, set *contactSet, at [2]place) ([2]place, [2]algebra.Vector) {
	var cell [2]algebra.Num
	pairs := len(set.geoms) / (set.onTerrain * set.onTerrain)
	for axis, width := range []int{set.onTerrain, 1} {
		cell[axis] = algebra.ColumnOf(lists.Indices(len(set.geoms)), func(row int) float64 {
			return float64(row / pairs / width % set.onTerrain)
		})
	}
	t, ground, other := s.options.Terrain, at[set.floor], at[1-set.floor]
	from := other.position.Minus(ground.position).Materialize()
	x, none := k.shifted(from), algebra.Constant(from.X.Rows, 0)
	near := set.reach.Slice(0, none.Rows)
	exists := none.Below(1)
	var numbers [2]algebra.Num
	for axis, n := range t.size() {
		start := t.Cell * float64(n) / 2
		first := x[axis].Minus(near).Add(start).Scale(1 / t.Cell).Floor()
		numbers[axis] = first.Plus(cell[axis]).Materialize()
		exists = exists.And(numbers[axis].Scale(t.Cell).Add(-start).Less(x[axis].Plus(near)))
	}
	found := t.look(k, numbers)
	top := k.heights(found[4])
	bottom := k.heights(none.Add(slices.Min(slices.Concat(t.Heights...)))).Add(-1)
	center := algebra.Vector{Z: top.Plus(bottom).Scale(0.5).Minus(from.Z)}
	half := algebra.Vector{Z: top.Minus(bottom).Scale(0.5)}
	for axis, n := range t.size() {
		// Of a block with several cells, one counts.
		again := found[5+axis].Above(0.5).Or(numbers[axis].Above(float64(n) - 0.5)).And(cell[axis].Above(0.5))
		exists = exists.And(again.Number().Below(0.5))
		// Beyond what the geom may reach, a block may end anywhere.
		low := found[2*axis].Minus(x[axis]).Max(near.Add(1).Neg()).Materialize()
		high := found[2*axis+1].Minus(x[axis]).Min(near.Add(1)).Max(low).Materialize()
		*[]*algebra.Num{&center.X, &center.Y}[axis] = low.Plus(high).Scale(0.5)
		*[]*algebra.Num{&half.X, &half.Y}[axis] = high.Minus(low).Scale(0.5)
	}
	center.Z = exists.Choose(center.Z, center.Z.Add(-10*far))
	sizes := set.sizes
	at[set.floor], sizes[set.floor] = place{other.position.Plus(center).Materialize(), ground.turn}, half.Materialize()
	return at, sizes
}
