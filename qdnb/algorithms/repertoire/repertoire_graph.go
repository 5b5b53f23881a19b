package repertoire

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Cells is the state of a repertoire's cells without the genotypes: a pytree.
type Cells struct {
	Fitness     *Node // [cells], -Inf where a cell is empty
	Descriptors *Node // [cells, d], of the occupants, not the centroids; 0 where empty
	Centroids   *Node // [cells, d]
	Objectives  *Node // [cells, objectives] of a [Measurer], else nil
	// Scale multiplies the components in distances between descriptors, see [limits.Scale]; nil: 1.
	Scale []float32
}

// Batch is a batch of P candidates for insertion.
type Batch struct {
	Fitness     *Node // [P]; NaN and -Inf never enter
	Descriptors *Node // [P, d]
}

// cellOf returns the cell of each descriptor, int32 [P]: the nearest centroid by Euclidean distance of
// the components times Scale, or the lowest index among equals. Descriptors outside the limits map to a
// cell at the border.
func (c Cells) cellOf(descriptors *Node) *Node {
	from, to := c.scaled(components(c.Centroids)), c.scaled(components(descriptors))
	distance := squaredDistances(from, to) // [cells, P], with the candidates on the minor axis
	return xla.Argmin(distance, 0)
}

// scaled returns components of points times Scale.
func (c Cells) scaled(points []*Node) []*Node {
	for k, factor := range c.Scale {
		points[k] = MulScalar(points[k], factor)
	}
	return points
}

// component returns column k of points [m, d], [m].
func component(x *Node, k int) *Node {
	return Reshape(Slice(x, AxisRange(), AxisElem(k)), x.Shape().Dimensions[0])
}

// components returns the columns of points [m, d], [m] each.
func components(points *Node) []*Node {
	columns := make([]*Node, points.Shape().Dimensions[1])
	for k := range columns {
		columns[k] = component(points, k)
	}
	return columns
}

// squaredDistances returns the squared distances from each of m points to each of P others, [m, P],
// given their components.
func squaredDistances(from, to []*Node) *Node {
	var sum *Node
	for k := range from {
		square := Square(Sub(InsertAxes(from[k], 1), InsertAxes(to[k], 0)))
		if sum == nil {
			sum = square
		} else {
			sum = Add(sum, square)
		}
	}
	return sum
}

// Valid is bool [P], false for candidates with a fitness that is not finite or a NaN descriptor;
// they never enter.
func (b Batch) Valid() *Node {
	valid := LessThan(Abs(b.Fitness), ConstAs(b.Fitness, math.Inf(1))) // false for NaN
	for k := range b.Descriptors.Shape().Dimensions[1] {
		x := component(b.Descriptors, k)
		valid = And(valid, Equal(x, x))
	}
	return valid
}

// Update stores the fitness and descriptors of the accepted candidates, see [Insertion].
func (c Cells) Update(batch Batch, index, accepted *Node) Cells {
	rows := InsertAxes(index, -1)
	c.Fitness = Where(accepted, Gather(batch.Fitness, rows), c.Fitness)
	wide := BroadcastToDims(InsertAxes(accepted, -1), c.Descriptors.Shape().Dimensions...)
	c.Descriptors = Where(wide, Gather(batch.Descriptors, rows), c.Descriptors)
	return c
}

// filled is bool [cells], true for cells that hold a solution.
func (c Cells) filled() *Node { return GreaterThan(c.Fitness, lowest(c.Fitness)) }

// keep empties the cells that are not kept.
func (c Cells) keep(kept *Node) Cells {
	wide := BroadcastToDims(InsertAxes(kept, -1), c.Descriptors.Shape().Dimensions...)
	c.Fitness = Where(kept, c.Fitness, lowest(c.Fitness))
	c.Descriptors = Where(wide, c.Descriptors, ZerosLike(c.Descriptors))
	return c
}

// Sampler draws filled cells uniformly with replacement: a pytree, built once per generation.
type Sampler struct {
	UpTo *Node // int32 [cells], cumulative number of filled cells
	// Within is int32 [cells, slots], the cumulative number of filled slots of each cell; nil if a
	// cell has one slot.
	Within *Node
}

// Sampler returns a sampler of the filled cells. If there are several slots per centroid, as in
// [Fronts], it draws a cell, then one of its filled slots.
func (c Cells) Sampler() Sampler {
	filled := c.filled()
	if cells := c.cells(); cells < c.Fitness.Shape().Dimensions[0] {
		slots := Reshape(filled, cells, -1)
		return Sampler{CumSum(ConvertDType(LogicalAny(slots, 1), dtypes.Int32), 0), CumSum(ConvertDType(slots, dtypes.Int32), 1)}
	}
	return Sampler{UpTo: CumSum(ConvertDType(filled, dtypes.Int32), 0)}
}

// cells is the number of cells: of centroids if there are any, else of slots.
func (c Cells) cells() int {
	if c.Centroids != nil {
		return c.Centroids.Shape().Dimensions[0]
	}
	return c.Fitness.Shape().Dimensions[0]
}

// Draw returns one slot per key, int32 [keys]. In an empty repertoire it returns the last one.
func (s Sampler) Draw(keys random.Key) *Node {
	count := ConvertDType(Reshape(Slice(s.UpTo, AxisElem(s.UpTo.Shape().Dimensions[0]-1))), dtypes.Float32)
	// a rank from 0 to count-1
	cell := xla.NthTrue(s.UpTo, ConvertDType(Mul(keys.Uniform(0, 1, keys.Hi.Shape().Dimensions...), count), dtypes.Int32))
	if s.Within == nil {
		return cell
	}
	return s.within(cell, keys.FoldIn(0))
}

// within draws a filled slot of each cell, int32 [keys].
func (s Sampler) within(cell *Node, keys random.Key) *Node {
	upTo := Gather(s.Within, InsertAxes(cell, -1)) // [keys, slots]
	last := int32(upTo.Shape().Dimensions[1] - 1)
	count := ConvertDType(Slice(upTo, AxisRange(), AxisElem(int(last))), dtypes.Float32)
	rank := ConvertDType(Mul(InsertAxes(keys.Uniform(0, 1, keys.Hi.Shape().Dimensions...), 1), count), dtypes.Int32)
	slot := ReduceSum(ConvertDType(LessOrEqual(upTo, rank), dtypes.Int32), 1)
	return Add(MulScalar(cell, last+1), MinScalar(slot, last))
}
