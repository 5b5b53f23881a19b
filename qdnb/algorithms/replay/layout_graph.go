package replay

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// Column is a named part of a row of Width numbers.
type Column struct {
	Name  string
	Width int
}

// The names of the columns that become fields of a [Batch].
const (
	Obs        = "obs"
	NextObs    = "next_obs"
	Action     = "action"
	Reward     = "reward"
	Done       = "done"
	Truncation = "truncation"
)

// Layout lists the columns of a row in their order. Names are unique.
type Layout []Column

// Transitions is the layout of a step of an environment with so many observations and actions, and
// of what a learner keeps beside:
//
//	obs, next_obs, action, reward, done, truncation, more...
func Transitions(obs, actions int, more ...Column) Layout {
	return append(Layout{{Obs, obs}, {NextObs, obs}, {Action, actions}, {Reward, 1}, {Done, 1},
		{Truncation, 1}}, more...)
}

// Width is the number of float32 in a row.
func (l Layout) Width() int {
	width := 0
	for _, column := range l {
		width += column.Width
	}
	return width
}

// Batch is a set of n transitions: a tree. Fields whose columns the layout lacks are nil.
type Batch struct {
	Obs, NextObs *Node // [n, observations]
	Action       *Node // [n, actions]
	Reward       *Node // [n]
	Done         *Node // [n], 1 where the episode ended with this step, also by its length
	Truncation   *Node // [n], 1 where it ended by its length alone
	// More are the other columns in the order of the layout, [n, width].
	More []*Node
}

// Split cuts rows [n, width] into their columns.
func (l Layout) Split(rows *Node) Batch {
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != l.Width() {
		panic(errors.Errorf("rows of shape %s do not fit a layout of %d columns of together %d numbers",
			rows.Shape(), len(l), l.Width()))
	}
	var batch Batch
	start := 0
	for _, column := range l {
		part := Slice(rows, AxisRange(), AxisRange(start, start+column.Width))
		start += column.Width
		if field, scalar := batch.field(column.Name); field == nil {
			batch.More = append(batch.More, part)
		} else if scalar {
			*field = Reshape(part, rows.Shape().Dimensions[0])
		} else {
			*field = part
		}
	}
	return batch
}

// Join puts the columns of a batch together, [n, width]: the inverse of [Layout.Split].
func (l Layout) Join(batch Batch) *Node {
	parts := make([]*Node, len(l))
	more := batch.More
	for i, column := range l {
		field, scalar := batch.field(column.Name)
		switch {
		case field != nil && scalar && *field != nil:
			parts[i] = InsertAxes(*field, -1)
		case field != nil:
			parts[i] = *field
		case len(more) > 0:
			parts[i], more = more[0], more[1:]
		}
		if parts[i] == nil || parts[i].Rank() != 2 || parts[i].Shape().Dimensions[1] != column.Width {
			panic(errors.Errorf("a batch cannot be joined: column %q needs %d numbers a row", column.Name,
				column.Width))
		}
	}
	if len(more) > 0 {
		panic(errors.Errorf("a batch cannot be joined: it has %d columns that the layout does not know",
			len(more)))
	}
	return Concatenate(parts, 1)
}

// field is where a column of that name goes, and whether it is one number a row; nil if it goes to
// More.
func (b *Batch) field(name string) (field **Node, scalar bool) {
	switch name {
	case Obs:
		return &b.Obs, false
	case NextObs:
		return &b.NextObs, false
	case Action:
		return &b.Action, false
	case Reward:
		return &b.Reward, true
	case Done:
		return &b.Done, true
	case Truncation:
		return &b.Truncation, true
	}
	return nil, false
}
