package replay

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Layout describes a row of the buffer: the fields of a [Transitions] in their order.
type Layout struct {
	Obs, Actions int   // numbers of an observation and of an action
	More         []int // numbers of a learner's own columns
}

// widths are the numbers per column.
func (l Layout) widths() []int {
	return append([]int{l.Obs, l.Obs, l.Actions, 1, 1, 1}, l.More...)
}

// Width is the number of float32 values in a row.
func (l Layout) Width() int {
	width := 0
	for _, w := range l.widths() {
		width += w
	}
	return width
}

// lanes is the number of columns that a TPU stores together.
const lanes = 128

// StoredWidth is the number of float32 values that a row takes in a [Buffer]. On TPUs it is the width
// rounded up to whole lanes. With another width XLA would hand the buffer from
// program to program column by column, which takes less memory, and each program would copy all of
// it to read or write rows.
func (l Layout) StoredWidth(kind backend.Kind) int { return storedWidth(kind, l.Width()) }

func storedWidth(kind backend.Kind, width int) int {
	if kind != backend.TPU {
		return width
	}
	return (width + lanes - 1) / lanes * lanes
}

// Transitions is a batch of n transitions: a pytree.
type Transitions struct {
	Obs, NextObs *Node // [n, observations]
	Action       *Node // [n, actions]
	Reward       *Node // [n]
	Done         *Node // [n], 1 where the episode ended with this step, also by truncation
	Truncation   *Node // [n], 1 where it ended only because of its length
	// More holds a learner's own columns, [n, width].
	More []*Node
}

// Split splits rows [n, width] into their columns. The columns that a [Buffer] adds to a row
// may follow.
func (l Layout) Split(rows *Node) Transitions {
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != l.Width() &&
		rows.Shape().Dimensions[1] != l.StoredWidth(xla.KindOf(rows.Graph())) {
		panic(fmt.Errorf("rows of shape %s do not fit transitions of %d numbers", rows.Shape(), l.Width()))
	}
	start := 0
	next := func(width int) *Node {
		start += width
		return Slice(rows, AxisRange(), AxisRange(start-width, start))
	}
	scalar := func() *Node { return Reshape(next(1), rows.Shape().Dimensions[0]) }
	batch := Transitions{Obs: next(l.Obs), NextObs: next(l.Obs), Action: next(l.Actions), Reward: scalar(),
		Done: scalar(), Truncation: scalar()}
	for _, width := range l.More {
		batch.More = append(batch.More, next(width))
	}
	return batch
}

// Join joins the columns of a batch, [n, width]: the inverse of [Layout.Split].
func (l Layout) Join(b Transitions) *Node {
	parts := []*Node{b.Obs, b.NextObs, b.Action}
	for _, scalar := range []*Node{b.Reward, b.Done, b.Truncation} {
		parts = append(parts, InsertAxes(scalar, -1))
	}
	parts = append(parts, b.More...)
	widths := l.widths()
	for i, part := range parts {
		if len(parts) != len(widths) || part.Rank() != 2 || part.Shape().Dimensions[1] != widths[i] {
			panic(fmt.Errorf("a batch with column %d of shape %s does not fit columns of %v numbers", i, part.Shape(), widths))
		}
	}
	return Concatenate(parts, 1)
}
