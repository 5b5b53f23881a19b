package skills

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// ringReturns tracks the return so far of every row's episode, for a [replay.Buffer] that n
// environments fill in lockstep: a pytree. Row s*n+e of the buffer, modulo its capacity, belongs to
// step s and environment e. While an episode runs, all its rows hold its partial return. After its
// end they keep the final return.
//
// The published code (QDax, buffers/trajectory_buffer.py) lists the rows of each episode in a table
// and sums all of them again at every insertion. It mixes episodes if a row of the table outlives
// its transitions. Here an episode's return is a running sum.
type ringReturns struct {
	Rows     *Node // [capacity / n, n], -Inf where nothing is written yet
	Running  *Node // [n], return of the current episode so far
	Age      *Node // [n] int32: steps of the current episode so far
	Position *Node // int32: row of Rows for the next step
}

// newReturns returns the returns of an empty buffer. The capacity must be a multiple of the number of
// environments.
func newReturns(g *Graph, capacity, environments int) ringReturns {
	if environments < 1 || capacity < environments || capacity%environments != 0 {
		panic(fmt.Errorf("buffer capacity %d is not a multiple of the %d environments", capacity, environments))
	}
	rows := Zeros(g, shapes.Make(dtypes.Float32, capacity/environments, environments))
	return ringReturns{
		Rows:     AddScalar(rows, math.Inf(-1)),
		Running:  Zeros(g, shapes.Make(dtypes.Float32, environments)),
		Age:      Zeros(g, shapes.Make(dtypes.Int32, environments)),
		Position: Const(g, int32(0)),
	}
}

// Insert records the step that is written into the buffer: rewards and episode ends, both [n].
// length is the maximum number of steps per episode, at most the steps that the buffer holds. (In a
// longer episode, only the latest rows are updated.) State that is donated or carried by a loop is
// updated in place, at a cost of length * n, independent of the capacity.
func (r ringReturns) Insert(reward, done *Node, length int) ringReturns {
	steps, n := r.Rows.Shape().Dimensions[0], r.Rows.Shape().Dimensions[1]
	if !reward.Shape().Equal(r.Running.Shape()) || !done.Shape().Equal(r.Running.Shape()) {
		panic(fmt.Errorf("rewards of shape %s and ends of shape %s do not fit %d environments", reward.Shape(), done.Shape(), n))
	}
	if length < 1 || length > steps {
		panic(fmt.Errorf("episodes of %d steps do not fit a buffer of %d steps", length, steps))
	}
	running := Add(r.Running, reward)

	// A step belongs to the current episode if it is at most Age steps before this one, around the
	// ring. Age is below length, and length is at most the number of steps in the ring. So these rows
	// are distinct and were all written by this episode; none is a leftover of an overwritten step.
	// The last length steps lie in two windows: one ends at this step, or begins at the start of the
	// ring; the other ends at the end of the ring. A row in both windows receives the same number
	// twice.
	rows := r.Rows
	wide := []int{length, n}
	begins := MaxScalar(AddScalar(r.Position, int32(1-length)), int32(0))
	for _, first := range []*Node{begins, ConstAs(begins, int32(steps-length))} {
		back := Sub(Sub(r.Position, first), Iota(rows.Graph(), shapes.Make(dtypes.Int32, length, 1), 0))
		back = Where(LessThan(back, ZerosLike(back)), AddScalar(back, int32(steps)), back)
		own := LessOrEqual(BroadcastToDims(back, wide...), BroadcastToDims(InsertAxes(r.Age, 0), wide...))
		partial := BroadcastToDims(InsertAxes(running, 0), wide...)
		rows = xla.SetRows(rows, first, Where(own, partial, xla.Rows(rows, first, length)))
	}

	ended := GreaterThan(done, ZerosLike(done))
	position := AddScalar(r.Position, int32(1))
	return ringReturns{
		Rows:     rows,
		Running:  Where(ended, ZerosLike(running), running),
		Age:      Where(ended, ZerosLike(r.Age), MinScalar(AddScalar(r.Age, int32(1)), int32(length-1))),
		Position: Where(GreaterOrEqual(position, ConstAs(position, int32(steps))), ZerosLike(position), position),
	}
}

// At returns the returns of buffer rows, [m], by their indices [m, 1] (see [replay.Buffer.Draw]).
func (r ringReturns) At(index *Node) *Node { return Gather(Reshape(r.Rows, -1), index) }
