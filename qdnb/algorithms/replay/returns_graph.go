package replay

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Returns keeps, for every row of a [Buffer] that n environments fill in turn, the sum of the
// rewards of the row's episode so far: a tree. Row s*n+e of the buffer, modulo its capacity, is of
// step s and environment e. While an episode runs its rows all have its partial return, and what
// they have at its end they keep.
//
// The published code (QDax, buffers/trajectory_buffer.py) lists the rows of each episode in a table
// and sums all of them anew at every insertion; where a row of the table outlives its transitions
// it mixes episodes. Here an episode's return is a running sum.
type Returns struct {
	Rows     *Node // [capacity / n, n], -Inf where nothing was written yet
	Running  *Node // [n], return of the running episode
	Age      *Node // [n] int32: steps of the running episode so far
	Position *Node // int32: row of Rows where the next step goes
}

// NewReturns are those of an empty buffer. The capacity must be a multiple of the number of
// environments.
func NewReturns(g *Graph, capacity, environments int) Returns {
	if environments < 1 || capacity < environments || capacity%environments != 0 {
		panic(errors.Errorf("a buffer of %d rows does not hold whole steps of %d environments", capacity,
			environments))
	}
	rows := Zeros(g, shapes.Make(dtypes.Float32, capacity/environments, environments))
	return Returns{
		Rows:     AddScalar(rows, math.Inf(-1)),
		Running:  Zeros(g, shapes.Make(dtypes.Float32, environments)),
		Age:      Zeros(g, shapes.Make(dtypes.Int32, environments)),
		Position: Const(g, int32(0)),
	}
}

// Insert sees the step that is written into the buffer: rewards and ends of episodes, both [n].
// length is the number of steps that an episode takes at most, and no more than the buffer holds.
// (Of an episode that goes on for longer only the latest rows follow.) State that is donated or
// carried by a loop is changed in place, at a cost of length * n whatever the capacity.
func (r Returns) Insert(reward, done *Node, length int) Returns {
	steps, n := r.Rows.Shape().Dimensions[0], r.Rows.Shape().Dimensions[1]
	if !reward.Shape().Equal(r.Running.Shape()) || !done.Shape().Equal(r.Running.Shape()) {
		panic(errors.Errorf("rewards of shape %s and ends of shape %s are not of %d environments",
			reward.Shape(), done.Shape(), n))
	}
	if length < 1 || length > steps {
		panic(errors.Errorf("episodes of %d steps do not fit a buffer of %d steps", length, steps))
	}
	running := Add(r.Running, reward)

	// A step is the running episode's if it is no more than Age steps back from this one, round the
	// ring. Age is below length, and length no more than the ring's steps, so that these are
	// different rows which this episode has written, the latest now; none is what a step that has
	// been overwritten left, or what a later pass will overwrite first. The last length steps lie
	// in two windows: one ends here, or begins where the ring does; the other ends where the ring
	// does. A row that is in both gets the same number twice.
	rows := r.Rows
	wide := []int{length, n}
	begins := MaxScalar(AddScalar(r.Position, int32(1-length)), int32(0))
	for _, first := range []*Node{begins, ConstAs(begins, int32(steps-length))} {
		back := Sub(Sub(r.Position, first), Iota(rows.Graph(), shapes.Make(dtypes.Int32, length, 1), 0))
		back = Where(LessThan(back, ZerosLike(back)), AddScalar(back, int32(steps)), back)
		own := LessOrEqual(BroadcastToDims(back, wide...), BroadcastToDims(InsertAxes(r.Age, 0), wide...))
		told := BroadcastToDims(InsertAxes(running, 0), wide...)
		rows = xla.SetRows(rows, first, Where(own, told, xla.Rows(rows, first, length)))
	}

	ended := GreaterThan(done, ZerosLike(done))
	position := AddScalar(r.Position, int32(1))
	return Returns{
		Rows:    rows,
		Running: Where(ended, ZerosLike(running), running),
		Age:     Where(ended, ZerosLike(r.Age), MinScalar(AddScalar(r.Age, int32(1)), int32(length-1))),
		Position: Where(GreaterOrEqual(position, ConstAs(position, int32(steps))), ZerosLike(position),
			position),
	}
}

// At is the returns of rows of the buffer, [m], by their indices [m, 1] (see [Buffer.Draw]).
func (r Returns) At(index *Node) *Node { return Gather(Reshape(r.Rows, -1), index) }
