package mujoco

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file puts the pairs of all copies that may touch in one queue. A loop that takes a pair of each copy would go on
// until the copy with the most such pairs is done.

// queue holds pairs of all copies, one copy after the other.
type queue struct {
	Pairs *Node // of each copy, int32 [most, B]
	Count *Node // how many of them are in the queue, int32 [B]
	End   *Node // how many there are up to the end of a copy, int32 [B]
}

// queueOf returns the pairs whose gap [pairs, B] is below 0, the nearest first, at most so many of each copy.
func queueOf(gap *Node, most int) queue {
	count := algebra.SumRows(ConvertDType(LessThan(gap, ZerosLike(gap)), dtypes.Int32))
	count = xla.Store(Reshape(Min(count, MulScalar(OnesLike(count), most)), -1))
	return queue{lowest(gap, most), count, xla.Store(CumSum(count, 0))}
}

// turns returns how many pairs are best taken from the queue at once, how many times that is, and how many it can be.
func (q queue) turns() (width int, turns *Node, most int) {
	pairs, copies := q.Pairs.Shape().Dimensions[0], q.Pairs.Shape().Dimensions[1]
	width = copies
	if !xla.KindOf(q.Count.Graph()).Accelerator() { // 8 numbers of float64 are computed at once
		width = min(copies, max(8, copies/8))
	}
	most = (pairs*copies + width - 1) / width
	return width, xla.Turns(DivScalar(AddScalar(ReduceAllMax(q.End), width-1), width), most), most
}

// next returns the pairs of a turn, as many as the width. Where no pair is left, it repeats the last one.
func (q queue) next(turn *Node, width int) cells {
	copies, last := q.End.Shape().Dimensions[0], Reshape(Slice(q.End, AxisElem(-1)), 1, 1)
	number := Add(MulScalar(turn, width), Iota(turn.Graph(), shapes.Make(dtypes.Int32, 1, width), 1))
	number = xla.Store(Min(number, SubScalar(BroadcastToDims(last, 1, width), 1)))
	ended := LessOrEqual(BroadcastToDims(InsertAxes(q.End, 1), copies, width), BroadcastToDims(number, copies, width))
	at := xla.Store(Reshape(algebra.SumRows(ConvertDType(ended, dtypes.Int32)), 1, width))
	pick := func(x *Node, at cells) *Node {
		of := algebra.Num{Rows: x.Shape().Dimensions[0], Node: Reshape(x, -1)}
		return Reshape(pickAt(of, at).Node, 1, width)
	}
	before := pick(InsertAxes(Sub(q.End, q.Count), 1), cells{at, ZerosLike(at)})
	return cells{pick(q.Pairs, cells{Sub(number, before), at}), at}
}

// of returns for each copy the pair at a place among its own pairs, the number of that pair in the queue, and whether it
// exists, [1, B] each.
func (q queue) of(place *Node) (pair, number, exists *Node) {
	copies := q.End.Shape().Dimensions[0]
	pair = xla.Rows(q.Pairs, place, 1)
	number = Add(Sub(q.End, q.Count), BroadcastToDims(place, copies))
	exists = LessThan(BroadcastToDims(place, copies), q.Count)
	return pair, xla.Store(Reshape(Where(exists, number, ZerosLike(number)), 1, copies)), Reshape(exists, 1, copies)
}
